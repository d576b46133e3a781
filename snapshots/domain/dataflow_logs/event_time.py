"""Analyses the watermarks of a run from its log: where they stood, what fired, what came too late.

A checkpoint does not hold watermarks. After a restart every task begins without one, unless the log
says that its watermark was kept as state. Source: Flink, "Checkpointing under backpressure", and
StatusWatermarkValve.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from snapshots.domain.dataflow_logs.checkpoints.sentences import spelled
from snapshots.domain.dataflow_logs.checkpoints.tasks import RunEvents
from snapshots.domain.dataflow_logs.events import ProtocolEvent, whole
from snapshots.domain.dataflow_logs.failovers.events import Failed
from snapshots.domain.dataflow_logs.kinds import LATE, WATERMARK
from snapshots.domain.model.defects import times
from snapshots.domain.model.topology import ProcessId

KINDS = (WATERMARK, LATE)
"""The kinds of events that the analysis needs beside those of the run."""
END_OF_TIME = 2**63 - 1


@dataclass(frozen=True, slots=True)
class TaskTime:
    """The event time of one task, over the whole recording.

    Attributes:
        process: the id of the task.
        vertex: the vertex to which the task belongs.
        watermark: the watermark at the end of the log, in microseconds. None if the task has none
            then, or if ``has_ended``.
        has_ended: whether the last watermark was the end of time, which follows the last record.
        is_idle: whether the task was idle when the log ends.
        fired: how many results the windows of the task sent, over all attempts.
        late: how many records the task dropped because their windows were over.
    """

    process: ProcessId
    vertex: str
    watermark: int | None = None
    has_ended: bool = False
    is_idle: bool = False
    fired: int = 0
    late: int = 0


@dataclass(frozen=True, slots=True)
class LostWatermark:
    """A task that a restart set back in event time.

    Attributes:
        process: the id of the task.
        before: the watermark of the task when the failure happened, in microseconds.
        restored: the watermark that the restart brought back, in microseconds. None if there was
            none.
        regained_at: when the task had its watermark again. None means that the log ends before.
    """

    process: ProcessId
    before: int
    restored: int | None = None
    regained_at: int | None = None


@dataclass(frozen=True, slots=True)
class RestartInEventTime:
    """What a failure did to event time.

    Attributes:
        at: when the failure happened, in the time unit of the recording.
        tasks: the tasks that had a watermark when the failure happened and came back.
        fired_again: how many results of windows were sent once more because of the failure.
        sentence: a summary in one or two sentences.
    """

    at: int
    tasks: tuple[LostWatermark, ...] = ()
    fired_again: int = 0
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class EventTimeReport:
    """Watermarks, windows and late records of a run.

    Attributes:
        tasks: the tasks, in the order of the topology.
        restarts: what each failure did to event time, in the order of the failures.
    """

    tasks: tuple[TaskTime, ...]
    restarts: tuple[RestartInEventTime, ...]


def event_time_of(events: Iterable[ProtocolEvent], run: RunEvents) -> EventTimeReport | None:
    """Report on the event time of a run; return None if its log holds no watermark.

    Args:
        events: those of ``KINDS``, in order.
    """
    walk = _Walk(run)
    for event in events:
        walk.take(event)
    if not walk.has_any:
        return None
    walk.end()
    return EventTimeReport(
        tuple(walk.tasks[name] for name in run.plan.tasks),
        tuple(_with_sentence(restart, run.plan.time_unit) for restart in walk.restarts),
    )


@dataclass
class _Walk:
    """Goes through the events once; ``_pending`` are the restarts still to come, in order."""

    run: RunEvents
    has_any: bool = False
    tasks: dict[ProcessId, TaskTime] = field(init=False)
    restarts: list[RestartInEventTime] = field(init=False)

    def __post_init__(self) -> None:
        plan = self.run.plan
        self.tasks = {name: TaskTime(name, plan.vertex_of(name)) for name in plan.tasks}
        self.restarts = [RestartInEventTime(failed.event.at) for failed in self.run.failures]
        self._pending = iter(sorted(_backs(self.run.failures), key=lambda item: item[0].step))
        self._next = next(self._pending, None)
        self._fired: set[tuple[str, int, str]] = set()
        self._failure_of: dict[ProcessId, int] = {}

    def take(self, event: ProtocolEvent) -> None:
        """Take the next event, after all restarts that lie before it."""
        self.has_any = True
        self._restart_until(event.step)
        task = self.tasks.get(event.process)
        if task is None:
            return
        if event.kind == LATE:
            task = replace(task, late=task.late + 1)
        elif event.kind == WATERMARK:
            task = self._advanced(task, event)
        self.tasks[event.process] = task

    def end(self) -> None:
        """Take the restarts behind the last event."""
        self._restart_until(2**63)

    def _restart_until(self, step: int) -> None:
        while self._next is not None and self._next[0].step < step:
            self._restart(*self._next)
            self._next = next(self._pending, None)

    def _restart(self, event: ProtocolEvent, number: int) -> None:
        task = self.tasks.get(event.process)
        if task is None:
            return
        before = END_OF_TIME if task.has_ended else task.watermark
        restored = whole(event.fields.get("watermark"))
        has_ended = event.text("watermark") == "end"
        if before is not None:
            lost = LostWatermark(task.process, before, restored)
            restart = self.restarts[number]
            self.restarts[number] = replace(restart, tasks=(*restart.tasks, lost))
        self._failure_of[event.process] = number
        task = replace(task, watermark=restored, has_ended=has_ended, is_idle=False)
        self.tasks[event.process] = task

    def _advanced(self, task: TaskTime, event: ProtocolEvent) -> TaskTime:
        fired = [place for place in map(_window, _listed(event)) if place is not None]
        again = sum((task.vertex, *place) in self._fired for place in fired)
        self._fired.update((task.vertex, *place) for place in fired)
        has_ended = event.text("watermark") == "end"
        watermark = event.whole("watermark")
        number = self._failure_of.get(task.process)
        if number is not None:
            reached = END_OF_TIME if has_ended else watermark
            self.restarts[number] = _regained(self.restarts[number], event, reached, again)
        return replace(
            task,
            watermark=None if has_ended else watermark,
            has_ended=has_ended,
            is_idle=event.is_so("idle"),
            fired=task.fired + len(fired),
        )


def _backs(failures: Iterable[Failed]) -> Iterator[tuple[ProtocolEvent, int]]:
    for number, failed in enumerate(failures):
        for event in failed.back.values():
            yield event, number


def _listed(event: ProtocolEvent) -> list[object]:
    fired = event.fields.get("fired")
    return fired if isinstance(fired, list) else []


def _window(item: object) -> tuple[int, str] | None:
    """Return the start and the key of a window that fired; None if the log garbles it."""
    match item:
        case [int(start), str(key)]:
            return start, key
    return None


def _regained(
    restart: RestartInEventTime, event: ProtocolEvent, watermark: int | None, again: int
) -> RestartInEventTime:
    """Note that a task has its watermark again, and what it fired again on its way there."""
    tasks = tuple(
        replace(lost, regained_at=event.at)
        if lost.process == event.process
        and lost.regained_at is None
        and watermark is not None
        and watermark >= lost.before
        else lost
        for lost in restart.tasks
    )
    return replace(restart, tasks=tasks, fired_again=restart.fired_again + again)


def _with_sentence(restart: RestartInEventTime, unit: str) -> RestartInEventTime:
    return replace(restart, sentence=_sentence(restart, unit))


def _sentence(restart: RestartInEventTime, unit: str) -> str:
    if not restart.tasks:
        return "No task that came back had a watermark when it failed."
    bare = [lost for lost in restart.tasks if lost.restored is None]
    kept = len(restart.tasks) - len(bare)
    parts = []
    if bare:
        subject = "task began" if len(bare) == 1 else "tasks began"
        parts.append(
            f"{len(bare)} {subject} again without a watermark, which is not part of their state"
        )
    if kept:
        parts.append(
            f"{times(kept, 'task')} had kept its own as state"
            if kept == 1
            else f"{kept} tasks had kept theirs as state"
        )
    return f"{', and '.join(parts)}. {_recovery(restart, unit)}"


def _recovery(restart: RestartInEventTime, unit: str) -> str:
    """Say how long event time was behind, and what windows sent twice."""
    missing = [lost.process for lost in restart.tasks if lost.regained_at is None]
    if missing:
        again = f"{times(len(missing), 'task')} did not reach the watermark of before in this log"
    else:
        last = max(lost.regained_at or 0 for lost in restart.tasks)
        took = spelled(last - restart.at, unit)
        again = f"{took} after the failure all had the watermark of before again"
    fired = restart.fired_again
    sent = (
        "no window fired twice"
        if not fired
        else (f"windows sent {times(fired, 'result')} once more")
    )
    return f"{again[0].upper()}{again[1:]}, and {sent}."
