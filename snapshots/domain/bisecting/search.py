"""Search a series of states for the first one at which a condition holds.

An answer for a state is true, false or not known (None). If the condition is said to be stable, it
holds in every state after the first one in which it holds. A few states then decide all others, so
the search evaluates a number of them that grows with the logarithm of the series. No few states can
show that a condition is stable: the search evaluates a sample of the others, too, and if any answer
contradicts, it evaluates the series in order, as it does for every other condition.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

WIDTH = 3  # states of a round; a round starts a sandbox, which costs more than to look at a state
SAMPLE = 8  # states that a stable condition's answer does not need, evaluated as a check
BATCH = 50  # states of a round when the series is evaluated in order

Evaluate = Callable[[Sequence[int]], Sequence[bool | None]]
"""Evaluates the states at some places of the series."""

KEPT, REFUTED, OPEN = "kept", "refuted", "open"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a search may do.

    Attributes:
        most: how many states are evaluated at most.
        may_go_on: tells, before each round, whether there is time for it.
    """

    most: int
    may_go_on: Callable[[], bool] = lambda: True


@dataclass(frozen=True, slots=True)
class Bisection:
    """The first state of a series at which a condition holds, as far as it is known.

    Places count from 0.

    Attributes:
        total: how many states the series has.
        answers: the answer of each state that was evaluated, by place.
        is_searched: whether a few states decided all others, because the condition was said to be
            stable and no answer contradicted that.
        first: the first place at which the condition is known to hold. None if there is none.
        earliest: the first place at which it may hold; ``first`` if that is certain. None if it
            holds nowhere.
        before: the last place before ``first``, or of the series if that is None, at which the
            condition is known not to hold. None if there is none.
        stability: ``kept`` if every state was evaluated and the condition held from ``first`` on,
            ``refuted`` if it ceased to hold, else ``open``.
        ceased: a place at which it held, and the next evaluated one at which it did not. None
            unless the stability is refuted.
        is_cut_short: whether the limits ended the search.
    """

    total: int
    answers: Mapping[int, bool | None]
    is_searched: bool
    first: int | None
    earliest: int | None
    before: int | None
    stability: str
    ceased: tuple[int, int] | None
    is_cut_short: bool

    @property
    def is_exact(self) -> bool:
        """Tell whether the first state is certain, or that there is none."""
        return self.first == self.earliest

    @property
    def candidates(self) -> tuple[int, ...]:
        """The evaluated places that are not known and may be the first."""
        if self.earliest is None:
            return ()
        end = self.total if self.first is None else self.first
        unknown = (place for place, answer in self.answers.items() if answer is None)
        return tuple(sorted(place for place in unknown if self.earliest <= place < end))


def bisect(total: int, evaluate: Evaluate, limits: Limits, *, is_stable: bool) -> Bisection:
    """Find the first state of a series at which a condition holds.

    Args:
        total: the length of the series.
        is_stable: whether the condition is said to hold for ever once it holds.
    """
    search = _Search(total, evaluate, limits)
    if is_stable:
        search.narrow()
        search.sample()
        if search.ceased() is None:
            return search.result(is_searched=True)
    search.scan()
    return search.result(is_searched=False)


class _Search:
    """A search under way, with the answers so far."""

    def __init__(self, total: int, evaluate: Evaluate, limits: Limits) -> None:
        self.total = total
        self.answers: dict[int, bool | None] = {}
        self._evaluate = evaluate
        self._limits = limits
        self._is_cut_short = False

    def narrow(self) -> None:
        """Evaluate both ends, and then states between the last false and the first true answer."""
        places = {0, self.total - 1} if self.total else set()
        while places and self._look(sorted(places)):
            places = set(self._between())

    def sample(self) -> None:
        """Evaluate some of the states that are left, evenly spread."""
        parts = SAMPLE + 1
        spread = {self.total * part // parts for part in range(1, parts) if self.total}
        self._look(sorted(spread - self.answers.keys()))

    def scan(self) -> None:
        """Evaluate the series in order, as far as the limits allow."""
        left = (place for place in range(self.total) if place not in self.answers)
        while places := list(islice(left, BATCH)):
            if not self._look(places):
                return

    def ceased(self) -> tuple[int, int] | None:
        """Return the first place at which the condition held and the next at which it did not."""
        held = None
        for place, answer in sorted(self.answers.items()):
            if answer:
                held = place
            elif answer is False and held is not None:
                return held, place
        return None

    def result(self, *, is_searched: bool) -> Bisection:
        """Return what the answers show.

        Args:
            is_searched: count states that were not evaluated as decided by those that were.
        """
        true, false = (
            [place for place, answer in self.answers.items() if answer is value]
            for value in (True, False)
        )
        first = min(true, default=None)
        end = self.total if first is None else first
        before = max((place for place in false if place < end), default=None)
        ceased = self.ceased()
        return Bisection(
            self.total,
            dict(sorted(self.answers.items())),
            is_searched,
            first,
            self._earliest(first, before, is_searched=is_searched),
            before,
            _stability(ceased, is_whole=len(true) + len(false) == self.total),
            ceased,
            self._is_cut_short,
        )

    def _earliest(self, first: int | None, before: int | None, *, is_searched: bool) -> int | None:
        end = self.total if first is None else first
        begin = 0 if before is None or not is_searched else before + 1
        undecided = (place for place in range(begin, end) if self.answers.get(place) is None)
        return next(undecided, first)

    def _look(self, places: Sequence[int]) -> bool:
        """Evaluate these places; return whether the limits allowed all of them."""
        allowed = places[: max(0, self._limits.most - len(self.answers))]
        if allowed and not self._limits.may_go_on():
            allowed = []
        if allowed:
            self.answers.update(zip(allowed, self._evaluate(allowed), strict=True))
        self._is_cut_short = len(allowed) < len(places)
        return not self._is_cut_short

    def _between(self) -> Iterator[int]:
        """Yield the next places of a search: evenly spread, and not evaluated yet."""
        answers = self.answers.items()
        before = max((place for place, answer in answers if answer is False), default=-1)
        after = min((place for place, answer in answers if answer), default=self.total)
        for part in range(1, WIDTH + 1):
            middle = before + (after - before) * part // (WIDTH + 1)
            nearest = self._nearest(middle, before, after)
            if nearest is not None:
                yield nearest

    def _nearest(self, middle: int, before: int, after: int) -> int | None:
        """Return the place nearest to the middle that lies between and is not evaluated yet."""
        for distance in range(after - before):
            for place in (middle + distance, middle - distance):
                if before < place < after and place not in self.answers:
                    return place
        return None


def _stability(ceased: tuple[int, int] | None, *, is_whole: bool) -> str:
    if ceased is not None:
        return REFUTED
    return KEPT if is_whole else OPEN
