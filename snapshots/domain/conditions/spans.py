"""The positions of a process at which something holds, as unbroken spans."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans of positions, sorted, with a gap between any two.

    Attributes:
        firsts: int64[N]: the first position of each span.
        lasts: int64[N]: the last position of each span, which belongs to it.
    """

    firsts: np.ndarray
    lasts: np.ndarray

    @classmethod
    def of(cls, holds: np.ndarray) -> "Spans":
        """Return the spans in which ``holds`` (bool[events + 1], by position) is true."""
        edges = np.diff(np.concatenate(([False], holds, [False])).astype(np.int8))
        return cls(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1)

    def __len__(self) -> int:
        return len(self.firsts)

    def following(self, position: int) -> int | None:
        """Return the first position inside a span from ``position`` on, or None."""
        span = int(self.lasts.searchsorted(position))
        return max(position, int(self.firsts[span])) if span < len(self) else None

    def preceding(self, position: int) -> int | None:
        """Return the last position inside a span up to ``position``, or None."""
        count = int(self.firsts.searchsorted(position, "right"))
        return min(position, int(self.lasts[count - 1])) if count else None

    def meets(self, first: int, last: int) -> bool:
        """Tell whether one of the positions first .. last is inside a span."""
        following = self.following(first)
        return following is not None and following <= last
