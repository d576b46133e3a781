"""Align two sequences of events: which event of the one stands for which of the other.

First the common beginning and end are set aside. What is between is split at events that occur once
on each side and stand in one order on both. Each part between them is aligned with the fewest
insertions and deletions. That search is bounded, so that the time grows about as the length: it
looks ahead over MOST_EDITS edits, keeps the way that got farthest, and goes on from there. What is
left when the steps are used up is not aligned.

Sources: Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1, 1986; Cohen,
"Patience Diff Advantages", 2010, for the events that occur once.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

MOST_EDITS = 1_000  # insertions and deletions over which the search looks ahead
MOST_STEPS = 2_000_000  # comparisons of two events in the bounded search, in all


@dataclass
class Effort:
    """How much the search for alignments may still cost.

    Attributes:
        steps: how many comparisons of two events are left.
    """

    steps: int = MOST_STEPS


@dataclass(frozen=True, slots=True)
class Stretch:
    """Events that follow each other on both sides.

    Attributes:
        left: the index of the first on the left side.
        right: the index of the first on the right side.
        length: how many there are.
    """

    left: int
    right: int
    length: int

    @property
    def end(self) -> tuple[int, int]:
        """Return the indices after its last event, of the left and of the right side."""
        return self.left + self.length, self.right + self.length


@dataclass(frozen=True, slots=True)
class Gap:
    """Events of both sides that stand for none of the other side, each as a half-open range.

    Attributes:
        left: the index of the first on the left side, and of the one after the last.
        right: the same on the right side.
        is_searched: whether the search ended; if not, some of them may still be the same.
    """

    left: tuple[int, int]
    right: tuple[int, int]
    is_searched: bool = True

    @property
    def size(self) -> int:
        """Count the events of both sides."""
        return self.left[1] - self.left[0] + self.right[1] - self.right[0]


@dataclass(frozen=True, slots=True)
class Alignment:
    """Two sequences as stretches that both have and gaps between them.

    Attributes:
        stretches: what both sides have, in order; two that follow each other have a gap between.
        gaps: what only one of them has, in order.
    """

    stretches: tuple[Stretch, ...]
    gaps: tuple[Gap, ...]

    @property
    def shared(self) -> int:
        """Count the events that both sides have."""
        return sum(stretch.length for stretch in self.stretches)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the index on the left and on the right side of each event that both have."""
        for stretch in self.stretches:
            for place in range(stretch.length):
                yield stretch.left + place, stretch.right + place


def align(
    left: Sequence[Hashable], right: Sequence[Hashable], effort: Effort | None = None
) -> Alignment:
    """Align two sequences; equal items stand for each other."""
    return _between(left, right, list(_stretches(left, right, effort or Effort())))


def _stretches(
    left: Sequence[Hashable], right: Sequence[Hashable], effort: Effort
) -> Iterator[Stretch | Gap]:
    """Yield what both sides have, and each gap that was not searched to its end, in order."""
    ends = [*_anchors(left, right), (len(left), len(right))]
    first, other = 0, 0
    for end, other_end in ends:
        yield from _part(left, right, (first, end), (other, other_end), effort)
        if end < len(left):
            yield Stretch(end, other_end, 1)
        first, other = end + 1, other_end + 1


def _anchors(left: Sequence[Hashable], right: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Yield the indices of items that occur once on each side, the most that are in one order."""
    begin = _shared_start(left, right, (0, len(left)), (0, len(right)))
    tail = _shared_end(left, right, (begin, len(left)), (begin, len(right)))
    ours, theirs = range(begin, len(left) - tail), range(begin, len(right) - tail)
    counts = Counter(left[i] for i in ours), Counter(right[j] for j in theirs)
    place = {right[j]: j for j in theirs if counts[1][right[j]] == 1}
    pairs = [(i, place[left[i]]) for i in ours if counts[0][left[i]] == 1 and left[i] in place]
    return iter(_longest_rising(pairs))


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest choice of pairs whose second numbers rise as their first ones do."""
    tops: list[int] = []
    top_places: list[int] = []
    before: list[int] = []
    for place, (_, other) in enumerate(pairs):
        pile = bisect_left(tops, other)
        before.append(top_places[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [other]
        top_places[pile : pile + 1] = [place]
    chosen = []
    place = top_places[-1] if top_places else -1
    while place >= 0:
        chosen.append(pairs[place])
        place = before[place]
    return chosen[::-1]


def _part(
    left: Sequence[Hashable],
    right: Sequence[Hashable],
    ours: tuple[int, int],
    theirs: tuple[int, int],
    effort: Effort,
) -> Iterator[Stretch | Gap]:
    """Align one part of both sides, each as a half-open range."""
    start = _shared_start(left, right, ours, theirs)
    if start:
        yield Stretch(ours[0], theirs[0], start)
    ours, theirs = (ours[0] + start, ours[1]), (theirs[0] + start, theirs[1])
    tail = _shared_end(left, right, ours, theirs)
    ours, theirs = (ours[0], ours[1] - tail), (theirs[0], theirs[1] - tail)
    for stretch in _middle(left[slice(*ours)], right[slice(*theirs)], effort):
        yield _moved(stretch, ours[0], theirs[0])
    if tail:
        yield Stretch(ours[1], theirs[1], tail)


def _shared_start(
    left: Sequence[Hashable],
    right: Sequence[Hashable],
    ours: tuple[int, int],
    theirs: tuple[int, int],
) -> int:
    most = min(ours[1] - ours[0], theirs[1] - theirs[0])
    for count in range(most):
        if left[ours[0] + count] != right[theirs[0] + count]:
            return count
    return most


def _shared_end(
    left: Sequence[Hashable],
    right: Sequence[Hashable],
    ours: tuple[int, int],
    theirs: tuple[int, int],
) -> int:
    most = min(ours[1] - ours[0], theirs[1] - theirs[0])
    for count in range(most):
        if left[ours[1] - 1 - count] != right[theirs[1] - 1 - count]:
            return count
    return most


def _moved(item: Stretch | Gap, left: int, right: int) -> Stretch | Gap:
    """Return a stretch or a gap of a part with its places in the whole."""
    if isinstance(item, Stretch):
        return Stretch(item.left + left, item.right + right, item.length)
    ours, theirs = item.left, item.right
    return Gap(
        (ours[0] + left, ours[1] + left), (theirs[0] + right, theirs[1] + right), is_searched=False
    )


def _middle(
    left: Sequence[Hashable], right: Sequence[Hashable], effort: Effort
) -> Iterator[Stretch | Gap]:
    """Align a part whose ends differ: yield what both sides share, and what was not searched."""
    x, y = 0, 0
    while x < len(left) and y < len(right):
        if effort.steps <= 0:
            yield Gap((x, len(left)), (y, len(right)), is_searched=False)
            return
        stretches, end = _fewest_edits(left[x:], right[y:], effort)
        for stretch in stretches:
            yield _moved(stretch, x, y)
        x, y = x + end[0], y + end[1]


def _fewest_edits(
    left: Sequence[Hashable], right: Sequence[Hashable], effort: Effort
) -> tuple[list[Stretch], tuple[int, int]]:
    """Return what both sides share with the fewest edits, and how far on each side that goes.

    ``reach[centre + k]`` is how far the left side gets on diagonal k = left index - right index.
    """
    most = min(len(left) + len(right), MOST_EDITS)
    centre = most + 1
    reach = array("q", [0]) * (2 * most + 3)
    rounds: list[array[int]] = []
    for edits in range(most + 1):
        rounds.append(reach[centre - edits - 1 : centre + edits + 2])
        for diagonal in range(-edits, edits + 1, 2):
            x = start = _next_start(reach, centre, diagonal, edits)
            while x < len(left) and x - diagonal < len(right) and left[x] == right[x - diagonal]:
                x += 1
            reach[centre + diagonal] = x
            effort.steps -= x - start + 1
            if x >= len(left) and x - diagonal >= len(right):
                return _walked_back(rounds, len(left), len(right)), (len(left), len(right))
        if effort.steps <= 0:
            break
    ends = ((reach[centre + k], reach[centre + k] - k) for k in range(-edits, edits + 1, 2))
    inside = (end for end in ends if end[0] <= len(left) and end[1] <= len(right))
    farthest = max(inside, key=sum)
    return _walked_back(rounds, *farthest), farthest


def _next_start(reach: Sequence[int], centre: int, diagonal: int, edits: int) -> int:
    """Return where a diagonal begins after one more edit: the farther of its two neighbours."""
    if _goes_down(reach, centre, diagonal, edits):
        return reach[centre + diagonal + 1]
    return reach[centre + diagonal - 1] + 1


def _goes_down(reach: Sequence[int], centre: int, diagonal: int, edits: int) -> bool:
    """Tell whether the last edit before a diagonal takes an item of the right side."""
    if diagonal in (-edits, edits):
        return diagonal == -edits
    return reach[centre + diagonal - 1] < reach[centre + diagonal + 1]


def _walked_back(rounds: Sequence[Sequence[int]], x: int, y: int) -> list[Stretch]:
    """Return the stretches of the path that ends at ``x`` and ``y``, from its beginning."""
    path = []
    for edits in range(len(rounds) - 1, -1, -1):
        diagonal, reach, centre = x - y, rounds[edits], edits + 1
        start = _next_start(reach, centre, diagonal, edits)
        if x > start:
            path.append(Stretch(start, start - diagonal, x - start))
        is_down = _goes_down(reach, centre, diagonal, edits)
        x, y = (start, start - diagonal - 1) if is_down else (start - 1, start - diagonal)
    return path[::-1]


def _between(
    left: Sequence[Hashable], right: Sequence[Hashable], items: Sequence[Stretch | Gap]
) -> Alignment:
    """Join stretches that touch, and fill in the gaps between them."""
    stretches: list[Stretch] = []
    gaps: list[Gap] = []
    x, y = 0, 0
    for item in [*items, Stretch(len(left), len(right), 0)]:
        if isinstance(item, Gap):
            gaps.append(Gap((x, item.left[1]), (y, item.right[1]), is_searched=False))
            x, y = item.left[1], item.right[1]
            continue
        if (x, y) != (item.left, item.right):
            gaps.append(Gap((x, item.left), (y, item.right)))
        elif stretches and stretches[-1].end == (x, y):
            last = stretches.pop()
            item = Stretch(last.left, last.right, last.length + item.length)
        if item.length:
            stretches.append(item)
        x, y = item.left + item.length, item.right + item.length
    return Alignment(tuple(stretches), tuple(gaps))
