"""Where the bytes of a Flink checkpoint are: the handles that `_metadata` is made of.

`size` is what Flink counts as state size, `uploaded_size` what this checkpoint wrote itself, both
in bytes. Source: Flink, MetadataV2V3SerializerBase and the classes named at each handle.
"""

from collections.abc import Iterator
from dataclasses import dataclass

MODES = ("SPLIT_DISTRIBUTE", "UNION", "BROADCAST")
INPUT, OUTPUT = "input", "output"
EXCLUSIVE, SHARED = "exclusive", "shared"


@dataclass(frozen=True, slots=True)
class Inline:
    """The bytes themselves (ByteStreamStateHandle). name: a label only."""

    name: str
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class File:
    """A whole file (FileStateHandle). path: as the cluster named it, not a path of ours.

    log: a log of changes, whose size here is not that of the file.
    """

    path: str
    size: int
    log: bool = False


@dataclass(frozen=True, slots=True)
class RelativeFile:
    """A whole file (RelativeFileStateHandle). path: below the folder of this `_metadata`.

    log: as in File.
    """

    path: str
    size: int
    log: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """``size`` bytes of a file, from ``start`` on (SegmentFileStateHandle).

    scope: EXCLUSIVE or SHARED.
    """

    path: str
    start: int
    size: int
    scope: str
    logical_id: str


@dataclass(frozen=True, slots=True)
class EmptySegment:
    """No bytes (EmptySegmentFileStateHandle)."""

    size: int = 0


@dataclass(frozen=True, slots=True)
class KeyGroups:
    """One stream with an offset per key group (KeyGroupsStateHandle and its savepoint form).

    first: the first key group; offsets: one for each from there on. savepoint: always the full
    layout. handle_id: None where the version has none.
    """

    first: int
    offsets: tuple[int, ...]
    stream: "Stream"
    savepoint: bool = False
    handle_id: str | None = None

    @property
    def count(self) -> int:
        return len(self.offsets)

    @property
    def size(self) -> int:
        return self.stream.size

    @property
    def uploaded_size(self) -> int:
        return self.size


Stream = Inline | File | RelativeFile | Segment | EmptySegment | KeyGroups


@dataclass(frozen=True, slots=True)
class BackendFile:
    """A file of a state backend. name: what the backend called it."""

    name: str
    stream: Stream


@dataclass(frozen=True, slots=True)
class Incremental:
    """The files of RocksDB or ForSt (IncrementalRemoteKeyedStateHandle).

    meta: the stream with the serializers. checkpoint_id: of the checkpoint that wrote it first.
    stored_size: what was uploaded, None where the version does not say.
    """

    first: int
    count: int
    checkpoint_id: int
    backend_id: str
    meta: Stream
    shared: tuple[BackendFile, ...]
    private: tuple[BackendFile, ...]
    stored_size: int | None = None
    handle_id: str | None = None

    @property
    def size(self) -> int:
        files = self.shared + self.private
        return self.meta.size + sum(file.stream.size for file in files)

    @property
    def uploaded_size(self) -> int:
        return self.size if self.stored_size is None else self.stored_size


@dataclass(frozen=True, slots=True)
class Changelog:
    """State and the changes since (ChangelogStateBackendHandleImpl), in this order."""

    first: int
    count: int
    uploaded_size: int
    materialised: tuple["Keyed", ...]
    changes: tuple["Keyed", ...]
    materialisation_id: int
    checkpoint_id: int | None = None
    handle_id: str | None = None

    @property
    def size(self) -> int:
        return sum(handle.size for handle in self.materialised + self.changes)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a changelog. key_group: -1 for meta data."""

    key_group: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ChangesInMemory:
    """Changes inside `_metadata` (InMemoryChangelogStateHandle), numbered start to before end."""

    first: int
    count: int
    start: int
    end: int
    changes: tuple[Change, ...]
    handle_id: str

    @property
    def size(self) -> int:
        return sum(len(change.data) for change in self.changes)

    @property
    def uploaded_size(self) -> int:
        return self.size


@dataclass(frozen=True, slots=True)
class LogPart:
    """Changes in a log, from ``offset`` on: behind the log's first byte, in inflated bytes."""

    offset: int
    stream: Stream


@dataclass(frozen=True, slots=True)
class ChangesInFiles:
    """Changes in log files (ChangelogStateHandleStreamImpl). storage: None where not said."""

    first: int
    count: int
    parts: tuple[LogPart, ...]
    size: int
    uploaded_size: int
    handle_id: str
    storage: str | None = None


Keyed = KeyGroups | Incremental | Changelog | ChangesInMemory | ChangesInFiles


@dataclass(frozen=True, slots=True)
class OperatorStateOffsets:
    """Where the elements of one operator state begin. mode: one of MODES."""

    name: str
    mode: str
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OperatorState:
    """Operator state of one subtask (OperatorStreamStateHandle).

    merging: with file merging, whose two folders are (task-owned, shared) as the cluster names
    them; None without.
    """

    states: tuple[OperatorStateOffsets, ...]
    stream: Stream
    merging: tuple[str, str] | None = None

    @property
    def size(self) -> int:
        return self.stream.size

    @property
    def uploaded_size(self) -> int:
        return self.size


@dataclass(frozen=True, slots=True)
class ChannelPart:
    """One channel's buffers. place: (gate, channel) or (partition, subpartition).

    offsets: of each buffer in the stream. size: as Flink counts it, lengths of buffers included.
    """

    place: tuple[int, int]
    size: int
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Channels:
    """In-flight buffers of one subtask (the four channel state handles).

    side: INPUT or OUTPUT. merged: several channels in one handle, as Flink >= 2.1 writes it.
    """

    side: str
    subtask: int
    size: int
    parts: tuple[ChannelPart, ...]
    stream: Stream
    merged: bool

    @property
    def uploaded_size(self) -> int:
        return self.size


Handle = OperatorState | Keyed | Channels


def streams(handle: Handle | Stream) -> Iterator[Stream]:
    """Every stream that a handle leads to, the ones without bytes of their own file included."""
    match handle:
        case KeyGroups(stream=inner) | OperatorState(stream=inner) | Channels(stream=inner):
            yield from streams(inner)
        case Incremental():
            yield from streams(handle.meta)
            for file in handle.shared + handle.private:
                yield from streams(file.stream)
        case Changelog():
            for part in handle.materialised + handle.changes:
                yield from streams(part)
        case ChangesInFiles():
            for part in handle.parts:
                yield from streams(part.stream)
        case ChangesInMemory():
            return
        case _:
            yield handle
