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

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from snapshots.domain.conditions import (
    FALSE,
    TRUE,
    Condition,
    Evaluate,
    LocalTruth,
    conjunction,
    local_truth,
    plainly,
)
from snapshots.domain.cuts import NEVER, Cut, received_index
from snapshots.domain.recording import Recording
from snapshots.domain.topology import Channel, ProcessId

MOST_LEGS = 100  # of an avoiding run, in JSON


@dataclass(frozen=True, slots=True)
class Interval:
    """Positions first .. last of a process, both included, at which its conditions hold."""

    process: ProcessId
    first: int
    last: int

    def to_json(self) -> dict[str, object]:
        return {"process": self.process, "first": self.first, "last": self.last}


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why not definitely: ``process`` can leave ``interval``, its last one that counts, before
    ``other`` has entered its own. Both None: the conditions hold nowhere on ``process``."""

    process: ProcessId
    interval: Interval | None = None
    other: Interval | None = None

    def to_json(self) -> dict[str, object]:
        return {
            "process": self.process,
            "interval": self.interval and self.interval.to_json(),
            "other": self.other and self.other.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Leg:
    """One part of a run: up to ``until``, in any order, the conditions on ``process`` fail."""

    process: ProcessId
    until: Cut

    def to_json(self) -> dict[str, object]:
        return {"process": self.process, "until": dict(self.until.positions)}


@dataclass(frozen=True)
class PredicateAnswer:
    """possibly, definitely: None where what is not known decides; ``missing`` says what that is.

    first, last: the least and the greatest cut in which all hold, where possibly is True.
    intervals: where definitely is True, one of each process; every run passes a cut in all of them.
    obstacle: where definitely is False. avoiding: then a run from the start to the end that never
    passes a cut in which all hold, where one could be told from the search; empty where not.
    """

    text: str
    possibly: bool | None
    definitely: bool | None
    first: Cut | None
    last: Cut | None
    intervals: tuple[Interval, ...]
    obstacle: Obstacle | None
    avoiding: tuple[Leg, ...]
    missing: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        return {
            "expression": self.text,
            "possibly": _answer(self.possibly),
            "definitely": _answer(self.definitely),
            "first": self.first and dict(self.first.positions),
            "last": self.last and dict(self.last.positions),
            "intervals": [interval.to_json() for interval in self.intervals],
            "obstacle": self.obstacle and self.obstacle.to_json(),
            "avoiding": [leg.to_json() for leg in self.avoiding[:MOST_LEGS]],
            "avoiding_total": len(self.avoiding),
            "missing": list(self.missing),
        }


def _answer(holds: bool | None) -> str:
    return {True: "true", False: "false", None: "unknown"}[holds]


def detect(recording: Recording, text: str, evaluate: Evaluate = plainly) -> PredicateAnswer:
    """Both questions about one conjunction.

    evaluate: `sandbox.evaluate` where a person wrote the text. Raises: ExpressionError; NotLocal
    for what is no conjunction of local conditions.
    """
    conditions = conjunction(text, frozenset(recording.topology.process_by_id))
    return detect_conditions(recording, text, conditions, evaluate)


def detect_conditions(
    recording: Recording, text: str, conditions: Sequence[Condition], evaluate: Evaluate = plainly
) -> PredicateAnswer:
    """The same of a conjunction that has been parsed."""
    truth = local_truth(recording, conditions, evaluate)
    order = Causality(recording)
    surely = {process: values == TRUE for process, values in truth.values.items()}
    perhaps = {process: values != FALSE for process, values in truth.values.items()}
    first = least_cut(order, surely)
    intervals, obstacle, avoiding = overlapping(order, surely)
    possibly = True if first else _unless(least_cut(order, perhaps) is not None)
    definitely = True if intervals else _unless(bool(overlapping(order, perhaps)[0]))
    return PredicateAnswer(
        text=text,
        possibly=possibly,
        definitely=definitely,
        first=first,
        last=greatest_cut(order, surely) if first else None,
        intervals=intervals,
        obstacle=obstacle if definitely is False else None,
        avoiding=avoiding if definitely is False else (),
        missing=_missing(truth, possibly, definitely),
    )


def _unless(it_could_be: bool) -> bool | None:
    return None if it_could_be else False


def _missing(truth: LocalTruth, *answers: bool | None) -> tuple[str, ...]:
    return truth.missing if None in answers else ()


Holds = Mapping[
    ProcessId, np.ndarray
]  # bool[events + 1] by position; other processes do not matter


@dataclass(frozen=True, slots=True)
class _Way:
    """What one channel asks of cuts. To include the receiver's events before ``received[n]``'s
    successor, the sender must be at ``needed[n]``; without the sender's event ``sent[n]`` and later
    ones, the receiver may be at ``allowed[n]`` at most."""

    source: int
    target: int
    received: list[int]
    needed: list[int]
    sent: list[int]
    allowed: list[int]


class Causality:
    """What happened before what, as the least that a channel asks of its two ends."""

    def __init__(self, recording: Recording) -> None:
        topology = recording.topology
        self.processes = [process.id for process in topology.processes]
        self.number = {process: n for n, process in enumerate(self.processes)}
        self.ends = [len(recording.events.get(process, ())) for process in self.processes]
        self.into: list[list[_Way]] = [[] for _ in self.processes]
        self.out_of: list[list[_Way]] = [[] for _ in self.processes]
        for channel in topology.channels:
            way = self._way(recording, channel)
            if way.sent:
                self.into[way.target].append(way)
                self.out_of[way.source].append(way)

    def _way(self, recording: Recording, channel: Channel) -> _Way:
        messages = recording.messages.get(channel.id, ())
        sent = np.array([message.sent_index for message in messages], np.int64)
        received = np.array([received_index(message) for message in messages], np.int64)
        order = np.argsort(received, kind="stable")[: int((received != NEVER).sum())]
        return _Way(
            self.number[channel.source],
            self.number[channel.target],
            received[order].tolist(),
            np.maximum.accumulate(sent[order] + 1).tolist(),
            sent.tolist(),
            np.minimum.accumulate(received[::-1])[::-1].tolist(),
        )

    def grow(self, positions: list[int], moved: Iterable[int], goal=lambda process, at: at) -> bool:
        """Moves processes on until no message is received inside and sent outside.

        moved: those whose position has changed. goal: where to move a process that must be at a
        position at least; beyond its end: nowhere, and the answer is False.
        """
        waiting = deque(moved)
        while waiting:
            process = waiting.popleft()
            for way in self.into[process]:
                place = bisect_left(way.received, positions[process])
                if place and way.needed[place - 1] > positions[way.source]:
                    at = goal(way.source, way.needed[place - 1])
                    if at > self.ends[way.source]:
                        return False
                    positions[way.source] = at
                    waiting.append(way.source)
        return True

    def shrink(self, positions: list[int], moved: Iterable[int], goal) -> bool:
        """Moves processes back instead; a goal below 0 is nowhere."""
        waiting = deque(moved)
        while waiting:
            process = waiting.popleft()
            for way in self.out_of[process]:
                place = bisect_left(way.sent, positions[process])
                if place < len(way.sent) and way.allowed[place] < positions[way.target]:
                    at = goal(way.target, way.allowed[place])
                    if at < 0:
                        return False
                    positions[way.target] = at
                    waiting.append(way.target)
        return True

    def cut(self, positions: Sequence[int]) -> Cut:
        return Cut(dict(zip(self.processes, positions, strict=True)))


def least_cut(order: Causality, holds: Holds) -> Cut | None:
    """The first consistent cut in which all hold; None if there is none."""
    following = {order.number[process]: _following(truth) for process, truth in holds.items()}
    positions = [0] * len(order.ends)
    goal = partial(_goal, following)
    for process in following:
        positions[process] = goal(process, 0)
        if positions[process] > order.ends[process]:
            return None
    return order.cut(positions) if order.grow(positions, following, goal) else None


def greatest_cut(order: Causality, holds: Holds) -> Cut | None:
    """The last one."""
    preceding = {order.number[process]: _preceding(truth) for process, truth in holds.items()}
    positions = list(order.ends)
    goal = partial(_goal, preceding)
    for process in preceding:
        positions[process] = goal(process, order.ends[process])
        if positions[process] < 0:
            return None
    return order.cut(positions) if order.shrink(positions, preceding, goal) else None


def _goal(nearest: Mapping[int, list[int]], process: int, at: int) -> int:
    return nearest[process][at] if process in nearest else at


def _following(truth: np.ndarray) -> list[int]:
    """For each position the first one from there on that holds; beyond the end if none."""
    places = np.where(truth, np.arange(len(truth)), len(truth))
    return np.minimum.accumulate(places[::-1])[::-1].tolist()


def _preceding(truth: np.ndarray) -> list[int]:
    """For each position the last one up to there that holds; -1 if none."""
    return np.maximum.accumulate(np.where(truth, np.arange(len(truth)), -1)).tolist()


def overlapping(
    order: Causality, holds: Holds
) -> tuple[tuple[Interval, ...], Obstacle | None, tuple[Leg, ...]]:
    """One interval of each process such that every run is in all of them at once; or why not, and
    a run that avoids it.

    An interval that can be left before another process has entered its current one can never be
    part of the answer, and is passed over for the next.
    """
    search = _IntervalSearch(order, holds)
    obstacle = search.run()
    if obstacle is not None:
        return (), obstacle, search.avoiding(obstacle)
    return tuple(search.interval(process) for process in search.firsts), None, ()


class _IntervalSearch:
    """firsts, lasts: the intervals of each process; current: which of them is looked at. past: for
    each process the positions that have happened when it has left its current interval. because:
    for each (process, interval) that was passed over the other one, which can be entered later."""

    def __init__(self, order: Causality, holds: Holds) -> None:
        self.order = order
        self.firsts: dict[int, list[int]] = {}
        self.lasts: dict[int, list[int]] = {}
        for process, truth in holds.items():
            edges = np.diff(np.concatenate(([False], truth, [False])).astype(np.int8))
            self.firsts[order.number[process]] = np.flatnonzero(edges == 1).tolist()
            self.lasts[order.number[process]] = (np.flatnonzero(edges == -1) - 1).tolist()
        self.current = dict.fromkeys(self.firsts, 0)
        self.past = {process: [0] * len(order.ends) for process in self.firsts}
        self.because: dict[tuple[int, int], tuple[int, int]] = {}

    def run(self) -> Obstacle | None:
        for process, firsts in self.firsts.items():
            if not firsts:
                return Obstacle(self.order.processes[process])
            self.leave(process)
        changed = deque(self.firsts)
        while changed:
            one = changed.popleft()
            for other in self.firsts:
                for leaver, enterer in ((one, other), (other, one)):
                    while not self.must_wait(leaver, enterer):
                        obstacle = self.pass_over(leaver, enterer)
                        if obstacle is not None:
                            return obstacle
                        changed.append(leaver)
        return None

    def must_wait(self, leaver: int, enterer: int) -> bool:
        """Whether one cannot leave its interval before the other has entered its own."""
        entered = self.firsts[enterer][self.current[enterer]]
        return (
            leaver == enterer
            or self.lasts[leaver][self.current[leaver]] == self.order.ends[leaver]
            or self.past[leaver][enterer] >= entered
        )

    def pass_over(self, leaver: int, enterer: int) -> Obstacle | None:
        passed = leaver, self.current[leaver]
        self.because[passed] = enterer, self.current[enterer]
        if self.current[leaver] + 1 == len(self.firsts[leaver]):
            names = self.order.processes
            return Obstacle(names[leaver], self.interval(leaver), self.interval(enterer))
        self.current[leaver] += 1
        self.leave(leaver)
        return None

    def leave(self, process: int) -> None:
        """Brings the past of leaving up to date; an interval that lasts to the end has none."""
        last = self.lasts[process][self.current[process]]
        if last < self.order.ends[process]:
            self.past[process][process] = last + 1
            self.order.grow(self.past[process], [process])

    def interval(self, process: int) -> Interval:
        at = self.current[process]
        name = self.order.processes[process]
        return Interval(name, self.firsts[process][at], self.lasts[process][at])

    def avoiding(self, obstacle: Obstacle) -> tuple[Leg, ...]:
        """The run that the search has found on its way to the obstacle; empty where it did not.

        Before one process leaves an interval, another stays outside its own; that one had left its
        interval before while a third stayed outside, and so on back to the start. At the end the
        first process has left its last interval for good.
        """
        order, legs = self.order, []
        blocked = order.number[obstacle.process]
        positions = [0] * len(order.ends)
        for leaver, interval, waiting in self._story(blocked) if obstacle.interval else ():
            before = positions[waiting]
            positions[leaver] = max(positions[leaver], self.lasts[leaver][interval] + 1)
            order.grow(positions, [leaver])
            if not self._is_outside(waiting, before, positions[waiting]):
                return ()
            legs.append(Leg(order.processes[waiting], order.cut(positions)))
        if not self._is_outside(blocked, positions[blocked], order.ends[blocked]):
            return ()
        return *legs, Leg(order.processes[blocked], order.cut(order.ends))

    def _story(self, process: int) -> list[tuple[int, int, int]]:
        """(who leaves, which interval, who waits outside meanwhile), in the order of the run."""
        story = []
        passed = process, len(self.firsts[process]) - 1
        while passed in self.because:
            waiting, interval = self.because[passed]
            story.append((*passed, waiting))
            passed = waiting, interval - 1
        return story[::-1]

    def _is_outside(self, process: int, first: int, last: int) -> bool:
        """Whether none of these positions lies in an interval."""
        place = bisect_left(self.lasts[process], first)
        return place == len(self.firsts[process]) or self.firsts[process][place] > last
