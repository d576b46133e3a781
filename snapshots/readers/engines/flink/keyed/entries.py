"""What keyed state consists of, whichever way it is stored."""

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
    """One key's value in one state, or a stretch of bytes that nobody could read.

    state, key_group: None where not known. kind: one of KINDS. namespace: None for the void one.
    value: of TIMERS the time stamp in ms, one entry per timer. key, value: Opaque where not known;
    raw_key and raw_value are then their bytes, as they are stored. size: bytes of the whole entry.
    """

    state: str | None
    kind: str
    key_group: int | None
    namespace: object
    key: object
    value: object
    size: int
    raw_key: bytes | memoryview = b""
    raw_value: bytes | memoryview = b""

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
    """A stretch of bytes as an entry of which neither key nor value is known."""
    opaque = Opaque.of(data, reason, offset=offset)
    return Entry(state, kind, key_group, None, opaque, opaque, len(data), b"", data)


@dataclass(slots=True)
class Notes:
    """What has to be said about a keyed state; more comes in while its entries are read.

    complete: False where something is missing or damaged, so that keys may lack and values may
    be older ones. missing: the streams that are not part of the upload.
    """

    complete: bool = True
    missing: list[Missing] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)

    def say(self, sentence: str, *, complete: bool = True) -> None:
        """Says it once. complete: False where the sentence means that something lacks."""
        self.complete = self.complete and complete
        if sentence not in self.sentences and len(self.sentences) < MOST_SENTENCES:
            self.sentences.append(sentence)

    def miss(self, missing: Missing) -> None:
        self.complete = False
        self.missing.append(missing)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one keyed state may take.

    inflated_bytes: of one compressed key group or log. table_bytes: of all blocks of a table,
    inflated. block_bytes: of one block. value_bytes: of a value that is decoded, which can take
    up to 30 times as much memory. searched_bytes: how much is decoded on trial behind values that
    cannot be. changed_keys: of a changelog, which have to be held in memory. tables: of one state.
    alive_bytes: of the blocks of its tables that are read side by side. room: for everything that
    is inflated; a whole upload can share it.
    """

    inflated_bytes: int = 256 * 2**20
    table_bytes: int = 8 * 2**30
    block_bytes: int = 16 * 2**20
    value_bytes: int = 8 * 2**20
    searched_bytes: int = 2 * 2**20
    changed_keys: int = 1_000_000
    tables: int = 1_000
    alive_bytes: int = 512 * 2**20
    room: Room = field(default_factory=lambda: Room("bytes of state", 8 * 2**30), compare=False)

    def inflate(self, data: bytes | memoryview) -> bytes:
        """The content of framed Snappy streams. Raises: Malformed."""
        content = inflate_frames(data, min(self.inflated_bytes, self.room.left))
        self.room.take(len(content))
        return content
