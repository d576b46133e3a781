"""What an engine said of a job besides its checkpoints' files: its state, load and failures.

Instants are epoch milliseconds, durations milliseconds, shares 0 to 1. None means that the engine
did not say.
"""

from dataclasses import dataclass

from snapshots.domain.archive.model import CheckpointFacts

JOB, CHECKPOINTS, EXCEPTIONS, BACK_PRESSURE = ANSWERS = (
    "job",
    "checkpoints",
    "exceptions",
    "back pressure",
)
"""The answers that an upload may hold."""


OFF, NOT_PERIODIC = "off", "not periodic"
"""Why a job takes no checkpoints: they are not enabled, or it triggers none by itself."""


@dataclass(frozen=True, slots=True)
class TaskLoad:
    """How one subtask spent its time.

    Attributes:
        vertex: the name of the vertex.
        subtask: the number of the subtask.
        busy: the share of the last moments in which it worked. None if the engine did not say.
        back_pressured: the share in which it waited for room in its output. None if the engine did
            not say.
        idle: the share in which it waited for input. None if the engine did not say.
        busy_ms: how long it worked since it began to run. None if the engine did not say.
        back_pressured_ms: how long it waited for room since it began to run. None if the engine did
            not say.
        running_ms: how long it had run. None if the engine did not say.
    """

    vertex: str
    subtask: int
    busy: float | None = None
    back_pressured: float | None = None
    idle: float | None = None
    busy_ms: int | None = None
    back_pressured_ms: int | None = None
    running_ms: int | None = None

    @property
    def name(self) -> str:
        """Return the name of the subtask, such as ``map[1]``."""
        return f"{self.vertex}[{self.subtask}]"

    @property
    def is_known(self) -> bool:
        """Tell whether the engine said anything of how the subtask spent its time."""
        shares = (self.busy, self.back_pressured, self.idle)
        times = (self.busy_ms, self.back_pressured_ms, self.running_ms)
        return any(value is not None for value in (*shares, *times))


@dataclass(frozen=True, slots=True)
class JobFailure:
    """A failure of the job.

    Attributes:
        at: when it failed, in epoch milliseconds. None if the engine did not say.
        name: the class of the exception. None if the engine did not say.
        message: the message of the exception that was the first cause. None if it had none.
        task: the task that failed. None if the engine did not say.
        trace: the beginning of the stack trace.
        place: the line of a log that tells of it, such as ``jobmanager.log:12``. None if no log
            does.
    """

    at: int | None
    name: str | None
    message: str | None
    task: str | None
    trace: str
    place: str | None = None


@dataclass(frozen=True, slots=True)
class JobRestore:
    """What the job was last restored from.

    Attributes:
        number: the engine's number of the checkpoint.
        at: when it was restored, in epoch milliseconds. None if the engine did not say.
        is_savepoint: whether it was a savepoint.
        path: where the engine found it. None if the engine did not say.
        place: the line of a log that tells of it. None if no log does.
    """

    number: int
    at: int | None
    is_savepoint: bool
    path: str | None
    place: str | None = None


@dataclass(frozen=True, slots=True)
class JobReport:
    """What an engine said of one job.

    Attributes:
        key: the engine's id of the job.
        state: the engine's word for the state of the job, such as ``running``. None if it did not
            say.
        asked_at: when the engine answered, in epoch milliseconds. None if it did not say.
        answers: which of ``ANSWERS`` the upload holds.
        counts: how many checkpoints have each status, as the engine counts. Empty if it did not
            say.
        checkpoints: the checkpoints that the engine lists, by number.
        failures: the failures of the job that the engine lists, in the order of time.
        has_more_failures: whether the engine says that it forgot earlier failures.
        restore: what the job was last restored from. None if the engine lists none.
        measured_at: when back pressure was measured, in epoch milliseconds. None if it was not.
        loads: how the subtasks spent their time.
        not_measured: the vertices for which the engine gave no back pressure.
        edges: the vertices that feed others, as pairs (source, target). None if they are not known.
        no_checkpoints: ``OFF`` or ``NOT_PERIODIC`` if the engine says that the job takes no
            checkpoints by itself. None if it does not say so.
        errors: what the engine answered where it had no other answer.
        removed: the numbers of completed checkpoints whose files the engine says it has removed.
        is_of_log: whether logs of the engine tell of the job, of which the upload may have a part.
    """

    key: str
    state: str | None = None
    asked_at: int | None = None
    answers: tuple[str, ...] = ()
    counts: dict[str, int] | None = None
    checkpoints: tuple[CheckpointFacts, ...] = ()
    failures: tuple[JobFailure, ...] = ()
    has_more_failures: bool = False
    restore: JobRestore | None = None
    measured_at: int | None = None
    loads: tuple[TaskLoad, ...] = ()
    not_measured: tuple[str, ...] = ()
    edges: tuple[tuple[str, str], ...] | None = None
    no_checkpoints: str | None = None
    errors: tuple[str, ...] = ()
    removed: tuple[int, ...] = ()
    is_of_log: bool = False

    @property
    def lists_checkpoints(self) -> bool:
        """Tell whether the upload has the engine's list of checkpoints."""
        return CHECKPOINTS in self.answers
