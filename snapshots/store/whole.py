"""Answer what shrinking asks of a stored recording, by searches and without reading all of it."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.recording import (
    APPLICATION_KINDS,
    MARKER_RECEIVE,
    RECEIVE,
    RECORD_CHANNEL,
    SEND,
    LoggedEvent,
    MessageId,
    SnapshotId,
)
from snapshots.domain.model.topology import Channel, ChannelId, ProcessId
from snapshots.domain.shrinking.whole import EventKey
from snapshots.store import events
from snapshots.store.layout import NONE
from snapshots.store.mapped import Ints, rows_of_snapshot
from snapshots.store.tables import Tables

_BLOCK = 4096  # events that are searched at once


class StoredWhole:
    """A stored recording and one snapshot, as ``domain.shrinking.whole.Whole`` describes them."""

    def __init__(
        self, tables: Tables, snapshot: SnapshotId, name: str, initiators: Sequence[ProcessId]
    ) -> None:
        """Take the tables of a recording.

        Args:
            name: the name that people know the recording by.
            initiators: the processes that began the snapshot.

        Raises: KeyError if there is no such snapshot.
        """
        self.snapshot = snapshot
        self._tables = tables
        self._code = tables.snapshot_code(snapshot)
        self._name = name
        self.initiators = initiators
        self._positions = events.snapshot_positions(tables, self._code)

    @cached_property
    def header(self) -> Header:
        """The header of the recording."""
        manifest = self._tables.manifest
        extra = manifest.header_extra
        return Header(self._name, manifest.time_unit, self._tables.topology, extra)

    @property
    def event_count(self) -> int:
        """The number of events in the recording."""
        return int(self._tables.events.length.sum())

    def event(self, key: EventKey) -> LoggedEvent:
        """Return an event; its ``line`` is its step. Raises: KeyError if there is none."""
        fields = events.event(self._tables, key.process, key.index)
        flight, messages = fields["flight"], fields["messages"]
        if flight and fields["kind"] in (SEND, RECEIVE):
            code = self._tables.channel_code(fields["channel"])
            row = self._tables.messages.table.pick(np.array([code]), np.array([flight["ordinal"]]))
            fields["message"] = row.ids("message")[0]
            if fields["kind"] == SEND:
                fields["value"] = row.json("value")[0]
        names = ("kind", "index", "at", "channel", "message", "value", "state", "snapshot")
        return LoggedEvent(
            line=fields["step"],
            process=key.process,
            messages=None if messages is None else tuple(messages),
            label=fields["label"],
            extra=fields["extra"],
            **{name: fields[name] for name in names},
        )

    def other_end(self, key: EventKey) -> EventKey | None:
        """Return the receive of a send, or the send of a receive, of messages and markers."""
        fields = events.event(self._tables, key.process, key.index)
        flight = fields["flight"]
        if flight is None:
            return None
        channel = self.header.topology.channel_by_id[flight["channel"]]
        if fields["kind"] in (RECEIVE, MARKER_RECEIVE):
            return EventKey(channel.source, flight["sent_index"])
        received = flight["received_index"]
        return None if received is None else EventKey(channel.target, received)

    def application_before(self, key: EventKey) -> EventKey | None:
        """Return the last application event of the process before this event."""
        for end in range(key.index, 0, -_BLOCK):
            begin = max(end - _BLOCK, 0)
            if len(changes := self._changes(key.process, begin, end)):
                return EventKey(key.process, begin + int(changes[-1]))
        return None

    def application_after(self, key: EventKey) -> EventKey | None:
        """Return the first application event of the process after this event."""
        length = int(self._tables.events.length[self._tables.process_code(key.process)])
        for begin in range(key.index + 1, length, _BLOCK):
            if len(changes := self._changes(key.process, begin, begin + _BLOCK)):
                return EventKey(key.process, begin + int(changes[0]))
        return None

    def state_record(self, process: ProcessId) -> EventKey | None:
        """Return the ``record_state`` of a process for the snapshot."""
        index = int(self._positions[self._tables.process_code(process)])
        return None if index == NONE else EventKey(process, index)

    def channel_record(self, channel: ChannelId) -> EventKey | None:
        """Return the ``record_channel`` of a channel for the snapshot."""
        columns = (self._records.column(name).to_numpy() for name in ("kind", "channel", "index"))
        kind, code, index = columns
        is_record = np.isin(kind, self._tables.kind_codes({RECORD_CHANNEL}))
        rows = np.flatnonzero(is_record & (code == self._tables.channel_code(channel)))
        target = self.header.topology.channel_by_id[channel].target
        return EventKey(target, int(index[rows[0]])) if len(rows) else None

    def markers(self, channel: ChannelId) -> tuple[EventKey, ...]:
        """Return the sends of the snapshot's markers on a channel."""
        code = self._tables.channel_code(channel)
        sent = self._tables.markers.table.run_at("sent_index", code, self._own_markers(code))
        source = self.header.topology.channel_by_id[channel].source
        return tuple(EventKey(source, index) for index in sent.tolist())

    def first_marker(self, process: ProcessId) -> EventKey | None:
        """Return the receive of the snapshot's first marker at a process."""
        received = [
            index
            for channel in self.header.topology.incoming[process]
            for index in self._received(channel.id).tolist()
        ]
        received += [key.index for key in self._stray_markers if key.process == process]
        return EventKey(process, min(received)) if received else None

    def way_to(self, process: ProcessId) -> ChannelId | None:
        """Return the last channel of the shortest path from a process that began the snapshot."""
        channel = self._last_channels.get(process)
        return None if channel is None else channel.id

    def sends(self, channel: ChannelId, message: MessageId) -> tuple[EventKey, ...]:
        """Return the sends of the messages with an id on a channel; search all its messages."""
        code, messages = self._tables.channel_code(channel), self._tables.messages.table
        ordinals = messages.find_texts("message", code, [message])
        source = self.header.topology.channel_by_id[channel].source
        sent = messages.run_at("sent_index", code, ordinals)
        return tuple(EventKey(source, index) for index in sent.tolist())

    def any_record(self, process: ProcessId | None = None) -> EventKey | None:
        """Return one record of the snapshot, of a state if there is one."""
        scopes = self._tables.scopes
        is_in_scope = np.ones(len(scopes), np.bool_)
        if process is not None:
            is_in_scope = scopes == scopes[self._tables.process_code(process)]
        recorded = np.flatnonzero((self._positions != NONE) & is_in_scope)
        if len(recorded):
            return self.state_record(self._process(int(recorded[0])))
        codes = self._records.column("process").to_numpy()
        rows = np.flatnonzero(is_in_scope[codes])
        if not len(rows):
            return None
        row = self._records.slice(int(rows[0]), 1).to_pylist()[0]
        return EventKey(self._process(row["process"]), row["index"])

    def any_marker(self) -> EventKey | None:
        """Return the send of one marker of the snapshot, or a receive if the log has no send."""
        channels = self.header.topology.channels
        sends = (key for channel in channels for key in self.markers(channel.id))
        return next(sends, None) or next(iter(self._stray_markers), None)

    @cached_property
    def _last_channels(self) -> dict[ProcessId, Channel | None]:
        scope = self._tables.scope(self._code)
        return scope.last_channels(self.initiators)

    @cached_property
    def _stray_markers(self) -> tuple[EventKey, ...]:
        """The receives of the snapshot's markers that no send explains."""
        batch = self._tables.stray_markers
        columns = (batch.column(name).to_pylist() for name in ("snapshot", "process", "index"))
        return tuple(
            EventKey(self._process(process), index)
            for snapshot, process, index in zip(*columns, strict=True)
            if snapshot == self._code
        )

    @cached_property
    def _records(self) -> pa.RecordBatch:
        return rows_of_snapshot(self._tables.records, self._code)

    @cached_property
    def _application_codes(self) -> Ints:
        return self._tables.kind_codes(APPLICATION_KINDS)

    def _changes(self, process: ProcessId, begin: int, end: int) -> Ints:
        """Return which of the events begin .. end - 1 are those of the application."""
        code = self._tables.process_code(process)
        kinds = self._tables.events.run("kind", code, begin, end)
        return np.flatnonzero(np.isin(kinds, self._application_codes))

    def _own_markers(self, code: int) -> Ints:
        """Return the ordinals of the snapshot's markers on a channel."""
        return np.flatnonzero(self._tables.markers.table.run("snapshot", code) == self._code)

    def _received(self, channel: ChannelId) -> Ints:
        """Return the indexes at which the snapshot's markers on a channel arrive."""
        code = self._tables.channel_code(channel)
        own = self._own_markers(code)
        codes, markers = np.full(len(own), code), self._tables.markers
        received = markers.received_index(codes, own)
        return received[(received != NONE) & ~markers.taken(codes, received)]

    def _process(self, code: int) -> ProcessId:
        return self.header.topology.processes[code].id
