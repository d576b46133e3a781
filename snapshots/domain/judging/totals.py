"""Sum up the numbers in a snapshot: in its processes and in its channels."""

from dataclasses import dataclass

from snapshots.domain.model.as_json import json_property
from snapshots.domain.model.values import same_amount


@dataclass(frozen=True, slots=True)
class Totals:
    """Three sums; None if an item of the sum is not known or is not a number.

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
        """Tell whether the snapshot holds the total of the start; None if that is not known."""
        if self.start is None or self.total is None:
            return None
        return same_amount(self.total, self.start)


NOT_SUMMED = Totals(None, None, None)
