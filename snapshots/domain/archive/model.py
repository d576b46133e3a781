"""What one source, an upload or an answer of an engine, says of a checkpoint of a job.

Instants are epoch milliseconds, durations milliseconds, sizes bytes. None, and the empty text,
mean that the source does not say.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from snapshots.domain.model.as_json import JsonName

UNKNOWN, IN_PROGRESS, FAILED, COMPLETED = STATUSES = (
    "unknown",
    "in progress",
    "failed",
    "completed",
)
"""The statuses in the order in which later knowledge replaces earlier."""

START_DELAY, ALIGNMENT, SYNC, ASYNC = PHASES = ("start_delay", "alignment", "sync", "async_")
NUMBERS = (*PHASES, "duration", "bytes", "uploaded", "in_flight")


@dataclass(frozen=True, slots=True)
class SubtaskFacts:
    """What one subtask did for a checkpoint. None means that the source does not say.

    Attributes:
        index: the number of the subtask.
        acknowledged: whether the subtask acknowledged. None if it is not known.
        unaligned: whether the subtask took part unaligned. None if it is not known.
        start_delay: the milliseconds from the trigger to the first barrier. None if it is not
            known.
        alignment: the milliseconds from the first barrier to the last. None if it is not known.
        sync: the milliseconds that the copy of its state took. None if it is not known.
        async_: the milliseconds that the upload took. None if it is not known.
        duration: the milliseconds from the trigger to the acknowledgement. None if it is not known.
        bytes: the size of its state. None if it is not known.
        uploaded: how many of these bytes are new. None if it is not known.
        in_flight: the bytes of stored data in flight. None if it is not known.
    """

    index: int
    acknowledged: bool | None = None
    unaligned: bool | None = None
    start_delay: int | None = None
    alignment: int | None = None
    sync: int | None = None
    async_: Annotated[int | None, JsonName("async_")] = None
    duration: int | None = None
    bytes: int | None = None
    uploaded: int | None = None
    in_flight: int | None = None


@dataclass(frozen=True, slots=True)
class VertexFacts:
    """What the subtasks of one vertex did for a checkpoint.

    Attributes:
        parallelism: how many subtasks take part. None if it is not known.
        subtasks: the subtasks that are known, by index.
        acknowledged: how many subtasks acknowledged. None if it is not known.
    """

    id: str
    name: str = ""
    parallelism: int | None = None
    subtasks: tuple[SubtaskFacts, ...] = ()
    acknowledged: int | None = None


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """One checkpoint of a job.

    Attributes:
        pipeline: the pipeline of the checkpoint if the engine numbers checkpoints by pipeline, else
            0.
        kind: the kind in words, such as ``unaligned checkpoint``.
        ended_at: when the checkpoint completed or was given up.
        is_bytes_told: whether ``bytes`` is the engine's own figure; files are counted otherwise.
        uploaded: the new bytes of an incremental checkpoint.
        subtasks: how many subtasks take part.
        acknowledged: how many subtasks acknowledged.
        failure: why the checkpoint failed, in the engine's words.
        phase: the phase in which the checkpoint failed, if the source says so.
        path: where the checkpoint lies.
        vertices: the vertices, by id.
    """

    number: int
    pipeline: int = 0
    kind: str = ""
    status: str = UNKNOWN
    triggered_at: int | None = None
    ended_at: int | None = None
    duration: int | None = None
    bytes: int | None = None
    is_bytes_told: bool = False
    uploaded: int | None = None
    in_flight: int | None = None
    subtasks: int | None = None
    acknowledged: int | None = None
    failure: str = ""
    phase: str = ""
    path: str = ""
    vertices: tuple[VertexFacts, ...] = ()

    @property
    def key(self) -> tuple[int, int]:
        """Return what identifies the checkpoint within its job."""
        return self.pipeline, self.number

    @property
    def is_final(self) -> bool:
        """Tell whether the checkpoint has ended and will not change."""
        return self.status in (FAILED, COMPLETED)

    def all_subtasks(self) -> Iterator[tuple[str, SubtaskFacts]]:
        """Yield each subtask with its name, as ``map[1]``."""
        for vertex in self.vertices:
            for subtask in vertex.subtasks:
                yield called(vertex, subtask.index), subtask


@dataclass(frozen=True, slots=True)
class JobFacts:
    """A job of an engine and its checkpoints.

    Attributes:
        key: the engine's id of the job.
        contents: the places, in the inventory of the upload, of the checkpoints that it holds, by
            pipeline and number.
        counts: how many checkpoints have each status, and their ``total``, as the engine counts.
    """

    engine: str
    key: str
    name: str = ""
    state: str = ""
    checkpoints: tuple[CheckpointFacts, ...] = ()
    contents: Mapping[tuple[int, int], int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


def called(vertex: VertexFacts, index: int) -> str:
    """Return the name of a subtask as people read it, such as ``parse[3]``."""
    return f"{vertex.name or vertex.id}[{index}]"
