"""SeaTunnel's checkpoint coordinator, one for each pipeline, as step functions.

Source: SeaTunnel's Zeta engine, CheckpointCoordinator, CheckpointPlan. Pure: a coordinator and what
happened give the next coordinator and the effects, to be carried out in their order. Times are
whole microseconds.

One checkpoint at a time, from the trigger until all tasks have confirmed that they know it to be
complete. Nothing is subsumed and no failure tolerated: a checkpoint that fails fails the pipeline.
A savepoint and the completed point (when bounded sources have been read) are final: with them the
pipeline ends. The completed point bears a number that no other has, and is not stored.
"""

from dataclasses import dataclass, replace

from snapshots.domain.dataflow_logs.dataflow import DataflowRefused
from snapshots.domain.model.topology import ProcessId

CHECKPOINT, SAVEPOINT, COMPLETED_POINT = TYPES = ("checkpoint", "savepoint", "completed point")
FINAL = frozenset({SAVEPOINT, COMPLETED_POINT})
NUMBER_OF_COMPLETED_POINT = 2**63 - 1

RUNNING, FINISHED, SUSPENDED, FAILED = ("running", "finished", "suspended", "failed")
EXPIRED, FAILOVER = ("expired", "failover")
ACKNOWLEDGING, STORING, NOTIFYING = ("acknowledging", "storing", "notifying")


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """interval: us between checkpoints, None: none but the completed point. timeout: us until one
    fails, and its pipeline with it. retry_wait: us until a request is made again that found one
    under way. retries: how often a pipeline is restored.

    Raises: DataflowRefused, with the field, for settings that cannot be.
    """

    interval: int | None = 50_000
    timeout: int = 10_000_000
    retry_wait: int = 5_000
    retries: int = 3

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is None and name == "interval":
                continue
            if type(value) is not int or value < least:
                raise DataflowRefused(
                    f"checkpoints.{name}", f"It is a whole number, at least {least}, not {value!r}."
                )


_LEAST = {"interval": 1, "timeout": 1, "retry_wait": 1, "retries": 0}


@dataclass(frozen=True, slots=True)
class Plan:
    """The checkpoint plan of a pipeline: who is triggered, and who has to acknowledge."""

    enumerators: tuple[ProcessId, ...]
    tasks: tuple[ProcessId, ...]


@dataclass(frozen=True, slots=True)
class Pending:
    """cid: of the snapshot in the log; number: the engine's own. waiting: the tasks that have not
    acknowledged it, and later, not confirmed."""

    cid: int
    number: int
    type: str
    waiting: frozenset[ProcessId]
    phase: str = ACKNOWLEDGING


@dataclass(frozen=True, slots=True)
class Coordinator:
    """to_restore: the cid of the checkpoint in its memory. wish: the final one to be taken as soon
    as none is under way. ready: enumerators whose source has been read. restores: so far."""

    settings: PipelineSettings
    plan: Plan
    next_number: int = 1
    pending: Pending | None = None
    to_restore: int | None = None
    completed: int = 0
    wish: str | None = None
    ready: frozenset[ProcessId] = frozenset()
    restores: int = 0
    status: str = RUNNING


@dataclass(frozen=True, slots=True)
class RequestAgain:
    after: int


@dataclass(frozen=True, slots=True)
class Trigger:
    """A barrier to the enumerators, and to nobody else."""

    pending: Pending


@dataclass(frozen=True, slots=True)
class Store:
    cid: int


@dataclass(frozen=True, slots=True)
class Complete:
    cid: int


@dataclass(frozen=True, slots=True)
class Notify:
    """Tell all tasks, and wait until each has confirmed."""

    cid: int


@dataclass(frozen=True, slots=True)
class Close:
    """The pipeline has ended: its tasks close."""

    status: str


@dataclass(frozen=True, slots=True)
class FailPipeline:
    cause: str


@dataclass(frozen=True, slots=True)
class Drop:
    """The checkpoint is forgotten; nobody is told."""

    cid: int
    reason: str


@dataclass(frozen=True, slots=True)
class Restore:
    """All tasks of the pipeline, from this checkpoint; None: from the start."""

    cid: int | None


@dataclass(frozen=True, slots=True)
class GiveUp:
    """It has been restored as often as allowed."""


Effect = (
    RequestAgain
    | Trigger
    | Store
    | Complete
    | Notify
    | Close
    | FailPipeline
    | Drop
    | Restore
    | GiveUp
)
Step = tuple[Coordinator, tuple[Effect, ...]]


def start(settings: PipelineSettings, plan: Plan) -> Coordinator:
    return Coordinator(settings, plan)


def on_timer(coordinator: Coordinator, cid: int) -> Step:
    """It is time for a checkpoint. cid: of the next snapshot in the log."""
    if coordinator.status != RUNNING:
        return coordinator, ()
    if coordinator.pending is not None or coordinator.wish is not None:
        return coordinator, (RequestAgain(coordinator.settings.retry_wait),)
    return _trigger(coordinator, CHECKPOINT, cid)


def on_savepoint(coordinator: Coordinator, cid: int) -> Step:
    """The job is to end with a savepoint: after the one under way, before anything else."""
    if coordinator.status != RUNNING or _is_ending(coordinator):
        return coordinator, ()
    return _as_wished(replace(coordinator, wish=SAVEPOINT), cid)


def on_ready_to_close(coordinator: Coordinator, enumerator: ProcessId, cid: int) -> Step:
    """A bounded source has been read; with the last one comes the completed point."""
    coordinator = replace(coordinator, ready=coordinator.ready | {enumerator})
    missing = set(coordinator.plan.enumerators) - coordinator.ready
    if missing or coordinator.wish is not None or _is_ending(coordinator):
        return coordinator, ()
    return _as_wished(replace(coordinator, wish=COMPLETED_POINT), cid)


def on_ack(coordinator: Coordinator, cid: int, task: ProcessId) -> Step:
    pending = _without(coordinator, cid, task, ACKNOWLEDGING)
    if pending is None:
        return coordinator, ()
    if pending.waiting:
        return replace(coordinator, pending=pending), ()
    if pending.type == COMPLETED_POINT:
        return _complete(replace(coordinator, pending=pending))
    return replace(coordinator, pending=replace(pending, phase=STORING)), (Store(cid),)


def on_stored(coordinator: Coordinator, cid: int) -> Step:
    pending = coordinator.pending
    if pending is None or pending.cid != cid or pending.phase != STORING:
        return coordinator, ()
    return _complete(coordinator)


def on_confirmed(coordinator: Coordinator, cid: int, task: ProcessId, next_cid: int) -> Step:
    """A task has done what it does when it hears that the checkpoint is complete."""
    pending = _without(coordinator, cid, task, NOTIFYING)
    if pending is None:
        return coordinator, ()
    if pending.waiting:
        return replace(coordinator, pending=pending), ()
    coordinator = replace(coordinator, pending=None)
    if pending.type in FINAL:
        status = SUSPENDED if pending.type == SAVEPOINT else FINISHED
        return replace(coordinator, status=status), (Close(status),)
    return _as_wished(coordinator, next_cid)


def on_timeout(coordinator: Coordinator, cid: int) -> Step:
    pending = coordinator.pending
    if pending is None or pending.cid != cid or pending.phase == NOTIFYING:
        return coordinator, ()
    return coordinator, (FailPipeline("a checkpoint has timed out"),)


def on_failure(coordinator: Coordinator, reason: str = FAILOVER) -> Step:
    """A task of the pipeline has failed, or (EXPIRED) its checkpoint."""
    complete = coordinator.pending is None or coordinator.pending.phase == NOTIFYING
    dropped = () if complete else (Drop(coordinator.pending.cid, reason),)
    wish = SAVEPOINT if _wishes(coordinator, SAVEPOINT) else None
    coordinator = replace(coordinator, pending=None, wish=wish, ready=frozenset())
    if coordinator.restores >= coordinator.settings.retries:
        return replace(coordinator, status=FAILED), (*dropped, GiveUp())
    coordinator = replace(coordinator, restores=coordinator.restores + 1)
    return coordinator, (*dropped, Restore(coordinator.to_restore))


def on_restored(coordinator: Coordinator, cid: int) -> Step:
    """All tasks run again. A savepoint that was asked for is still wanted."""
    return _as_wished(coordinator, cid)


def _trigger(coordinator: Coordinator, type_: str, cid: int) -> Step:
    final = type_ == COMPLETED_POINT
    number = NUMBER_OF_COMPLETED_POINT if final else coordinator.next_number
    pending = Pending(cid, number, type_, frozenset(coordinator.plan.tasks))
    next_number = coordinator.next_number + (not final)
    coordinator = replace(coordinator, pending=pending, next_number=next_number, wish=None)
    return coordinator, (Trigger(pending),)


def _as_wished(coordinator: Coordinator, cid: int) -> Step:
    if coordinator.wish is None or coordinator.pending is not None:
        return coordinator, ()
    return _trigger(coordinator, coordinator.wish, cid)


def _complete(coordinator: Coordinator) -> Step:
    """It is what a failure goes back to from now on, also where not all know of it yet."""
    pending = coordinator.pending
    waiting = frozenset(coordinator.plan.tasks)
    coordinator = replace(
        coordinator,
        pending=replace(pending, waiting=waiting, phase=NOTIFYING),
        to_restore=pending.cid,
        completed=coordinator.completed + 1,
    )
    return coordinator, (Complete(pending.cid), Notify(pending.cid))


def _without(coordinator: Coordinator, cid: int, task: ProcessId, phase: str) -> Pending | None:
    """The checkpoint under way without the task; None where this means another."""
    pending = coordinator.pending
    if pending is None or pending.cid != cid or pending.phase != phase:
        return None
    return replace(pending, waiting=pending.waiting - {task})


def _is_ending(coordinator: Coordinator) -> bool:
    return coordinator.pending is not None and coordinator.pending.type in FINAL


def _wishes(coordinator: Coordinator, type_: str) -> bool:
    """Whether it is waited for, or under way."""
    pending = coordinator.pending
    return coordinator.wish == type_ or (pending is not None and pending.type == type_)
