"""Tells from a log what each task is doing: a task that is down is never said to run.

* A task *runs* from its first event on, and until its last one; after a batch until it works again,
  nothing tells what it does. In a log that was made of checkpoints nothing tells that a task runs.
* It *aligns* from its first barrier of a checkpoint until the last one, or until it records. A
  channel is *blocked* until the task opens it, goes down or comes back.
* It *copies* its state for as long as the log says, and does nothing else meanwhile.
* It *uploads* the copy beside its work, and has *acknowledged* until it hears, or the coordinator
  decides, what became of the checkpoint. Of a batch, the end of the task is its acknowledgement.
* It is *down* from a failure whose scope it is in until it comes back, and *restoring* from there
  until it does anything that is no part of coming back.
* It has *finished* until a failure starts it again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from snapshots.domain.dataflow_logs.control.events import (
    BACK_KINDS,
    DOWN_KINDS,
    Place,
    is_coordinator,
    is_work,
)
from snapshots.domain.dataflow_logs.events import DISCARDED, Plan, ProtocolEvent
from snapshots.domain.dataflow_logs.kinds import (
    ALIGN_ABORT,
    ALIGN_END,
    BATCH_COMMIT,
    BATCH_PLAN,
    BLOCK,
    CP_ABORT,
    CP_ACK,
    CP_COMPLETE,
    CP_DECLINE,
    CP_NOTIFIED,
    FINISH,
    SNAP_ASYNC,
    TASK_END,
    UNBLOCK,
)
from snapshots.domain.model.recording import CRASH, MARKER_RECEIVE, RECORD_STATE
from snapshots.domain.model.topology import ChannelId, ProcessId

RUNNING, ALIGNING, COPYING, FINISHED, DOWN, RESTORING = STATES = (
    "running",
    "aligning",
    "copying",
    "finished",
    "down",
    "restoring",
)
"""What a task is doing; at each moment at most one of these."""
UPLOADING, ACKNOWLEDGED, BLOCKED = BESIDE = ("uploading", "acknowledged", "blocked")
"""What goes on beside that, for each checkpoint or channel."""
DOINGS = (*STATES, *BESIDE)


@dataclass(frozen=True, slots=True)
class Doing:
    """What a task does for a while.

    Attributes:
        process: the id of the task, or of a coordinator that is down.
        what: one of DOINGS.
        since: where it begins.
        until: where it ends. None if the log ends before.
        snapshot: the checkpoint for which the task does it. None for what is done for none.
        channel: the channel that is blocked. None for all other doings.
    """

    process: ProcessId
    what: str
    since: Place
    until: Place | None
    snapshot: str | None = None
    channel: ChannelId | None = None


Key = tuple[str, str | None]
"""A doing of a task and the checkpoint or channel that it is for."""


@dataclass
class _Task:
    """What a task does at the moment that a fold has come to."""

    state: str | None = None
    since: Place = field(default_factory=lambda: Place(0, 0))
    snapshot: str | None = None
    copied: dict[str, Place] = field(default_factory=dict)
    beside: dict[Key, Place] = field(default_factory=dict)


def doings(
    events: Iterable[ProtocolEvent], plan: Plan, lasts: Mapping[ProcessId, Place]
) -> list[Doing]:
    """Return what tasks do, in the order in which it ends.

    Args:
        events: those that tell what processes do (``events.tells``), in order.
        plan: what the header says of the run.
        lasts: the place of the last event of each process.
    """
    return _Fold(list(events), plan).run(lasts)


class _Fold:
    """Goes through the events once."""

    def __init__(self, events: list[ProtocolEvent], plan: Plan) -> None:
        self.events, self.plan = events, plan
        self.found: list[Doing] = []
        self.tasks: dict[ProcessId, _Task] = {}
        kinds = {event.kind for event in events}
        self.is_in_batches = BATCH_PLAN in kinds
        self.has_uploads = SNAP_ASYNC in kinds
        told = (SNAP_ASYNC, CP_NOTIFIED)
        self.later = {(e.process, e.kind, e.snapshot) for e in events if e.kind in told}

    def run(self, lasts: Mapping[ProcessId, Place]) -> list[Doing]:
        for event in self.events:
            if event.kind in DOWN_KINDS:
                self._fail(event)
            elif event.kind in (CP_COMPLETE, CP_ABORT, BATCH_COMMIT):
                self._decide(event)
            if is_coordinator(event.process):
                self._coordinate(event)
            elif event.kind in BACK_KINDS:
                self._come_back(event)
            elif event.kind not in DOWN_KINDS:
                self._act(event)
        for process, task in self.tasks.items():
            ends = {RUNNING: lasts.get(process), COPYING: task.copied.get(task.snapshot or "")}
            self._set(process, None, ends.get(task.state or ""))
            self._end_all(process, None)
        return self.found

    def _task(self, process: ProcessId) -> _Task:
        return self.tasks.setdefault(process, _Task())

    def _set(
        self,
        process: ProcessId,
        state: str | None,
        place: Place | None,
        snapshot: str | None = None,
    ) -> None:
        """End what a task is doing, and begin another state there."""
        task = self._task(process)
        if task.state == state and state != ALIGNING and place is not None:
            return
        if task.state is not None and task.since != place:
            self.found.append(Doing(process, task.state, task.since, place, task.snapshot))
        task.state, task.snapshot = state, snapshot
        if place is not None:
            task.since = place

    def _begin(self, process: ProcessId, key: Key, place: Place) -> None:
        self._task(process).beside.setdefault(key, place)

    def _end(self, process: ProcessId, key: Key, place: Place | None) -> None:
        since = self._task(process).beside.pop(key, None)
        if since is None or since == place or (place is not None and since.at > place.at):
            return
        what, of = key
        channel = ChannelId(of) if what == BLOCKED and of is not None else None
        snapshot = None if what == BLOCKED else of
        self.found.append(Doing(process, what, since, place, snapshot, channel))

    def _end_all(self, process: ProcessId, place: Place | None) -> None:
        for key in list(self._task(process).beside):
            self._end(process, key, place)

    def _fail(self, event: ProtocolEvent) -> None:
        known = self.plan.topology.process_by_id
        scope = [ProcessId(name) for name in event.names("scope") or () if name in known]
        if event.kind == CRASH:
            scope = [*scope, event.process]
        for process in dict.fromkeys(scope or self.plan.tasks):
            self._settle(process, event)
            self._set(process, DOWN, Place.of(event))
            self._end_all(process, Place.of(event))
            self._task(process).copied.clear()

    def _coordinate(self, event: ProtocolEvent) -> None:
        """Let a coordinator that was down be back, for it does something again."""
        if event.kind not in DOWN_KINDS and self._task(event.process).state == DOWN:
            self._set(event.process, None, Place.of(event))

    def _decide(self, event: ProtocolEvent) -> None:
        """End what tasks do for a checkpoint that is decided, unless they hear of it later."""
        place, name = Place.of(event), event.snapshot
        for process in list(self.tasks):
            if (process, CP_NOTIFIED, name) in self.later:
                continue
            self._end(process, (ACKNOWLEDGED, name), place)
            if (process, SNAP_ASYNC, name) not in self.later:
                self._end(process, (UPLOADING, name), place)

    def _come_back(self, event: ProtocolEvent) -> None:
        process, place = event.process, Place.of(event)
        self._settle(process, event)
        self._set(process, None if self.plan.is_derived else RESTORING, place)
        self._end_all(process, place)
        self._task(process).copied.clear()

    def _settle(self, process: ProcessId, event: ProtocolEvent) -> None:
        """Let a copy that has ended before an event be over."""
        task = self._task(process)
        end = task.copied.get(task.snapshot or "") if task.state == COPYING else None
        if end is not None and end.at <= event.at:
            self._go_on(process, Place(end.at, None, event.step))

    def _act(self, event: ProtocolEvent) -> None:
        process, kind = event.process, event.kind
        task = self._task(process)
        if task.state == FINISHED or event.is_so("finished") or event.label == DISCARDED:
            return
        if event.is_inferred("at"):
            return
        self._settle(process, event)
        if kind == FINISH:
            self._set(process, FINISHED, Place.of(event))
            self._end_all(process, Place.of(event))
            return
        if self._shows_work(event, task):
            self._go_on(process, Place.of(event))
        self._align(event)
        if kind == RECORD_STATE:
            self._copy(event)
        elif kind in (SNAP_ASYNC, CP_ACK, CP_DECLINE, CP_NOTIFIED, TASK_END):
            self._upload(event)

    def _shows_work(self, event: ProtocolEvent, task: _Task) -> bool:
        """Tell whether an event shows that a task runs of which that is not known yet."""
        is_new = task.state in (None, DOWN, RESTORING)
        return is_new and (is_work(event) or not self.is_in_batches)

    def _go_on(self, process: ProcessId, place: Place) -> None:
        """Let a task do nothing but its work from a place on."""
        self._set(process, None if self.plan.is_derived else RUNNING, place)

    def _align(self, event: ProtocolEvent) -> None:
        process, kind, place = event.process, event.kind, Place.of(event)
        task = self._task(process)
        if kind == BLOCK:
            self._begin(process, (BLOCKED, event.channel), place)
        elif kind == UNBLOCK:
            self._end(process, (BLOCKED, event.channel), place)
        if kind in (MARKER_RECEIVE, BLOCK) and (event.snapshot or "") not in task.copied:
            if (task.state, task.snapshot) != (ALIGNING, event.snapshot):
                self._set(process, ALIGNING, place, event.snapshot)
        elif kind in (ALIGN_END, ALIGN_ABORT):
            first = event.whole("first_barrier")
            if first is not None and first < event.at and task.state != ALIGNING:
                since = Place(first, None)
                self.found.append(Doing(process, ALIGNING, since, place, event.snapshot))
            if (task.state, task.snapshot) == (ALIGNING, event.snapshot):
                self._go_on(process, place)

    def _copy(self, event: ProtocolEvent) -> None:
        process, task, name = event.process, self._task(event.process), event.snapshot or ""
        if task.state == ALIGNING and task.snapshot == event.snapshot:
            self._go_on(process, Place.of(event))
        sync, place = event.whole("sync"), Place.of(event)
        task.copied[name] = end = place if not sync or sync < 0 else Place(event.at + sync, None)
        if end != place:
            self._set(process, COPYING, place, event.snapshot)
        if self.has_uploads and (end != place or not self.plan.is_derived):
            self._begin(process, (UPLOADING, event.snapshot), end)

    def _upload(self, event: ProtocolEvent) -> None:
        """Let an upload end, and an acknowledgement begin or end."""
        process, place = event.process, Place.of(event)
        start = event.whole("start")
        uploading = UPLOADING, event.snapshot
        if event.kind == SNAP_ASYNC and start is not None:
            since = self._task(process).beside.get(uploading)
            if since is None or since.at != start:
                self._task(process).beside[uploading] = Place(start, None)
        if event.kind == SNAP_ASYNC or (process, SNAP_ASYNC, event.snapshot) not in self.later:
            self._end(process, uploading, place)
        if event.kind in (CP_ACK, TASK_END):
            self._begin(process, (ACKNOWLEDGED, event.snapshot), place)
        elif event.kind == CP_NOTIFIED:
            self._end(process, (ACKNOWLEDGED, event.snapshot), place)
        if event.kind == TASK_END:
            self._set(process, None, place)
