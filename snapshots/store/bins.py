"""Bins of a power of two, aligned to its multiples, and what the events are in them."""

from dataclasses import dataclass

import numpy as np

from snapshots.store.mapped import Ints
from snapshots.store.tables import Tables


@dataclass(frozen=True, slots=True)
class Bins:
    """``count`` bins of width 2**exponent; the first one begins at first * 2**exponent."""

    exponent: int
    first: int
    count: int

    @classmethod
    def covering(cls, from_: int, to: int, exponent: int) -> "Bins":
        """The bins that hold the coordinates ``from_`` to ``to``, both included."""
        first = from_ >> exponent
        return cls(exponent, first, max((to >> exponent) - first + 1, 1))

    @classmethod
    def at_most(cls, from_: int, to: int, most: int) -> "Bins":
        """The narrowest bins of which at most ``most`` (>= 2) hold ``from_`` to ``to``."""
        exponent = max((to - from_) // most, 0).bit_length()
        bins = cls.covering(from_, to, exponent)
        return bins if bins.count <= most else cls.covering(from_, to, exponent + 1)

    @property
    def width(self) -> int:
        return 1 << self.exponent

    @property
    def from_(self) -> int:
        """The first coordinate inside."""
        return self.first << self.exponent

    @property
    def end(self) -> int:
        """The first coordinate behind."""
        return (self.first + self.count) << self.exponent

    def edges(self) -> list[int]:
        """The count + 1 edges."""
        return [(self.first + number) << self.exponent for number in range(self.count + 1)]

    def count_in(self, coordinates: Ints) -> Ints:
        """int64[count]: how many of the coordinates, all inside, lie in each bin."""
        return np.bincount(self.number_of(coordinates), minlength=self.count)

    def number_of(self, coordinates: Ints) -> Ints:
        """In which bin each coordinate lies."""
        return (coordinates >> self.exponent) - self.first


def event_counts(tables: Tables, axis: str, processes: Ints, bins: Bins) -> Ints:
    """int64[len(processes), bins.count]: how many events of each process lie in each bin."""
    first = tables.positions_before(axis, bins.from_)
    end = tables.positions_before(axis, bins.end)
    counts = np.zeros((len(processes), bins.count), np.int64)
    for row, process in enumerate(processes):
        events = slice(first[process], end[process])
        counts[row] = bins.count_in(tables.coordinates_of(axis, process, events))
    return counts


def most_messages(tables: Tables, axis: str, channels: Ints, bins: Bins) -> Ints:
    """int64[len(channels), bins.count]: the most messages in each channel at once, per bin.

    That is the largest of the number at the bin's begin and those after each of its instants.
    """
    messages, source, target = tables.messages, tables.source[channels], tables.target[channels]
    left = tables.positions_before(axis, bins.from_)
    right = tables.positions_before(axis, bins.end)
    sent = [messages.sent(channels, positions[source]) for positions in (left, right)]
    received = [messages.received(channels, positions[target]) for positions in (left, right)]
    most = np.zeros((len(channels), bins.count), np.int64)
    for row, channel in enumerate(channels):
        sends = messages.sends(channel, sent[0][row], sent[1][row])
        receives = messages.receives(channel, received[0][row], received[1][row])
        most[row] = _most(
            tables.coordinates_of(axis, source[row], sends),
            tables.coordinates_of(axis, target[row], receives),
            sent[0][row] - received[0][row],
            bins,
        )
    return most


def _most(departed: Ints, arrived: Ints, before: int, bins: Bins) -> Ints:
    """Of one channel. departed, arrived: sorted coordinates. before: the depth left of the bins."""
    change = bins.count_in(departed) - bins.count_in(arrived)
    most = np.cumsum(change) - change + before
    if len(departed):
        left = np.arange(before + 1, before + len(departed) + 1)
        after_send = left - np.searchsorted(arrived, departed, side="right")
        numbers = bins.number_of(departed)
        begins = np.flatnonzero(np.diff(numbers, prepend=-1))
        filled = numbers[begins]
        most[filled] = np.maximum(most[filled], np.maximum.reduceat(after_send, begins))
    return most
