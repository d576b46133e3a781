"""Flink's checkpoint coordinator as step functions: when checkpoints begin, complete and fail.

Source: Flink, CheckpointCoordinator, CheckpointRequestDecider, CheckpointFailureManager. Times are
whole microseconds. A checkpoint is complete when every task has acknowledged it. A savepoint begins
whatever else is under way, is not subsumed, commits nothing and is no point to restore from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from snapshots.domain.dataflow_logs.dataflow import DataflowRefused
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.bounds import (
    NotNegative,
    Positive,
    check_one_of,
    check_whole_numbers,
)
from snapshots.domain.simulators.protocols.flink_task import (
    ALIGNED,
    AT_LEAST_ONCE,
    MODES,
    SUBSUMED,
    TIMEOUT,
    UNALIGNED,
)

PERIODIC = "periodic"
SAVEPOINT = "savepoint"

EXPIRED = "expired"
DECLINED = "declined"
FAILOVER = "failover"
COUNTED = frozenset({EXPIRED, DECLINED})
"""Reasons that count as failures of checkpoints; the others do not."""

COMPLETE = "complete"
ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class CheckpointSettings:
    """When checkpoints begin and when they fail. Times are in us.

    interval: the time between periodic requests; None makes no such requests.
    min_pause: the least time from a completion to the next periodic checkpoint.
    timeout: the time after which a checkpoint expires.
    align_timeout: the time from the trigger after which TIMEOUT turns unaligned.
    tolerable_failures: how many checkpoints may fail in a row.
    savepoints: the times at which savepoints are requested.
    retained: how many completed checkpoints are kept.
    buffers: whether a task takes what arrives on blocked channels into a buffer of its own, as
        Flink did before 1.11, when alignments were the only way.

    Raises: DataflowRefused, with the field, if a value is not possible.
    """

    mode: str = ALIGNED
    interval: Positive | None = 50_000
    min_pause: NotNegative = 0
    max_concurrent: Positive = 1
    timeout: Positive = 10_000_000
    align_timeout: NotNegative = 5_000
    tolerable_failures: NotNegative = 0
    savepoints: tuple[int, ...] = ()
    retained: Positive = 1
    buffers: bool = False

    def __post_init__(self) -> None:
        check_one_of("checkpoints.mode", self.mode, MODES)
        if self.buffers and self.mode != ALIGNED:
            raise DataflowRefused(
                "checkpoints.buffers", f"Only aligned checkpoints block channels: not {self.mode}."
            )
        check_whole_numbers(self, "checkpoints")
        if any(type(at) is not int or at < 0 for at in self.savepoints):
            raise DataflowRefused(
                "checkpoints.savepoints", "They are times, whole microseconds, 0 or more."
            )
        if self.mode in (UNALIGNED, TIMEOUT) and self.max_concurrent > 1:
            raise DataflowRefused(
                "checkpoints.max_concurrent",
                "Unaligned checkpoints are taken one at a time, as in Flink.",
            )

    def mode_of(self, savepoint: bool) -> str:
        """Return the mode of a checkpoint. Savepoints are aligned, unless at least once."""
        return ALIGNED if savepoint and self.mode != AT_LEAST_ONCE else self.mode


@dataclass(frozen=True, slots=True)
class Plan:
    """The tasks that the coordinator triggers, and those that have to acknowledge."""

    to_trigger: tuple[ProcessId, ...]
    to_ack: tuple[ProcessId, ...]


@dataclass(frozen=True, slots=True)
class Pending:
    """A checkpoint under way. ``waiting``: the tasks that have not acknowledged it."""

    cid: int
    savepoint: bool
    plan: Plan
    waiting: frozenset[ProcessId]


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The state of the coordinator.

    retained: completed checkpoints that are kept, oldest first; the last is the one to restore.
    waiting: whether a periodic request waits until fewer checkpoints are under way.
    failures: how many checkpoints have failed in a row.
    """

    settings: CheckpointSettings
    next_cid: int = 1
    pending: Mapping[int, Pending] = field(default_factory=dict)
    retained: tuple[int, ...] = ()
    completed: int = 0
    last_completion: int | None = None
    waiting: bool = False
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Decide:
    """Say what became of a request; one of the fields is set."""

    cid: int | None = None
    dropped: str | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Trigger:
    """Trigger a checkpoint at the tasks of its plan."""

    pending: Pending


@dataclass(frozen=True, slots=True)
class Complete:
    """Note that a checkpoint is complete. ``retained``: the checkpoints that are kept now."""

    cid: int
    retained: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Abort:
    """Call a checkpoint off."""

    cid: int
    reason: str


@dataclass(frozen=True, slots=True)
class Notify:
    """Notify the tasks of what has become of a checkpoint."""

    cid: int
    what: str
    tasks: tuple[ProcessId, ...]


@dataclass(frozen=True, slots=True)
class RequestAgain:
    """Call ``on_request`` for a periodic checkpoint at this time, in place of the usual one."""

    at: int


@dataclass(frozen=True, slots=True)
class FailJob:
    """Restart the job, because too many checkpoints have failed in a row."""

    cause: str


Effect = Decide | Trigger | Complete | Abort | Notify | RequestAgain | FailJob
Step = tuple[Coordinator, tuple[Effect, ...]]


def on_request(
    coordinator: Coordinator, reason: str, now: int, plan: Plan | None, refusal: str = ""
) -> Step:
    """Decide on a request.

    ``plan``: None if no checkpoint can be taken; ``refusal`` then says why.
    """
    settings = coordinator.settings
    if plan is None:
        return coordinator, (Decide(dropped=refusal),)
    if reason == SAVEPOINT:
        return _trigger(coordinator, plan, savepoint=True)
    if coordinator.last_completion is not None:
        earliest = coordinator.last_completion + settings.min_pause
        if now < earliest:
            return coordinator, (Decide(dropped="minimum pause"), RequestAgain(earliest))
    if len(coordinator.pending) >= settings.max_concurrent:
        if coordinator.waiting:
            return coordinator, (Decide(dropped="waiting already"),)
        return replace(coordinator, waiting=True), (Decide(waits=True),)
    return _trigger(coordinator, plan, savepoint=False)


def on_ack(coordinator: Coordinator, cid: int, task: ProcessId, now: int) -> Step:
    """Note an acknowledgement. One of a checkpoint that is no longer under way has no effect."""
    pending = coordinator.pending.get(cid)
    if pending is None:
        return coordinator, ()
    pending = replace(pending, waiting=pending.waiting - {task})
    coordinator = replace(coordinator, pending={**coordinator.pending, cid: pending})
    if pending.waiting:
        return coordinator, ()
    return _complete(coordinator, pending, now)


def on_decline(coordinator: Coordinator, cid: int, reason: str, now: int) -> Step:
    """Abort a checkpoint in which a task does not take part."""
    return _fail(coordinator, cid, SUBSUMED if reason == SUBSUMED else DECLINED, now)


def on_expiry(coordinator: Coordinator, cid: int, now: int) -> Step:
    """Abort a checkpoint whose time is over."""
    return _fail(coordinator, cid, EXPIRED, now)


def on_failover(coordinator: Coordinator) -> Step:
    """Abort what is under way, because tasks have failed.

    That is neither a failure nor a success of checkpoints: those that failed in a row still count.
    """
    effects: tuple[Effect, ...] = ()
    for cid in sorted(coordinator.pending):
        coordinator, aborted = _abort(coordinator, cid, FAILOVER)
        effects = (*effects, *aborted)
    return replace(coordinator, waiting=False), effects


def _trigger(coordinator: Coordinator, plan: Plan, *, savepoint: bool) -> Step:
    cid = coordinator.next_cid
    pending = Pending(cid, savepoint, plan, frozenset(plan.to_ack))
    coordinator = replace(
        coordinator, next_cid=cid + 1, pending={**coordinator.pending, cid: pending}
    )
    return coordinator, (Decide(cid), Trigger(pending))


def _complete(coordinator: Coordinator, pending: Pending, now: int) -> Step:
    coordinator = replace(
        _without(coordinator, pending.cid),
        completed=coordinator.completed + 1,
        last_completion=now,
        failures=0,
    )
    if pending.savepoint:
        coordinator, again = _go_on(coordinator, now)
        return coordinator, (Complete(pending.cid, coordinator.retained), *again)
    kept = (*coordinator.retained, pending.cid)
    dropped, kept = kept[: -coordinator.settings.retained], kept[-coordinator.settings.retained :]
    coordinator = replace(coordinator, retained=kept)
    effects: tuple[Effect, ...] = (Complete(pending.cid, kept),)
    for cid in sorted(coordinator.pending):
        if cid < pending.cid and not coordinator.pending[cid].savepoint:
            coordinator, aborted = _abort(coordinator, cid, SUBSUMED)
            effects = (*effects, *aborted)
    effects = (*effects, Notify(pending.cid, COMPLETE, pending.plan.to_ack))
    effects = (*effects, *(Notify(cid, SUBSUMED, pending.plan.to_ack) for cid in dropped))
    coordinator, again = _go_on(coordinator, now)
    return coordinator, (*effects, *again)


def _fail(coordinator: Coordinator, cid: int, reason: str, now: int) -> Step:
    if cid not in coordinator.pending:
        return coordinator, ()
    coordinator, effects = _abort(coordinator, cid, reason)
    if reason in COUNTED:
        coordinator = replace(coordinator, failures=coordinator.failures + 1)
        if coordinator.failures > coordinator.settings.tolerable_failures:
            cause = f"{coordinator.failures} checkpoints failed in a row"
            return replace(coordinator, failures=0), (*effects, FailJob(cause))
    coordinator, again = _go_on(coordinator, now)
    return coordinator, (*effects, *again)


def _abort(coordinator: Coordinator, cid: int, reason: str) -> Step:
    tasks = coordinator.pending[cid].plan.to_ack
    return _without(coordinator, cid), (Abort(cid, reason), Notify(cid, ABORTED, tasks))


def _without(coordinator: Coordinator, cid: int) -> Coordinator:
    pending = {other: item for other, item in coordinator.pending.items() if other != cid}
    return replace(coordinator, pending=pending)


def _go_on(coordinator: Coordinator, now: int) -> Step:
    """Repeat a request that waited."""
    if not coordinator.waiting:
        return coordinator, ()
    return replace(coordinator, waiting=False), (RequestAgain(now),)
