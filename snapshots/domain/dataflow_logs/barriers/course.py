"""A task's course through its flow chart: a passage for each event at which it heard of barriers.

The events of the log are the input. The steps, and which channels are blocked, follow from the
rules alone; they are then compared with the blocked channels in the log.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from snapshots.domain.dataflow_logs import kinds
from snapshots.domain.dataflow_logs.barriers import aligner, charts, signals, tracker
from snapshots.domain.dataflow_logs.barriers.aligner import Aligner
from snapshots.domain.dataflow_logs.barriers.charts import Chart, Step
from snapshots.domain.dataflow_logs.barriers.signals import Outcome, Signal
from snapshots.domain.dataflow_logs.barriers.tracker import Tracker
from snapshots.domain.dataflow_logs.events import DISCARDED, ProtocolEvent
from snapshots.domain.dataflow_logs.kinds import (
    ANNOUNCE,
    BLOCK,
    CANCEL_IN,
    CP_DECLINE,
    CP_NOTIFIED,
    END,
    RESTART,
    SWITCH_UNALIGNED,
    UNBLOCK,
)
from snapshots.domain.model import recording
from snapshots.domain.model.listing import listed
from snapshots.domain.model.recording import MARKER_RECEIVE, RECORD_STATE, RESTORE
from snapshots.domain.model.topology import ChannelId, ProcessId

AT_LEAST_ONCE, UNALIGNED = "at-least-once", "unaligned"
COURSE_KINDS = frozenset(
    (
        MARKER_RECEIVE,
        END,
        CANCEL_IN,
        ANNOUNCE,
        SWITCH_UNALIGNED,
        CP_NOTIFIED,
        CP_DECLINE,
        RECORD_STATE,
        BLOCK,
        UNBLOCK,
        RESTORE,
        RESTART,
    )
)
"""The kinds of a task's events from which its course follows."""
TAKEN = frozenset((signals.BARRIER, signals.END, signals.CANCEL))
"""What a task takes from a channel, between two records; all else may come while it is busy."""
RESTARTED = "The task has restarted since: it follows no checkpoint, and no channel is blocked."
MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Passage:
    """What one event led to.

    Attributes:
        index: the index of the event in its process.
        at: its instant.
        kind: the kind of its signal.
        checkpoint: the checkpoint that it names. None for the end of a channel.
        channel: the channel on which it came. None if it came on none.
        steps: the steps in the chart, in order. Empty if the chart has none for the event.
        why_none: why it has none, as a sentence. Empty if it has some.
        blocked: the channels that are blocked afterwards, by the rules.
        arrived: for each checkpoint under way afterwards, the channels whose barrier is here.
        after_restart: whether the task restarted between the event before and this one.
        differs: how the blocked channels of the log differ, as a sentence. Empty if they do not, or
            if the log has none.
    """

    index: int
    at: int
    kind: str
    checkpoint: str | None
    channel: ChannelId | None
    steps: tuple[Step, ...]
    why_none: str
    blocked: tuple[ChannelId, ...]
    arrived: Mapping[str, tuple[ChannelId, ...]]
    after_restart: bool = False
    differs: str = ""


@dataclass(frozen=True, slots=True)
class Course:
    """A task's course.

    Attributes:
        chart: the chart that the task follows. None if it is not known.
        passages: in the order of the events.
        why_not: why nothing is known, as a sentence. Empty if there are passages.
        has_blocks: whether the log says which channels are blocked.
    """

    chart: Chart | None
    passages: tuple[Passage, ...] = ()
    why_not: str = ""
    has_blocks: bool = False


def course_of(
    task: ProcessId,
    inputs: tuple[ChannelId, ...],
    events: Sequence[ProtocolEvent],
    modes: Mapping[str, str | None],
) -> Course:
    """Follow a task through its chart.

    Args:
        inputs: the channels that lead to the task.
        events: its events of COURSE_KINDS, in order, with their fields.
        modes: how the barriers of each checkpoint are handled; None where that is not known.
    """
    chart = _chart(events, modes)
    why_not = _why_not(task, inputs, events, chart)
    if why_not or chart is None:
        return Course(None, why_not=why_not)
    return _Walk(chart, inputs, events, modes).course()


def _chart(events: Sequence[ProtocolEvent], modes: Mapping[str, str | None]) -> Chart | None:
    """Return the chart that a task follows: the way of its checkpoints says it, or a block."""
    known = {mode for mode in modes.values() if mode}
    if AT_LEAST_ONCE in known:
        return charts.TRACKER
    return charts.ALIGNER if known or any(event.kind == BLOCK for event in events) else None


def _why_not(
    task: ProcessId,
    inputs: tuple[ChannelId, ...],
    events: Sequence[ProtocolEvent],
    chart: Chart | None,
) -> str:
    if not inputs:
        return f"No channel leads to {task}: it begins a checkpoint when the coordinator says so."
    barriers = [event for event in events if _is_barrier(event)]
    if not barriers:
        return f"The recording holds no barrier that came to {task} on a channel."
    if any(_number(event) is None for event in barriers):
        return (
            "The checkpoints have names that are no numbers, so none is known to be the newer one."
        )
    if chart is None:
        return (
            "The recording does not say how barriers are handled: no checkpoint has a mode, and no "
            f"channel of {task} was blocked."
        )
    return ""


def _is_barrier(event: ProtocolEvent) -> bool:
    return event.kind == MARKER_RECEIVE and event.label != DISCARDED


def _number(event: ProtocolEvent) -> int | None:
    text = event.snapshot or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


class _Walk:
    """Goes through the events once."""

    def __init__(
        self,
        chart: Chart,
        inputs: tuple[ChannelId, ...],
        events: Sequence[ProtocolEvent],
        modes: Mapping[str, str | None],
    ) -> None:
        self.chart, self.inputs, self.events, self.modes = chart, inputs, events, modes
        self.handler = self._new()
        self.logged: set[ChannelId] = set()
        self.restarted = False
        self.has_blocks = any(event.kind == BLOCK for event in events)
        self.found: list[Passage] = []

    def _new(self) -> Aligner | Tracker:
        return Aligner(self.inputs) if self.chart is charts.ALIGNER else Tracker(self.inputs)

    def course(self) -> Course:
        for place, event in enumerate(self.events):
            if event.kind in (RESTORE, RESTART):
                self.handler, self.restarted = self._new(), bool(self.found)
                self.logged.clear()
            elif event.kind == BLOCK and event.channel:
                self.logged.add(event.channel)
            elif event.kind == UNBLOCK and event.channel:
                self.logged.discard(event.channel)
            elif (signal := self._signal(place, event)) is not None:
                self._take(event, signal)
        return Course(self.chart, tuple(self.found), has_blocks=self.has_blocks)

    def _signal(self, place: int, event: ProtocolEvent) -> Signal | None:
        """Return what the task hears with an event, if it hears of a barrier."""
        if event.kind == END:
            return None if event.channel is None else Signal(signals.END, event.channel)
        number = _number(event)
        if number is None or event.label == DISCARDED:
            return None
        channel = event.channel
        match event.kind:
            case recording.MARKER_RECEIVE if channel and event.is_so("end"):
                is_new = channel not in self.handler.ended
                return Signal(signals.END, channel) if is_new else None
            case recording.MARKER_RECEIVE if channel:
                jumps = event.is_so("priority") or self.modes.get(event.snapshot or "") == UNALIGNED
                declined = self._declined(place, event)
                return Signal(signals.BARRIER, channel, number, jumps, declined)
            case kinds.CANCEL_IN if channel:
                return Signal(signals.CANCEL, channel, number)
            case kinds.ANNOUNCE if channel:
                return Signal(signals.ANNOUNCED, channel, number)
            case kinds.SWITCH_UNALIGNED:
                return Signal(signals.SWITCHED, None, number)
            case kinds.CP_NOTIFIED if event.text("what") == signals.ABORTED:
                return Signal(signals.ABORTED, None, number)
        return None

    def _declined(self, place: int, event: ProtocolEvent) -> str | None:
        """Return why the task declines the checkpoint at this event, if it does."""
        for later in self.events[place + 1 :]:
            if later.kind in (MARKER_RECEIVE, CANCEL_IN, END, RESTORE, RESTART):
                return None
            if later.snapshot == event.snapshot and later.kind in (RECORD_STATE, CP_DECLINE):
                is_declined = later.kind == CP_DECLINE
                return (later.text("reason") or "no reason given") if is_declined else None
        return None

    def _take(self, event: ProtocolEvent, signal: Signal) -> None:
        if signal.kind in TAKEN:
            self._compare()
        outcome = self._step(signal)
        if not (outcome.steps or outcome.why_none):
            return
        self.found.append(
            Passage(
                event.index,
                event.at,
                signal.kind,
                event.snapshot,
                event.channel,
                *outcome,
                *self._state(),
                after_restart=self.restarted,
            )
        )
        self.restarted = False

    def _step(self, signal: Signal) -> Outcome:
        if isinstance(self.handler, Aligner):
            self.handler, outcome = aligner.take(self.handler, signal)
        else:
            self.handler, outcome = tracker.take(self.handler, signal)
        return outcome

    def _state(self) -> tuple[tuple[ChannelId, ...], Mapping[str, tuple[ChannelId, ...]]]:
        """Return which channels are blocked, and which barriers are here of each checkpoint."""
        handler = self.handler
        if isinstance(handler, Tracker):
            return (), {str(number): own for number, own in sorted(handler.pending.items())}
        follows = {} if handler.follows is None else {str(handler.follows): handler.arrived}
        return handler.blocked, follows

    def _compare(self) -> None:
        """Compare what was blocked after the last passage, when the next signal is taken."""
        if not (self.has_blocks and self.found) or self.restarted:
            return
        last = self.found[-1]
        if set(last.blocked) != self.logged:
            logged = listed(sorted(self.logged), MOST_NAMED) or "no channel"
            ruled = listed(last.blocked, MOST_NAMED) or "no channel"
            words = f"The recording says otherwise: it has {logged} blocked, the rules {ruled}."
            self.found[-1] = replace(last, differs=words)
