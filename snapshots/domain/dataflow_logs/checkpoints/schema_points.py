"""Says what a schema-change point of a pipeline belongs to: which change, and who stood still."""

from snapshots.domain.dataflow_logs.checkpoints.report import SchemaPoint
from snapshots.domain.dataflow_logs.checkpoints.sentences import spelled
from snapshots.domain.dataflow_logs.checkpoints.tasks import CheckpointEvents
from snapshots.domain.dataflow_logs.kinds import CP_DECISION
from snapshots.domain.dataflow_logs.schema_changes import FAILED, OPEN, SchemaChange, Stop
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

SCHEMA_POINTS = ("schema-change-before point", "schema-change-after point")
PUT_OFF = "the schema is changing"
MOST_NAMED = 3  # writers in a sentence


def schema_point(checkpoint: CheckpointEvents) -> SchemaPoint | None:
    """Return the change of a schema-change point; None for others, and if no reader had stopped."""
    trigger = checkpoint.trigger
    if trigger is None or trigger.text("type") not in SCHEMA_POINTS:
        return None
    stops = (stop for stop in checkpoint.run.schema_stops if stop.spans(trigger))
    stop = next((s for s in stops if s.begin.process in checkpoint.tasks), None)
    if stop is None:
        return None
    put_off = _put_off(checkpoint, stop)
    is_before = trigger.text("type") == SCHEMA_POINTS[0]
    unit = checkpoint.plan.time_unit
    text = _before(stop.change, put_off, unit) if is_before else _after(stop.change, unit)
    return SchemaPoint(is_before, stop.change, put_off, text)


def _put_off(checkpoint: CheckpointEvents, stop: Stop) -> int:
    """Count the requests that the checkpoint's coordinator dropped while the reader stood still."""
    coordinator = checkpoint.trigger and checkpoint.trigger.process
    return sum(
        event.kind == CP_DECISION
        and event.process == coordinator
        and event.text("dropped") == PUT_OFF
        and stop.spans(event)
        for event in checkpoint.run.events
    )


def _before(change: SchemaChange, put_off: int, unit: str) -> str:
    text = f"{change.reader} had stopped for it {_where(change)}; {_end(change, unit)}."
    if not put_off:
        return text
    were = "was" if put_off == 1 else "were"
    return f"{text} {times(put_off, 'request')} for other checkpoints {were} put off meanwhile."


def _where(change: SchemaChange) -> str:
    if change.split is None or change.offset is None:
        return f"where schema {change.schema} begins"
    return f"at offset {change.offset:,} of {change.split}, where schema {change.schema} begins"


def _after(change: SchemaChange, unit: str) -> str:
    writers = listed(change.changed, MOST_NAMED) if change.changed else "No writer"
    text = f"{writers} changed to schema {change.schema}; {_end(change, unit)}."
    again = change.changed_again
    if not again:
        return text
    return f"{text} {times(again, 'writer')} made the same change a second time, after a failure."


def _end(change: SchemaChange, unit: str) -> str:
    if change.end == OPEN or change.ended_at is None:
        return f"{change.reader} still stood still when the log ends"
    took = spelled(change.ended_at - change.stopped_at, unit)
    if change.end == FAILED:
        return f"{change.reader} failed {took} after its stop, before it read on"
    return f"{change.reader} stood still for {took}"
