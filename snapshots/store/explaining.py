"""The stored recording as the sentences of its events ask it (``domain.explaining.steps.Log``)."""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from snapshots.domain.explaining.dataflow import engine_of
from snapshots.domain.explaining.steps import sentence_of
from snapshots.domain.model.recording import Event, SnapshotId
from snapshots.domain.model.topology import Channel, ChannelId, ProcessId
from snapshots.store.events import event
from snapshots.store.layout import IN_FLIGHT, NONE
from snapshots.store.mapped import Ints
from snapshots.store.reader import StoredRecording
from snapshots.store.tables import COORDINATES

_FIELDS = frozenset(field.name for field in fields(Event))
_MOST_AT_ONCE = 4_096  # events of one process at one instant that are looked at


class StoredLog:
    """Answers what ``steps.Log`` asks."""

    def __init__(self, stored: StoredRecording) -> None:
        self.stored, self.tables = stored, stored.tables
        self.engine = engine_of(stored.manifest.header_extra)

    def event(self, process: ProcessId, index: int) -> Event | None:
        """Return an event; None if there is none with that index."""
        try:
            found = event(self.tables, process, index)
        except KeyError:
            return None
        return Event(**{name: value for name, value in found.items() if name in _FIELDS})

    def channel(self, channel: ChannelId) -> Channel:
        """Return a channel by its id."""
        return self.tables.topology.channel_by_id[channel]

    def incoming(self, process: ProcessId) -> int:
        """Count the channels to a process."""
        return int(np.count_nonzero(self.tables.target == self.tables.process_code(process)))

    def outgoing(self, snapshot: SnapshotId, process: ProcessId) -> int:
        """Count the channels on which a process sends markers of a snapshot."""
        inside = self.tables.in_scope(self.tables.snapshot_code(snapshot))
        code = self.tables.process_code(process)
        return int(np.count_nonzero((self.tables.source == code) & inside[code]))

    def with_record(self, record: Event) -> Sequence[tuple[str, ChannelId | None, int]]:
        """Return kind, channel and index of what a process does next, at once, for a snapshot."""
        code = self.tables.process_code(record.process)
        first = record.index + 1
        end = min(int(self.tables.events.length[code]), first + _MOST_AT_ONCE)
        indices = np.arange(first, max(end, first))
        rows = self.tables.events.pick(np.full(len(indices), code), indices)
        at, snapshot, kind, channel = (
            rows.values(name) for name in ("at", "snapshot", "kind", "channel")
        )
        wanted = self.tables.snapshot_code(record.snapshot) if record.snapshot else NONE
        others = np.flatnonzero((at != record.at) | (snapshot != wanted))
        count = int(others[0]) if len(others) else len(indices)
        return [
            (self.tables.manifest.kinds[k], self._channel_id(c), first + place)
            for place, (k, c) in enumerate(
                zip(kind[:count].tolist(), channel[:count].tolist(), strict=True)
            )
        ]

    def _channel_id(self, code: int) -> ChannelId | None:
        return None if code == NONE else self.tables.topology.channels[code].id

    def recorded_at(self, snapshot: SnapshotId, process: ProcessId) -> int | None:
        """Return the index at which a process records; None if it never does."""
        index = self.stored.spreading(snapshot).records[self.tables.process_code(process)]
        return None if index == IN_FLIGHT else int(index)

    def is_noted(self, snapshot: SnapshotId, receive: Event) -> bool:
        """Tell whether the message of a receive is noted for a snapshot."""
        if receive.channel is None:
            return False
        code = self.tables.channel_code(receive.channel)
        ordinal = self.tables.messages.received_by(code, receive.index)
        if ordinal is None:
            return False
        codes = np.array([code])
        sent = self.tables.messages.table.values("sent_index", codes, np.array([ordinal]))
        noted = self.stored.spreading(snapshot).notes(codes, sent, np.array([receive.index]))
        return bool(noted[0])


def sentences(
    stored: StoredRecording, processes: Ints, indices: Ints, chosen: SnapshotId | None
) -> list[str]:
    """Return the sentences of these events [N]; ``sentence_of`` says what ``chosen`` is."""
    log, names = StoredLog(stored), stored.topology.processes
    found = (
        log.event(names[code].id, index)
        for code, index in zip(processes.tolist(), indices.tolist(), strict=True)
    )
    return [sentence_of(log, each, chosen) for each in found if each is not None]


def last_event(stored: StoredRecording, positions: Ints, axis: str) -> tuple[Ints, Ints]:
    """Return process and index of the last event inside the cut, each int64[1], or int64[0]."""
    codes = np.flatnonzero(positions)
    if not len(codes):
        return codes, codes
    rows = stored.tables.events.pick(codes, positions[codes] - 1)
    place, step = rows.values(COORDINATES[axis][0]), rows.values("step")
    last = np.lexsort((step, place))[-1:]
    return codes[last], positions[codes[last]] - 1
