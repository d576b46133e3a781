"""The entries of keyed state, whatever layout it is stored in."""

from dataclasses import dataclass, field

from snapshots.readers.engines.flink.files import Missing
from snapshots.readers.engines.flink.types.values import Undecodable
from snapshots.readers.formats.budget import Room
from snapshots.readers.formats.cursor import Malformed, NotReadHere
from snapshots.readers.formats.opaque import Opaque
from snapshots.readers.formats.snappy import inflate_frames

TIMERS = "TIMERS"
UNKNOWN = "UNKNOWN"
MOST_SENTENCES = 100
KINDS = ("VALUE", "LIST", "REDUCING", "AGGREGATING", "MAP", TIMERS, UNKNOWN)


@dataclass(frozen=True, slots=True)
class Entry:
    """One key's value in one state, or bytes that could not be read.

    Attributes:
        state: the name of the state; None if it is unknown.
        kind: one of KINDS.
        key_group: none if it is unknown.
        namespace: none for the void namespace.
        key: opaque if it is unknown.
        value: for TIMERS the time stamp in ms, with one entry per timer. Opaque if it is unknown.
        size: bytes of the whole entry.
        raw_key: the stored bytes of an unknown key.
        raw_value: the stored bytes of an unknown value.
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
    *,
    damaged: bool = False,
) -> Entry:
    """Return bytes that could not be read as an entry with unknown key and value."""
    opaque = Opaque.of(data, reason, offset=offset, damaged=damaged)
    return Entry(state, kind, key_group, None, opaque, opaque, len(data), b"", data)


@dataclass(slots=True)
class Notes:
    """Remarks about one keyed state; more are added while its entries are read.

    Attributes:
        complete: false if anything is missing or damaged: keys may be absent, values may be
            outdated.
        missing: the streams that the upload does not hold.
        damage: the sentences about bytes that contradict themselves.
        not_read: the sentences about bytes that may be intact, and are not read to their end.
    """

    complete: bool = True
    missing: list[Missing] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    not_read: list[str] = field(default_factory=list)

    def say(self, sentence: str, *, complete: bool = True, is_whole: bool = False) -> None:
        """Add a sentence, unless it is there.

        Args:
            complete: False if the sentence tells of a loss.
            is_whole: whether all bytes were read nevertheless, so that none of them is missing.
        """
        self.complete = self.complete and complete
        _add(sentence, self.sentences)
        if not complete and not is_whole:
            _add(sentence, self.not_read)

    def lose(self, subject: str, malformed: Malformed) -> None:
        """Say what cannot be read of a table, a key group or a file.

        A type that is not decoded here says nothing about whether the bytes are whole. Such a
        reason is said once, and not of each key group.
        """
        is_type = isinstance(malformed, Undecodable)
        sentence = f"{malformed.what}." if is_type else f"{subject}: {malformed.what}."
        self.complete = False
        _add(sentence, self.sentences)
        if is_type:
            return
        _add(sentence, self.not_read if isinstance(malformed, NotReadHere) else self.damage)

    def miss(self, missing: Missing) -> None:
        self.complete = False
        self.missing.append(missing)


def _add(sentence: str, sentences: list[str]) -> None:
    if sentence not in sentences and len(sentences) < MOST_SENTENCES:
        sentences.append(sentence)


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds for reading one keyed state.

    Attributes:
        inflated_bytes: the inflated size of one compressed key group or log.
        table_bytes: the inflated size of all blocks of one table.
        block_bytes: the inflated size of one block of a table.
        value_bytes: the size of a value that is decoded. It can take up to 30 times as much memory.
        searched_bytes: how much is decoded on trial to find where undecodable values end.
        changed_keys: how many keys of a changelog are held in memory.
        tables: how many table files of one state are read.
        alive_bytes: the size of all blocks in memory while the tables of one state are merged.
        room: the budget for all that is inflated; a whole upload can share it.
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
        """Inflate framed Snappy streams. Raises: Malformed."""
        content = inflate_frames(data, min(self.inflated_bytes, self.room.left))
        self.room.take(len(content))
        return content
