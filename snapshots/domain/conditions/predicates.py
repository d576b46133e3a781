"""Decide whether a conjunction of local conditions holds possibly, and definitely.

It holds *possibly* if it holds in some consistent cut, and *definitely* if every run with the same
causality passes a cut in which it holds.

The consistent cuts in which it holds are closed under union and intersection. There is a first and
a last one, found by moving a process on (or back) only where it must move. It holds definitely iff
each process has an interval of truth such that no interval can be left before all are entered: the
entering of each happens before the leaving of every other. Possibly takes at most
(number of events) x (channels of a process) steps, definitely the same times the number of
conditions.

Source: Garg and Waldecker, "Detection of Weak Unstable Predicates in Distributed Programs", IEEE
TPDS 5(3), 1994, and "Detection of Strong Unstable Predicates in Distributed Programs", IEEE TPDS
7(12), 1996; Cooper and Marzullo, "Consistent Detection of Global Predicates", 1991.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from snapshots.domain.causality.causal_closure import Causality, causality
from snapshots.domain.conditions.conjunctions import (
    Evaluate,
    Truth,
    conjunction,
    local_truth,
    plainly,
    processes_of,
    states_of,
)
from snapshots.domain.conditions.spans import Spans
from snapshots.domain.judging.cuts import Cut
from snapshots.domain.model.as_json import JsonName, members_as_json
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import Recording
from snapshots.domain.model.topology import ProcessId

MOST_LEGS = 100  # legs of an avoiding run that an answer lists
_BETWEEN_REPORTS = 1_000  # intervals

Holds = Mapping[ProcessId, Spans]
"""The spans in which the conditions on each process hold; a process without any is absent."""
Advance = Callable[[int], None]
"""Called now and then with the number of intervals that were skipped; may raise to stop."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Positions first .. last of a process, both included, at which its conditions hold."""

    process: ProcessId
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why conditions do not hold definitely.

    Both intervals are None if the conditions on ``process`` hold nowhere.

    Attributes:
        process: the process that can leave ``interval`` before another process enters ``other``.
        interval: the last interval of ``process`` that could be part of the answer.
        other: the interval of the other process.
    """

    process: ProcessId
    interval: Interval | None = None
    other: Interval | None = None


@dataclass(frozen=True, slots=True)
class Leg:
    """One part of a run during which the conditions on one process fail all the time.

    Attributes:
        until: the cut at which the part ends. The order of events within the part does not matter.
    """

    process: ProcessId
    until: Cut


@dataclass(frozen=True)
class PredicateAnswer:
    """Whether conditions hold together in some consistent cut, and in every run.

    Attributes:
        possibly: whether all conditions hold in some consistent cut; None if that depends on
            ``missing``.
        definitely: whether every run passes such a cut; None if that depends on ``missing``.
        first: the least cut in which all conditions hold; None unless ``possibly`` is True.
        last: the greatest such cut.
        intervals: one interval of each process such that every run is in all of them at once. Empty
            unless ``definitely`` is True.
        obstacle: why not, if ``definitely`` is False.
        avoiding: the first MOST_LEGS legs of a run that never passes a cut in which all conditions
            hold. Empty unless ``definitely`` is False, and if the search did not come across such a
            run.
        avoiding_total: how many legs this run has.
        missing: what is not known and would decide, one phrase each.
    """

    text: Annotated[str, JsonName("expression")]
    possibly: bool | None
    definitely: bool | None
    first: Cut | None
    last: Cut | None
    intervals: tuple[Interval, ...]
    obstacle: Obstacle | None
    avoiding: tuple[Leg, ...]
    avoiding_total: int
    missing: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """Return the answer as JSON values."""
        answers = {True: "true", False: "false", None: "unknown"}
        return members_as_json(self) | {
            "possibly": answers[self.possibly],
            "definitely": answers[self.definitely],
        }


def detect(recording: Recording, text: str, evaluate: Evaluate = plainly) -> PredicateAnswer:
    """Decide whether a conjunction holds possibly and definitely.

    Args:
        text: the conjunction.
        evaluate: use `sandbox.evaluation.evaluate` for a text that a person wrote.

    Raises: ExpressionError; it is NotLocal if the text is not a conjunction of local conditions.
    """
    conditions = conjunction(text, frozenset(recording.topology.process_by_id))
    if is_derived(recording.header_extra):
        return of_derived(text)
    states = {process: states_of(recording, process) for process in processes_of(conditions)}
    return searched(text, causality(recording), local_truth(states, conditions, evaluate))


def of_derived(text: str) -> PredicateAnswer:
    """Return the answer for a derived recording, whose cuts are not the cuts of the run."""
    return PredicateAnswer(
        text=text,
        possibly=None,
        definitely=None,
        first=None,
        last=None,
        intervals=(),
        obstacle=None,
        avoiding=(),
        avoiding_total=0,
        missing=("the events between two checkpoints, which the engine does not keep",),
    )


def searched(
    text: str, order: Causality, truth: Mapping[ProcessId, Truth], advance: Advance | None = None
) -> PredicateAnswer:
    """Return the answer for conditions whose truth at all positions is known.

    Args:
        text: the conjunction, for the answer.
        order: the causality of the recording.
        truth: where the conditions on each process hold.
        advance: reports progress.
    """
    surely = {process: item.surely for process, item in truth.items()}
    perhaps = {process: item.perhaps for process, item in truth.items()}
    is_missing = any(item.missing for item in truth.values())
    first, overlap = least_cut(order, surely), overlapping(order, surely, advance)
    possibly: bool | None = first is not None
    definitely: bool | None = bool(overlap.intervals)
    if is_missing and not possibly and least_cut(order, perhaps) is not None:
        possibly = None
    if is_missing and not definitely and overlapping(order, perhaps, advance).intervals:
        definitely = None
    if definitely is not False:
        overlap = Overlap(overlap.intervals)
    return PredicateAnswer(
        text=text,
        possibly=possibly,
        definitely=definitely,
        first=first,
        last=greatest_cut(order, surely) if first else None,
        intervals=overlap.intervals,
        obstacle=overlap.obstacle,
        avoiding=overlap.avoiding,
        avoiding_total=overlap.avoiding_total,
        missing=tuple(sentence for item in truth.values() for sentence in item.missing)
        if None in (possibly, definitely)
        else (),
    )


def least_cut(order: Causality, holds: Holds) -> Cut | None:
    """Return the least consistent cut in which all conditions hold, or None."""
    spans = {order.number[process]: inside for process, inside in holds.items()}
    firsts = {}
    for process, inside in spans.items():
        first = inside.following(0)
        if first is None:
            return None
        firsts[process] = first
    positions = [0] * len(order.ends)
    goal = partial(_goal, spans, Spans.following)
    return order.cut(positions) if order.grow(positions, firsts, goal) else None


def greatest_cut(order: Causality, holds: Holds) -> Cut | None:
    """Return the greatest consistent cut in which all conditions hold, or None."""
    spans = {order.number[process]: inside for process, inside in holds.items()}
    positions = list(order.ends)
    for process, inside in spans.items():
        last = inside.preceding(order.ends[process])
        if last is None:
            return None
        positions[process] = last
    goal = partial(_goal, spans, Spans.preceding)
    return order.cut(positions) if order.shrink(positions, spans, goal) else None


def _goal(
    spans: Mapping[int, Spans],
    nearest: Callable[[Spans, int], int | None],
    process: int,
    position: int,
) -> int | None:
    return nearest(spans[process], position) if process in spans else position


@dataclass(frozen=True)
class Overlap:
    """The intervals that every run is in at once, or the reason why there are none.

    The fields are as in PredicateAnswer.
    """

    intervals: tuple[Interval, ...] = ()
    obstacle: Obstacle | None = None
    avoiding: tuple[Leg, ...] = ()
    avoiding_total: int = 0


def overlapping(order: Causality, holds: Holds, advance: Advance | None = None) -> Overlap:
    """Find one interval of each process such that every run is in all of them at once.

    An interval that can be left before another process has entered its current interval cannot be
    part of the answer and is skipped.
    """
    search = _IntervalSearch(order, holds, advance)
    obstacle = search.run()
    if obstacle is not None:
        return Overlap((), obstacle, *search.avoiding(obstacle))
    return Overlap(tuple(search.interval(process) for process in search.spans))


class _IntervalSearch:
    """The search for overlapping intervals. Processes are given by their numbers.

    ``current`` is the interval of each process that is tried. ``past`` is, for each process, the
    cut that must have happened when it leaves that interval. ``because`` (int64[intervals, 2] for
    each process) tells why an interval was skipped: the other process, and the interval of that
    process that can be entered later.
    """

    def __init__(self, order: Causality, holds: Holds, advance: Advance | None) -> None:
        self.order = order
        self.advance = advance
        self.spans = {order.number[process]: inside for process, inside in holds.items()}
        self.current = dict.fromkeys(self.spans, 0)
        self.past = {process: [0] * len(order.ends) for process in self.spans}
        self.because = {
            process: np.full((len(inside), 2), -1) for process, inside in self.spans.items()
        }
        self.skipped = 0

    def run(self) -> Obstacle | None:
        """Advance the current intervals until all overlap (None) or one process has no more."""
        for process, inside in self.spans.items():
            if not len(inside):
                return Obstacle(self.order.processes[process])
            self.leave(process)
        changed = deque(self.spans)
        while changed:
            process = changed.popleft()
            for other in self.spans:
                for leaver, enterer in ((process, other), (other, process)):
                    while not self.must_wait(leaver, enterer):
                        obstacle = self.skip(leaver, enterer)
                        if obstacle is not None:
                            return obstacle
                        changed.append(leaver)
        return None

    def must_wait(self, leaver: int, enterer: int) -> bool:
        """Tell whether one cannot leave its interval before the other has entered its own."""
        return (
            leaver == enterer
            or self.last(leaver) == self.order.ends[leaver]
            or self.past[leaver][enterer] >= self.spans[enterer].firsts[self.current[enterer]]
        )

    def last(self, process: int) -> int:
        return int(self.spans[process].lasts[self.current[process]])

    def skip(self, leaver: int, enterer: int) -> Obstacle | None:
        """Go on to the next interval of ``leaver``; return the obstacle if there is none."""
        self.because[leaver][self.current[leaver]] = enterer, self.current[enterer]
        if self.current[leaver] + 1 == len(self.spans[leaver]):
            names = self.order.processes
            return Obstacle(names[leaver], self.interval(leaver), self.interval(enterer))
        self.current[leaver] += 1
        self.leave(leaver)
        self.skipped += 1
        if self.advance and not self.skipped % _BETWEEN_REPORTS:
            self.advance(self.skipped)
        return None

    def leave(self, process: int) -> None:
        """Update ``past`` of a process, unless its interval lasts to the end and is never left."""
        last = self.last(process)
        if last < self.order.ends[process]:
            self.order.grow(self.past[process], {process: last + 1})

    def interval(self, process: int) -> Interval:
        first = int(self.spans[process].firsts[self.current[process]])
        return Interval(self.order.processes[process], first, self.last(process))

    def avoiding(self, obstacle: Obstacle) -> tuple[tuple[Leg, ...], int]:
        """Return the first MOST_LEGS legs of an avoiding run, and how many legs it has.

        The search has come across this run on its way to the obstacle; there are no legs if it has
        not. While one process leaves an interval, another stays outside its own. Before that, the
        other one had left its previous interval while a third stayed outside, and so on back to the
        start. At the end the first process has left its last interval for good.
        """
        order, total = self.order, 1
        legs: list[Leg] = []
        blocked = order.number[obstacle.process]
        positions = [0] * len(order.ends)
        for leaver, interval, waiting in self._story(blocked) if obstacle.interval else ():
            before = positions[waiting]
            order.grow(positions, {leaver: int(self.spans[leaver].lasts[interval]) + 1})
            if self.spans[waiting].meets(before, positions[waiting]):
                return (), 0
            total += 1
            if len(legs) < MOST_LEGS:
                legs.append(Leg(order.processes[waiting], order.cut(positions)))
        if self.spans[blocked].meets(positions[blocked], order.ends[blocked]):
            return (), 0
        legs.append(Leg(order.processes[blocked], order.cut(order.ends)))
        return tuple(legs[:MOST_LEGS]), total

    def _story(self, process: int) -> list[tuple[int, int, int]]:
        """Return (leaving process, its interval, process outside) for each leg, in order."""
        story = []
        interval = len(self.spans[process]) - 1
        while interval >= 0:
            waiting, entered = self.because[process][interval].tolist()
            if waiting < 0:
                break
            story.append((process, interval, waiting))
            process, interval = waiting, entered - 1
        return story[::-1]
