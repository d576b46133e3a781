"""Finds changes of the schema in a log: which reader stood still, and which writers followed.

Source: docs/formats/protocols.md, "3. SeaTunnel".
"""

from collections.abc import Sequence
from dataclasses import dataclass

from snapshots.domain.dataflow_logs.events import Plan, ProtocolEvent
from snapshots.domain.dataflow_logs.failovers.events import Failed
from snapshots.domain.dataflow_logs.kinds import SCHEMA_APPLY, SCHEMA_RESUME, SCHEMA_STOP
from snapshots.domain.model.topology import ProcessId

RESUMED, FAILED, OPEN = "resumed", "failed", "open"


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A change of the schema before which a reader stood still.

    Attributes:
        schema: the number of the schema that begins with the change.
        reader: the process that read the split.
        split: the split that holds the change. None if the log does not say.
        offset: the offset of the first record behind the change. None if the log does not say.
        stopped_at: when the reader stopped, in the time unit of the recording.
        end: how the stop ended: ``resumed`` if the reader read on, ``failed`` if it went down
            before, ``open`` if the log ends before.
        ended_at: when the reader read on or went down. None if the log ends before.
        changed: the writers that changed their tables in this time, in order.
        changed_again: how many of these had made the same change before, in an attempt that failed.
    """

    schema: int
    reader: ProcessId
    split: str | None
    offset: int | None
    stopped_at: int
    end: str
    ended_at: int | None
    changed: tuple[ProcessId, ...]
    changed_again: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The events between which a reader stood still. ``end`` is None if the log ends before."""

    begin: ProtocolEvent
    end: ProtocolEvent | None
    change: SchemaChange

    def spans(self, event: ProtocolEvent) -> bool:
        """Tell whether the event lies between the stop and its end."""
        return _is_between(event, self.begin, self.end)


def stops_of(
    events: Sequence[ProtocolEvent], failures: Sequence[Failed], plan: Plan
) -> tuple[Stop, ...]:
    """Return the stops among the events of a run, which are in order."""
    return tuple(
        _stop(event, events, failures, plan)
        for event in events
        if event.kind == SCHEMA_STOP and event.whole("schema") is not None
    )


def _stop(
    begin: ProtocolEvent,
    events: Sequence[ProtocolEvent],
    failures: Sequence[Failed],
    plan: Plan,
) -> Stop:
    process = begin.process
    resumed = (e for e in events if e.kind == SCHEMA_RESUME and e.process == process)
    downs = (failure.event for failure in failures if process in failure.scope)
    ends = [event for event in (*resumed, *downs) if event.step > begin.step]
    end = min(ends, key=lambda event: event.step, default=None)
    schema = begin.whole("schema") or 0
    applied = [
        event
        for event in events
        if event.kind == SCHEMA_APPLY
        and event.whole("schema") == schema
        and _are_connected(plan, event.process, process)
    ]
    now = [event for event in applied if _is_between(event, begin, end)]
    before = {event.process for event in applied if event.step < begin.step}
    change = SchemaChange(
        schema=schema,
        reader=process,
        split=begin.text("split"),
        offset=begin.whole("offset"),
        stopped_at=begin.at,
        end=OPEN if end is None else RESUMED if end.kind == SCHEMA_RESUME else FAILED,
        ended_at=end and end.at,
        changed=tuple(event.process for event in now),
        changed_again=sum(event.process in before for event in now),
    )
    return Stop(begin, end, change)


def _is_between(event: ProtocolEvent, begin: ProtocolEvent, end: ProtocolEvent | None) -> bool:
    return begin.step < event.step and (end is None or event.step < end.step)


def _are_connected(plan: Plan, one: ProcessId, other: ProcessId) -> bool:
    """Tell whether two processes are of one pipeline; without a dataflow there is only one."""
    if plan.dataflow is None:
        return True
    vertices = {plan.vertex_of(one), plan.vertex_of(other)}
    return any(vertices <= set(pipeline) for pipeline in plan.dataflow.pipelines)
