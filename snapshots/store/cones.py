"""Find the causal past and future of one event by rounds of binary searches over all channels.

The answers are those of `domain/causality/vector_clocks.py`, for stored recordings of any size. A
round follows one more message or marker on every channel, so there are at most as many rounds as
the longest chain of processes that can be reached has members.
"""

import numpy as np

from snapshots.store.in_flight import Flights
from snapshots.store.mapped import Ints
from snapshots.store.tables import Tables


def past(tables: Tables, process: int, index: int) -> Ints:
    """Return the event's vector clock: int64[P].

    It counts the events of each process that happened before the event, which itself counts too.
    """
    positions = np.zeros(len(tables.all_processes), np.int64)
    positions[process] = index + 1
    while True:
        before = positions.copy()
        for flights in (tables.messages, tables.markers):
            codes, sent = _last_sent(flights, tables.all_channels, positions[tables.target])
            np.maximum.at(positions, tables.source[codes], sent + 1)
        if (positions == before).all():
            return positions


def future(tables: Tables, process: int, index: int) -> Ints:
    """Return the first index of each process that the event could influence: int64[P].

    This is the event's own index for its own process, and the number of events for a process that
    it could not influence.
    """
    first = tables.events.length.copy()
    first[process] = index
    while True:
        before = first.copy()
        for flights in (tables.messages, tables.markers):
            codes, received = _first_received(flights, tables.all_channels, first[tables.source])
            np.minimum.at(first, tables.target[codes], received)
        if (first == before).all():
            return first


def _last_sent(flights: Flights, channels: Ints, target: Ints) -> tuple[Ints, Ints]:
    """Find the latest send whose flight is received before ``target``, of each channel with one."""
    ends = flights.end_of_received(channels, target)
    codes, last = channels[ends > 0], ends[ends > 0] - 1
    return codes, flights.table.values("sent_index", codes, last)


def _first_received(flights: Flights, channels: Ints, source: Ints) -> tuple[Ints, Ints]:
    """Find the earliest receive of what is sent from ``source`` on, of each channel with a send."""
    ordinals = flights.sent(channels, source)
    has_send = ordinals < flights.table.length[channels]
    codes, ordinals = channels[has_send], ordinals[has_send]
    return codes, flights.first_received(codes, ordinals)
