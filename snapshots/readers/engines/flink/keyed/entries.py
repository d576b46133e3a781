"""The entries of keyed state, whatever layout it is stored in."""

from dataclasses import dataclass, field

from snapshots.readers.engines.flink.files import Missing
from snapshots.readers.formats.budget import Room
from snapshots.readers.formats.opaque import Opaque
from snapshots.readers.formats.snappy import inflate_frames

TIMERS = "TIMERS"
UNKNOWN = "UNKNOWN"
MOST_SENTENCES = 100
KINDS = ("VALUE", "LIST", "REDUCING", "AGGREGATING", "MAP", TIMERS, UNKNOWN)


@dataclass(frozen=True, slots=True)
class Entry:
    """One key's value in one state, or bytes that could not be read."""

    state: str | None
    """The name of the state; None if it is unknown."""
    kind: str
    """One of KINDS."""
    key_group: int | None
    """None if it is unknown."""
    namespace: object
    """None for the void namespace."""
    key: object
    """Opaque if it is unknown."""
    value: object
    """For TIMERS the time stamp in ms, with one entry per timer. Opaque if it is unknown."""
    size: int
    """Bytes of the whole entry."""
    raw_key: bytes | memoryview = b""
    """The stored bytes of an unknown key."""
    raw_value: bytes | memoryview = b""
    """The stored bytes of an unknown value."""

    @property
    def is_known(self) -> bool:
        return not isinstance(self.value, Opaque) and not isinstance(self.key, Opaque)


def unread(
    data: bytes | memoryview,
    reason: str,
    state: str | None = None,
    key_group: int | None = None,
    kind: str = UNKNOWN,
    offset: int | None = None,
) -> Entry:
    """Return bytes that could not be read as an entry with unknown key and value."""
    opaque = Opaque.of(data, reason, offset=offset)
    return Entry(state, kind, key_group, None, opaque, opaque, len(data), b"", data)


@dataclass(slots=True)
class Notes:
    """Remarks about one keyed state; more are added while its entries are read."""

    complete: bool = True
    """False if anything is missing or damaged: keys may be absent, values may be outdated."""
    missing: list[Missing] = field(default_factory=list)
    """The streams that the upload does not hold."""
    sentences: list[str] = field(default_factory=list)

    def say(self, sentence: str, *, complete: bool = True) -> None:
        """Add a sentence, unless it is there; ``complete`` is False if it tells of a loss."""
        self.complete = self.complete and complete
        if sentence not in self.sentences and len(self.sentences) < MOST_SENTENCES:
            self.sentences.append(sentence)

    def miss(self, missing: Missing) -> None:
        self.complete = False
        self.missing.append(missing)


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds for reading one keyed state."""

    inflated_bytes: int = 256 * 2**20
    """The inflated size of one compressed key group or log."""
    table_bytes: int = 8 * 2**30
    """The inflated size of all blocks of one table."""
    block_bytes: int = 16 * 2**20
    """The inflated size of one block of a table."""
    value_bytes: int = 8 * 2**20
    """The size of a value that is decoded. It can take up to 30 times as much memory."""
    searched_bytes: int = 2 * 2**20
    """How much is decoded on trial to find where undecodable values end."""
    changed_keys: int = 1_000_000
    """How many keys of a changelog are held in memory."""
    tables: int = 1_000
    """How many table files of one state are read."""
    alive_bytes: int = 512 * 2**20
    """The size of all blocks in memory while the tables of one state are merged."""
    room: Room = field(default_factory=lambda: Room("bytes of state", 8 * 2**30), compare=False)
    """The budget for all that is inflated; a whole upload can share it."""

    def inflate(self, data: bytes | memoryview) -> bytes:
        """Inflate framed Snappy streams. Raises: Malformed."""
        content = inflate_frames(data, min(self.inflated_bytes, self.room.left))
        self.room.take(len(content))
        return content
