"""Spans: at which positions of a process something holds, as its unbroken runs."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Spans:
    """Positions firsts[n] .. lasts[n], both included; int64[N] each, rising, with gaps between."""

    firsts: np.ndarray
    lasts: np.ndarray

    @classmethod
    def of(cls, holds: np.ndarray) -> "Spans":
        """holds: bool[events + 1], by position."""
        edges = np.diff(np.concatenate(([False], holds, [False])).astype(np.int8))
        return cls(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1)

    def __len__(self) -> int:
        return len(self.firsts)

    def following(self, position: int) -> int | None:
        """The first position inside from there on; None if there is none."""
        place = int(self.lasts.searchsorted(position))
        return max(position, int(self.firsts[place])) if place < len(self) else None

    def preceding(self, position: int) -> int | None:
        """The last position inside up to there; None if there is none."""
        place = int(self.firsts.searchsorted(position, "right"))
        return min(position, int(self.lasts[place - 1])) if place else None

    def meets(self, first: int, last: int) -> bool:
        """Whether one of the positions first .. last is inside."""
        found = self.following(first)
        return found is not None and found <= last
