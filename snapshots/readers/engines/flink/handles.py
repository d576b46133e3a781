"""The handles in `_metadata`, which say where the bytes of a Flink checkpoint are.

`size` is the state size as Flink counts it, `uploaded_size` what this checkpoint itself wrote,
both in bytes. `handle_id` is None if the version of `_metadata` has none.
Source: Flink, MetadataV2V3SerializerBase and the classes named at each handle.
"""

from collections.abc import Iterator
from dataclasses import dataclass

NO_DATA = -1  # an offset; Flink calls it NO_OFFSET_SET
MODES = ("SPLIT_DISTRIBUTE", "UNION", "BROADCAST")
INPUT, OUTPUT = "input", "output"
EXCLUSIVE, SHARED = "exclusive", "shared"


@dataclass(frozen=True, slots=True)
class Inline:
    """Bytes inside `_metadata` (ByteStreamStateHandle).

    Attributes:
        name: a label without further meaning.
    """

    name: str
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class File:
    """A whole file (FileStateHandle).

    Attributes:
        path: the path on the cluster. It is never opened.
        log: whether it is a log of changes, whose ``size`` is not that of the file.
    """

    path: str
    size: int
    log: bool = False


@dataclass(frozen=True, slots=True)
class RelativeFile:
    """A whole file (RelativeFileStateHandle).

    Attributes:
        path: the path below the folder of this `_metadata`.
        log: whether it is a log of changes, whose ``size`` is not that of the file.
    """

    path: str
    size: int
    log: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """``size`` bytes of a file, from ``start`` on (SegmentFileStateHandle).

    Attributes:
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

    Attributes:
        first: the first key group.
        offsets: the offset of each key group from the first one on; NO_DATA for a key group of a
            raw stream for which nothing was written.
        savepoint: whether it is the savepoint form, which always has the full layout.
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
    """A file of a state backend, with the backend's name for it."""

    name: str
    stream: Stream


@dataclass(frozen=True, slots=True)
class Incremental:
    """The files of RocksDB or ForSt (IncrementalRemoteKeyedStateHandle).

    Attributes:
        first: the first key group.
        count: how many key groups there are.
        checkpoint_id: the checkpoint that wrote this handle first.
        meta: the stream that describes the states.
        stored_size: how many bytes were uploaded; None if it is not stored.
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
    """One change of a changelog.

    Attributes:
        key_group: -1 for the description of a state.
    """

    key_group: int
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
    """Changes in a log.

    Attributes:
        offset: the offset of the first change, in inflated bytes from the log's second byte on.
    """

    offset: int
    stream: Stream


@dataclass(frozen=True, slots=True)
class ChangesInFiles:
    """Changes in log files (ChangelogStateHandleStreamImpl).

    Attributes:
        storage: the kind of storage; None if the version of `_metadata` has none.
    """

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
    """The offsets of the elements of one operator state.

    Attributes:
        mode: one of MODES.
    """

    name: str
    mode: str
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OperatorState:
    """The operator state of one subtask (OperatorStreamStateHandle).

    Attributes:
        merging: the cluster's folders (task-owned, shared) for merged files; None without file
            merging.
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
    """The buffers of one channel.

    Attributes:
        place: (gate, channel) or (partition, subpartition).
        size: Bytes, including the lengths of buffers.
        offsets: the offset of each buffer in the stream.
    """

    place: tuple[int, int]
    size: int
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Channels:
    """The in-flight buffers of one subtask (the four channel state handles).

    Attributes:
        side: INPUT or OUTPUT.
        merged: whether the handle has several channels, as Flink 2.1 and later write it.
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
