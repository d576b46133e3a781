"""SeaTunnel's checkpoint coordinator, one for each pipeline, as step functions.

Source: SeaTunnel's Zeta engine, CheckpointCoordinator, CheckpointPlan. Pure: a coordinator and an
event give the next coordinator and the effects, to be carried out in their order. Times are whole
microseconds.

There is one checkpoint at a time, from the trigger until all tasks have confirmed its completion.
Nothing is subsumed and no failure tolerated: a checkpoint that fails fails the pipeline. A
savepoint and the completed point (when bounded sources have been read) are final: with them the
pipeline ends. The completed point has a number that no other has, and is not stored.

A reader that meets a change of the schema asks for a point before it and for one after it. From
the first request until the second point has ended, no other checkpoint begins.
"""

from dataclasses import dataclass, replace

from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.bounds import NotNegative, Positive, check_whole_numbers

CHECKPOINT, SCHEMA_BEFORE, SCHEMA_AFTER, SAVEPOINT, COMPLETED_POINT = (
    "checkpoint",
    "schema-change-before point",
    "schema-change-after point",
    "savepoint",
    "completed point",
)
SCHEMA_POINTS = frozenset({SCHEMA_BEFORE, SCHEMA_AFTER})
FINAL = frozenset({SAVEPOINT, COMPLETED_POINT})
NUMBER_OF_COMPLETED_POINT = 2**63 - 1

RUNNING, FINISHED, SUSPENDED, FAILED = ("running", "finished", "suspended", "failed")
EXPIRED, FAILOVER = ("expired", "failover")
ACKNOWLEDGING, STORING, NOTIFYING = ("acknowledging", "storing", "notifying")
UNDER_WAY, SCHEMA_CHANGING = ("one is under way", "the schema is changing")


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """When checkpoints begin, and what follows when one fails. Times are in us.

    interval: the time between checkpoints; None takes none but the completed point.
    timeout: the time after which a checkpoint fails, and its pipeline with it.
    retry_wait: the time until a request that met a checkpoint under way is repeated.
    retries: how often a pipeline is restored.

    Raises: DataflowRefused, with the field, if a value is not possible.
    """

    interval: Positive | None = 50_000
    timeout: Positive = 10_000_000
    retry_wait: Positive = 5_000
    retries: NotNegative = 3

    def __post_init__(self) -> None:
        check_whole_numbers(self, "checkpoints")


@dataclass(frozen=True, slots=True)
class Plan:
    """The tasks of a pipeline that are triggered, and those that have to acknowledge."""

    enumerators: tuple[ProcessId, ...]
    tasks: tuple[ProcessId, ...]


@dataclass(frozen=True, slots=True)
class Pending:
    """The checkpoint under way.

    cid: the number of the snapshot in the log.
    number: the engine's own number.
    waiting: the tasks that have not acknowledged the checkpoint, and later, not confirmed it.
    """

    cid: int
    number: int
    type: str
    waiting: frozenset[ProcessId]
    phase: str = ACKNOWLEDGING


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The state of a pipeline's coordinator.

    to_restore: the cid of the checkpoint that a failure goes back to.
    wish: the type of the final checkpoint that is to be taken as soon as none is under way.
    point: the type of the schema-change point that is to be taken before all else.
    is_changing: whether only schema-change points are taken.
    ready: the enumerators whose source has been read.
    restores: how often the pipeline has been restored.
    """

    settings: PipelineSettings
    plan: Plan
    next_number: int = 1
    pending: Pending | None = None
    to_restore: int | None = None
    completed: int = 0
    wish: str | None = None
    point: str | None = None
    is_changing: bool = False
    ready: frozenset[ProcessId] = frozenset()
    restores: int = 0
    status: str = RUNNING


@dataclass(frozen=True, slots=True)
class RequestAgain:
    """Repeat the request after this time in us, for the reason."""

    after: int
    reason: str = UNDER_WAY


@dataclass(frozen=True, slots=True)
class Trigger:
    """Send a barrier to the enumerators, and to no other task."""

    pending: Pending


@dataclass(frozen=True, slots=True)
class Store:
    """Write the checkpoint, which all tasks have acknowledged."""

    cid: int


@dataclass(frozen=True, slots=True)
class Complete:
    """Note that the checkpoint is complete."""

    cid: int


@dataclass(frozen=True, slots=True)
class Notify:
    """Notify all tasks of the completion, and wait until each has confirmed."""

    cid: int


@dataclass(frozen=True, slots=True)
class End:
    """Let the reader that waits for the schema-change point go on."""

    cid: int


@dataclass(frozen=True, slots=True)
class Close:
    """Close the tasks of the pipeline, which has ended."""

    status: str


@dataclass(frozen=True, slots=True)
class FailPipeline:
    """Cancel and restore the pipeline."""

    cause: str


@dataclass(frozen=True, slots=True)
class Drop:
    """Forget the checkpoint, without a notice to the tasks."""

    cid: int
    reason: str


@dataclass(frozen=True, slots=True)
class Restore:
    """Restore all tasks of the pipeline from this checkpoint; None restores from the start."""

    cid: int | None


@dataclass(frozen=True, slots=True)
class GiveUp:
    """End the pipeline, because it has been restored as often as allowed."""


Effect = (
    RequestAgain
    | Trigger
    | Store
    | Complete
    | Notify
    | End
    | Close
    | FailPipeline
    | Drop
    | Restore
    | GiveUp
)
Step = tuple[Coordinator, tuple[Effect, ...]]


def start(settings: PipelineSettings, plan: Plan) -> Coordinator:
    """Return the coordinator of a pipeline that has not begun."""
    return Coordinator(settings, plan)


def on_timer(coordinator: Coordinator, cid: int) -> Step:
    """Begin a periodic checkpoint. ``cid``: the number of the next snapshot in the log."""
    if coordinator.status != RUNNING:
        return coordinator, ()
    if coordinator.is_changing:
        again = RequestAgain(coordinator.settings.retry_wait, SCHEMA_CHANGING)
        return coordinator, (again,)
    if coordinator.pending is not None or coordinator.wish is not None:
        return coordinator, (RequestAgain(coordinator.settings.retry_wait),)
    return _trigger(coordinator, CHECKPOINT, cid)


def on_savepoint(coordinator: Coordinator, cid: int) -> Step:
    """End the job with a savepoint: after the checkpoint under way, before anything else."""
    if coordinator.status != RUNNING or _is_ending(coordinator):
        return coordinator, ()
    return _as_wished(replace(coordinator, wish=SAVEPOINT), cid)


def on_schema_change(coordinator: Coordinator, point: str, cid: int) -> Step:
    """Take the point that a reader asks for, after the checkpoint under way."""
    if coordinator.status != RUNNING or _is_ending(coordinator):
        return coordinator, ()
    return _as_wished(replace(coordinator, point=point, is_changing=True), cid)


def on_ready_to_close(coordinator: Coordinator, enumerator: ProcessId, cid: int) -> Step:
    """Note that a bounded source has been read; with the last one comes the completed point."""
    coordinator = replace(coordinator, ready=coordinator.ready | {enumerator})
    missing = set(coordinator.plan.enumerators) - coordinator.ready
    if missing or coordinator.wish is not None or _is_ending(coordinator):
        return coordinator, ()
    return _as_wished(replace(coordinator, wish=COMPLETED_POINT), cid)


def on_ack(coordinator: Coordinator, cid: int, task: ProcessId) -> Step:
    """Note an acknowledgement; with the last one the checkpoint is stored, or complete if it is
    final.
    """
    pending = _without(coordinator, cid, task, ACKNOWLEDGING)
    if pending is None:
        return coordinator, ()
    if pending.waiting:
        return replace(coordinator, pending=pending), ()
    if pending.type == COMPLETED_POINT:
        return _complete(coordinator, pending)
    return replace(coordinator, pending=replace(pending, phase=STORING)), (Store(cid),)


def on_stored(coordinator: Coordinator, cid: int) -> Step:
    """Complete the checkpoint that has been written."""
    pending = coordinator.pending
    if pending is None or pending.cid != cid or pending.phase != STORING:
        return coordinator, ()
    return _complete(coordinator, pending)


def on_confirmed(coordinator: Coordinator, cid: int, task: ProcessId, next_cid: int) -> Step:
    """Note that a task has handled the notice of completion."""
    pending = _without(coordinator, cid, task, NOTIFYING)
    if pending is None:
        return coordinator, ()
    if pending.waiting:
        return replace(coordinator, pending=pending), ()
    coordinator = replace(coordinator, pending=None)
    if pending.type in FINAL:
        status = SUSPENDED if pending.type == SAVEPOINT else FINISHED
        return replace(coordinator, status=status), (Close(status),)
    if pending.type not in SCHEMA_POINTS:
        return _as_wished(coordinator, next_cid)
    coordinator = replace(coordinator, is_changing=pending.type == SCHEMA_BEFORE)
    coordinator, effects = _as_wished(coordinator, next_cid)
    return coordinator, (End(pending.cid), *effects)


def on_timeout(coordinator: Coordinator, cid: int) -> Step:
    """Fail the pipeline if its checkpoint is not complete in time."""
    pending = coordinator.pending
    if pending is None or pending.cid != cid or pending.phase == NOTIFYING:
        return coordinator, ()
    return coordinator, (FailPipeline("a checkpoint has timed out"),)


def on_failure(
    coordinator: Coordinator,
    reason: str = FAILOVER,
    going_on: frozenset[ProcessId] = frozenset(),
) -> Step:
    """Handle the failure of a task of the pipeline, or (EXPIRED) of its checkpoint.

    ``going_on``: the tasks that do not restart; of enumerators among them the sources stay read.
    """
    pending = coordinator.pending
    dropped: tuple[Effect, ...] = ()
    if pending is not None and pending.phase != NOTIFYING:
        dropped = (Drop(pending.cid, reason),)
    wish = SAVEPOINT if _wishes(coordinator, SAVEPOINT) else None
    coordinator = replace(
        coordinator,
        pending=None,
        wish=wish,
        point=None,
        is_changing=False,
        ready=coordinator.ready & going_on,
    )
    if coordinator.restores >= coordinator.settings.retries:
        return replace(coordinator, status=FAILED), (*dropped, GiveUp())
    coordinator = replace(coordinator, restores=coordinator.restores + 1)
    return coordinator, (*dropped, Restore(coordinator.to_restore))


def on_restored(coordinator: Coordinator, cid: int) -> Step:
    """Go on when all tasks run again. A savepoint that was requested is still wanted."""
    return _as_wished(coordinator, cid)


def _trigger(coordinator: Coordinator, type_: str, cid: int) -> Step:
    final = type_ == COMPLETED_POINT
    number = NUMBER_OF_COMPLETED_POINT if final else coordinator.next_number
    pending = Pending(cid, number, type_, frozenset(coordinator.plan.tasks))
    next_number = coordinator.next_number + (not final)
    wish = None if coordinator.wish == type_ else coordinator.wish
    coordinator = replace(coordinator, pending=pending, next_number=next_number, wish=wish)
    return coordinator, (Trigger(pending),)


def _as_wished(coordinator: Coordinator, cid: int) -> Step:
    if coordinator.pending is not None:
        return coordinator, ()
    if coordinator.point is not None:
        return _trigger(replace(coordinator, point=None), coordinator.point, cid)
    if coordinator.wish is None or coordinator.is_changing:
        return coordinator, ()
    return _trigger(coordinator, coordinator.wish, cid)


def _complete(coordinator: Coordinator, pending: Pending) -> Step:
    """Complete the checkpoint, to which a failure goes back even before all tasks are notified."""
    waiting = frozenset(coordinator.plan.tasks)
    coordinator = replace(
        coordinator,
        pending=replace(pending, waiting=waiting, phase=NOTIFYING),
        to_restore=pending.cid,
        completed=coordinator.completed + 1,
    )
    return coordinator, (Complete(pending.cid), Notify(pending.cid))


def _without(coordinator: Coordinator, cid: int, task: ProcessId, phase: str) -> Pending | None:
    """Return the checkpoint under way without the task, or None if the event is about another."""
    pending = coordinator.pending
    if pending is None or pending.cid != cid or pending.phase != phase:
        return None
    return replace(pending, waiting=pending.waiting - {task})


def _is_ending(coordinator: Coordinator) -> bool:
    return coordinator.pending is not None and coordinator.pending.type in FINAL


def _wishes(coordinator: Coordinator, type_: str) -> bool:
    """Tell whether a checkpoint of this type is requested or under way."""
    pending = coordinator.pending
    return coordinator.wish == type_ or (pending is not None and pending.type == type_)
