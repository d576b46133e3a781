"""Read one checkpoint of an upload on demand: its state, in-flight data and types of states."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from snapshots.readers.engines.flink.channels.in_flight import InFlight, read_in_flight
from snapshots.readers.engines.flink.channels.joining import Joined, Unjoined, join
from snapshots.readers.engines.flink.files import Files, Missing
from snapshots.readers.engines.flink.handles import (
    Changelog,
    Incremental,
    Keyed,
    KeyGroups,
    OperatorState,
    Stream,
)
from snapshots.readers.engines.flink.keyed.entries import Limits
from snapshots.readers.engines.flink.keyed.keyed_meta import read_keyed_meta
from snapshots.readers.engines.flink.keyed.keyed_state import KeyedState, read_keyed
from snapshots.readers.engines.flink.keyed.raw_timers import read_raw_timers
from snapshots.readers.engines.flink.metadata import Operator, Subtask
from snapshots.readers.engines.flink.operator_state import (
    OperatorStateInventory,
    read_operator_state,
)
from snapshots.readers.engines.flink.types.element_types import types_of
from snapshots.readers.engines.flink.types.values import Serializer
from snapshots.readers.engines.flink.upload import FlinkUpload, StoredCheckpoint
from snapshots.readers.formats.cursor import Cursor

MOST_DESCRIBED = 4 * 2**20  # bytes of a checkpoint that describe types
LONGEST_UNENDED = 64 * 2**10  # bytes of a description whose end is not known


@dataclass(frozen=True, slots=True)
class SubtaskKeyedState:
    """The keyed state of one subtask; its entries are read on demand."""

    operator: Operator
    subtask: Subtask
    handle: Keyed
    state: KeyedState


@dataclass(frozen=True, slots=True)
class SubtaskState:
    """The operator state of one subtask.

    Attributes:
        raw: whether it is raw state, which only the operator can decode.
    """

    operator: Operator
    subtask: Subtask
    raw: bool
    handle: OperatorState
    contents: OperatorStateInventory


def operator_states(upload: FlinkUpload, checkpoint: StoredCheckpoint) -> Iterator[SubtaskState]:
    """Yield the operator state of every subtask that has any, in the order of the metadata."""
    for operator, subtask in _subtasks(checkpoint):
        for raw, handle in ((False, subtask.managed_operator), (True, subtask.raw_operator)):
            if handle is not None:
                data = upload.files.read(handle.stream, checkpoint.folder)
                contents = read_operator_state(handle, data, raw=raw)
                yield SubtaskState(operator, subtask, raw, handle, contents)


def keyed_states(
    upload: FlinkUpload, checkpoint: StoredCheckpoint, limits: Limits | None = None
) -> Iterator[SubtaskKeyedState]:
    """Yield the managed keyed state of every subtask that has any, in the metadata's order."""

    def read(stream: Stream) -> bytes | memoryview | Missing:
        return upload.files.read(stream, checkpoint.folder)

    limits = replace(limits or Limits(), room=upload.files.room)
    for operator, subtask in _subtasks(checkpoint):
        if (handle := subtask.managed_keyed) is not None:
            state = read_keyed(handle, read, operator.max_parallelism, limits)
            yield SubtaskKeyedState(operator, subtask, handle, state)


def raw_timers(
    upload: FlinkUpload, checkpoint: StoredCheckpoint
) -> Iterator[SubtaskKeyedState | Missing | int]:
    """Yield the raw keyed state of every subtask that has any, if it holds Flink's own timers.

    Else yield why it is not read, or its bytes: raw keyed state of another form is private to the
    operator.
    """
    for operator, subtask in _subtasks(checkpoint):
        if (handle := subtask.raw_keyed) is None:
            continue
        state = None
        if isinstance(handle, KeyGroups):
            data = upload.files.read(handle.stream, checkpoint.folder)
            if isinstance(data, Missing):
                yield data
                continue
            state = read_raw_timers(handle, data)
        yield handle.size if state is None else SubtaskKeyedState(operator, subtask, handle, state)


def _subtasks(checkpoint: StoredCheckpoint) -> Iterator[tuple[Operator, Subtask]]:
    for operator in checkpoint.metadata.operators if checkpoint.metadata else ():
        for subtask in operator.subtasks:
            yield operator, subtask


def in_flight(upload: FlinkUpload, checkpoint: StoredCheckpoint) -> InFlight:
    """Return the in-flight buffers, channel by channel."""
    if checkpoint.metadata is None:
        return InFlight((), {})
    return read_in_flight(checkpoint.metadata, upload.files, checkpoint.folder)


def channels(upload: FlinkUpload, checkpoint: StoredCheckpoint) -> Joined:
    """Return the in-flight data from subtask to subtask, as far as the graph is in the upload."""
    halves = in_flight(upload, checkpoint).halves
    job = next((job for job in upload.jobs if job.id == checkpoint.job and job.id), None)
    if job is None or job.rest is None or job.rest.graph is None:
        reason = "The upload does not tell the graph of the job: the REST API's plan is missing."
        return Joined((), tuple(Unjoined(half, reason) for half in halves))
    return join(halves, job.rest.graph, checkpoint.vertices or {})


def state_types(upload: FlinkUpload, checkpoint: StoredCheckpoint) -> dict[str, Serializer]:
    """Return the types of all states by name. In-flight records may have the same types."""
    return types_described(descriptions(upload, checkpoint))


def descriptions(upload: FlinkUpload, checkpoint: StoredCheckpoint) -> list[bytes]:
    """Return the distinct descriptions of keyed state, together at most MOST_DESCRIBED bytes."""
    distinct: dict[bytes, None] = {}
    left = MOST_DESCRIBED
    for _, subtask in _subtasks(checkpoint):
        if subtask.managed_keyed is not None:
            for data in _descriptions(upload.files, checkpoint.folder, subtask.managed_keyed):
                if data not in distinct and len(data) <= left:
                    left -= len(data)
                    distinct[data] = None
    return list(distinct)


def types_described(descriptions: Iterable[bytes]) -> dict[str, Serializer]:
    """Return the types in descriptions of keyed state, by name."""
    serializers: list[Serializer] = []
    for data in descriptions:
        meta = read_keyed_meta(Cursor(data))
        serializers.append(meta.key)
        for state in meta.states:
            serializers += (state.value, state.element, state.user_key)
    return types_of(serializers)


def _descriptions(files: Files, folder: str, handle: Keyed) -> Iterator[bytes]:
    """Yield what stands before the keyed state of one handle."""
    match handle:
        case KeyGroups(stream=stream) | Incremental(meta=stream):
            data = files.read(stream, folder)
            if not isinstance(data, Missing):
                end = read_keyed_meta(Cursor(data)).end
                yield bytes(data[: LONGEST_UNENDED if end is None else end])
        case Changelog():
            for part in handle.materialised:
                yield from _descriptions(files, folder, part)
