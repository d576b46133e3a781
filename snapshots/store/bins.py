"""Count events and messages in bins whose width is a power of two and which begin at multiples."""

from dataclasses import dataclass

import numpy as np

from snapshots.store.mapped import Ints
from snapshots.store.tables import COORDINATES, Tables


@dataclass(frozen=True, slots=True)
class Bins:
    """``count`` bins of width 2**exponent; the first one begins at first * 2**exponent."""

    exponent: int
    first: int
    count: int

    @classmethod
    def covering(cls, from_: int, to: int, exponent: int) -> "Bins":
        """Return the bins that hold the coordinates ``from_`` to ``to``, both included."""
        first = from_ >> exponent
        return cls(exponent, first, max((to >> exponent) - first + 1, 1))

    @classmethod
    def at_most(cls, from_: int, to: int, most: int) -> "Bins":
        """Return the narrowest bins of which at most ``most`` (>= 2) hold ``from_`` to ``to``."""
        exponent = max((to - from_) // most, 0).bit_length()
        bins = cls.covering(from_, to, exponent)
        return bins if bins.count <= most else cls.covering(from_, to, exponent + 1)

    @property
    def width(self) -> int:
        """Return how many steps or time units one bin spans."""
        return 1 << self.exponent

    @property
    def from_(self) -> int:
        """Return the first coordinate in the bins."""
        return self.first << self.exponent

    @property
    def end(self) -> int:
        """Return the first coordinate after the bins."""
        return (self.first + self.count) << self.exponent

    def edges(self) -> list[int]:
        """Return the count + 1 coordinates at which bins begin or end."""
        return [(self.first + number) << self.exponent for number in range(self.count + 1)]

    def number_of(self, coordinates: Ints) -> Ints:
        """Return the number of the bin in which each coordinate lies."""
        return (coordinates >> self.exponent) - self.first


def event_counts(tables: Tables, axis: str, processes: Ints, bins: Bins) -> Ints:
    """Count the events of each process in each bin: int64[len(processes), bins.count]."""
    column, shift = COORDINATES[axis]
    first = tables.positions_before(axis, bins.from_)[processes]
    end = tables.positions_before(axis, bins.end)[processes]
    lanes = zip(processes.tolist(), first.tolist(), end.tolist(), strict=True)
    events = [tables.events.run(column, process, first, end) for process, first, end in lanes]
    return _counts(_places(events, shift, bins), len(processes), bins)


def most_messages(tables: Tables, axis: str, channels: Ints, bins: Bins) -> Ints:
    """Find the most messages in each channel at once, per bin: int64[len(channels), bins.count].

    That is the largest of the depths at the bin's begin and after each instant within it.
    """
    column, shift = COORDINATES[axis]
    messages, source, target = tables.messages, tables.source[channels], tables.target[channels]
    left = tables.positions_before(axis, bins.from_)
    right = tables.positions_before(axis, bins.end)
    sent = [messages.sent(channels, positions[source]) for positions in (left, right)]
    received = [messages.ended(channels, positions[target]) for positions in (left, right)]
    departed = _coordinates(tables, column, source, messages.sends(channels, *sent), sent)
    arrived = _coordinates(tables, column, target, messages.receives(channels, *received), received)
    departures = _places(departed, shift, bins)
    arrivals = _places(arrived, shift, bins)
    before = sent[0] - received[0]
    change = _counts(departures, len(channels), bins) - _counts(arrivals, len(channels), bins)
    most = np.cumsum(change, axis=1) - change + before[:, None]
    _raise(most, departures, _depth_after_each(departed, arrived, before))
    return most


def _coordinates(
    tables: Tables, column: str, processes: Ints, indices: Ints, bounds: list[Ints]
) -> list[Ints]:
    """Return the coordinates of events, channel by channel.

    Args:
        processes: the process of each channel's events.
        indices: their indices, channel after channel.
        bounds: the first and the end of the messages of each channel.
    """
    counts = np.maximum(bounds[1] - bounds[0], 0)
    coordinates = tables.events.values(column, np.repeat(processes, counts), indices)
    return np.split(coordinates, np.cumsum(counts))[:-1]


def _places(coordinates: list[Ints], shift: int, bins: Bins) -> Ints:
    """Return the bin of each coordinate; the bins are numbered row by row."""
    rows = np.repeat(np.arange(len(coordinates)), [len(row) for row in coordinates])
    return rows * bins.count + bins.number_of(_joined(coordinates) + shift)


def _counts(places: Ints, rows: int, bins: Bins) -> Ints:
    """Count how often each bin occurs in ``places``: int64[rows, bins.count]."""
    return np.bincount(places, minlength=rows * bins.count).reshape(rows, bins.count)


def _depth_after_each(departed: list[Ints], arrived: list[Ints], before: Ints) -> Ints:
    """Return the depth after each departure and all arrivals until its instant, row by row."""
    lanes = zip(departed, arrived, before.tolist(), strict=True)
    return _joined(
        [
            np.arange(depth + 1, depth + 1 + len(sends)) - receives.searchsorted(sends, "right")
            for sends, receives, depth in lanes
            if len(sends)
        ]
    )


def _joined(rows: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *rows])


def _raise(most: Ints, places: Ints, depths: Ints) -> None:
    """Raise each bin in ``places``, which rise, to the largest of its depths."""
    if len(places):
        begins = np.flatnonzero(np.diff(places, prepend=-1))
        flat, filled = most.reshape(-1), places[begins]
        flat[filled] = np.maximum(flat[filled], np.maximum.reduceat(depths, begins))
