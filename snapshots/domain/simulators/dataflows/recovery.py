"""How tasks fail and start again: the events and counts that all engines have in common."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from snapshots.domain.dataflow_logs.events import DISCARDED
from snapshots.domain.dataflow_logs.kinds import RESTART
from snapshots.domain.model.recording import CRASH, INTERNAL, MARKER_RECEIVE, RECEIVE, RESTORE
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.counting import Failure
from snapshots.domain.simulators.dataflows.functions import State
from snapshots.domain.simulators.dataflows.lanes import BARRIER, AnyLane
from snapshots.domain.simulators.dataflows.tasks import EventLog, Task, rid_text, value_text


@dataclass(frozen=True, slots=True)
class Saved:
    """What a checkpoint holds of a task.

    Attributes:
        pending: the pre-committed transactions.
        watermark: the watermark that the task keeps as state; None if it keeps none.
        origins: the subtasks of an earlier run that had the state, if it was shared anew.
    """

    state: State
    pending: tuple[tuple[str, int], ...] = ()
    watermark: int | None = None
    origins: tuple[str, ...] | None = None


def log_crash(
    log: EventLog,
    process: ProcessId,
    cause: str,
    attempt: int,
    scope: Iterable[ProcessId],
    unrepeatable: Iterable[str] = (),
) -> None:
    """Log that the process died in this attempt.

    Args:
        scope: the processes that restart.
        unrepeatable: the sources among them that cannot give the same records again.
    """
    extra = {"cause": cause, "attempt": attempt, "scope": list(scope)}
    log.add(process, CRASH, extra | {"unrepeatable": list(unrepeatable) or None})


def restore(
    log: EventLog,
    task: Task[Any],
    state: State,
    *,
    cid: int | None,
    positions: Mapping[str, int] | None = None,
    watermark: tuple[int | str | None, str] | None = None,
    shared: Mapping[str, Any] | None = None,
    lanes: Iterable[AnyLane],
) -> None:
    """Deploy the task anew with this state.

    Args:
        cid: the checkpoint that the state comes from; None starts from the beginning.
        positions: the next offset of each split that the task goes on to read.
        watermark: the watermark that the restore brings back, as the log has it and in words.
        shared: further fields, about a state that was shared anew.
        lanes: the inputs that are emptied.
    """
    value, label = watermark or (None, None)
    extra = {"attempt": task.attempt, "positions": positions, "watermark": value}
    extra |= shared or {}
    if cid is None:
        log.add(task.id, RESTART, extra)
    else:
        log.add(task.id, RESTORE, extra, snapshot=str(cid), label=label)
    for lane in lanes:
        discard(log, task, lane)
    task.reset(state)
    log.add(task.id, INTERNAL, label="restored", state=task.state_text)


def discard(log: EventLog, task: Task[Any], lane: AnyLane) -> None:
    """Log everything in the channel as received, so that later cuts find the channel empty."""
    for item in lane.clear():
        if item.record is not None:
            log.add(
                task.id,
                RECEIVE,
                rid_text(item.record.rid),
                channel=lane.id,
                message=item.message,
                value=value_text(item.record),
                label=DISCARDED,
            )
        elif item.kind == BARRIER:
            log.add(
                task.id,
                MARKER_RECEIVE,
                {"end": item.stands_for_end or None},
                channel=lane.id,
                snapshot=str(item.barrier.cid),
                label=DISCARDED,
            )


class Rereading:
    """What failures make sources read again, and when the sources have caught up.

    ``high_water`` is the highest offset read of each split. ``behind`` holds the failures whose
    sources have not caught up, each with the offsets that its splits have to reach.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.high_water: dict[str, int] = {}
        self.behind: list[tuple[Failure, dict[str, int]]] = []

    def expect(self, failure: Failure, positions: Mapping[str, int]) -> None:
        """Note which records a restart will read again.

        Args:
            positions: the next offset of each split of the restarted tasks.
        """
        goals = {}
        for split, position in positions.items():
            last = self.high_water.get(split, 0)
            if last >= position:
                goals[split] = last
                failure.re_read[split] = last - position + 1
        self.behind.append((failure, goals))
        self._note_caught_up()

    def note_read(self, split: str, offset: int) -> None:
        """Note that a record has been read."""
        self.high_water[split] = max(offset, self.high_water.get(split, 0))
        for _, goals in self.behind:
            if goals.get(split) == offset:
                del goals[split]
        self._note_caught_up()

    def _note_caught_up(self) -> None:
        for failure, goals in self.behind:
            if not goals:
                failure.caught_up_at = self._log.now
        self.behind = [(failure, goals) for failure, goals in self.behind if goals]
