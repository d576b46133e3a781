"""Tells from a log what a coordinator and its tasks say to each other about checkpoints.

The coordinator *triggers*, a task *acknowledges* or *declines*, the coordinator *notifies*. These
words travel beside the channels. A log has the event at which a trigger or a notice is sent, and
what its task then does; of an acknowledgement it has one event alone, that of the task.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from snapshots.domain.dataflow_logs.control.events import Place, is_coordinator, is_work
from snapshots.domain.dataflow_logs.events import Plan, ProtocolEvent
from snapshots.domain.dataflow_logs.kinds import (
    BATCH_PLAN,
    CP_ACK,
    CP_DECLINE,
    CP_NOTIFIED,
    CP_NOTIFY,
    CP_TRIGGER,
    TASK_END,
)
from snapshots.domain.model.recording import RECORD_STATE
from snapshots.domain.model.topology import ProcessId

TRIGGER, ACK, DECLINE, NOTIFY = SIGNALS = ("trigger", "ack", "decline", "notify")
_ANSWERS = {CP_ACK: ACK, TASK_END: ACK, CP_DECLINE: DECLINE}


@dataclass(frozen=True, slots=True)
class Signal:
    """One word between a coordinator and a task.

    Attributes:
        kind: one of SIGNALS; ``ack`` and ``decline`` go to the coordinator.
        coordinator: the id of the coordinator.
        task: the id of the task.
        snapshot: the checkpoint that it is about.
        sent: where it was sent.
        arrived: where the task did what it was told, or heard it. None if the log does not say.
        lost: whether the log says that it arrives nowhere.
    """

    kind: str
    coordinator: ProcessId
    task: ProcessId
    snapshot: str
    sent: Place
    arrived: Place | None = None
    lost: bool = False


def signals(events: Iterable[ProtocolEvent], plan: Plan) -> list[Signal]:
    """Return the signals in the order of sending.

    Args:
        events: those that tell what processes do (``events.tells``), in order.
        plan: what the header says of the run.
    """
    told = list(events)
    heads = coordinators(told, plan)
    heard = _heard(told)
    tasks = set(plan.tasks)
    found: list[Signal] = []
    for event in told:
        head = heads.get(event.snapshot or "")
        if event.snapshot is None or head is None:
            continue
        if event.kind in _ANSWERS:
            kind, sent = _ANSWERS[event.kind], Place.of(event)
            found.append(Signal(kind, head, event.process, event.snapshot, sent))
        else:
            found += [each for each in _orders(event, head, heard) if each.task in tasks]
    return found


def coordinators(events: Iterable[ProtocolEvent], plan: Plan) -> dict[str, ProcessId]:
    """Return the coordinator of each checkpoint, by its trigger, or by any event of its own."""
    found: dict[str, ProcessId] = {}
    named = [process.id for process in plan.topology.processes if is_coordinator(process.id)]
    for event in events:
        if event.snapshot is None:
            continue
        if is_coordinator(event.process):
            found.setdefault(event.snapshot, event.process)
        elif event.kind in _ANSWERS and len(named) == 1:
            found.setdefault(event.snapshot, named[0])
    return found


class _Heard:
    """For each task the places at which it acted on a signal, in order."""

    def __init__(self) -> None:
        self.acts: dict[tuple[str, str | None], list[ProtocolEvent]] = {}
        self.notices: dict[tuple[str, str | None], list[ProtocolEvent]] = {}
        self.works: dict[str, list[ProtocolEvent]] = {}


def _heard(events: Iterable[ProtocolEvent]) -> _Heard:
    heard = _Heard()
    for event in events:
        key = event.process, event.snapshot
        if event.kind in (RECORD_STATE, CP_DECLINE) and not event.is_so("finished"):
            heard.acts.setdefault(key, []).append(event)
        elif event.kind == CP_NOTIFIED:
            heard.notices.setdefault(key, []).append(event)
        elif is_work(event):
            heard.works.setdefault(event.process, []).append(event)
    return heard


def _orders(event: ProtocolEvent, head: ProcessId, heard: _Heard) -> Iterator[Signal]:
    """Yield what a coordinator tells its tasks with one event."""
    name, sent = event.snapshot or "", Place.of(event)
    if event.kind == CP_TRIGGER:
        for task in event.names("to_trigger") or ():
            arrived = _first_after(event, heard.acts.get((task, name), ()))
            yield Signal(TRIGGER, head, ProcessId(task), name, sent, arrived)
    elif event.kind == BATCH_PLAN:
        ranges = event.fields.get("ranges")
        for task in ranges if isinstance(ranges, dict) else ():
            arrived = _first_after(event, heard.works.get(task, ()))
            yield Signal(TRIGGER, head, ProcessId(task), name, sent, arrived)
    elif event.kind == CP_NOTIFY:
        lost, what = event.is_so("lost"), event.text("what")
        for task in event.names("tasks") or ():
            notices = [e for e in heard.notices.get((task, name), ()) if e.text("what") == what]
            arrived = None if lost else _first_after(event, notices)
            yield Signal(NOTIFY, head, ProcessId(task), name, sent, arrived, lost)


def _first_after(event: ProtocolEvent, own: Iterable[ProtocolEvent]) -> Place | None:
    return next((Place.of(other) for other in own if other.step > event.step), None)
