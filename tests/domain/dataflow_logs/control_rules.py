"""What tasks do at one place of a log, by the rules alone: the log is read anew for every place.

``snapshots.domain.dataflow_logs.control.activity`` says the same for all places at once.
"""

from collections.abc import Iterable

from snapshots.domain.dataflow_logs.checkpoints.reference import plan_of, protocol_events
from snapshots.domain.dataflow_logs.control.activity import (
    ACKNOWLEDGED,
    ALIGNING,
    BLOCKED,
    COPYING,
    DOWN,
    FINISHED,
    RESTORING,
    RUNNING,
    UPLOADING,
    Doing,
)
from snapshots.domain.dataflow_logs.control.events import Place, is_work, tells
from snapshots.domain.dataflow_logs.events import DISCARDED, ProtocolEvent
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
    JOB_FAIL,
    RESTART,
    SNAP_ASYNC,
    TASK_END,
    UNBLOCK,
)
from snapshots.domain.model.recording import (
    CRASH,
    MARKER_RECEIVE,
    RECORD_STATE,
    RESTORE,
    Recording,
)

Told = tuple[str, str, str | None]
"""A process, what it does, and the checkpoint or channel for which it does it."""


class Rules:
    """Answers what the tasks of a recording do at a place."""

    def __init__(self, recording: Recording) -> None:
        self.plan = plan_of(recording)
        kinds = {event.kind for own in recording.events.values() for event in own}
        self.all = protocol_events(recording, kinds)
        self.telling = [event for event in self.all if tells(event)]
        self.has_uploads = SNAP_ASYNC in kinds
        self.is_in_batches = BATCH_PLAN in kinds

    def at(self, step: int) -> set[Told]:
        """Return what tasks do when the events before a step have happened."""
        return {
            (task, what, of)
            for task in self.plan.tasks
            for what, of in (*self._state(task, step), *self._beside(task, step))
        }

    def _fell(self, task: str, step: int) -> ProtocolEvent | None:
        """Return the last failure before a step that took the task down."""
        for event in reversed(self.telling):
            if event.step >= step or event.kind not in (CRASH, JOB_FAIL):
                continue
            scope = {*(event.names("scope") or ()), event.process}
            if task in scope or (event.kind == JOB_FAIL and not event.names("scope")):
                return event
        return None

    def _life(self, task: str, step: int) -> tuple[ProtocolEvent | None, list[ProtocolEvent]]:
        """Return how the task's present life began, and what it has done in it."""
        own = [event for event in self.telling if event.process == task and event.step < step]
        backs = [event for event in own if event.kind in (RESTORE, RESTART)]
        turns = [event for event in (self._fell(task, step), *backs[-1:]) if event is not None]
        turn = max(turns, key=lambda event: event.step, default=None)
        done = [
            event
            for event in own
            if (turn is None or event.step > turn.step)
            and event.kind not in (CRASH, RESTORE, RESTART)
            and event.label != DISCARDED
            and not event.is_so("finished")
        ]
        finished = [event.step for event in done if event.kind == FINISH]
        return turn, [event for event in done if event.step <= min(finished, default=step)]

    def _state(self, task: str, step: int) -> Iterable[tuple[str, str | None]]:
        turn, done = self._life(task, step)
        if any(event.kind == FINISH for event in done):
            return [(FINISHED, None)]
        shown = [event for event in done if is_work(event) or not self.is_in_batches]
        if not shown:
            if turn is None:
                return []
            return [(DOWN if turn.kind in (CRASH, JOB_FAIL) else RESTORING, None)]
        copied = self._copied(task, done, step)
        if copied is not None:
            return [(COPYING, copied)]
        aligning = self._aligning(done)
        if aligning is not None:
            return [(ALIGNING, aligning)]
        ended = [event.step for event in done if event.kind == TASK_END]
        worked = [event.step for event in shown if event.kind != TASK_END]
        if ended and not [s for s in worked if s > ended[-1] and self._is_work_at(s)]:
            return []
        return [(RUNNING, None)] if self._is_told_later(task, step) else []

    def _is_work_at(self, step: int) -> bool:
        return next(is_work(event) for event in self.telling if event.step == step)

    def _is_told_later(self, task: str, step: int) -> bool:
        """Tell whether the log says anything of the task from a step on."""
        later = any(event.process == task and event.step >= step for event in self.all)
        fell = self._fell(task, len(self.all))
        return later or (fell is not None and fell.step >= step)

    def _copied(self, task: str, done: list[ProtocolEvent], step: int) -> str | None:
        """Return the checkpoint for which the task is copying its state."""
        for record in (event for event in reversed(done) if event.kind == RECORD_STATE):
            end = record.at + (record.whole("sync") or 0)
            later = (
                event
                for event in self.all
                if event.process == task and record.step <= event.step < step
            )
            return None if any(event.at >= end for event in later) else record.snapshot
        return None

    def _aligning(self, done: list[ProtocolEvent]) -> str | None:
        recorded: set[str | None] = set()
        name = None
        for event in done:
            if event.kind in (MARKER_RECEIVE, BLOCK) and event.snapshot not in recorded:
                name = event.snapshot
            elif (
                event.kind in (ALIGN_END, ALIGN_ABORT, RECORD_STATE) and event.snapshot == name
            ) or (event.kind == RECORD_STATE and event.whole("sync")):
                name = None
            if event.kind == RECORD_STATE:
                recorded.add(event.snapshot)
        return name

    def _beside(self, task: str, step: int) -> Iterable[tuple[str, str | None]]:
        _, done = self._life(task, step)
        if any(event.kind == FINISH for event in done):
            return
        blocks = {event.channel: event.kind for event in done if event.kind in (BLOCK, UNBLOCK)}
        yield from ((BLOCKED, name) for name, kind in blocks.items() if kind == BLOCK)
        for name in {event.snapshot for event in done if event.snapshot is not None}:
            own = [event for event in done if event.snapshot == name]
            yield from self._of_checkpoint(task, name, own, step)

    def _of_checkpoint(
        self, task: str, name: str, own: list[ProtocolEvent], step: int
    ) -> Iterable[tuple[str, str]]:
        acked = [event for event in own if event.kind in (CP_ACK, TASK_END)]
        heard = [event for event in own if event.kind == CP_NOTIFIED]
        waits = acked and not [event for event in heard if event.step > acked[-1].step]
        if waits and not self._is_decided(task, name, acked[-1].step, step, (CP_NOTIFIED,)):
            yield ACKNOWLEDGED, name
        if self._is_uploading(task, name, own, step):
            yield UPLOADING, name

    def _is_uploading(self, task: str, name: str, own: list[ProtocolEvent], step: int) -> bool:
        record = next((event for event in own if event.kind == RECORD_STATE), None)
        if record is None or not self.has_uploads:
            return False
        end = record.at + (record.whole("sync") or 0)
        mine = [e for e in self.all if e.process == task and record.step <= e.step < step]
        is_told = any(
            (e.process, e.kind, e.snapshot) == (task, SNAP_ASYNC, name) for e in self.telling
        )
        over = [SNAP_ASYNC] if is_told else [CP_ACK, CP_DECLINE, CP_NOTIFIED, TASK_END]
        is_over = any(event.kind in over and event.step > record.step for event in own)
        unless = (CP_NOTIFIED, SNAP_ASYNC)
        is_decided = self._is_decided(task, name, record.step, step, unless)
        return any(event.at >= end for event in mine) and not is_over and not is_decided

    def _is_decided(
        self, task: str, name: str, after: int, step: int, unless: tuple[str, ...]
    ) -> bool:
        """Tell whether the coordinator has decided, and the task never hears or says more."""
        own = (e for e in self.telling if e.process == task and e.snapshot == name)
        if any(event.kind in unless for event in own):
            return False
        return any(
            event.kind in (CP_COMPLETE, CP_ABORT, BATCH_COMMIT)
            and event.snapshot == name
            and after < event.step < step
            for event in self.telling
        )


def told_at(doings: Iterable[Doing], recording: Recording, step: int) -> set[Told]:
    """Return what doings say of the place at which the events before a step have happened."""

    def begins(task: str, place: Place) -> int:
        """Return the step behind which a place stands."""
        if place.step is not None:
            return place.step
        own = (event.step for event in recording.events[task] if event.at >= place.at)
        latest = 10**9 if place.latest is None else place.latest
        return min(next(own, 10**9), latest)

    return {
        (each.process, each.what, each.channel or each.snapshot)
        for each in doings
        if begins(each.process, each.since) < step
        and (each.until is None or begins(each.process, each.until) >= step)
    }
