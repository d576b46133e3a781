"""Tells the start of a SeaTunnel pipeline step by step, and who waits for whom.

Every start and every restart of a pipeline goes through the same steps. A log has events for some
of them; of the others it is said that they are not known, and why. Source:
docs/formats/seatunnel-files.md, "4. Start, restore, end".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from snapshots.domain.dataflow_logs.control.events import BACK_KINDS, RESTORED, is_work
from snapshots.domain.dataflow_logs.events import ProtocolEvent
from snapshots.domain.dataflow_logs.kinds import (
    CP_REQUEST,
    CP_TRIGGER,
    END,
    FINISH,
    SPLIT_RETURNED,
    TX_RECOVER_COMMIT,
)
from snapshots.domain.dataflow_logs.pipelines import PipelinePlan
from snapshots.domain.model.recording import INTERNAL, RESTORE
from snapshots.domain.model.topology import ProcessId

HANDED_OUT, READY, RUNNING = "states handed out", "restoreState, READY_START", "RUNNING"
COMPLETED_POINT = "completed point"
NO_EVENT = "A log has no event for it. It lies between the steps around it."
NOT_STORED = "Checkpoint files hold nothing of a start. The log of the engine is not read for it."
NOT_SO = "The log has no such event."
START_KINDS = frozenset(
    (*BACK_KINDS, INTERNAL, TX_RECOVER_COMMIT, SPLIT_RETURNED, END, FINISH, CP_REQUEST, CP_TRIGGER)
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a start.

    Attributes:
        name: what happens, in the engine's words where it has some.
        who: who does it.
        waits: who waits for whom meanwhile, as a sentence; "" for nobody.
        events: the events with which processes take the step, in order; none if it is not known.
        why: why the step is not known, or what is missing of it. None if nothing is.
        is_end: whether the step belongs to the end of the job.
    """

    name: str
    who: str
    waits: str
    events: tuple[ProtocolEvent, ...] = ()
    why: str | None = None
    is_end: bool = False

    @property
    def first(self) -> ProtocolEvent | None:
        """Return the event with which the first process takes the step."""
        return self.events[0] if self.events else None

    @property
    def last(self) -> ProtocolEvent | None:
        """Return the event with which the last process takes the step."""
        return self.events[-1] if self.events else None


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a pipeline.

    Attributes:
        coordinator: the process that coordinates the pipeline. None if there is none.
        number: 1 for the first start in the log.
        checkpoint: the checkpoint that is restored. None if there is none.
        steps: the steps, in the order in which the protocol takes them.
    """

    coordinator: ProcessId | None
    number: int
    checkpoint: str | None
    steps: tuple[Step, ...]


def starts_of(
    pipeline: PipelinePlan, events: Iterable[ProtocolEvent], *, is_derived: bool
) -> tuple[Start, ...]:
    """Return all starts of a pipeline that a log shows; one of which nothing is known at the least.

    Args:
        events: those of START_KINDS, and the first work of each task, in order.
        is_derived: whether the recording was made of checkpoint files.
    """
    members = {*pipeline.tasks, pipeline.coordinator}
    own = [event for event in events if event.process in members]
    lives = [] if is_derived else _lives(own)
    if not lives:
        return (_start(pipeline, 1, [] if is_derived else own, is_derived),)
    return tuple(_start(pipeline, number, life, is_derived) for number, life in enumerate(lives, 1))


def _lives(own: Sequence[ProtocolEvent]) -> list[list[ProtocolEvent]]:
    """Split events at the first of the restores that belong together."""
    lives: list[list[ProtocolEvent]] = []
    back: set[ProcessId] = set()
    for event in own:
        if event.kind in BACK_KINDS and (not lives or event.process in back):
            if not lives and own[0] is not event:
                lives.append([other for other in own if other.step < event.step])
            lives.append([])
            back = set()
        if event.kind in BACK_KINDS:
            back.add(event.process)
        if lives:
            lives[-1].append(event)
    return lives


def _start(
    pipeline: PipelinePlan, number: int, life: Sequence[ProtocolEvent], is_derived: bool
) -> Start:
    backs = [event for event in life if event.kind in BACK_KINDS]
    restored = next((e.snapshot for e in backs if e.kind == RESTORE), None)
    steps = (*_beginning(pipeline, life), *_ending(pipeline, life))
    return Start(
        pipeline.coordinator,
        number,
        restored,
        tuple(_explained(step, most, is_derived) for step, most in steps),
    )


Planned = tuple[Step, int]
"""A step, and how many processes take it; 0 if that is not known."""


def _beginning(pipeline: PipelinePlan, life: Sequence[ProtocolEvent]) -> Iterator[Planned]:
    tasks, count = set(pipeline.tasks), len(pipeline.tasks)
    states = [e for e in life if e.kind == INTERNAL and e.label == RESTORED]
    last = f"; the last was {states[-1].process}" if states else ""
    yield _unseen("WAITING_RESTORE", "each task registers, and reports that it waits for its state",
                  "the coordinator waits for each task")  # fmt: skip
    backs = tuple(event for event in life if event.kind in BACK_KINDS)
    who = "the coordinator gives each task its states, possibly none"
    yield Step(HANDED_OUT, who, "each task waits for the coordinator", backs), count
    who = "each task takes its state over, and reports that it is ready"
    yield Step(READY, who, f"the coordinator waits for all{last}", tuple(states)), count
    who = "the coordinator tells all tasks to start"
    yield _unseen("start notice", who, "each task waits for it")
    commits = tuple(event for event in life if event.kind == TX_RECOVER_COMMIT)
    who = "the restored checkpoint is notified again, and its transactions are committed"
    yield Step("notify complete, once more", who, "", commits), 0
    splits = tuple(event for event in life if event.kind == SPLIT_RETURNED)
    who = "enumerators give the splits of the checkpoint to readers anew"
    yield Step("splits handed out", who, "readers wait for the enumerator", splits), 0
    works = _firsts(event for event in life if is_work(event) and event.process in tasks)
    who = "each task works for the first time"
    yield Step(RUNNING, who, "tasks wait for those that feed them", works), count
    timers = [event for event in life if event.kind in (CP_REQUEST, CP_TRIGGER)]
    who = "the coordinator asks for the first checkpoint"
    yield Step("timer of checkpoints", who, "", tuple(timers[:1])), 0


def _ending(pipeline: PipelinePlan, life: Sequence[ProtocolEvent]) -> Iterator[Planned]:
    ready = (e for e in life if e.kind == END and e.process.endswith(".enumerator"))
    who = "each enumerator reports that its readers have read all"
    waits = "the coordinator waits for all enumerators"
    yield Step("ready to close", who, waits, tuple(ready), is_end=True), 0
    points = (e for e in life if e.kind == CP_TRIGGER and e.text("type") == COMPLETED_POINT)
    who = "the coordinator sends the last barrier, whose checkpoint is not stored"
    waits = "tasks wait for it before they close"
    yield Step("completed point", who, waits, tuple(points), is_end=True), 0
    closed = tuple(event for event in life if event.kind == FINISH)
    yield Step("CLOSED", "each task closes", "", closed, is_end=True), len(pipeline.tasks)


def _unseen(name: str, who: str, waits: str) -> Planned:
    """Return a step for which no log has an event."""
    return Step(name, who, waits, why=NO_EVENT), 0


def _explained(step: Step, most: int, is_derived: bool) -> Step:
    """Return a step that says why it is not known, or of how many processes it is not."""
    if not step.events:
        return replace(step, why=NOT_STORED if is_derived else step.why or NOT_SO)
    missing = most - len({event.process for event in step.events})
    if missing <= 0:
        return step
    return replace(step, why=f"Of {missing:,} of {most:,} processes the log has no such event.")


def _firsts(events: Iterable[ProtocolEvent]) -> tuple[ProtocolEvent, ...]:
    """Return the first event of each process."""
    found: dict[ProcessId, ProtocolEvent] = {}
    for event in events:
        found.setdefault(event.process, event)
    return tuple(found.values())
