"""Know which events of each process are there, and where in the journal.

A *stretch* is what one frame holds of one process: events whose indices follow each other. A *gap*
is a range of indices of which nothing has come, while something behind it has.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that are missing: ``count`` of them, from the index ``first`` on."""

    process: str
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Events of one process in a frame.

    Attributes:
        first: the index of the first event.
        count: how many events there are.
        begin: where their lines begin in the journal, in bytes.
        size: how many bytes the lines take.
    """

    first: int
    count: int
    begin: int
    size: int


@dataclass
class ProcessRuns:
    """The stretches of one process, sorted by index; no two overlap."""

    _firsts: "array[int]" = field(default_factory=lambda: array("q"))
    _counts: "array[int]" = field(default_factory=lambda: array("q"))
    _begins: "array[int]" = field(default_factory=lambda: array("q"))
    _sizes: "array[int]" = field(default_factory=lambda: array("q"))
    _holes: list[tuple[int, int]] = field(default_factory=list)  # [first, end), sorted
    events: int = 0
    end: int = 0

    def add(self, stretches: list[Stretch]) -> None:
        """Note stretches, sorted by index, none of whose events is there yet.

        The work is that for the stretches and for those between them, however many others are
        there.
        """
        low = bisect_right(self._firsts, stretches[0].first)
        high = bisect_right(self._firsts, stretches[-1].first)
        merged = sorted([*map(self._at, range(low, high)), *stretches], key=attrgetter("first"))
        between = slice(low, high)
        self._firsts[between] = array("q", [each.first for each in merged])
        self._counts[between] = array("q", [each.count for each in merged])
        self._begins[between] = array("q", [each.begin for each in merged])
        self._sizes[between] = array("q", [each.size for each in merged])
        self.events += sum(each.count for each in stretches)
        self.end = max(self.end, merged[-1].first + merged[-1].count)
        self._note_holes(low, low + len(merged))

    def _note_holes(self, low: int, high: int) -> None:
        """Find again the holes before and behind the stretches ``low`` .. ``high`` - 1."""
        began = end = self._firsts[low - 1] + self._counts[low - 1] if low else 0
        behind = self._firsts[high] if high < len(self._firsts) else self.end
        holes = []
        for first, count in zip(self._firsts[low:high], self._counts[low:high], strict=True):
            if first > end:
                holes.append((end, first))
            end = first + count
        if behind > end:
            holes.append((end, behind))
        old = slice(bisect_left(self._holes, (began,)), bisect_left(self._holes, (behind,)))
        self._holes[old] = holes

    def overlapping(self, first: int, end: int) -> Iterator[Stretch]:
        """Yield the stretches with events first .. end - 1."""
        if first >= self.end:
            return
        place = max(bisect_right(self._firsts, first) - 1, 0)
        while place < len(self._firsts) and self._firsts[place] < end:
            stretch = self._at(place)
            if stretch.first + stretch.count > first:
                yield stretch
            place += 1

    def stretches(self) -> Iterator[Stretch]:
        """Yield all stretches in the order of their indices."""
        return map(self._at, range(len(self._firsts)))

    @property
    def holes(self) -> list[tuple[int, int]]:
        """Return the ranges [first, end) of indices that are missing, sorted."""
        return self._holes

    @property
    def missing(self) -> int:
        """Return how many events are missing."""
        return self.end - self.events

    @property
    def unbroken(self) -> int:
        """Return how many events there are from the first on, up to the first gap."""
        return self._holes[0][0] if self._holes else self.end

    def _at(self, place: int) -> Stretch:
        return Stretch(
            self._firsts[place], self._counts[place], self._begins[place], self._sizes[place]
        )
