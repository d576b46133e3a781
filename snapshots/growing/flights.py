"""The messages, or the markers, of an open recording: matched as they come."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snapshots.growing.columns import GrowingTable
from snapshots.growing.tables import ViewedPart, ViewedTable
from snapshots.store.flights import disorder_of, reach_of
from snapshots.store.in_flight import Flights
from snapshots.store.layout import DISORDER_COLUMNS, NONE
from snapshots.store.mapped import Ends, Ints
from snapshots.store.restores import TakenBack

_Key = tuple[object, int]
"""The id of a message, or the snapshot of a marker; and the epoch in which it was sent."""

WentBack = tuple[Ints, Mapping[int, Ints]]
_NAMES = ("channel", "sent_index", "received_index", "received_reach")
_DISORDER = ("received_sorted", "received_floor", "lost")


@dataclass(slots=True)
class Sent:
    """A flight that was sent.

    Attributes:
        ordinal: its place on its channel.
        at: when it was sent.
    """

    ordinal: int
    at: int


class GrowingFlights:
    """The flights of all channels.

    ``more`` are the names of further columns: of markers, which snapshot they belong to, and times.
    """

    def __init__(self, folder: Path, channels: int, more: tuple[str, ...] = ()) -> None:
        self._names = (*_NAMES, *more)
        self.table = GrowingTable(folder, self._names, (), channels)
        self._waiting: list[dict[_Key, deque[Sent]]] = [{} for _ in range(channels)]
        self._fresh: dict[int, dict[str, list[int]]] = {}
        self._sent = [0] * channels
        self._arrived: dict[int, list[tuple[int, int, int]]] = {}
        self._in_order = np.zeros(channels, np.int64)  # flights that have come, each in its turn
        self._disordered: set[int] = set()

    def send(self, channel: int, key: object, index: int, at: int, epoch: int, **more: int) -> None:
        """Note a send, which ``commit`` puts into the table."""
        waiting = self._waiting[channel].setdefault((key, epoch), deque())
        waiting.append(Sent(self._sent[channel], at))
        self._sent[channel] += 1
        fresh = self._fresh.setdefault(channel, {name: [] for name in self._names})
        row = {"sent_index": index, "sent_at": at, "channel": channel, **more}
        for name, values in fresh.items():
            values.append(row.get(name, NONE))

    def awaited(self, channel: int, key: object, epoch: int) -> Sent | None:
        """Return the send whose receive comes next in an epoch, or None if it has not come."""
        waiting = self._waiting[channel].get((key, epoch))
        return waiting[0] if waiting else None

    def end(self, channel: int, key: object, epoch: int, index: int, at: int) -> None:
        """Note where the flight ends that ``awaited`` returns: it is received, or taken back."""
        waiting = self._waiting[channel][key, epoch]
        sent = waiting.popleft()
        if not waiting:
            del self._waiting[channel][key, epoch]
        self._arrived.setdefault(channel, []).append((sent.ordinal, index, at))

    def under_way(self, channel: int) -> list[_Key]:
        """Return what is under way on a channel: the key and the epoch of each flight."""
        return [key for key, waiting in self._waiting[channel].items() for _ in waiting]

    def commit(self) -> None:
        """Put into the table what was noted. Raises: OSError."""
        for channel, rows in self._fresh.items():
            self.table.append(channel, rows, {})
        for channel, arrived in self._arrived.items():
            self._put_arrivals(channel, arrived)
        for channel in self._fresh.keys() | self._arrived.keys():
            self._order(channel)
        self._fresh, self._arrived = {}, {}

    def view(
        self, name: str, disorder: str, heads: Ints, went_back: WentBack, ends: Ends | None = None
    ) -> Flights:
        """Return the tables as they are now.

        Args:
            heads: how many events are shown of the process at the end of each channel.
            went_back: the target of each channel, and the indexes of the restores of each process.
            ends: the events from which times are taken; None if the table has times itself.
        """
        names = [each for each in self._names if ends is None or not each.endswith("_at")]
        table = ViewedTable(name, ViewedPart.of(self.table, names, heads), ends)
        taken_back = TakenBack(*went_back) if went_back[1] else None
        return Flights(table, ViewedTable(disorder, self._disorder()), taken_back)

    def _put_arrivals(self, channel: int, arrived: list[tuple[int, int, int]]) -> None:
        begin = int(self.table.begin[channel])
        ordinals, indices, instants = (np.array(each) for each in zip(*arrived, strict=True))
        self.table.columns["received_index"][begin + ordinals] = indices
        if "received_at" in self.table.columns:
            self.table.columns["received_at"][begin + ordinals] = instants

    def _order(self, channel: int) -> None:
        """Compute ``received_reach`` anew from the first flight on that has not come in its turn.

        On a channel that keeps order, these are the flights that are under way.
        """
        first, end = int(self._in_order[channel]), int(self.table.length[channel])
        rows = self.table.rows(channel, first, end)
        received = self.table.columns["received_index"][rows]
        before = int(self.table.columns["received_reach"][rows.start - 1]) if first else NONE
        reach, in_order = reach_of(received, before)
        self.table.columns["received_reach"][rows] = reach
        turns = in_order & (received != NONE)
        self._in_order[channel] += len(turns) if turns.all() else int(np.argmin(turns))
        if in_order.all():
            self._disordered.discard(channel)
        else:
            self._disordered.add(channel)

    def _disorder(self) -> ViewedPart:
        length = np.zeros_like(self.table.length)
        columns: dict[str, list[Ints]] = {name: [] for name in _DISORDER}
        for channel in sorted(self._disordered):
            length[channel] = self.table.length[channel]
            rows = self.table.rows(channel, 0, int(length[channel]))
            found = disorder_of(channel, self.table.columns["received_index"][rows])
            for name, values in columns.items():
                values.append(getattr(found, name))
        empty = np.zeros(0, np.int64)
        joined = {name: np.concatenate([empty, *values]) for name, values in columns.items()}
        begin = np.cumsum(length) - length
        return ViewedPart(DISORDER_COLUMNS.names[1:], joined, begin, length)
