"""Says how far a checkpoint has come: who has acknowledged, and for whom it waits.

It is said of every moment of a log, beside the coordinator's lane, and of its end on the page of
the checkpoint. "Had to" is what the trigger names; a log without that does not say for whom the
coordinator waited.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from snapshots.domain.dataflow_logs.control.events import Place
from snapshots.domain.dataflow_logs.control.signals import coordinators
from snapshots.domain.dataflow_logs.events import Plan, ProtocolEvent
from snapshots.domain.dataflow_logs.kinds import (
    BATCH_COMMIT,
    BATCH_PLAN,
    CP_ABORT,
    CP_ACK,
    CP_COMPLETE,
    CP_DECLINE,
    CP_TRIGGER,
    TASK_END,
)
from snapshots.domain.model.listing import listed
from snapshots.domain.model.topology import ProcessId

UNDER_WAY, COMPLETE, GIVEN_UP = "under way", "complete", "given up"
MOST_NAMED = 4  # tasks in a sentence
MOST_UNDER_WAY = 2  # checkpoints in a sentence
BATCH = "batch"


@dataclass
class Progress:
    """How far one checkpoint has come.

    Attributes:
        checkpoint: its name.
        noun: ``checkpoint``, ``savepoint``, ``epoch``, ``batch`` or what else the log calls it.
        expected: the tasks that have to acknowledge. None if the log does not name them.
        acknowledged: those that have, in the order in which they did.
        declined: those that have declined.
        fate: UNDER_WAY, COMPLETE or GIVEN_UP.
        reason: why it was given up, in the words of the log. None if the log does not say.
    """

    checkpoint: str
    noun: str = "checkpoint"
    expected: tuple[ProcessId, ...] | None = None
    acknowledged: list[ProcessId] = field(default_factory=list)
    declined: list[ProcessId] = field(default_factory=list)
    fate: str = UNDER_WAY
    reason: str | None = None

    @property
    def missing(self) -> tuple[ProcessId, ...]:
        """Return the tasks that have to acknowledge and have not."""
        return tuple(task for task in self.expected or () if task not in self.acknowledged)

    @property
    def sentence(self) -> str:
        """Say it, as ``checkpoint 7: 6 of 8 acknowledged; waited for: sink[0], sink[1]``."""
        parts = [part for part in (self._counted, self._fate, self._missing) if part]
        return f"{self.noun} {self.checkpoint}: {'; '.join(parts)}"

    @property
    def _counted(self) -> str:
        count, did = len(self.acknowledged), "ended" if self.noun == BATCH else "acknowledged"
        if self.expected is None:
            return f"{count:,} {did}; the log does not name all that have to"
        own = sum(task in self.expected for task in self.acknowledged)
        return f"{own:,} of {len(self.expected):,} {did}"

    @property
    def _fate(self) -> str:
        if self.fate == UNDER_WAY:
            return f"declined by {listed(self.declined, MOST_NAMED)}" if self.declined else ""
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.fate}{reason}"

    @property
    def _missing(self) -> str:
        if not self.missing:
            return "not complete yet" if self._waits_for_none else ""
        word = "waited for" if self.fate == UNDER_WAY else "missing"
        return f"{word}: {', '.join(_shortened(self.missing))}"

    @property
    def _waits_for_none(self) -> bool:
        return self.fate == UNDER_WAY and bool(self.expected)


def _shortened(names: Sequence[str]) -> list[str]:
    if len(names) <= MOST_NAMED:
        return list(names)
    return [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1:,} more"]


@dataclass(frozen=True, slots=True)
class Said:
    """What is said beside the lane of a coordinator from one event on.

    Attributes:
        coordinator: the id of the coordinator.
        since: the place of the event.
        process: the process of the event.
        index: the index of the event within that process.
        words: what is said.
    """

    coordinator: ProcessId
    since: Place
    process: ProcessId
    index: int
    words: str


class Progresses:
    """How far all checkpoints of a log come, event by event.

    Attributes:
        by_name: what has become of each checkpoint.
        said: what is said of them, in order.
    """

    def __init__(self, events: Iterable[ProtocolEvent], plan: Plan) -> None:
        told = list(events)
        self.by_name: dict[str, Progress] = {}
        self.said: list[Said] = []
        self._plan = plan
        self._heads = coordinators(told, plan)
        self._open: dict[ProcessId, list[Progress]] = {}
        for event in told:
            self._take(event)

    def _take(self, event: ProtocolEvent) -> None:
        head = self._heads.get(event.snapshot or "")
        if head is None or event.snapshot is None or not self._changes(event):
            return
        progress = self.by_name[event.snapshot]
        opened = self._open.get(head, [])
        others = [each for each in opened if each.checkpoint != progress.checkpoint]
        is_open = progress.fate == UNDER_WAY
        self._open[head] = [*others, progress] if is_open else others
        words = self._words(self._open[head] or [progress])
        self.said.append(Said(head, Place.of(event), event.process, event.index, words))

    def _changes(self, event: ProtocolEvent) -> bool:
        """Take an event over; tell whether it changes how far a checkpoint has come."""
        kind, name = event.kind, event.snapshot or ""
        progress = self.by_name.get(name)
        if kind in (CP_TRIGGER, BATCH_PLAN):
            self.by_name[name] = self._begun(event)
            return True
        if kind not in (CP_ACK, TASK_END, CP_DECLINE, CP_COMPLETE, CP_ABORT, BATCH_COMMIT):
            return False
        progress = self.by_name.setdefault(name, Progress(name))
        if kind in (CP_ACK, TASK_END, CP_DECLINE):
            answered = progress.declined if kind == CP_DECLINE else progress.acknowledged
            is_late = progress.fate != UNDER_WAY or event.process in answered
            if not is_late:
                answered.append(event.process)
            return not is_late
        progress.fate = GIVEN_UP if kind == CP_ABORT else COMPLETE
        progress.reason = event.text("reason") if kind == CP_ABORT else None
        return True

    def _begun(self, event: ProtocolEvent) -> Progress:
        name = event.snapshot or ""
        if event.kind == BATCH_PLAN:
            return Progress(name, BATCH, None if self._plan.is_derived else self._plan.tasks)
        names = event.names("to_ack")
        known = set(self._plan.tasks)
        expected = None if names is None else tuple(ProcessId(n) for n in names if n in known)
        noun = event.text("type") or "checkpoint"
        return Progress(name, noun, expected)

    def _words(self, progresses: Sequence[Progress]) -> str:
        words = [each.sentence for each in progresses[-MOST_UNDER_WAY:]]
        hidden = len(progresses) - len(words)
        more = f"; {hidden:,} more under way" if hidden else ""
        return ". ".join(words) + more
