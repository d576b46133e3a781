"""Read the in-flight buffers of an unaligned checkpoint.

The contents of a channel lie in two halves: what the consumer had received (input state), and what
the producer had not sent yet (output state). Source: Flink, ChannelStateSerializerImpl.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from snapshots.readers.engines.flink.files import Files, Missing
from snapshots.readers.engines.flink.handles import Channels, Inline, Segment, Stream
from snapshots.readers.engines.flink.metadata import Metadata
from snapshots.readers.formats.cursor import Cursor, Malformed

_BEGINS_WITH = 0  # an i32, the version of the stream
_LENGTH_BYTES = 4


@dataclass(frozen=True, slots=True)
class Half:
    """The buffers that one subtask recorded for one of its channels.

    Attributes:
        side: INPUT or OUTPUT.
        place: (gate, channel) of an input, (partition, subpartition) of an output.
        size: Bytes, as the handle counts them.
        offsets: the offset of each buffer in its stream.
        buffers: the bytes of each buffer; a single one for inline state.
        problem: why there are no buffers, as a sentence.
        is_missing: whether that is because the stream is missing, or is not read.
    """

    operator: str
    subtask: int
    side: str
    place: tuple[int, int]
    size: int
    merged: bool
    offsets: tuple[int, ...]
    buffers: tuple[memoryview, ...]
    problem: str | None = None
    is_missing: bool = False

    @property
    def byte_count(self) -> int:
        return sum(len(buffer) for buffer in self.buffers)

    def data(self) -> bytes:
        return b"".join(self.buffers)


@dataclass(frozen=True, slots=True)
class InFlight:
    """The in-flight buffers of one checkpoint.

    Attributes:
        halves: all halves, in the order of the metadata.
        unread: for each stream (its path, or "inline" with a number) its bytes that no buffer has.
    """

    halves: tuple[Half, ...]
    unread: dict[str, int]

    @property
    def byte_count(self) -> int:
        return sum(half.byte_count for half in self.halves)


def read_in_flight(metadata: Metadata, files: Files, folder: str) -> InFlight:
    """Read the in-flight buffers of a checkpoint; ``folder`` is that of its `_metadata`."""
    halves: list[Half] = []
    streams: dict[str, _ChannelStream] = {}
    for operator, handle in _handles(metadata):
        name = _name(handle.stream, len(streams))
        if name not in streams:
            streams[name] = _ChannelStream(files.read(handle.stream, folder))
        halves += _halves(operator, handle, streams[name])
    return InFlight(tuple(halves), {name: stream.unread for name, stream in streams.items()})


def _handles(metadata: Metadata) -> Iterator[tuple[str, Channels]]:
    for operator in metadata.operators:
        for subtask in operator.subtasks:
            for handle in (*subtask.inputs, *subtask.outputs):
                yield operator.id, handle


def _name(stream: Stream, number: int) -> str:
    """Return a name that handles have in common if they share a file; inline ones never do."""
    match stream:
        case Inline():
            return f"inline {number}"
        case Segment():
            return f"{stream.path} from {stream.start}"
    return getattr(stream, "path", f"stream {number}")


class _ChannelStream:
    """One stream of buffers; no byte of it is returned twice."""

    def __init__(self, data: bytes | memoryview | Missing) -> None:
        self.is_missing = isinstance(data, Missing)
        self.problem = data.reason if isinstance(data, Missing) else None
        self._data = memoryview(b"" if isinstance(data, Missing) else data)
        self._taken: set[int] = set()
        self.unread = 0
        if self.problem is None:
            self._begin()

    def _begin(self) -> None:
        self.unread = len(self._data)
        if len(self._data) < _LENGTH_BYTES or Cursor(self._data).i32() != _BEGINS_WITH:
            self.problem = "The file of in-flight buffers has a wrong beginning."
        else:
            self.unread -= _LENGTH_BYTES

    def buffer(self, offset: int) -> memoryview:
        """Return the buffer at ``offset``. Raises: Malformed, also if two buffers overlap."""
        cursor = Cursor(self._data, min(offset, len(self._data)))
        length = cursor.count()
        begin = cursor.position
        self.unread -= _LENGTH_BYTES + length
        if offset in self._taken or offset < _LENGTH_BYTES or self.unread < 0:
            raise Malformed("Two buffers lie in the same bytes", offset)
        self._taken.add(offset)
        return self._data[begin : begin + length]


def _halves(operator: str, handle: Channels, stream: _ChannelStream) -> Iterable[Half]:
    for part in handle.parts:
        buffers: tuple[memoryview, ...] = ()
        problem = stream.problem
        if problem is None:
            try:
                buffers = tuple(stream.buffer(offset) for offset in part.offsets)
            except Malformed as malformed:
                problem = f"{malformed}."
        yield Half(
            operator,
            handle.subtask,
            handle.side,
            part.place,
            part.size,
            handle.merged,
            part.offsets,
            buffers,
            problem,
            stream.is_missing,
        )
