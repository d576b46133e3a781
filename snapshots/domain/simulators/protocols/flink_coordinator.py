"""Flink's checkpoint coordinator: when checkpoints begin, complete and fail, as step functions.

Source: Flink, CheckpointCoordinator, CheckpointRequestDecider, CheckpointFailureManager. Times are
whole microseconds. A checkpoint is complete when every task has acknowledged it. A savepoint begins
whatever else is under way, is not subsumed, commits nothing and is no point to restore from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from snapshots.domain.dataflow_logs.dataflow import DataflowRefused
from snapshots.domain.model.topology import ProcessId
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
"""Reasons that count as failures of checkpoints; the others are no one's fault."""

COMPLETE = "complete"
ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class CheckpointSettings:
    """interval: us between periodic requests, None: none are made. min_pause: us between the last
    completion and the next periodic checkpoint. timeout: us until one expires. align_timeout: us
    from the trigger, after which TIMEOUT turns unaligned. tolerable_failures: how many may fail in
    a row. savepoints: us at which one is asked for. retained: how many completed ones are kept.

    Raises: DataflowRefused, with the field, for settings that cannot be.
    """

    mode: str = ALIGNED
    interval: int | None = 50_000
    min_pause: int = 0
    max_concurrent: int = 1
    timeout: int = 10_000_000
    align_timeout: int = 5_000
    tolerable_failures: int = 0
    savepoints: tuple[int, ...] = ()
    retained: int = 1

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            _refuse("mode", f"It is one of {', '.join(MODES)}, not {self.mode!r}.")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is None and name == "interval":
                continue
            if type(value) is not int or value < least:
                _refuse(name, f"It is a whole number, at least {least}, not {value!r}.")
        if any(type(at) is not int or at < 0 for at in self.savepoints):
            _refuse("savepoints", "They are times, whole microseconds, 0 or more.")
        if self.mode in (UNALIGNED, TIMEOUT) and self.max_concurrent > 1:
            _refuse("max_concurrent", "Unaligned checkpoints are taken one at a time, as in Flink.")

    def mode_of(self, savepoint: bool) -> str:
        """Savepoints are aligned, whatever checkpoints are."""
        return ALIGNED if savepoint and self.mode != AT_LEAST_ONCE else self.mode


_LEAST = {
    "interval": 1,
    "min_pause": 0,
    "max_concurrent": 1,
    "timeout": 1,
    "align_timeout": 0,
    "tolerable_failures": 0,
    "retained": 1,
}


def _refuse(field: str, sentence: str) -> None:
    raise DataflowRefused(f"checkpoints.{field}", sentence)


@dataclass(frozen=True, slots=True)
class Plan:
    """Who takes part: triggered by the coordinator, and asked for an acknowledgement."""

    to_trigger: tuple[ProcessId, ...]
    to_ack: tuple[ProcessId, ...]


@dataclass(frozen=True, slots=True)
class Pending:
    """A checkpoint under way; waiting: the tasks that have not acknowledged it."""

    cid: int
    savepoint: bool
    plan: Plan
    waiting: frozenset[ProcessId]


@dataclass(frozen=True, slots=True)
class Coordinator:
    """retained: completed checkpoints that are kept, oldest first; the last is the one to restore.

    waiting: a periodic request waits until fewer are under way. failures: in a row.
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
    """What became of a request: one of these."""

    cid: int | None = None
    dropped: str | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Trigger:
    pending: Pending


@dataclass(frozen=True, slots=True)
class Complete:
    cid: int
    retained: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Abort:
    cid: int
    reason: str


@dataclass(frozen=True, slots=True)
class Notify:
    cid: int
    what: str
    tasks: tuple[ProcessId, ...]


@dataclass(frozen=True, slots=True)
class RequestAgain:
    """Ask ``on_request`` for a periodic checkpoint at this time, in place of the usual one."""

    at: int


@dataclass(frozen=True, slots=True)
class FailJob:
    cause: str


Effect = Decide | Trigger | Complete | Abort | Notify | RequestAgain | FailJob
Step = tuple[Coordinator, tuple[Effect, ...]]


def on_request(
    coordinator: Coordinator, reason: str, now: int, plan: Plan | None, refusal: str = ""
) -> Step:
    """plan: None where no checkpoint can be taken; refusal then says why."""
    settings = coordinator.settings
    if plan is None:
        return coordinator, (Decide(dropped=refusal),)
    if reason == SAVEPOINT:
        return _trigger(coordinator, plan, savepoint=True)
    earliest = (
        None
        if coordinator.last_completion is None
        else coordinator.last_completion + settings.min_pause
    )
    if earliest is not None and now < earliest:
        return coordinator, (Decide(dropped="minimum pause"), RequestAgain(earliest))
    if len(coordinator.pending) >= settings.max_concurrent:
        if coordinator.waiting:
            return coordinator, (Decide(dropped="waiting already"),)
        return replace(coordinator, waiting=True), (Decide(waits=True),)
    return _trigger(coordinator, plan, savepoint=False)


def on_ack(coordinator: Coordinator, cid: int, task: ProcessId, now: int) -> Step:
    """An acknowledgement of a checkpoint that is no longer under way means nothing."""
    pending = coordinator.pending.get(cid)
    if pending is None:
        return coordinator, ()
    pending = replace(pending, waiting=pending.waiting - {task})
    coordinator = replace(coordinator, pending={**coordinator.pending, cid: pending})
    if pending.waiting:
        return coordinator, ()
    return _complete(coordinator, pending, now)


def on_decline(coordinator: Coordinator, cid: int, reason: str, now: int) -> Step:
    return _fail(coordinator, cid, SUBSUMED if reason == SUBSUMED else DECLINED, now)


def on_expiry(coordinator: Coordinator, cid: int, now: int) -> Step:
    return _fail(coordinator, cid, EXPIRED, now)


def on_failover(coordinator: Coordinator) -> Step:
    """Tasks have failed: what is under way cannot complete. That is no failure of checkpoints, nor
    a success: those in a row are still counted."""
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


def _complete(coordinator: Coordinator, done: Pending, now: int) -> Step:
    coordinator = replace(
        _without(coordinator, done.cid),
        completed=coordinator.completed + 1,
        last_completion=now,
        failures=0,
    )
    if done.savepoint:
        coordinator, again = _go_on(coordinator, now)
        return coordinator, (Complete(done.cid, coordinator.retained), *again)
    kept = (*coordinator.retained, done.cid)
    dropped, kept = kept[: -coordinator.settings.retained], kept[-coordinator.settings.retained :]
    coordinator = replace(coordinator, retained=kept)
    effects: tuple[Effect, ...] = (Complete(done.cid, kept),)
    for cid in sorted(coordinator.pending):
        if cid < done.cid and not coordinator.pending[cid].savepoint:
            coordinator, aborted = _abort(coordinator, cid, SUBSUMED)
            effects = (*effects, *aborted)
    effects = (*effects, Notify(done.cid, COMPLETE, done.plan.to_ack))
    effects = (*effects, *(Notify(cid, SUBSUMED, done.plan.to_ack) for cid in dropped))
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
    """A request that waited is made again."""
    if not coordinator.waiting:
        return coordinator, ()
    return replace(coordinator, waiting=False), (RequestAgain(now),)
