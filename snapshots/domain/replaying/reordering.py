"""Reorder a run so that it goes through the recorded state (Theorem 1).

Between the start and the end of a snapshot, the events before their process's recording
(prerecording) are moved in front of those after it (postrecording); nothing else changes. If the
snapshot is consistent, the new order is a computation from the same state to the same state, and
the recorded state is in its middle.

The paper's events are those of the application (recording.APPLICATION_KINDS), and these include the
pieces that a flooding protocol collects. Markers, recordings and all other kinds change neither a
process nor the contents of a channel. They do not count as events here; they only determine the
start, the end and each process's recording. The start is the snapshot's first event, the end its
last event other than a marker_send, by step.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 4.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

import numpy as np

from snapshots.domain.assembling.restores import restore_before
from snapshots.domain.judging.cuts import Cut, cut_at
from snapshots.domain.judging.findings import ORPHAN, Finding
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.snapshot_log import SNAPSHOT_KINDS
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import (
    APPLICATION_KINDS,
    MARKER_SEND,
    RECEIVE,
    SEND,
    Event,
    Recording,
    SnapshotId,
)
from snapshots.domain.model.scopes import recording_in_scope
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId
from snapshots.domain.replaying.computations import (
    GlobalState,
    Travel,
    Walk,
    channel_of,
    state_of,
)
from snapshots.domain.replaying.reordering_report import (
    SWAPS,
    Check,
    Middle,
    ReorderingReport,
    cannot_swap,
    computation_checks,
    goes_back_meanwhile,
    middle_check,
    of_derived,
    require_complete,
    swaps_lead_elsewhere,
    too_many_swaps,
)

_Name = TypeVar("_Name", ProcessId, ChannelId)

MOST_SWAPS_TRIED = 200_000  # swaps carried out one by one, to check that they give the same order
MOST_EVENTS_SHOWN = 5_000  # in a report; its totals count all events


@dataclass(frozen=True)
class Reordering:
    """The run between start and end of one snapshot, in two orders.

    Attributes:
        events: the N application events between start and end, in their original order.
        is_prerecording: bool[N]: whether each event is a prerecording one.
        permuted: int64[N]: the new order, as places in ``events``; prerecording ones come first.
        middle: how many events are prerecording ones.
        swaps: how many swaps of neighbours lead from one order to the other.
        began: the step of the snapshot's first event.
        ended: the step of the snapshot's last event other than a marker_send.
        recorded: the state at the recorded positions, as the log recomputes it.
        obstacles: the orphans: each is a send and a receive that cannot be swapped.
        occurred: whether the original run went through the recorded state. None means that the cut
            is not consistent or that a state is not known.
        occurred_after: how many of ``events`` led there for the first time; None if ``occurred`` is
            not True.
    """

    recording: Recording
    snapshot: SnapshotId
    events: tuple[Event, ...]
    is_prerecording: np.ndarray
    permuted: np.ndarray
    middle: int
    swaps: int
    began: int
    ended: int
    start: GlobalState
    recorded: GlobalState
    end: GlobalState
    checks: tuple[Check, ...]
    obstacles: tuple[Finding, ...]
    occurred: bool | None
    occurred_after: int | None

    @property
    def is_derived(self) -> bool:
        """Whether the recording is derived, so that nothing can be shown to hold."""
        return is_derived(self.recording.header_extra)

    @property
    def holds(self) -> bool | None:
        """Whether no check failed; None where the recording is derived and none did."""
        return self.report(0).holds

    def report(self, most: int = MOST_EVENTS_SHOWN) -> ReorderingReport:
        """Return the report with the first ``most`` events."""
        shown = self.events[:most]
        return ReorderingReport(
            snapshot=self.snapshot,
            began=self.began,
            ended=self.ended,
            shown=shown,
            is_prerecording=tuple(self.is_prerecording[:most].tolist()),
            permuted=tuple(self.permuted[self.permuted < len(shown)].tolist()),
            events_total=len(self.events),
            prerecording_total=self.middle,
            swaps=self.swaps,
            start=self.start.to_json(self.recording),
            recorded=self.recorded.to_json(self.recording),
            end=self.end.to_json(self.recording),
            checks=self.checks,
            obstacles=tuple(map(as_json, self.obstacles)),
            occurred=self.occurred,
            occurred_after=self.occurred_after,
            is_derived=self.is_derived,
        )


def reorder(
    recording: Recording, report: SnapshotReport, *, most_swaps: int = MOST_SWAPS_TRIED
) -> Reordering:
    """Reorder the run through the state that a snapshot recorded.

    A snapshot that is not consistent is reordered too; its obstacles are the pairs of events that
    cannot be swapped.

    Args:
        report: the report on a snapshot of this recording.
        most_swaps: up to how many swaps are carried out one by one.

    Raises: NotReorderable for a snapshot that is not complete, or during which a process goes back.
    """
    require_complete(report.snapshot, list(map(as_json, report.findings)))
    scoped = recording_in_scope(recording, report.processes)
    return _Theorem(scoped, report).reordering(most_swaps)


def prerecording(process: np.ndarray, index: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Tell which events come before their process's recording: bool[N].

    Args:
        process: int64[N], the code of each event's process.
        index: int64[N], the index of each event.
        positions: int64[P], the snapshot's position at each process.
    """
    return index < positions[process]


def partition_order(is_prerecording: np.ndarray) -> np.ndarray:
    """Return the new order as places in the original one, prerecording first: int64[N]."""
    return np.concatenate((np.flatnonzero(is_prerecording), np.flatnonzero(~is_prerecording)))


def inversions(is_prerecording: np.ndarray) -> int:
    """Count the swaps of neighbours that lead to the new order.

    There is one for each pair of a postrecording event and a prerecording one behind it.
    """
    return int(np.cumsum(~is_prerecording)[is_prerecording].sum())


def swaps(is_prerecording: Sequence[bool] | np.ndarray) -> Iterator[int]:
    """Yield places k at which to swap the events k and k + 1, one after the other.

    Each prerecording event in turn moves to the front, past the postrecording ones before it.
    """
    settled = 0
    for row, is_pre in enumerate(is_prerecording):
        if is_pre:
            yield from range(row - 1, settled - 1, -1)
            settled += 1


class _Theorem:
    """A reordering under construction."""

    def __init__(self, recording: Recording, report: SnapshotReport) -> None:
        self.recording = recording
        self.report = report
        self.began, self.ended = _extent(recording, report.snapshot)
        start_cut = cut_at(recording, step=self.began)
        end_cut = cut_at(recording, step=self.ended + 1)
        for process, restores in recording.restores.items():
            last = restore_before(restores, end_cut.position(process))
            if last and (last.done is None or last.done >= start_cut.position(process)):
                raise goes_back_meanwhile(report.snapshot, process, last.row)
        self.start, self.end = state_of(recording, start_cut), state_of(recording, end_cut)
        self.recorded = state_of(recording, Cut(report.positions))
        self.events = _between(recording, start_cut, end_cut)
        self.is_prerecording = self._prerecording()
        self.permuted = partition_order(self.is_prerecording)
        self.middle = int(np.count_nonzero(self.is_prerecording))
        self.swaps = inversions(self.is_prerecording)
        self.travel = Travel(recording)
        self.before = self._states_before()

    def reordering(self, most_swaps: int) -> Reordering:
        derived = is_derived(self.recording.header_extra)
        occurred, after = (None, None) if derived else self._occurrence()
        checks = (*self._checks(), self._swap_check(most_swaps))
        return Reordering(
            recording=self.recording,
            snapshot=self.report.snapshot,
            events=self.events,
            is_prerecording=self.is_prerecording,
            permuted=self.permuted,
            middle=self.middle,
            swaps=self.swaps,
            began=self.began,
            ended=self.ended,
            start=self.start,
            recorded=self.recorded,
            end=self.end,
            checks=of_derived(checks) if derived else checks,
            obstacles=tuple(item for item in self.report.findings if item.verdict == ORPHAN),
            occurred=occurred,
            occurred_after=after,
        )

    def _prerecording(self) -> np.ndarray:
        codes = {process.id: n for n, process in enumerate(self.recording.topology.processes)}
        positions = np.array([self.report.positions[process] for process in codes], np.int64)
        return prerecording(
            np.array([codes[event.process] for event in self.events], np.int64),
            np.array([event.index for event in self.events], np.int64),
            positions,
        )

    def _states_before(self) -> dict[Event, JsonText | None]:
        states: dict[ProcessId, JsonText | None] = dict(self.start.processes)
        before = {}
        for event in self.events:
            before[event] = states[event.process]
            states[event.process] = event.state
        return before

    def _walk(self) -> Walk:
        return Walk(self.recording, self.travel, self.start, self.before)

    def _checks(self) -> Iterator[Check]:
        walk = self._walk()
        walk.take_all(self.events[row] for row in self.permuted[: self.middle])
        middle = self._middle_check(walk.state())
        before_middle = walk.faults.first_reason
        walk.take_all(self.events[row] for row in self.permuted[self.middle :])
        end = _difference(walk, self.end)
        return computation_checks(before_middle, walk.faults, middle, end)

    def _middle_check(self, found: GlobalState) -> Check:
        return middle_check(
            Middle(
                topology=self.recording.topology,
                recorded_states=self.report.recorded_states,
                recorded_channels=self.report.recorded_channels,
                states=found.processes,
                channels=found.ids(self.recording),
            )
        )

    def _swap_check(self, most_swaps: int) -> Check:
        if self.swaps > most_swaps:
            return too_many_swaps(self.swaps, most_swaps)
        order = list(range(len(self.events)))
        for row in swaps(self.is_prerecording.tolist()):
            first, second = self.events[order[row]], self.events[order[row + 1]]
            if not self._can_swap(first, second):
                return cannot_swap(first, second)
            order[row], order[row + 1] = order[row + 1], order[row]
        if order != self.permuted.tolist():
            return swaps_lead_elsewhere()
        return Check(SWAPS, True)

    def _can_swap(self, first: Event, second: Event) -> bool:
        if first.process == second.process:
            return False
        if (first.kind, second.kind, first.channel) != (SEND, RECEIVE, second.channel):
            return True
        ordinal = self.travel.ordinal(second)
        return ordinal is None or ordinal != self.travel.ordinal(first)

    def _occurrence(self) -> tuple[bool | None, int | None]:
        """Tell whether the original run had the recorded state, and after how many events."""
        if ORPHAN in self.report.counts or None in self.recorded.processes.values():
            return None, None
        walk, target = self._walk(), self.recorded
        processes = {name for name in target.processes if walk.differs(target, name)}
        channels = {name for name in target.channels if walk.holds_other(target, name)}
        if not processes and not channels:
            return True, 0
        for done, event in enumerate(self.events, start=1):
            walk.take(event)
            _note(processes, event.process, walk.differs(target, event.process))
            if event.kind in (SEND, RECEIVE):
                channel = channel_of(event)
                _note(channels, channel, walk.holds_other(target, channel))
            if not processes and not channels:
                return True, done
        return False, None


def _note(differing: set[_Name], name: _Name, differs: bool) -> None:
    if differs:
        differing.add(name)
    else:
        differing.discard(name)


def _extent(recording: Recording, snapshot: SnapshotId) -> tuple[int, int]:
    """Return the steps of a snapshot's first event and of its last other than a marker_send."""
    own = [
        event
        for events in recording.events.values()
        for event in events
        if event.snapshot == snapshot and event.kind in SNAPSHOT_KINDS
    ]
    return (
        min(event.step for event in own),
        max(event.step for event in own if event.kind != MARKER_SEND),
    )


def _between(recording: Recording, start: Cut, end: Cut) -> tuple[Event, ...]:
    """Return the application events after one cut and inside another, by step."""
    between = (
        event
        for process, events in recording.events.items()
        for event in events[start.position(process) : end.position(process)]
        if event.kind in APPLICATION_KINDS
    )
    return tuple(sorted(between, key=attrgetter("step")))


def _difference(walk: Walk, target: GlobalState) -> str | None:
    for process in target.processes:
        if walk.differs(target, process):
            return f"{process} does not end in its original state."
    for channel in target.channels:
        if walk.holds_other(target, channel):
            return f"{channel} does not end with its original messages."
    return None
