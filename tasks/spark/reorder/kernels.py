"""Reorder a snapshot's run by columns of steps, processes and channels.

The reference is ``snapshots.domain.replaying.reordering``, which walks through the events one by
one. Here an event's place in the new order is its rank: first whether it is prerecording, then its
step. Ranks rise with the index along a process, so they replace the walk.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.model.recording import APPLICATION_KINDS, SnapshotId
from snapshots.domain.replaying.computations import FIFO, SENDS_FIRST
from snapshots.domain.replaying.reordering import inversions, prerecording
from snapshots.store.errors import StoreDamaged
from snapshots.store.layout import EVENTS
from snapshots.store.mapped import ragged
from snapshots.store.objects.paths import path_of
from snapshots.store.reader import StoredRecording
from tasks.spark.judge.lanes import Lane
from tasks.spark.judge.states import states_at


@dataclass(frozen=True)
class Stretch:
    """The events of a stored recording in a half-open range of steps, and a snapshot.

    ``has_states`` holds if all states at the recorded positions are known and the cut is
    consistent.
    """

    folder: str
    snapshot: SnapshotId
    first: int
    end: int
    has_states: bool = True


@dataclass(frozen=True)
class StepTask:
    """A part of the stretch: a half-open range of steps, and how many events to return."""

    stretch: Stretch
    first: int
    end: int
    shown: int


@dataclass(frozen=True)
class ProcessTask:
    """A half-open range of process codes."""

    stretch: Stretch
    first: int
    end: int


@dataclass(frozen=True)
class ChannelTask:
    """A half-open range of channel codes."""

    stretch: Stretch
    first: int
    end: int


Task = StepTask | ProcessTask | ChannelTask


@dataclass(frozen=True)
class StepFacts:
    """The facts about a range of steps.

    Args:
        total: number of application events.
        before: number of prerecording ones.
        first_after: step of the first postrecording event, None if there is none.
        last_before: step of the last prerecording event, None if there is none.
        process, index: the first events, by step.
    """

    end: int
    total: int
    before: int
    swaps: int
    first_after: int | None
    last_before: int | None
    process: np.ndarray
    index: np.ndarray


@dataclass(frozen=True)
class Differing:
    """Whether anything differs from the recorded state during the original run.

    Args:
        at_start: whether something differs before the first event.
        changes: int64[K], the steps at which the answer changes.
    """

    at_start: bool
    changes: np.ndarray


@dataclass(frozen=True, order=True)
class Fault:
    """A receive that is not allowed at its place in the new order; faults sort by rank.

    ``head`` is the ordinal of the message at the head of a FIFO channel instead.
    """

    is_after: bool
    step: int
    rule: str
    process: int
    index: int
    channel: int
    head: int | None = None


@dataclass(frozen=True)
class ChannelFacts:
    """The facts about some channels; ``faults`` holds the first fault of each rule."""

    faults: tuple[Fault, ...]
    differing: Differing


Facts = StepFacts | ChannelFacts | Differing


def reorder_part(tasks: tuple[Task, ...]) -> list[Facts]:
    """Run some tasks of one stretch and return their results; this is the kernel of the job."""
    between = Between(tasks[0].stretch)
    return [_facts(between, task) for task in tasks]


def _facts(between: "Between", task: Task) -> Facts:
    if isinstance(task, StepTask):
        return partition_steps(between, task)
    if isinstance(task, ProcessTask):
        return follow_processes(between, task)
    return follow_channels(between, task)


class Between:
    """A stretch with its store opened.

    Args:
        start, end: int64[P], the cuts at the two ends of the stretch; 0 outside the scope.
        positions: int64[P], the snapshot's positions; 0 outside the scope.
        in_scope: bool[P], which processes the snapshot covers.
    """

    def __init__(self, stretch: Stretch) -> None:
        self.recording = StoredRecording.open(path_of(stretch.folder))
        self.tables = self.recording.tables
        self.events = self.tables.events
        positions = self.recording.snapshot_positions(stretch.snapshot)
        self.in_scope = self.tables.in_scope(self.tables.snapshot_code(stretch.snapshot))
        self.positions = np.where(self.in_scope, positions, 0)
        self.start = self.positions_at(stretch.first)
        self.end = self.positions_at(stretch.end)

    def positions_at(self, step: int) -> np.ndarray:
        """Return how many events lie before the step: int64[P], 0 outside the scope."""
        return np.where(self.in_scope, self.recording.positions_at(step=step), 0)

    @cached_property
    def application(self) -> np.ndarray:
        return self.recording.tables.kind_codes(APPLICATION_KINDS)

    def steps_at(self, process: int, indices: np.ndarray) -> np.ndarray:
        return self.events.run_at("step", process, indices)


@dataclass(frozen=True)
class Ordered:
    """Application events by step; ``process``, ``index`` and ``step`` are int64[N]."""

    process: np.ndarray
    index: np.ndarray
    step: np.ndarray
    is_prerecording: np.ndarray


def ordered(between: Between, first: int, end: int) -> Ordered:
    """Return the application events with first <= step < end."""
    events = between.events
    cuts = between.positions_at(first), between.positions_at(end)
    process, index = ragged(between.tables.all_processes, *cuts)
    rows = events.pick(process, index)
    kept = np.isin(rows.values("kind"), between.application)
    process, index, step = process[kept], index[kept], rows.values("step")[kept]
    order = np.argsort(step)
    process, index = process[order], index[order]
    is_pre = prerecording(process, index, between.positions)
    return Ordered(process, index, step[order], is_pre)


# --- steps -----------------------------------------------------------------------------------


def partition_steps(between: Between, task: StepTask) -> StepFacts:
    """Count and list what the partition does with the events of some steps."""
    events = ordered(between, task.first, task.end)
    is_pre = events.is_prerecording
    before, after = events.step[is_pre], events.step[~is_pre]
    return StepFacts(
        end=task.end,
        total=len(is_pre),
        before=len(before),
        swaps=inversions(is_pre),
        first_after=int(after[0]) if len(after) else None,
        last_before=int(before[-1]) if len(before) else None,
        process=events.process[: task.shown],
        index=events.index[: task.shown],
    )


# --- processes -------------------------------------------------------------------------------


def follow_processes(between: Between, task: ProcessTask) -> Differing:
    """Find the steps at which some processes are not in their recorded states.

    The new order keeps the order of each process, and an event finds its process in the same state,
    only because steps rise along each process. So this is checked first.
    """
    codes = np.arange(task.first, task.end)
    for code in codes.tolist():
        _require_rising(between, code)
    if not task.stretch.has_states:
        return Differing(True, np.zeros(0, np.int64))
    starts = states_at(between.tables, codes, between.start[codes])
    targets = states_at(between.tables, codes, between.positions[codes])
    lanes = [
        _state_changes(between, code, start, target)
        for code, start, target in zip(codes.tolist(), starts, targets, strict=True)
    ]
    at_start = sum(start != target for start, target in zip(starts, targets, strict=True))
    return differing(at_start, *map(np.concatenate, zip(*lanes, strict=True)))


def _require_rising(between: Between, code: int) -> None:
    steps = between.events.run("step", code, int(between.start[code]), int(between.end[code]))
    if not (steps[1:] > steps[:-1]).all():
        name = between.recording.topology.processes[code].id
        raise StoreDamaged(
            EVENTS,
            f"The steps of {name} do not rise.",
            "Was a file exchanged or changed? Ingest the log again.",
        )


def _state_changes(
    between: Between, code: int, start: str | None, target: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps at which a process leaves (1) or enters (-1) its recorded state."""
    events, first, end = between.events, int(between.start[code]), int(between.end[code])
    rows = np.flatnonzero(np.isin(events.run("kind", code, first, end), between.application))
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    states = events.pick(np.full(len(rows), code), first + rows).array("state")
    same = pc.fill_null(pc.equal(states, pa.scalar(target, states.type)), False)
    differs = np.concatenate(([start != target], ~same.to_numpy(zero_copy_only=False)))
    deltas = np.diff(differs.astype(np.int64))
    changed = np.flatnonzero(deltas)
    return between.steps_at(code, first + rows[changed]), deltas[changed]


# --- channels --------------------------------------------------------------------------------


def follow_channels(between: Between, task: ChannelTask) -> ChannelFacts:
    """Find receives that the new order does not allow, and when channels differ from the cut."""
    lanes = [_Travel(between, code) for code in range(task.first, task.end)]
    faults: dict[str, Fault] = {}
    for fault in sorted(fault for lane in lanes for fault in lane.faults()):
        faults.setdefault(fault.rule, fault)
    if not task.stretch.has_states:
        return ChannelFacts(tuple(faults.values()), Differing(True, np.zeros(0, np.int64)))
    changes = [lane.changes() for lane in lanes]
    changed = differing(
        sum(lane.differing_at_start for lane in lanes),
        *map(np.concatenate, zip(*changes, strict=True)),
    )
    return ChannelFacts(tuple(faults.values()), changed)


class _Travel:
    """The messages of one channel that lie in it at the start or are sent before the end.

    Args:
        sent, received: int64[M], indexes (``received`` is NEVER while in flight).
        ordinals: int64[M].
    """

    def __init__(self, between: Between, code: int) -> None:
        tables = between.tables
        self.between = between
        self.code = code
        self.channel = tables.topology.channels[code]
        self.source, self.target = int(tables.source[code]), int(tables.target[code])
        self.lane = Lane(self.channel, tables.messages, code)
        end = np.searchsorted(self.lane.sent, between.end[self.source])
        self.ordinals = np.flatnonzero(self.lane.received[:end] >= between.start[self.target])
        self.sent = self.lane.sent[self.ordinals]
        self.received = self.lane.received[self.ordinals]
        self.sent_before = self.sent < between.positions[self.source]
        self.received_before = self.received < between.positions[self.target]
        self.is_sent_here = self.sent >= between.start[self.source]
        self.is_received_here = self.received < between.end[self.target]

    def faults(self) -> list[Fault]:
        """Return at most one fault of each rule."""
        faults = []
        is_early = self.received_before & ~self.sent_before
        if is_early.any():
            faults.append(self._fault(SENDS_FIRST, self._first(is_early)))
        if self.channel.fifo and not self.lane.in_order:
            is_behind = self.is_received_here & (self.lane.reach[self.ordinals] > self.received)
            is_behind &= ~is_early
            if is_behind.any():
                row = self._first(is_behind)
                head = np.searchsorted(self.lane.reach, self.received[row], side="right")
                faults.append(self._fault(FIFO, row, int(head)))
        return faults

    def _first(self, chosen: np.ndarray) -> int:
        """Return the chosen message that is received first; ranks rise along a process."""
        rows = np.flatnonzero(chosen)
        return int(rows[np.argmin(self.received[rows])])

    def _fault(self, rule: str, row: int, head: int | None = None) -> Fault:
        index = int(self.received[row])
        return Fault(
            is_after=not self.received_before[row],
            step=int(self.between.steps_at(self.target, np.array([index]))[0]),
            rule=rule,
            process=self.target,
            index=index,
            channel=self.code,
            head=head,
        )

    @cached_property
    def _is_recorded(self) -> np.ndarray:
        """Tell which messages lie in the channel at the recorded positions: bool[M]."""
        return self.sent_before & ~self.received_before

    @property
    def differing_at_start(self) -> int:
        """Count the messages that lie there either at the start or at the recorded positions."""
        return int(np.count_nonzero(self._is_recorded == self.is_sent_here))

    def changes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the steps at which a message begins (1) or ceases (-1) to differ.

        A message differs while it lies in the channel only now or only at the recorded positions.
        """
        sign = np.where(self._is_recorded, 1, -1)
        sent, received = self.is_sent_here, self.is_received_here
        steps = (
            self.between.steps_at(self.source, self.sent[sent]),
            self.between.steps_at(self.target, self.received[received]),
        )
        return np.concatenate(steps), np.concatenate((-sign[sent], sign[received]))


# --- differences ---------------------------------------------------------------------------


def differing(at_start: int, steps: np.ndarray, deltas: np.ndarray) -> Differing:
    """Combine counts of differences into the steps at which anything begins or ceases to differ.

    Args:
        at_start: how many things differ at first.
        steps, deltas: int64[N], when that count changes, and by how much.
    """
    order = np.argsort(steps, kind="stable")
    steps = steps[order]
    count = at_start + np.cumsum(deltas[order])
    settled = np.ones(len(steps), bool)
    settled[:-1] = steps[1:] != steps[:-1]
    steps, differs = steps[settled], count[settled] > 0
    was = np.concatenate(([at_start > 0], differs))[:-1]
    return Differing(at_start > 0, steps[differs != was])


def joined(parts: list[Differing]) -> Differing:
    """Combine several parts: something differs if it differs in any of them."""
    turns = [np.ones(len(part.changes), np.int64) for part in parts]
    for part, turn in zip(parts, turns, strict=True):
        turn[0 if part.at_start else 1 :: 2] = -1
    return differing(
        sum(part.at_start for part in parts),
        np.concatenate([part.changes for part in parts]),
        np.concatenate(turns),
    )
