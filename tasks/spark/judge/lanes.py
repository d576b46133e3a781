"""Read all messages (or markers) of one channel of a stored recording at once."""

from collections.abc import Collection
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from snapshots.domain.model.recording import Marker, Message, MessageId, SnapshotId
from snapshots.domain.model.topology import Channel
from snapshots.store.in_flight import Flights
from snapshots.store.layout import NONE
from snapshots.store.mapped import Picked

NEVER = 2**63 - 1  # later than every index


class Lane:
    """The messages or markers of one channel, int64[M].

    Args:
        received: the index at which each leaves the channel, NEVER while in flight.
        taken: bool[M], whether a restore took it back there, so that it was never received.
    """

    def __init__(self, channel: Channel, flights: Flights, code: int) -> None:
        self._table = flights.table
        self.channel = channel
        self.code = code
        self.length = int(self._table.length[code])
        self.sent = self._table.run("sent_index", code)
        received = self._table.run("received_index", code)
        self.received = np.where(received == NONE, NEVER, received)
        self.taken = flights.taken(np.full(self.length, code), received)

    @cached_property
    def in_order(self) -> bool:
        return bool((self.received[1:] >= self.received[:-1]).all())

    @cached_property
    def reach(self) -> np.ndarray:
        """Return the latest receive up to each ordinal."""
        return self.received if self.in_order else np.maximum.accumulate(self.received)

    @cached_property
    def floor(self) -> np.ndarray:
        """Return the earliest receive from each ordinal on."""
        if self.in_order:
            return self.received
        return np.minimum.accumulate(self.received[::-1])[::-1]

    @cached_property
    def latest(self) -> np.ndarray:
        """Return the ordinal up to each one that arrives last; the first of those that never do."""
        rises = np.ones(self.length, bool)
        rises[1:] = self.received[1:] > self.reach[:-1]
        return np.maximum.accumulate(np.where(rises, np.arange(self.length), 0))

    @cached_property
    def earliest(self) -> np.ndarray:
        """Return the ordinal from each one on that arrives first.

        Only messages that never arrive tie, and these overtake none.
        """
        falls = np.ones(self.length, bool)
        falls[:-1] = self.received[:-1] <= self.floor[1:]
        chosen = np.where(falls, np.arange(self.length), self.length)
        return np.minimum.accumulate(chosen[::-1])[::-1]

    @cached_property
    def arrivals(self) -> np.ndarray:
        """Return the ordinals in the order of receiving, without those never received."""
        order = np.argsort(self.received, kind="stable")
        order = order[: np.count_nonzero(self.received != NEVER)]
        return order[~self.taken[order]]

    def ids(self, ordinals: np.ndarray) -> list[MessageId]:
        return self._at(ordinals).ids("message")

    def numbers(self, name: str) -> np.ndarray:
        """Return a column of numbers, with NONE for null."""
        return self._table.run(name, self.code)

    @property
    def ordinals(self) -> np.ndarray:
        return np.arange(self.length)

    def first_of(self, ids: list[str]) -> np.ndarray:
        """Return the ordinal of the first message with each id, NONE if there is none."""
        if not self.length or not ids:
            return np.full(len(ids), NONE)
        sought = pa.array(ids, pa.large_string()).dictionary_encode()
        found = self._table.pick_run(self.code).find("message", sought.dictionary)
        ordinals = np.flatnonzero(found != NONE)
        places, firsts = np.unique(found[ordinals], return_index=True)
        first = np.full(len(sought.dictionary), NONE)
        first[places] = ordinals[firsts]
        return first[sought.indices.to_numpy()]

    def ended_of(self, ids: Collection[str]) -> dict[str, tuple[list[int], list[int]]]:
        """Return, for each of the ids, its ordinals and the latest end up to each of them."""
        if not self.length or not ids:
            return {}
        sought = pa.array(sorted(ids), pa.large_string())
        found = self._table.pick_run(self.code).find("message", sought)
        groups: dict[str, tuple[list[int], list[int]]] = {}
        for place in np.unique(found[found != NONE]).tolist():
            ordinals = np.flatnonzero(found == place)
            ends = np.maximum.accumulate(self.received[ordinals])
            groups[sought[place].as_py()] = ordinals.tolist(), ends.tolist()
        return groups

    def message(self, ordinal: int) -> Message:
        row = self._at(np.array([ordinal]))
        return Message(
            ordinal=int(ordinal),
            id=row.ids("message")[0],
            value=row.json("value")[0],
            **self._way(row, ordinal),
        )

    def marker(self, ordinal: int, snapshot: SnapshotId) -> Marker:
        row = self._at(np.array([ordinal]))
        return Marker(ordinal=int(ordinal), snapshot=snapshot, **self._way(row, ordinal))

    def _way(self, row: Picked, ordinal: int) -> dict[str, Any]:
        """Return the channel of one message or marker, and where and when its ends are."""
        names = ("sent_index", "sent_at", "received_index", "received_at")
        return {
            "channel": self.channel.id,
            "taken_back": bool(self.taken[ordinal]),
            **{name: row.number_or_none(name) for name in names},
        }

    def _at(self, ordinals: np.ndarray) -> Picked:
        return self._table.pick(np.full(len(ordinals), self.code), ordinals)
