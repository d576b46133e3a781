"""Words what held a checkpoint up, for people who have not seen one before."""

from snapshots.domain.dataflow_logs.checkpoints.report import (
    ABORTED,
    ACK,
    ALIGNMENT,
    ASYNC,
    BUSY,
    COMMIT,
    COMPLETED,
    DECLINED,
    EXPIRED,
    PENDING,
    REST,
    SYNC,
    TRAVEL,
    TRIGGER,
    Segment,
)
from snapshots.domain.dataflow_logs.checkpoints.tasks import CheckpointEvents, RunEvents
from snapshots.domain.dataflow_logs.events import ProtocolEvent
from snapshots.domain.dataflow_logs.kinds import CP_ACK
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed
from snapshots.domain.model.topology import ProcessId

MOST_NAMED = 3  # tasks in a sentence

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}
_SHOWN = (("s", 10**9), ("ms", 10**6), ("µs", 10**3), ("ns", 1))


def spelled(amount: int, unit: str) -> str:
    """Spell ``812 ms`` or ``1.25 s``: three significant digits in the largest unit that fits."""
    if unit not in _UNITS or not amount:
        return f"{amount:,} {unit}"
    length = amount * _UNITS[unit]
    name, size = next(item for item in _SHOWN if abs(length) >= item[1])
    digits = f"{length / size:.3g}" if abs(length) < 1000 * size else f"{length / size:,.0f}"
    return f"{digits} {name}"


def sentence(
    checkpoint: CheckpointEvents,
    status: str,
    duration: int | None,
    path: tuple[Segment, ...],
) -> str:
    """Summarise a checkpoint in one or two sentences for people."""
    unit = checkpoint.plan.time_unit
    fate = _fate(checkpoint, status, None if duration is None else spelled(duration, unit))
    if status not in (COMPLETED, DECLINED, EXPIRED, PENDING):
        return f"{fate}.{_silent(checkpoint)}"
    segment = _longest(path) if status == COMPLETED else next(reversed(path), None)
    if segment is None:
        return f"{fate}.{_silent(checkpoint)}"
    if status == COMPLETED:
        return f"{fate}; for {spelled(segment.length, unit)} of these {_did(segment)}."
    return f"{fate}: {_is_doing(segment, status)}."


def _fate(checkpoint: CheckpointEvents, status: str, took: str | None) -> str:
    if status == COMPLETED:
        return f"It took {took}" if took else "It completed; the log does not say when it began"
    after = "" if took is None else f" after {took}"
    if status == EXPIRED:
        return f"It was given up{after}, because its time was over"
    if status == DECLINED:
        subject = checkpoint.decline.process if checkpoint.decline else "A task"
        return f"{subject} did not take part, so it was given up{after}"
    if status == PENDING:
        return "It was still under way when the log ends"
    if status == ABORTED and checkpoint.abort is not None:
        reason = checkpoint.abort.text("reason") or "the log does not say why"
        if reason == "failover":
            failed = _failed_before(checkpoint.abort, checkpoint.run)
            return f"It was given up{after}, because {failed} failed meanwhile"
        return f"It was given up{after}: {reason}"
    return f"It was given up{after}, because a newer checkpoint had overtaken it"


def _failed_before(abort: ProtocolEvent, run: RunEvents) -> str:
    before = [failure for failure in run.failures if failure.event.step < abort.step]
    return (before and before[-1].process) or "the job"


def _silent(checkpoint: CheckpointEvents) -> str:
    """Name who had not acknowledged, in a further sentence; empty if the log does not say.

    After a failover it is empty too, because the first sentence says who failed.
    """
    abort = checkpoint.abort
    if abort is None or abort.text("reason") == "failover":
        return ""
    missing = _missing(checkpoint)
    return f" {listed(missing, MOST_NAMED)} had not acknowledged." if missing else ""


def _missing(checkpoint: CheckpointEvents) -> list[ProcessId]:
    """Return the tasks that had not acknowledged at the end; empty if the log does not tell.

    Statistics may leave out tasks that did acknowledge. The tasks that are left are then the
    missing ones only if they are as many as had not acknowledged.
    """
    trigger, abort = checkpoint.trigger, checkpoint.abort
    if trigger is None or abort is None or trigger.names("to_ack") is None:
        return []
    acks = {process: checkpoint.first(process, CP_ACK) for process in checkpoint.tasks}
    missing = [name for name, ack in acks.items() if ack is None or ack.step > abort.step]
    if checkpoint.is_derived:
        expected, acknowledged = abort.whole("subtasks"), abort.whole("acknowledged")
        if expected is None or acknowledged is None or expected - acknowledged != len(missing):
            return []
    return missing


def _longest(path: tuple[Segment, ...]) -> Segment | None:
    return max((s for s in path if s.phase != COMMIT), key=lambda s: s.length, default=None)


def _waiting(segment: Segment) -> str:
    if segment.is_inferred:
        first = segment.phase == TRAVEL
        return f"waited for its {'first' if first else 'last'} barrier, on its way or before it"
    barrier = f"the barrier on {segment.channel}"
    if segment.end:
        barrier = f"the end of {segment.channel}, which stands for its barrier"
    if not segment.behind:
        return f"waited for {barrier}"
    return f"waited for {barrier}, behind {times(segment.behind, 'record')}"


def _did(segment: Segment) -> str:
    if segment.channel is not None:
        return f"{segment.process} {_waiting(segment)}"
    return {
        TRIGGER: f"{segment.process} had not handled the coordinator's trigger",
        BUSY: f"{segment.process} was still copying its state for checkpoint {segment.earlier}",
        ALIGNMENT: f"{segment.process} waited for other barriers, until the time for that was over",
        SYNC: f"{segment.process} copied its state and did nothing else",
        ASYNC: f"{segment.process} uploaded the copy of its state",
        REST: f"{segment.process} had stored its state, and its acknowledgement had not come yet",
        ACK: f"all had acknowledged, {segment.process} last, but it was not complete yet",
    }[segment.phase]


def _is_doing(segment: Segment, status: str) -> str:
    if segment.channel is not None:
        return f"{segment.process} still {_waiting(segment)}"
    if segment.phase == ACK and status != DECLINED:
        return f"all had acknowledged, {segment.process} last, but it was not complete yet"
    return {
        TRIGGER: f"{segment.process} had not handled the coordinator's trigger",
        BUSY: f"{segment.process} was still copying its state for checkpoint {segment.earlier}",
        ALIGNMENT: f"{segment.process} still waited for its other barriers",
        SYNC: f"{segment.process} was still copying its state",
        ASYNC: f"{segment.process} was still uploading the copy of its state",
        ACK: f"{segment.process} declined",
    }.get(segment.phase, f"{segment.process} had not acknowledged")
