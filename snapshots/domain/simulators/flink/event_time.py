"""Watermarks of a simulated Flink job: sources make them, tasks combine them, windows fire on them.

The decisions are the step functions in `protocols/flink_watermarks.py`. A source's watermark is the
latest event time it has read, minus the bounded delay, minus 1 us.
"""

from dataclasses import dataclass

from snapshots.domain.dataflow_logs.dataflow import SOURCE, Dataflow, DataflowRefused, Vertex
from snapshots.domain.dataflow_logs.kinds import LATE, WATERMARK_IN
from snapshots.domain.dataflow_logs.kinds import WATERMARK as WATERMARK_EVENT
from snapshots.domain.model.recording import INTERNAL
from snapshots.domain.simulators.bounds import NotNegative, Positive, check_whole_numbers
from snapshots.domain.simulators.dataflows.counting import Failure
from snapshots.domain.simulators.dataflows.functions import Record, Rid, Windows
from snapshots.domain.simulators.dataflows.lanes import WATERMARK, Item, Lane
from snapshots.domain.simulators.flink.tasks import FlinkMachine, FlinkTask
from snapshots.domain.simulators.protocols import flink_watermarks as combining
from snapshots.domain.simulators.protocols.flink_watermarks import BEGINNING, END_OF_TIME

END = "end"
"""Stands in the log for the watermark of an input that has been read to its end."""


@dataclass(frozen=True, slots=True)
class EventTimeSettings:
    """How event time and watermarks work. Times are in us.

    Attributes:
        interval: the time between two watermarks of a source. None makes no watermarks.
        delay: how long a source waits for records that come out of order.
        disorder: how far event times may lie before the times at which records come into being.
        idle_after: the time without a record after which a source is idle. None is never.
        window: the length of the windows.
        is_kept: whether windows keep their watermark as union list state, which Flink does not do
            by itself.

    Raises: DataflowRefused, with the field, if a value is not possible.
    """

    interval: Positive | None = None
    delay: NotNegative = 2_000
    disorder: NotNegative = 0
    idle_after: Positive | None = None
    window: Positive = 20_000
    is_kept: bool = False

    def __post_init__(self) -> None:
        check_whole_numbers(self, "event_time")

    def keeps(self, vertex: Vertex) -> bool:
        """Return whether the subtasks of a vertex keep their watermark as state."""
        return self.is_kept and vertex.is_window

    @property
    def windows(self) -> Windows:
        """The windows that vertices make."""
        return Windows(self.window, self.disorder)


def check_windows(dataflow: Dataflow, settings: EventTimeSettings) -> None:
    """Refuse windows without watermarks, on which they would fire. Raises: DataflowRefused."""
    if settings.interval is not None:
        return
    for vertex in dataflow.vertices:
        if vertex.is_window:
            raise DataflowRefused(
                "event_time.interval",
                f"The windows of {vertex.id} fire on watermarks, so sources must make some: give "
                "the time between two of them.",
            )


def logged(watermark: int) -> int | str | None:
    """Return a watermark as the log has it: END at the end of time, None if there is none yet."""
    if watermark == BEGINNING:
        return None
    return END if watermark == END_OF_TIME else watermark


def label_of(watermark: int) -> str:
    """Return a watermark in words, as a replay shows it."""
    if watermark == BEGINNING:
        return "no watermark"
    if watermark == END_OF_TIME:
        return "watermark: the end of time"
    return f"watermark {watermark / 1_000:,.10g} ms"


class EventTime:
    """Makes watermarks at sources, handles those that come, and fires windows."""

    def __init__(self, machine: FlinkMachine, settings: EventTimeSettings) -> None:
        self.machine = machine
        self.log = machine.log
        self.settings = settings
        self.windows = settings.windows
        self._fired: set[tuple[str, Rid]] = set()

    # --- at a source -----------------------------------------------------------------------------

    def begin(self, task: FlinkTask) -> None:
        """Let a source that was just deployed make watermarks."""
        if task.vertex.kind == SOURCE and self.settings.interval is not None:
            task.read_at = self.log.now
            self._plan(task, self.settings.interval)

    def _plan(self, task: FlinkTask, interval: int) -> None:
        machine = self.machine
        machine.later(task, interval, machine.post, task, self._make, task, interval)

    def _make(self, task: FlinkTask, interval: int) -> None:
        """Send the newest watermark on, or the news that the source is idle."""
        if task.ended:
            return
        watermark = task.latest - self.settings.delay - 1
        if task.latest != BEGINNING and watermark > task.valve.watermark:
            if task.valve.is_idle:
                self._send_status(task, False)
            self._advance(task, watermark)
        elif self._is_quiet(task):
            self._send_status(task, True)
        self._plan(task, interval)

    def _is_quiet(self, task: FlinkTask) -> bool:
        """Return whether a source becomes idle. Time under back pressure does not count."""
        limit = self.settings.idle_after
        if limit is None or task.valve.is_idle or not task.can_put:
            return False
        return self.log.now - task.read_at > limit

    def note_read(self, task: FlinkTask, time: int) -> None:
        """Note the event time of a record that a source has read."""
        task.read_at = self.log.now
        task.latest = max(task.latest, time)

    def end(self, task: FlinkTask) -> None:
        """Send the end of time on: the task has read all its input, and every window fires."""
        if self.settings.interval is not None and task.valve.watermark != END_OF_TIME:
            if task.valve.is_idle:
                self._send_status(task, False)
            self._advance(task, END_OF_TIME)

    # --- at every other task ---------------------------------------------------------------------

    def on_item(self, task: FlinkTask, lane: Lane, item: Item) -> None:
        """Handle a watermark, or the news of an idle sender, that has come on a channel."""
        is_idle = item.is_idle
        if is_idle is None:
            assert item.watermark is not None  # an item is either a watermark or a status
            extra = {"watermark": logged(item.watermark)}
            step = combining.on_watermark(task.valve, lane.id, item.watermark)
        else:
            extra = {"idle": is_idle}
            step = combining.on_status(task.valve, lane.id, is_idle)
        self.log.add(task.id, WATERMARK_IN, extra, channel=lane.id)
        valve, effects = step
        for effect in effects:
            match effect:
                case combining.Advance(watermark):
                    self._advance(task, watermark)
                case combining.Status(status):
                    self._send_status(task, status)
        task.valve = valve

    # --- at all ----------------------------------------------------------------------------------

    def _advance(self, task: FlinkTask, watermark: int) -> None:
        """Raise the task's watermark, fire what is over, and send the watermark on behind it."""
        task.valve = combining.risen(task.valve, watermark)
        state, results = task.state, list[Record]()
        if task.vertex.is_window:
            state, results = self.windows.fire(task.vertex, task.state, watermark)
        fired = [[self.windows.start(result.time), result.key] for result in results]
        extra = {"watermark": logged(watermark), "fired": fired or None}
        self.log.add(task.id, WATERMARK_EVENT, extra, label=label_of(watermark))
        self._count(task, results)
        if results:
            task.state = state
            task.note_changed(result.key for result in results)
            self.log.add(task.id, INTERNAL, label="windows fired", state=task.state_text)
            self.machine.emit(task, results)
        self._put(task, Item(WATERMARK, watermark=watermark))

    def note_failure(self, failure: Failure) -> None:
        """Note the watermarks that a failure takes from its tasks."""
        valves = {name: self.machine.tasks[name].valve for name in failure.scope}
        failure.watermarks = {
            name: valve.watermark for name, valve in valves.items() if valve.watermark != BEGINNING
        }

    def _count(self, task: FlinkTask, results: list[Record]) -> None:
        """Count results of windows, and what the latest failure of the task has to do with it."""
        counted, fired = self.machine.counted, [(task.vertex.id, r.rid) for r in results]
        again = sum(item in self._fired for item in fired)
        self._fired.update(fired)
        counted.fired += fired
        failures = (item for item in reversed(counted.failures) if task.id in item.scope)
        failure = next(failures, None)
        if failure is None:
            return
        failure.fired_again += again
        before = failure.watermarks.get(task.id, END_OF_TIME + 1)
        if task.valve.watermark >= before:
            failure.regained.setdefault(task.id, self.log.now)

    def _send_status(self, task: FlinkTask, is_idle: bool) -> None:
        task.valve = combining.with_status(task.valve, is_idle)
        extra = {"watermark": logged(task.valve.watermark), "idle": is_idle}
        label = f"{'idle' if is_idle else 'no longer idle'}, {label_of(task.valve.watermark)}"
        self.log.add(task.id, WATERMARK_EVENT, extra, label=label)
        self._put(task, Item(WATERMARK, is_idle=is_idle))

    def _put(self, task: FlinkTask, item: Item) -> None:
        for lane in task.outputs.values():
            lane.put(Item(WATERMARK, watermark=item.watermark, is_idle=item.is_idle))

    def log_late(self, task: FlinkTask, record: Record) -> None:
        """Log that a record was dropped, because its window is over."""
        start = self.windows.start(record.time)
        extra = {"rid": record.rid, "window": start, "watermark": logged(task.valve.watermark)}
        self.log.add(task.id, LATE, extra)
        self.machine.counted.late[task.id] += 1
