"""Sorted columns from which the contents of a channel are found by binary search.

A *flight* is a message or a marker. On an ordered channel the flights arrive in the order in which
they were sent, and only the last ones may be still in flight; then ``received_reach`` alone tells
what has arrived when the receiver stands at position i: the flights before the first reach >= i.
All other channels also have rows in the disorder table.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapshots.store.layout import IN_FLIGHT, NONE

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Disorder:
    """The columns of DISORDER_COLUMNS, each as long as its channels have flights."""

    channel: NDArray[np.int32]
    received_sorted: Ints
    received_floor: Ints
    lost: Ints


def reach_and_disorder(channel: NDArray[np.int32], received_index: Ints) -> tuple[Ints, Disorder]:
    """``received_reach`` of every flight, and the disorder rows of the channels that need them.

    channel, received_index: [N], sorted by (channel, ordinal); NONE where never received.
    """
    begins = _begins(channel)
    run = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(channel))))
    reach = _running_max(received_index, run)
    reach[_after_last_received(received_index, begins, run)] = IN_FLIGHT
    in_order = (reach == IN_FLIGHT) | ((reach == received_index) & (received_index != NONE))
    ordered = np.logical_and.reduceat(in_order, begins) if len(begins) else in_order
    ends = np.append(begins[1:], len(channel))
    disordered = [
        _disorder(channel[begin], received_index[begin:end])
        for begin, end in zip(begins[~ordered], ends[~ordered], strict=True)
    ]
    return reach, _joined(disordered)


def _begins(channel: NDArray[np.int32]) -> Ints:
    """The first row of each run of equal codes."""
    if not len(channel):
        return np.zeros(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(np.diff(channel)) + 1))


def _running_max(received_index: Ints, run: Ints) -> Ints:
    """The maximum so far, begun anew in each run: runs are lifted above each other."""
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


def _disorder(channel: int, received_index: Ints) -> Disorder:
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
    none = Disorder(np.zeros(0, np.int32), *(np.zeros(0, np.int64) for _ in range(3)))
    runs = [none, *disordered]
    return Disorder(
        channel=np.concatenate([run.channel for run in runs]),
        received_sorted=np.concatenate([run.received_sorted for run in runs]),
        received_floor=np.concatenate([run.received_floor for run in runs]),
        lost=np.concatenate([run.lost for run in runs]),
    )
