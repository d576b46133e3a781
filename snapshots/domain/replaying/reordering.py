"""Theorem 1: the run could have gone through the recorded state. Here is how.

Between the start and the end of a snapshot the events before their process's recording
(prerecording) are put in front of those after it (postrecording); nothing else changes. Where the
snapshot is consistent the new order is a computation, from the same state to the same state, and
the recorded state stands in its middle.

The paper's events are the application's (recording.APPLICATION_KINDS). These move, the pieces that
a snapshot's collecting floods among them. Markers, recordings and all other kinds change neither a
process nor what a channel holds, so they are not among the events here; they only say where start,
end and each process's recording lie. The start is the snapshot's first event, the end its last one
that is no marker_send, by step.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 4.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from snapshots.domain.judging.cuts import Cut, cut_at
from snapshots.domain.judging.findings import ORPHAN, Finding
from snapshots.domain.judging.snapshot_log import SNAPSHOT_KINDS
from snapshots.domain.judging.verdicts import SnapshotReport
from snapshots.domain.model.as_json import as_json
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
from snapshots.domain.model.topology import JsonText, ProcessId
from snapshots.domain.replaying.computations import GlobalState, Travel, Walk, state_of
from snapshots.domain.replaying.reordering_report import (
    SWAPS,
    Check,
    Middle,
    ReorderingReport,
    cannot_swap,
    computation_checks,
    middle_check,
    no_check_fails,
    require_complete,
    swaps_lead_elsewhere,
    too_many_swaps,
)

MOST_SWAPS_TRIED = 200_000  # swaps carried out one by one, to see that they agree
MOST_EVENTS_SHOWN = 5_000  # in a report; the numbers beside them are always the true ones


@dataclass(frozen=True)
class Reordering:
    """One snapshot's run in two orders.

    events: the application events between start and end, in the order in which they happened.
    is_prerecording: bool[N], of each. permuted: int64[N], places in ``events``; the first
    ``middle`` are the prerecording ones. began, ended: steps of the snapshot's first and last
    event. swaps: of neighbours, that lead from one order to the other. recorded: the state at the
    recorded positions, as the log recomputes it. obstacles: the orphans, each a send and a receive
    that cannot change places; empty for a consistent snapshot. occurred_after: number of ``events``
    after which the run as it was stood in the recorded state, the first time; None where it never
    did. occurred: None where the cut is not consistent or a state is not known.
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
    def holds(self) -> bool:
        """Tell whether no check failed."""
        return no_check_fails(self.checks)

    @cached_property
    def prerecording(self) -> tuple[Event, ...]:
        """Return the events before the recorded state, in the new order."""
        return tuple(self.events[row] for row in self.permuted[: self.middle])

    @cached_property
    def postrecording(self) -> tuple[Event, ...]:
        """Return the events after the recorded state, in the new order."""
        return tuple(self.events[row] for row in self.permuted[self.middle :])

    def check(self, name: str) -> Check:
        """Return the check of this name."""
        return next(check for check in self.checks if check.name == name)

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
        )


def reorder(
    recording: Recording, report: SnapshotReport, *, most_swaps: int = MOST_SWAPS_TRIED
) -> Reordering:
    """report: of a snapshot of this recording. most_swaps: tried one by one.

    A snapshot that is not consistent is reordered too, with the pairs that prevent it as
    obstacles. Raises: NotReorderable for one that is not complete.
    """
    require_complete(report.snapshot, list(map(as_json, report.findings)))
    scoped = recording_in_scope(recording, report.processes)
    return _Theorem(scoped, report).carried_out(most_swaps)


def prerecording(process: np.ndarray, index: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """bool[N]: which events come before their process's recording.

    process: code of each event's process, index: its index there; positions: int64[P].
    """
    return index < positions[process]


def partition_order(is_prerecording: np.ndarray) -> np.ndarray:
    """int64[N]: the stable partition, prerecording first; places in the order as it was."""
    return np.concatenate((np.flatnonzero(is_prerecording), np.flatnonzero(~is_prerecording)))


def inversions(is_prerecording: np.ndarray) -> int:
    """How many swaps of neighbours the partition takes: pairs of a postrecording event and a
    prerecording one behind it."""
    return int(np.cumsum(~is_prerecording)[is_prerecording].sum())


def swaps(is_prerecording: Sequence[bool] | np.ndarray) -> Iterator[int]:
    """The swaps one by one: at each place k the events at k and k + 1 change places.

    Each prerecording event in turn moves to the front, past the postrecording ones before it.
    """
    settled = 0
    for row, is_pre in enumerate(is_prerecording):
        if is_pre:
            yield from range(row - 1, settled - 1, -1)
            settled += 1


class _Theorem:
    """One reordering while it is made."""

    def __init__(self, recording: Recording, report: SnapshotReport) -> None:
        self.recording = recording
        self.report = report
        self.began, self.ended = _extent(recording, report.snapshot)
        start_cut = cut_at(recording, step=self.began)
        end_cut = cut_at(recording, step=self.ended + 1)
        self.start, self.end = state_of(recording, start_cut), state_of(recording, end_cut)
        self.recorded = state_of(recording, Cut(report.positions))
        self.events = _between(recording, start_cut, end_cut)
        self.is_prerecording = self._prerecording()
        self.permuted = partition_order(self.is_prerecording)
        self.middle = int(np.count_nonzero(self.is_prerecording))
        self.swaps = inversions(self.is_prerecording)
        self.travel = Travel(recording)
        self.before = self._states_before()

    def carried_out(self, most_swaps: int) -> Reordering:
        occurred, after = self._occurrence()
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
            checks=(*self._checks(), self._swap_check(most_swaps)),
            obstacles=tuple(f for f in self.report.findings if f.verdict == ORPHAN),
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
        """Whether the run as it was stood in the recorded state, and after how many events."""
        if ORPHAN in self.report.counts or None in self.recorded.processes.values():
            return None, None
        walk, target = self._walk(), self.recorded
        differing: set[object] = {p for p in target.processes if walk.differs(target, p)}
        differing |= {("channel", c) for c in target.channels if walk.holds_other(target, c)}
        for done, event in enumerate((None, *self.events)):
            if event is not None:
                walk.take(event)
                _note(differing, event.process, walk.differs(target, event.process))
                if event.kind in (SEND, RECEIVE):
                    other = walk.holds_other(target, event.channel)
                    _note(differing, ("channel", event.channel), other)
            if not differing:
                return True, done
        return False, None


def _note(differing: set[object], key: object, differs: bool) -> None:
    if differs:
        differing.add(key)
    else:
        differing.discard(key)


def _extent(recording: Recording, snapshot: SnapshotId) -> tuple[int, int]:
    """The steps of a snapshot's first event and of its last that is no marker_send."""
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
    """The application events after one cut and inside another, by step."""
    found = [
        event
        for process, events in recording.events.items()
        for event in events[start.position(process) : end.position(process)]
        if event.kind in APPLICATION_KINDS
    ]
    return tuple(sorted(found, key=lambda event: event.step))


def _difference(walk: Walk, target: GlobalState) -> str | None:
    for process in target.processes:
        if walk.differs(target, process):
            return f"{process} does not end in the state that it ended in."
    for channel in target.channels:
        if walk.holds_other(target, channel):
            return f"{channel} does not end with the messages that it ended with."
    return None
