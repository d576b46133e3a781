"""What one source (an upload, an answer of an engine) knows of a checkpoint of a job of an engine.

Instants are epoch milliseconds, durations milliseconds, sizes bytes. None, and the empty text, is
what the source does not say.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

UNKNOWN, IN_PROGRESS, FAILED, COMPLETED = STATUSES = (
    "unknown",
    "in progress",
    "failed",
    "completed",
)
"""In the order in which later knowledge replaces earlier."""

START_DELAY, ALIGNMENT, SYNC, ASYNC = PHASES = ("start_delay", "alignment", "sync", "async_")
NUMBERS = (*PHASES, "duration", "bytes", "uploaded", "in_flight")


@dataclass(frozen=True, slots=True)
class SubtaskFacts:
    """acknowledged: None where not known. duration: from the trigger to the acknowledgement.

    start_delay: from the trigger to the first barrier; alignment: from there to the last one.
    in_flight: stored data of channels. unaligned: how this subtask took part.
    """

    index: int
    acknowledged: bool | None = None
    unaligned: bool | None = None
    start_delay: int | None = None
    alignment: int | None = None
    sync: int | None = None
    async_: int | None = None
    duration: int | None = None
    bytes: int | None = None
    uploaded: int | None = None
    in_flight: int | None = None


@dataclass(frozen=True, slots=True)
class VertexFacts:
    """parallelism: how many subtasks take part. subtasks: those that are known, by index."""

    id: str
    name: str = ""
    parallelism: int | None = None
    subtasks: tuple[SubtaskFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """pipeline: of an engine that numbers its checkpoints by pipeline, else 0.

    kind: in a word, as ``unaligned checkpoint``. ended_at: when it completed or was given up.
    is_bytes_told: whether ``bytes`` is the engine's own figure; files are counted otherwise.
    uploaded: new bytes of an incremental one. subtasks, acknowledged: how many. failure: the
    engine's words. phase: in which it failed, where the source says so. path: where it lies.
    vertices: by id.
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
        """Each with what it is called, as ``map[1]``."""
        for vertex in self.vertices:
            for subtask in vertex.subtasks:
                yield called(vertex, subtask.index), subtask


@dataclass(frozen=True, slots=True)
class JobFacts:
    """A job of an engine and its checkpoints. key: the engine's id of it.

    counts: of checkpoints by status, and their ``total``, as the engine itself counts them.
    contents: by (pipeline, number) the place in the contents of the upload, for those it holds.
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
