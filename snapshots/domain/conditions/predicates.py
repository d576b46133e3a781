"""Possibly and definitely: does a conjunction of local conditions hold in some consistent cut, and
in every run that agrees with what happened before what?

The consistent cuts in which the conditions hold are closed under union and intersection, so there
is a first and a last one, found by moving every process on (back) only where it must. Definitely
holds iff there is an interval of truth on each process such that none can be left before all have
been entered: the entering of each happens before the leaving of every other. Both cost
(number of events) x (channels of a process) at most, times the number of conditions for definitely.

Source: Garg and Waldecker, "Detection of Weak Unstable Predicates in Distributed Programs", IEEE
TPDS 5(3), 1994, and "Detection of Strong Unstable Predicates in Distributed Programs", IEEE TPDS
7(12), 1996; Cooper and Marzullo, "Consistent Detection of Global Predicates", 1991.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from snapshots.domain.causality.causal_closure import Causality, causality
from snapshots.domain.conditions.conjunctions import (
    Condition,
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
from snapshots.domain.model.recording import Recording
from snapshots.domain.model.topology import ProcessId

MOST_LEGS = 100  # of an avoiding run, kept
_BETWEEN_LOOKS = 1_000  # intervals

Holds = Mapping[ProcessId, Spans]  # other processes do not matter
Advance = Callable[[int], None]
"""Called now and then with how many intervals have been passed over; may raise to stop."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Positions first .. last of a process, both included, at which its conditions hold."""

    process: ProcessId
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why not definitely: ``process`` can leave ``interval``, its last one that counts, before
    ``other`` has entered its own. Both None: the conditions hold nowhere on ``process``."""

    process: ProcessId
    interval: Interval | None = None
    other: Interval | None = None


@dataclass(frozen=True, slots=True)
class Leg:
    """One part of a run: up to ``until``, in any order, the conditions on ``process`` fail."""

    process: ProcessId
    until: Cut


@dataclass(frozen=True)
class PredicateAnswer:
    """Whether conditions hold together in some consistent cut, and whether in every run.

    Attributes:
        possibly: None where what is not known decides; ``missing`` says what that is.
        definitely: None where what is not known decides.
        first: the least cut in which all conditions hold, where ``possibly`` is True.
        last: the greatest such cut.
        intervals: one interval of each process, where ``definitely`` is True; every run passes a
            cut that lies in all of them.
        obstacle: why not, where ``definitely`` is False.
        avoiding: then the first MOST_LEGS legs of a run that never passes a cut in which all
            conditions hold; empty where the search does not tell such a run.
        avoiding_total: how many legs this run has.
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
        words = {"possibly": _answer(self.possibly), "definitely": _answer(self.definitely)}
        return members_as_json(self) | words


def _answer(holds: bool | None) -> str:
    return {True: "true", False: "false", None: "unknown"}[holds]


def detect(recording: Recording, text: str, evaluate: Evaluate = plainly) -> PredicateAnswer:
    """Both questions about one conjunction.

    evaluate: `evaluation.evaluate` where a person wrote the text. Raises: ExpressionError; NotLocal
    for what is no conjunction of local conditions.
    """
    conditions = conjunction(text, frozenset(recording.topology.process_by_id))
    return detect_conditions(recording, text, conditions, evaluate)


def detect_conditions(
    recording: Recording, text: str, conditions: Sequence[Condition], evaluate: Evaluate = plainly
) -> PredicateAnswer:
    """The same of a conjunction that has been parsed."""
    states = {process: states_of(recording, process) for process in processes_of(conditions)}
    return searched(text, causality(recording), local_truth(states, conditions, evaluate))


def searched(
    text: str, order: Causality, truth: Mapping[ProcessId, Truth], advance: Advance | None = None
) -> PredicateAnswer:
    """The answer, where it is known at which positions the conditions of each process hold."""
    surely = {process: known.surely for process, known in truth.items()}
    perhaps = {process: known.perhaps for process, known in truth.items()}
    something_is_missing = any(known.missing for known in truth.values())
    first = least_cut(order, surely)
    possibly, definitely = first is not None, False
    if not possibly and something_is_missing:
        possibly = _unless(least_cut(order, perhaps) is not None)
    found = overlapping(order, surely, advance)
    if found.intervals:
        definitely = True
    elif something_is_missing:
        definitely = _unless(bool(overlapping(order, perhaps, advance).intervals))
    is_avoidable = definitely is False
    return PredicateAnswer(
        text=text,
        possibly=possibly,
        definitely=definitely,
        first=first,
        last=greatest_cut(order, surely) if first else None,
        intervals=found.intervals,
        obstacle=found.obstacle if is_avoidable else None,
        avoiding=found.avoiding if is_avoidable else (),
        avoiding_total=found.avoiding_total if is_avoidable else 0,
        missing=_missing(truth, possibly, definitely),
    )


def _unless(it_could_be: bool) -> bool | None:
    return None if it_could_be else False


def _missing(truth: Mapping[ProcessId, Truth], *answers: bool | None) -> tuple[str, ...]:
    if None not in answers:
        return ()
    return tuple(sentence for known in truth.values() for sentence in known.missing)


def least_cut(order: Causality, holds: Holds) -> Cut | None:
    """The first consistent cut in which all hold; None if there is none."""
    spans = {order.number[process]: inside for process, inside in holds.items()}
    firsts = {process: inside.following(0) for process, inside in spans.items()}
    if None in firsts.values():
        return None
    positions = [0] * len(order.ends)
    goal = partial(_goal, spans, Spans.following)
    return order.cut(positions) if order.grow(positions, firsts, goal) else None


def greatest_cut(order: Causality, holds: Holds) -> Cut | None:
    """The last one."""
    spans = {order.number[process]: inside for process, inside in holds.items()}
    positions = list(order.ends)
    for process, inside in spans.items():
        at = inside.preceding(order.ends[process])
        if at is None:
            return None
        positions[process] = at
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
    """intervals: one of each process such that every run is in all of them at once; or, empty, the
    obstacle, and a run that avoids it, as in PredicateAnswer."""

    intervals: tuple[Interval, ...] = ()
    obstacle: Obstacle | None = None
    avoiding: tuple[Leg, ...] = ()
    avoiding_total: int = 0


def overlapping(order: Causality, holds: Holds, advance: Advance | None = None) -> Overlap:
    """An interval that can be left before another process has entered its current one can never be
    part of the answer, and is passed over for the next."""
    search = _IntervalSearch(order, holds, advance)
    obstacle = search.run()
    if obstacle is not None:
        return Overlap((), obstacle, *search.avoiding(obstacle))
    return Overlap(tuple(search.interval(process) for process in search.spans))


class _IntervalSearch:
    """current: which interval of each process is looked at. past: for each process the positions
    that have happened when it has left that one. because: for each process int64[intervals, 2], why
    an interval was passed over: the other process, and its interval, which can be entered later."""

    def __init__(self, order: Causality, holds: Holds, advance: Advance | None) -> None:
        self.order = order
        self.advance = advance
        self.spans = {order.number[process]: inside for process, inside in holds.items()}
        self.current = dict.fromkeys(self.spans, 0)
        self.past = {process: [0] * len(order.ends) for process in self.spans}
        self.because = {
            process: np.full((len(inside), 2), -1) for process, inside in self.spans.items()
        }
        self.passed = 0

    def run(self) -> Obstacle | None:
        for process, inside in self.spans.items():
            if not len(inside):
                return Obstacle(self.order.processes[process])
            self.leave(process)
        changed = deque(self.spans)
        while changed:
            one = changed.popleft()
            for other in self.spans:
                for leaver, enterer in ((one, other), (other, one)):
                    while not self.must_wait(leaver, enterer):
                        obstacle = self.pass_over(leaver, enterer)
                        if obstacle is not None:
                            return obstacle
                        changed.append(leaver)
        return None

    def must_wait(self, leaver: int, enterer: int) -> bool:
        """Whether one cannot leave its interval before the other has entered its own."""
        return (
            leaver == enterer
            or self.last(leaver) == self.order.ends[leaver]
            or self.past[leaver][enterer] >= self.spans[enterer].firsts[self.current[enterer]]
        )

    def last(self, process: int) -> int:
        return int(self.spans[process].lasts[self.current[process]])

    def pass_over(self, leaver: int, enterer: int) -> Obstacle | None:
        self.because[leaver][self.current[leaver]] = enterer, self.current[enterer]
        if self.current[leaver] + 1 == len(self.spans[leaver]):
            names = self.order.processes
            return Obstacle(names[leaver], self.interval(leaver), self.interval(enterer))
        self.current[leaver] += 1
        self.leave(leaver)
        self.passed += 1
        if self.advance and not self.passed % _BETWEEN_LOOKS:
            self.advance(self.passed)
        return None

    def leave(self, process: int) -> None:
        """Brings the past of leaving up to date; an interval that lasts to the end has none."""
        last = self.last(process)
        if last < self.order.ends[process]:
            self.order.grow(self.past[process], {process: last + 1})

    def interval(self, process: int) -> Interval:
        first = int(self.spans[process].firsts[self.current[process]])
        return Interval(self.order.processes[process], first, self.last(process))

    def avoiding(self, obstacle: Obstacle) -> tuple[tuple[Leg, ...], int]:
        """The first MOST_LEGS legs of the run that the search has found on its way to the obstacle,
        and how many there are; none where it did not find one.

        Before one process leaves an interval, another stays outside its own; that one had left its
        interval before while a third stayed outside, and so on back to the start. At the end the
        first process has left its last interval for good.
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
        """(who leaves, which interval, who waits outside meanwhile), in the order of the run."""
        story = []
        interval = len(self.spans[process]) - 1
        while interval >= 0:
            waiting, entered = self.because[process][interval].tolist()
            if waiting < 0:
                break
            story.append((process, interval, waiting))
            process, interval = waiting, entered - 1
        return story[::-1]
