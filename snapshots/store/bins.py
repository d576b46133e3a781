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

    def number_of(self, coordinates: Ints) -> Ints:
        """In which bin each coordinate lies."""
        return (coordinates >> self.exponent) - self.first


def event_counts(tables: Tables, axis: str, processes: Ints, bins: Bins) -> Ints:
    """int64[len(processes), bins.count]: how many events of each process lie in each bin."""
    first = tables.positions_before(axis, bins.from_)[processes]
    end = tables.positions_before(axis, bins.end)[processes]
    lane, coordinates = tables.coordinates_between(axis, processes, first, end)
    return _counts(lane, bins.number_of(coordinates), len(processes), bins.count)


def most_messages(tables: Tables, axis: str, channels: Ints, bins: Bins) -> Ints:
    """int64[len(channels), bins.count]: the most messages in each channel at once, per bin.

    That is the largest of the number at the bin's begin and those after each of its instants.
    """
    shape = len(channels), bins.count
    messages, source, target = tables.messages, tables.source[channels], tables.target[channels]
    left = tables.positions_before(axis, bins.from_)
    right = tables.positions_before(axis, bins.end)
    sent = [messages.sent(channels, positions[source]) for positions in (left, right)]
    received = [messages.received(channels, positions[target]) for positions in (left, right)]
    lane, indices = messages.departures(channels, *sent)
    departed = tables.coordinates(axis, source[lane], indices)
    arrival_lane, indices = messages.arrivals(channels, *received)
    arrived = tables.coordinates(axis, target[arrival_lane], indices)

    change = _counts(lane, bins.number_of(departed), *shape)
    change -= _counts(arrival_lane, bins.number_of(arrived), *shape)
    before = (sent[0] - received[0])[:, None]
    at_begin = np.cumsum(change, axis=1) - change + before
    after_send = _depth_after_each(lane, departed, arrival_lane, arrived, bins) + before[lane, 0]
    return _raised(at_begin, lane * bins.count + bins.number_of(departed), after_send)


def _counts(lane: Ints, number: Ints, lanes: int, bins: int) -> Ints:
    return np.bincount(lane * bins + number, minlength=lanes * bins).reshape(lanes, bins)


def _depth_after_each(
    lane: Ints, departed: Ints, arrival_lane: Ints, arrived: Ints, bins: Bins
) -> Ints:
    """Per departure: how many have left its lane, less those arrived until its instant."""
    keys = [_keys(lane, departed, bins), _keys(arrival_lane, arrived, bins)]
    if keys[0] is None or keys[1] is None:
        _, ranks = np.unique(np.concatenate((departed, arrived)), return_inverse=True)
        ranked = Bins(0, 0, len(ranks))
        keys = [
            _keys(lane, ranks[: len(departed)], ranked),
            _keys(arrival_lane, ranks[len(departed) :], ranked),
        ]
    until = np.searchsorted(keys[1], keys[0], side="right")
    arrivals_before_lane = np.searchsorted(arrival_lane, lane)
    departures_before_lane = np.searchsorted(lane, lane)
    left = np.arange(1, len(lane) + 1) - departures_before_lane
    return left - (until - arrivals_before_lane)


def _keys(lane: Ints, coordinates: Ints, bins: Bins) -> Ints | None:
    """Numbers that sort by (lane, coordinate); None if they would not fit 63 bits."""
    span = bins.end - bins.from_
    if len(lane) and (int(lane[-1]) + 1) * span >= 2**63:
        return None
    return lane * span + (coordinates - bins.from_)


def _raised(values: Ints, places: Ints, candidates: Ints) -> Ints:
    """``values`` with the maximum of itself and the candidates at the (rising, flat) places."""
    if len(places):
        begins = np.flatnonzero(np.diff(places, prepend=-1))
        flat = values.reshape(-1)
        most = np.maximum.reduceat(candidates, begins)
        flat[places[begins]] = np.maximum(flat[places[begins]], most)
    return values
