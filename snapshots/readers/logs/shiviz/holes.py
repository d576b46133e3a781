"""Finds the events that clocks count and that the log lacks.

A host may leave events out of its log: its own entry then goes from 2 to 6. The order of the events
that are there is still known, so clocks are counted again in these events alone: the entry for a
host becomes the number of its events in the log that the clock covers.
"""

from dataclasses import dataclass

import numpy as np

from snapshots.domain.model.defects import quoted, times
from snapshots.domain.model.topology import ProcessId

_ABOVE_COUNTS = 2**32  # more than any entry of a clock


@dataclass(frozen=True, slots=True)
class Hole:
    """Events of one host that follow each other and are not in the log.

    Attributes:
        first, last: their numbers, by the host's own entry.
        line: the line that shows it: the host's next event, or a clock that counts them.
    """

    host: ProcessId
    first: int
    last: int
    line: int

    @property
    def count(self) -> int:
        """The number of these events."""
        return self.last - self.first + 1

    @property
    def sentence(self) -> str:
        """Say which events are missing."""
        if self.count == 1:
            return f"Event {self.first} of {quoted(self.host)} is not in the log."
        return (
            f"{times(self.count, 'event')} of {quoted(self.host)} ({self.first} to {self.last}) "
            "are not in the log."
        )


def recounted(
    own: np.ndarray, starts: np.ndarray, hosts: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """Return the entries of clocks, counted in the events that the log has.

    Args:
        own: int64[rows]: each event's own entry, host by host and rising.
        starts: int64[hosts + 1]: the first row of each host.
        hosts: int64[entries]: whose events each entry counts.
        counts: int64[entries]: the entries as they stand in the log.
    """
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    numbers = owner * _ABOVE_COUNTS + own
    return np.searchsorted(numbers, hosts * _ABOVE_COUNTS + counts, "right") - starts[hosts]


def holes(
    names: tuple[ProcessId, ...],
    own: np.ndarray,
    starts: np.ndarray,
    lines: np.ndarray,
    latest: tuple[np.ndarray, np.ndarray],
) -> list[Hole]:
    """Return the holes, host by host.

    Args:
        lines: int64[rows]: the line of each event.
        latest: for each host the largest entry of all clocks, and the line of that clock.
    """
    found = []
    for code, name in enumerate(names):
        rows = slice(starts[code], starts[code + 1])
        numbers = np.concatenate(([0], own[rows], [latest[0][code] + 1]))
        places = np.append(lines[rows], latest[1][code])
        for gap in np.flatnonzero(np.diff(numbers) > 1).tolist():
            first, last = int(numbers[gap]) + 1, int(numbers[gap + 1]) - 1
            found.append(Hole(name, first, last, int(places[gap])))
    return found
