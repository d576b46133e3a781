"""The outlines of cuts and snapshots: what is short enough to be told of everything.

They are columns as typed arrays, because a list by name of 100,000 channels takes megabytes.
"""

import numpy as np
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.arrays import TypedArray, typed_array
from snapshots.payloads.declaring import described
from snapshots.store.cut import StoredCut
from snapshots.store.excerpts import SnapshotOutline
from snapshots.store.mapped import Ints

MOST_OUTLINED = 10_000  # channels, of which the columns weigh up to 130 kB


@described
class CutOutlinePayload(TypedDict):
    """What is told of all processes and channels of a cut.

    Attributes:
        positions: how many events of each process lie inside, in the order of the processes.
        nearest: the same of the nearest consistent cut; null where this one is consistent.
        channels: the codes of the channels that hold messages, at most 10,000: those that hold
            most.
        depths: how many messages each of them holds.
        hidden_channels: how many other channels hold messages.
        messages: how many messages all channels hold.
        in_processes: the sum of all states; null where not all are numbers.
        in_channels: the sum of all messages; null where not all are numbers, or where there are
            more than 100,000.
    """

    positions: TypedArray
    nearest: TypedArray | None
    channels: TypedArray
    depths: TypedArray
    hidden_channels: int
    messages: int
    in_processes: int | float | None
    in_channels: int | float | None


@described
class SnapshotOutlinePayload(TypedDict):
    """What is told of all processes and channels of a snapshot.

    Attributes:
        positions: how many events lie before each process recorded, in the order of the processes;
            -1 where it never did.
        channels: the codes of the channels that hold messages, at most 10,000: those that hold
            most.
        recorded: how many messages each of them recorded; -1 where that is not known.
        recomputed: how many messages the log has in each of them; -1 where that is not known.
        hidden_channels: how many other channels hold messages.
        recorded_between: the first and the last instant at which a process recorded, in the time
            unit; null where no instant is known.
    """

    positions: TypedArray
    channels: TypedArray
    recorded: TypedArray
    recomputed: TypedArray
    hidden_channels: int
    recorded_between: tuple[int, int] | None


def outline_of_cut(cut: StoredCut) -> CutOutlinePayload:
    fullest = _fullest(cut.depths[cut.filled])
    channels = cut.filled[fullest]
    return {
        "positions": typed_array(cut.positions),
        "nearest": None if cut.consistent else typed_array(cut.nearest),
        "channels": typed_array(channels),
        "depths": typed_array(cut.depths[channels]),
        "hidden_channels": len(cut.filled) - len(channels),
        "messages": int(cut.depths.sum()),
        "in_processes": cut.in_processes,
        "in_channels": cut.in_channels(),
    }


def outline_of_snapshot(outline: SnapshotOutline) -> SnapshotOutlinePayload:
    fullest = _fullest(np.maximum(outline.recorded, outline.recomputed))
    return {
        "positions": typed_array(outline.positions),
        "channels": typed_array(outline.channels[fullest]),
        "recorded": typed_array(outline.recorded[fullest]),
        "recomputed": typed_array(outline.recomputed[fullest]),
        "hidden_channels": len(outline.channels) - len(fullest),
        "recorded_between": outline.recorded_between,
    }


def _fullest(depths: Ints) -> Ints:
    """Return the places of the largest numbers, in their order."""
    return np.sort(np.argsort(-depths, kind="stable")[:MOST_OUTLINED])
