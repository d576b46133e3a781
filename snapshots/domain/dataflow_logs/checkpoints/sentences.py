"""What held a checkpoint up, in a sentence for people who have not seen one before."""

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
    SYNC,
    TRAVEL,
    TRIGGER,
    Segment,
)
from snapshots.domain.dataflow_logs.checkpoints.tasks import CheckpointEvents
from snapshots.domain.dataflow_logs.kinds import CP_ACK
from snapshots.domain.model.topology import ProcessId

MOST_NAMED = 3  # tasks

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}
_SHOWN = (("s", 10**9), ("ms", 10**6), ("µs", 10**3), ("ns", 1))


def spelled(amount: int, unit: str) -> str:
    """``812 ms``, ``1.25 s``: three digits that count, in the largest unit that fits."""
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
    told = _fate(checkpoint, status, None if duration is None else spelled(duration, unit))
    if status not in (COMPLETED, DECLINED, EXPIRED, PENDING):
        return f"{told}.{_silent(checkpoint)}"
    part = _longest(path) if status == COMPLETED else _open_end(path)
    if part is None:
        return f"{told}.{_silent(checkpoint)}"
    if status == COMPLETED:
        return f"{told}; {spelled(part.length, unit)} of these {_did(part)}."
    return f"{told}: {_is_doing(part, status)}."


def _fate(checkpoint: CheckpointEvents, status: str, took: str | None) -> str:
    if status == COMPLETED:
        return f"It took {took}" if took else "It completed; the log does not say when it began"
    after = "" if took is None else f" after {took}"
    if status == EXPIRED:
        return f"It was given up{after}, for its time was over"
    if status == DECLINED:
        who = checkpoint.decline.process if checkpoint.decline else "A task"
        return f"{who} did not take part, so it was given up{after}"
    if status == PENDING:
        return "It was still under way when the log ends"
    if status == ABORTED:
        reason = checkpoint.abort.text("reason") or "the log does not say why"
        if reason == "failover":
            return f"It was given up{after}, because {_failed(checkpoint)} failed meanwhile"
        return f"It was given up{after}: {reason}"
    return f"It was given up{after}, for a newer checkpoint had overtaken it"


def _failed(checkpoint: CheckpointEvents) -> str:
    before = [item for item in checkpoint.run.failures if item.event.step < checkpoint.abort.step]
    return (before and before[-1].process) or "the job"


def _silent(checkpoint: CheckpointEvents) -> str:
    """Who had not acknowledged when it was given up, as a further sentence; empty where the log
    does not say. Of a failover it has been said who failed."""
    abort = checkpoint.abort
    if abort is None or abort.text("reason") == "failover":
        return ""
    missing = _missing(checkpoint)
    if not missing:
        return ""
    named, more = missing[:MOST_NAMED], len(missing) - MOST_NAMED
    if more > 0:
        named = [*named, f"{more:,} more"]
    names = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
    return f" {names} had not acknowledged."


def _missing(checkpoint: CheckpointEvents) -> list[ProcessId]:
    """Statistics that do not know every task leave its acknowledgement out, too: then it is not
    known who was missing unless as many are left as had not acknowledged."""
    trigger, abort = checkpoint.trigger, checkpoint.abort
    if trigger is None or trigger.names("to_ack") is None:
        return []
    acks = {process: checkpoint.first(process, CP_ACK) for process in checkpoint.tasks}
    missing = [name for name, ack in acks.items() if ack is None or ack.step > abort.step]
    if checkpoint.is_derived:
        asked, came = abort.whole("subtasks"), abort.whole("acknowledged")
        if None in (asked, came) or asked - came != len(missing):
            return []
    return missing


def _longest(path: tuple[Segment, ...]) -> Segment | None:
    return max((s for s in path if s.phase != COMMIT), key=lambda s: s.length, default=None)


def _open_end(path: tuple[Segment, ...]) -> Segment | None:
    return path[-1] if path else None


def _waiting(part: Segment) -> str:
    if part.is_inferred:
        first = part.phase == TRAVEL
        return f"waited for its {'first' if first else 'last'} barrier, on its way or before it"
    what = f"the barrier on {part.channel}"
    if part.end:
        what = f"the end of {part.channel}, which stands for its barrier"
    if not part.behind:
        return f"waited for {what}"
    records = "1 record" if part.behind == 1 else f"{part.behind:,} records"
    return f"waited for {what}, behind {records}"


def _did(part: Segment) -> str:
    if part.channel is not None:
        return f"{part.process} {_waiting(part)}"
    return {
        TRIGGER: f"passed until {part.process} took up the coordinator's word",
        BUSY: f"{part.process} was still copying its state for checkpoint {part.earlier}",
        ALIGNMENT: f"{part.process} waited for other barriers, until the time for that was over",
        SYNC: f"{part.process} copied its state and did nothing else",
        ASYNC: f"{part.process} uploaded the copy of its state",
        ACK: f"lay between the acknowledgement of {part.process}, the last, and the completion",
    }[part.phase]


def _is_doing(part: Segment, status: str) -> str:
    if part.channel is not None:
        return f"{part.process} still {_waiting(part)}"
    if part.phase == ACK and status != DECLINED:
        return f"all had acknowledged, {part.process} last, but it was not complete yet"
    return {
        TRIGGER: f"{part.process} had not taken up the coordinator's word",
        BUSY: f"{part.process} was still copying its state for checkpoint {part.earlier}",
        ALIGNMENT: f"{part.process} still waited for its other barriers",
        SYNC: f"{part.process} was still copying its state",
        ASYNC: f"{part.process} was still uploading the copy of its state",
        ACK: f"{part.process} said so",
    }.get(part.phase, f"{part.process} had not acknowledged")
