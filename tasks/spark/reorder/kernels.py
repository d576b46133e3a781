"""Reordering a snapshot's run: what the steps, the processes and the channels each tell.

The reference is ``snapshots.domain.replaying.reordering``, which walks through the events one by
one. Here an event's place in the new order is its rank: prerecording or not, then its step. What a
walk would meet follows from ranks, since along a process they rise with the index.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.model.recording import APPLICATION_KINDS
from snapshots.domain.replaying.computations import FIFO, SENDS_FIRST
from snapshots.domain.replaying.reordering import inversions, prerecording
from snapshots.store.errors import StoreDamaged
from snapshots.store.layout import EVENTS
from snapshots.store.mapped import ragged
from snapshots.store.reader import StoredRecording
from tasks.spark.judge.lanes import Lane
from tasks.spark.judge.recorded import in_scope
from tasks.spark.judge.states import states_at


@dataclass(frozen=True)
class Stretch:
    """The events of a stored recording from one step to another, half open, and a snapshot.

    tells_states: whether all states at the recorded positions are known and the cut is consistent.
    """

    folder: str
    snapshot: str
    first: int
    end: int
    tells_states: bool = True


@dataclass(frozen=True)
class StepTask:
    """A part of the stretch: half-open range of steps. shown: how many events are given back."""

    stretch: Stretch
    first: int
    end: int
    shown: int


@dataclass(frozen=True)
class ProcessTask:
    """Half-open range of process codes."""

    stretch: Stretch
    first: int
    end: int


@dataclass(frozen=True)
class ChannelTask:
    """Half-open range of channel codes."""

    stretch: Stretch
    first: int
    end: int


Task = StepTask | ProcessTask | ChannelTask


@dataclass(frozen=True)
class StepFacts:
    """total: application events; before: the prerecording ones. first_after, last_before: steps of
    the first postrecording and the last prerecording one, None where there is none. process, index:
    of the first events, by step."""

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
    """Whether anything differs from the recorded state while the run goes on as it was.

    at_start: before the first event. changes: int64[K], the steps at which this changes.
    """

    at_start: bool
    changes: np.ndarray


@dataclass(frozen=True, order=True)
class Fault:
    """A receive that is not allowed where it stands in the new order; they sort by rank.

    head: ordinal of the message that is at the head of the channel instead, of FIFO.
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
    """faults: the first of each rule."""

    faults: tuple[Fault, ...]
    differing: Differing


def reorder_part(tasks: tuple[Task, ...]) -> list[StepFacts | ChannelFacts | Differing]:
    """The kernel: what each of the tasks, which are of one stretch, finds."""
    between = Between(tasks[0].stretch)
    return [_KERNELS[type(task)](between, task) for task in tasks]


class Between:
    """A stretch, opened. start, end, positions: int64[P]: of the cuts at its two ends, and of the
    snapshot; 0 outside its scope. in_scope: bool[P]."""

    def __init__(self, stretch: Stretch) -> None:
        self.recording = StoredRecording.open(Path(stretch.folder))
        self.tables = self.recording.tables
        self.events = self.tables.events
        positions = self.recording.snapshot_positions(stretch.snapshot)
        self.in_scope = in_scope(positions[None], self.tables.scopes)[0]
        self.positions = np.where(self.in_scope, positions, 0)
        self.start = self.positions_at(stretch.first)
        self.end = self.positions_at(stretch.end)

    def positions_at(self, step: int) -> np.ndarray:
        """int64[P]: how many events before the step; 0 outside the scope."""
        return np.where(self.in_scope, self.recording.positions_at(step=step), 0)

    @cached_property
    def application(self) -> np.ndarray:
        return self.recording.tables.kind_codes(APPLICATION_KINDS)

    def steps_of(self, process: int) -> np.ndarray:
        return self.events.run("step", process)


@dataclass(frozen=True)
class Ordered:
    """Application events by step. process, index, step: int64[N]; is_prerecording: bool[N]."""

    process: np.ndarray
    index: np.ndarray
    step: np.ndarray
    is_prerecording: np.ndarray


def ordered(between: Between, first: int, end: int) -> Ordered:
    """The application events with first <= step < end."""
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
    """What the partition does with the events of some steps."""
    found = ordered(between, task.first, task.end)
    is_pre = found.is_prerecording
    before, after = found.step[is_pre], found.step[~is_pre]
    return StepFacts(
        end=task.end,
        total=len(is_pre),
        before=len(before),
        swaps=inversions(is_pre),
        first_after=int(after[0]) if len(after) else None,
        last_before=int(before[-1]) if len(before) else None,
        process=found.process[: task.shown],
        index=found.index[: task.shown],
    )


# --- processes -------------------------------------------------------------------------------


def follow_processes(between: Between, task: ProcessTask) -> Differing:
    """When the processes are not in their recorded states.

    Steps that rise along each process are why the new order keeps to the order of each process,
    and why an event finds its process in the same state; so it is made sure that they do.
    """
    codes = np.arange(task.first, task.end)
    for code in codes.tolist():
        _require_rising(between, code)
    if not task.stretch.tells_states:
        return Differing(True, np.zeros(0, np.int64))
    starts = states_at(between.tables, codes, between.start[codes])
    targets = states_at(between.tables, codes, between.positions[codes])
    lanes = [_state_changes(between, *lane) for lane in zip(codes, starts, targets, strict=True)]
    at_start = sum(one != other for one, other in zip(starts, targets, strict=True))
    return differing(at_start, *map(np.concatenate, zip(*lanes, strict=True)))


def _require_rising(between: Between, code: int) -> None:
    steps = between.steps_of(code)[between.start[code] : between.end[code]]
    if not (steps[1:] > steps[:-1]).all():
        name = between.recording.topology.processes[code].id
        raise StoreDamaged(
            EVENTS,
            f"The steps of {name} do not rise.",
            "Was a file exchanged or changed? Ingest the log again.",
        )


def _state_changes(
    between: Between, code: int, start: str | None, target: str
) -> tuple[np.ndarray, np.ndarray]:
    """The steps at which a process leaves (1) or enters (-1) its recorded state."""
    events, first, end = between.events, int(between.start[code]), int(between.end[code])
    rows = np.flatnonzero(np.isin(events.run("kind", code)[first:end], between.application))
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    states = events.batches[int(events.part[code])].column("state")
    states = states.slice(int(events.begin[code]) + first, end - first).take(pa.array(rows))
    same = pc.fill_null(pc.equal(states, pa.scalar(target, states.type)), False)
    differs = np.concatenate(([start != target], ~same.to_numpy(zero_copy_only=False)))
    deltas = np.diff(differs.astype(np.int64))
    changed = np.flatnonzero(deltas)
    return between.steps_of(code)[first + rows[changed]], deltas[changed]


# --- channels --------------------------------------------------------------------------------


def follow_channels(between: Between, task: ChannelTask) -> ChannelFacts:
    """Which receives are not allowed in the new order, and when the channels hold other messages
    than at the recorded positions."""
    lanes = [_Travel(between, code) for code in range(task.first, task.end)]
    faults: dict[str, Fault] = {}
    for fault in sorted(fault for lane in lanes for fault in lane.faults()):
        faults.setdefault(fault.rule, fault)
    if not task.stretch.tells_states:
        return ChannelFacts(tuple(faults.values()), Differing(True, np.zeros(0, np.int64)))
    changes = [lane.changes() for lane in lanes]
    found = differing(
        sum(lane.differing_at_start for lane in lanes),
        *map(np.concatenate, zip(*changes, strict=True)),
    )
    return ChannelFacts(tuple(faults.values()), found)


class _Travel:
    """The messages of one channel that lie in it at the start or are sent before the end.

    sent, received: int64[M], indexes (NEVER while in flight); ordinals: int64[M].
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
        """At most one of each rule."""
        found = []
        early = self.received_before & ~self.sent_before
        if early.any():
            found.append(self._fault(SENDS_FIRST, self._first(early)))
        if self.channel.fifo and not self.lane.in_order:
            behind = self.is_received_here & (self.lane.reach[self.ordinals] > self.received)
            behind &= ~early
            if behind.any():
                row = self._first(behind)
                head = np.searchsorted(self.lane.reach, self.received[row], side="right")
                found.append(self._fault(FIFO, row, int(head)))
        return found

    def _first(self, chosen: np.ndarray) -> int:
        """Of the chosen messages the one that is received first; ranks rise along a process."""
        rows = np.flatnonzero(chosen)
        return int(rows[np.argmin(self.received[rows])])

    def _fault(self, rule: str, row: int, head: int | None = None) -> Fault:
        index = int(self.received[row])
        return Fault(
            is_after=not self.received_before[row],
            step=int(self.between.steps_of(self.target)[index]),
            rule=rule,
            process=self.target,
            index=index,
            channel=self.code,
            head=head,
        )

    @cached_property
    def _is_recorded(self) -> np.ndarray:
        """bool[M]: which messages lie in the channel at the recorded positions."""
        return self.sent_before & ~self.received_before

    @property
    def differing_at_start(self) -> int:
        """How many messages lie there at the start or at the recorded positions, but not both."""
        return int(np.count_nonzero(self._is_recorded == self.is_sent_here))

    def changes(self) -> tuple[np.ndarray, np.ndarray]:
        """The steps at which a message comes to differ from the recorded state (1), or ceases to
        (-1): it lies in the channel in one of the two only."""
        away = np.where(self._is_recorded, 1, -1)
        sent, received = self.is_sent_here, self.is_received_here
        steps = (
            self.between.steps_of(self.source)[self.sent[sent]],
            self.between.steps_of(self.target)[self.received[received]],
        )
        return np.concatenate(steps), np.concatenate((-away[sent], away[received]))


# --- what differs ----------------------------------------------------------------------------


def differing(at_start: int, steps: np.ndarray, deltas: np.ndarray) -> Differing:
    """at_start: how many things differ; steps, deltas: int64[N], when how many more or less do."""
    order = np.argsort(steps, kind="stable")
    steps = steps[order]
    count = at_start + np.cumsum(deltas[order])
    settled = np.ones(len(steps), bool)
    settled[:-1] = steps[1:] != steps[:-1]
    steps, differs = steps[settled], count[settled] > 0
    was = np.concatenate(([at_start > 0], differs))[:-1]
    return Differing(at_start > 0, steps[differs != was])


def joined(parts: list[Differing]) -> Differing:
    """Whether anything differs in any of the parts."""
    turns = [np.ones(len(part.changes), np.int64) for part in parts]
    for part, turn in zip(parts, turns, strict=True):
        turn[0 if part.at_start else 1 :: 2] = -1
    return differing(
        sum(part.at_start for part in parts),
        np.concatenate([part.changes for part in parts]),
        np.concatenate(turns),
    )


_KERNELS = {
    StepTask: partition_steps,
    ProcessTask: follow_processes,
    ChannelTask: follow_channels,
}
