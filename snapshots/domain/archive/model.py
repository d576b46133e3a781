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
    """What one subtask did for a checkpoint. None means that the source does not say."""

    index: int
    """The number of the subtask."""
    acknowledged: bool | None = None
    """Whether the subtask acknowledged. None if it is not known."""
    unaligned: bool | None = None
    """Whether the subtask took part unaligned. None if it is not known."""
    start_delay: int | None = None
    """The milliseconds from the trigger to the first barrier. None if it is not known."""
    alignment: int | None = None
    """The milliseconds from the first barrier to the last. None if it is not known."""
    sync: int | None = None
    """The milliseconds that the copy of its state took. None if it is not known."""
    async_: Annotated[int | None, JsonName("async_")] = None
    """The milliseconds that the upload took. None if it is not known."""
    duration: int | None = None
    """The milliseconds from the trigger to the acknowledgement. None if it is not known."""
    bytes: int | None = None
    """The size of its state. None if it is not known."""
    uploaded: int | None = None
    """How many of these bytes are new. None if it is not known."""
    in_flight: int | None = None
    """The bytes of stored data in flight. None if it is not known."""


@dataclass(frozen=True, slots=True)
class VertexFacts:
    """What the subtasks of one vertex did for a checkpoint."""

    id: str
    name: str = ""
    parallelism: int | None = None
    """How many subtasks take part. None if it is not known."""
    subtasks: tuple[SubtaskFacts, ...] = ()
    """The subtasks that are known, by index."""


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """One checkpoint of a job."""

    number: int
    pipeline: int = 0
    """The pipeline of the checkpoint if the engine numbers checkpoints by pipeline, else 0."""
    kind: str = ""
    """The kind in words, such as ``unaligned checkpoint``."""
    status: str = UNKNOWN
    triggered_at: int | None = None
    ended_at: int | None = None
    """When the checkpoint completed or was given up."""
    duration: int | None = None
    bytes: int | None = None
    is_bytes_told: bool = False
    """Whether ``bytes`` is the engine's own figure; files are counted otherwise."""
    uploaded: int | None = None
    """The new bytes of an incremental checkpoint."""
    in_flight: int | None = None
    subtasks: int | None = None
    """How many subtasks take part."""
    acknowledged: int | None = None
    """How many subtasks acknowledged."""
    failure: str = ""
    """Why the checkpoint failed, in the engine's words."""
    phase: str = ""
    """The phase in which the checkpoint failed, if the source says so."""
    path: str = ""
    """Where the checkpoint lies."""
    vertices: tuple[VertexFacts, ...] = ()
    """The vertices, by id."""

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
    """A job of an engine and its checkpoints."""

    engine: str
    key: str
    """The engine's id of the job."""
    name: str = ""
    state: str = ""
    checkpoints: tuple[CheckpointFacts, ...] = ()
    contents: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """The places, in the inventory of the upload, of the checkpoints that it holds, by pipeline and
    number.
    """
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many checkpoints have each status, and their ``total``, as the engine counts."""


def called(vertex: VertexFacts, index: int) -> str:
    """Return the name of a subtask as people read it, such as ``parse[3]``."""
    return f"{vertex.name or vertex.id}[{index}]"
