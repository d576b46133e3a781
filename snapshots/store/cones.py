"""The causal past and future of one event, by rounds of binary searches over all channels.

The same answers as `domain/vector_clocks.py`, for stored recordings of any size: a round follows
one more message or marker on every channel, so there are at most as many as the longest chain of
processes that can be reached.
"""

import numpy as np

from snapshots.store.in_flight import Flights
from snapshots.store.layout import IN_FLIGHT, NONE
from snapshots.store.mapped import Ints
from snapshots.store.tables import Tables


def past(tables: Tables, process: int, index: int) -> Ints:
    """int64[P]: how many events of each process happened before the event, itself included: its
    vector clock."""
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
    """int64[P]: the first index of each process that the event could influence, its own index for
    its own process; the number of its events where there is none."""
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
    """Of channels on which anything is received before ``target``: the latest of these sends."""
    ends = flights.end_of_received(channels, target)
    codes, last = channels[ends > 0], ends[ends > 0] - 1
    return codes, flights.table.values("sent_index", codes, last)


def _first_received(flights: Flights, channels: Ints, source: Ints) -> tuple[Ints, Ints]:
    """Of channels on which anything is sent from ``source`` on: the earliest receive of these."""
    ordinals = flights.sent(channels, source)
    there = ordinals < flights.table.length[channels]
    codes, ordinals = channels[there], ordinals[there]
    received = flights.received_index(codes, ordinals)
    received[received == NONE] = IN_FLIGHT
    lanes = np.flatnonzero(~flights.is_ordered(codes))
    if len(lanes):
        floor = flights.disorder.values("received_floor", codes[lanes], ordinals[lanes])
        received[lanes] = floor
    return codes, received
