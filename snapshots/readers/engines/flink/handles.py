"""The handles in `_metadata`, which say where the bytes of a Flink checkpoint are.

`size` is the state size as Flink counts it, `uploaded_size` what this checkpoint itself wrote,
both in bytes. `handle_id` is None if the version of `_metadata` has none.
Source: Flink, MetadataV2V3SerializerBase and the classes named at each handle.
"""

from collections.abc import Iterator
from dataclasses import dataclass

MODES = ("SPLIT_DISTRIBUTE", "UNION", "BROADCAST")
INPUT, OUTPUT = "input", "output"
EXCLUSIVE, SHARED = "exclusive", "shared"


@dataclass(frozen=True, slots=True)
class Inline:
    """Bytes inside `_metadata` (ByteStreamStateHandle)."""

    name: str
    """A label without further meaning."""
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class File:
    """A whole file (FileStateHandle)."""

    path: str
    """The path on the cluster. It is never opened."""
    size: int
    log: bool = False
    """Whether it is a log of changes, whose ``size`` is not that of the file."""


@dataclass(frozen=True, slots=True)
class RelativeFile:
    """A whole file (RelativeFileStateHandle)."""

    path: str
    """The path below the folder of this `_metadata`."""
    size: int
    log: bool = False
    """Whether it is a log of changes, whose ``size`` is not that of the file."""


@dataclass(frozen=True, slots=True)
class Segment:
    """``size`` bytes of a file, from ``start`` on (SegmentFileStateHandle)."""

    path: str
    start: int
    size: int
    scope: str
    """EXCLUSIVE or SHARED."""
    logical_id: str


@dataclass(frozen=True, slots=True)
class EmptySegment:
    """No bytes (EmptySegmentFileStateHandle)."""

    size: int = 0


@dataclass(frozen=True, slots=True)
class KeyGroups:
    """One stream with an offset per key group (KeyGroupsStateHandle and its savepoint form)."""

    first: int
    """The first key group."""
    offsets: tuple[int, ...]
    """The offset of each key group from the first one on."""
    stream: "Stream"
    savepoint: bool = False
    """Whether it is the savepoint form, which always has the full layout."""
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
    """A file of a state backend, with the backend's name for it."""

    name: str
    stream: Stream


@dataclass(frozen=True, slots=True)
class Incremental:
    """The files of RocksDB or ForSt (IncrementalRemoteKeyedStateHandle)."""

    first: int
    """The first key group."""
    count: int
    """How many key groups there are."""
    checkpoint_id: int
    """The checkpoint that wrote this handle first."""
    backend_id: str
    meta: Stream
    """The stream that describes the states."""
    shared: tuple[BackendFile, ...]
    private: tuple[BackendFile, ...]
    stored_size: int | None = None
    """How many bytes were uploaded; None if it is not stored."""
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
    """Materialised state, then the changes since (ChangelogStateBackendHandleImpl)."""

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
    """One change of a changelog."""

    key_group: int
    """-1 for the description of a state."""
    data: bytes


@dataclass(frozen=True, slots=True)
class ChangesInMemory:
    """Changes ``start`` .. ``end`` - 1 inside `_metadata` (InMemoryChangelogStateHandle)."""

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
    """Changes in a log."""

    offset: int
    """The offset of the first change, in inflated bytes from the log's second byte on."""
    stream: Stream


@dataclass(frozen=True, slots=True)
class ChangesInFiles:
    """Changes in log files (ChangelogStateHandleStreamImpl)."""

    first: int
    count: int
    parts: tuple[LogPart, ...]
    size: int
    uploaded_size: int
    handle_id: str
    storage: str | None = None
    """The kind of storage; None if the version of `_metadata` has none."""


Keyed = KeyGroups | Incremental | Changelog | ChangesInMemory | ChangesInFiles


@dataclass(frozen=True, slots=True)
class OperatorStateOffsets:
    """The offsets of the elements of one operator state."""

    name: str
    mode: str
    """One of MODES."""
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OperatorState:
    """The operator state of one subtask (OperatorStreamStateHandle)."""

    states: tuple[OperatorStateOffsets, ...]
    stream: Stream
    merging: tuple[str, str] | None = None
    """The cluster's folders (task-owned, shared) for merged files; None without file merging."""

    @property
    def size(self) -> int:
        return self.stream.size

    @property
    def uploaded_size(self) -> int:
        return self.size


@dataclass(frozen=True, slots=True)
class ChannelPart:
    """The buffers of one channel."""

    place: tuple[int, int]
    """(gate, channel) or (partition, subpartition)."""
    size: int
    """Bytes, including the lengths of buffers."""
    offsets: tuple[int, ...]
    """The offset of each buffer in the stream."""


@dataclass(frozen=True, slots=True)
class Channels:
    """The in-flight buffers of one subtask (the four channel state handles)."""

    side: str
    """INPUT or OUTPUT."""
    subtask: int
    size: int
    parts: tuple[ChannelPart, ...]
    stream: Stream
    merged: bool
    """Whether the handle has several channels, as Flink 2.1 and later write it."""

    @property
    def uploaded_size(self) -> int:
        return self.size


Handle = OperatorState | Keyed | Channels


def streams(handle: Handle | Stream) -> Iterator[Stream]:
    """Yield every stream that a handle leads to, including those without a file of their own."""
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
            for log in handle.parts:
                yield from streams(log.stream)
        case ChangesInMemory():
            return
        case _:
            yield handle
