"""What a snapshot adds up to: money in processes and money in channels."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from snapshots.domain.model.as_json import json_property
from snapshots.domain.model.topology import JsonText
from snapshots.domain.model.values import total

_NEAR = 1e-9  # relative: sums of fractions depend on their order


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums of numbers; None where one of them is not a number or not known.

    Attributes:
        start: the sum of the start states.
        processes: the sum of the recorded states of processes.
        channels: the sum of the recorded contents of channels.
    """

    start: int | float | None
    processes: int | float | None
    channels: int | float | None

    @json_property
    def total(self) -> int | float | None:
        """Return the sum over processes and channels, or None if one is not known."""
        if self.processes is None or self.channels is None:
            return None
        return self.processes + self.channels

    @json_property
    def conserved(self) -> bool | None:
        """Whether the snapshot holds the total of the start; None where that is not known."""
        if self.start is None or self.total is None:
            return None
        if isinstance(self.total, int) and isinstance(self.start, int):
            return self.total == self.start
        return math.isclose(self.total, self.start, rel_tol=_NEAR)


def totals(
    start: Iterable[JsonText | None],
    processes: Iterable[JsonText | None],
    channels: Iterable[JsonText | None],
) -> Totals:
    """Sum the states at the start, the recorded states and the recorded messages."""
    return Totals(total(start), total(processes), total(channels))
