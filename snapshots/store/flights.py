"""Compute the sorted columns in which binary search finds the contents of a channel.

A *flight* is a message or a marker. On an ordered channel the flights arrive in the order in which
they were sent, and only the last ones may still be in flight. Then ``received_reach`` is enough:
when the receiver stands at position i, the flights before the first reach >= i have arrived. All
other channels also have rows in the disorder table.
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from snapshots.store.layout import IN_FLIGHT, NONE

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Disorder:
    """The columns of DISORDER_COLUMNS, with one row per flight of the disordered channels."""

    channel: NDArray[np.int32]
    received_sorted: Ints
    received_floor: Ints
    lost: Ints


def reach_and_disorder(channel: NDArray[np.int32], received_index: Ints) -> tuple[Ints, Disorder]:
    """Return ``received_reach`` of every flight, and the rows of disorder of the other channels.

    Args:
        channel: the channel [N] of each flight, sorted by (channel, ordinal).
        received_index: the index [N] at which it is received; NONE if it never is.
    """
    begins = _begins(channel)
    run = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(channel))))
    reach = _running_max(received_index, run)
    reach[_after_last_received(received_index, begins, run)] = IN_FLIGHT
    in_order = _is_in_order(reach, received_index)
    ordered = np.logical_and.reduceat(in_order, begins) if len(begins) else in_order
    ends = np.append(begins[1:], len(channel))
    disordered = [
        disorder_of(channel[begin], received_index[begin:end])
        for begin, end in zip(begins[~ordered], ends[~ordered], strict=True)
    ]
    return reach, _joined(disordered)


def reach_of(received_index: Ints, before: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Return ``received_reach`` of the last flights of one channel, and which are in order.

    Args:
        received_index: the index [N] at which each is received; NONE if it is not.
        before: the reach of the flight before them; NONE if there is none.
    """
    reach = np.maximum(np.maximum.accumulate(received_index), before)
    arrived = np.flatnonzero(received_index != NONE)
    reach[int(arrived[-1]) + 1 if len(arrived) else 0 :] = IN_FLIGHT
    return reach, _is_in_order(reach, received_index)


def _is_in_order(reach: Ints, received_index: Ints) -> NDArray[np.bool_]:
    return (reach == IN_FLIGHT) | ((reach == received_index) & (received_index != NONE))


def _begins(channel: NDArray[np.int32]) -> Ints:
    """Return the first row of each run of equal codes."""
    if not len(channel):
        return np.zeros(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(np.diff(channel)) + 1))


def _running_max(received_index: Ints, run: Ints) -> Ints:
    """Return the maximum so far in each run, by lifting each run above those before it."""
    if not len(received_index):
        return np.zeros(0, np.int64)
    lift = run * (int(received_index.max()) + 2)
    return np.maximum.accumulate(received_index + lift) - lift


def _after_last_received(received_index: Ints, begins: Ints, run: Ints) -> NDArray[np.bool_]:
    rows = np.arange(len(received_index))
    if not len(rows):
        return np.zeros(0, np.bool_)
    last = np.maximum.reduceat(np.where(received_index == NONE, -1, rows), begins)
    return rows > last[run]


def disorder_of(channel: int, received_index: Ints) -> Disorder:
    """Return the rows of disorder of one channel."""
    arrival = np.where(received_index == NONE, IN_FLIGHT, received_index)
    lost = np.full(len(arrival), IN_FLIGHT)
    ordinals = np.flatnonzero(received_index == NONE)
    lost[: len(ordinals)] = ordinals
    return Disorder(
        channel=np.full(len(arrival), channel, np.int32),
        received_sorted=np.sort(arrival),
        received_floor=np.minimum.accumulate(arrival[::-1])[::-1],
        lost=lost,
    )


def _joined(disordered: list[Disorder]) -> Disorder:
    empty = Disorder(np.zeros(0, np.int32), *(np.zeros(0, np.int64) for _ in range(3)))
    names = [field.name for field in fields(Disorder)]
    columns = ([getattr(run, name) for run in (empty, *disordered)] for name in names)
    return Disorder(*map(np.concatenate, columns))
