"""Read a whole stored recording, which must be small, as the domain's Recording."""

import numpy as np
import pyarrow as pa

from snapshots.domain.model.recording import (
    RECORD_CHANNEL,
    Event,
    Instant,
    Marker,
    Message,
    MessageId,
    Recording,
    SnapshotId,
)
from snapshots.domain.model.topology import ChannelId, ProcessId, Topology
from snapshots.store.layout import NONE
from snapshots.store.mapped import Ints
from snapshots.store.reader import StoredRecording
from snapshots.store.tables import Tables

Records = dict[tuple[int, int], tuple[MessageId, ...]]
Messages = dict[ChannelId, tuple[Message, ...]]
EventIds = dict[tuple[ProcessId, int], MessageId]


def event_count(stored: StoredRecording) -> int:
    """Count the events of a recording, without reading them."""
    return int(stored.tables.events.length.sum())


def read_log(stored: StoredRecording, name: str) -> Recording:
    """Return the whole recording.

    Args:
        stored: a recording that fits into memory as Python objects; see ``event_count``.
        name: the name that people know the recording by.
    """
    tables, manifest = stored.tables, stored.manifest
    records = _recorded_ids(tables)
    processes, channels = stored.topology.processes, stored.topology.channels
    messages = {channel.id: _messages(tables, code) for code, channel in enumerate(channels)}
    ids = _ids_by_event(stored.topology, messages)
    events = {
        process.id: _events(tables, code, records, ids) for code, process in enumerate(processes)
    }
    places = ((row.process, row.index) for row in tables.strays.read(_all(tables.strays.batch)))
    return Recording(
        stored.topology,
        events,
        messages,
        {channel.id: _markers(tables, code, channel.id) for code, channel in enumerate(channels)},
        tuple(events[process][index] for process, index in places),
        name,
        manifest.time_unit,
        manifest.header_extra,
        {processes[code].id: own for code, own in tables.restores.items()},
    )


def _all(batch: pa.RecordBatch) -> Ints:
    return np.arange(batch.num_rows)


def _recorded_ids(tables: Tables) -> Records:
    """Return the ids that each ``record_channel`` recorded, by process code and index."""
    batch = tables.records
    codes = set(tables.kind_codes({RECORD_CHANNEL}).tolist())
    columns = (batch.column(name).to_pylist() for name in ("kind", "process", "index", "messages"))
    return {
        (process, index): tuple(messages or ())
        for kind, process, index, messages in zip(*columns, strict=True)
        if kind in codes
    }


def _ids_by_event(topology: Topology, messages: Messages) -> EventIds:
    """Return the ids of messages by the events that send and receive them."""
    ids = {}
    for channel in topology.channels:
        for message in messages[channel.id]:
            ids[channel.source, message.sent_index] = message.id
            if message.received_index is not None and not message.taken_back:
                ids[channel.target, message.received_index] = message.id
    return ids


def _events(tables: Tables, code: int, records: Records, ids: EventIds) -> tuple[Event, ...]:
    """Return the events of one process.

    Args:
        records: the ids that each ``record_channel`` recorded.
        ids: the ids of the messages that are sent and received.
    """
    length = int(tables.events.length[code])
    rows = tables.events.pick(np.full(length, code), np.arange(length))
    columns = zip(
        *(rows.values(name).tolist() for name in ("kind", "at", "step", "line", "channel")),
        rows.values("snapshot").tolist(),
        *(rows.texts(name) for name in ("message", "value", "state", "label", "extra")),
        strict=True,
    )
    manifest, channels = tables.manifest, tables.topology.channels
    process = tables.topology.processes[code].id
    return tuple(
        Event(
            process=process,
            index=index,
            kind=manifest.kinds[kind],
            at=Instant(at),
            step=step,
            line=line,
            channel=None if channel == NONE else channels[channel].id,
            snapshot=None if snapshot == NONE else SnapshotId(manifest.snapshots[snapshot]),
            message=ids.get((process, index), message),
            value=value,
            state=state,
            label=label,
            extra=extra,
            messages=records.get((code, index)),
        )
        for index, (
            kind, at, step, line, channel, snapshot, message, value, state, label, extra,
        ) in enumerate(columns)
    )  # fmt: skip


def _messages(tables: Tables, code: int) -> tuple[Message, ...]:
    length = int(tables.messages.table.length[code])
    return tables.read_messages(np.full(length, code), np.arange(length))


def _markers(tables: Tables, code: int, channel: ChannelId) -> tuple[Marker, ...]:
    length = int(tables.markers.table.length[code])
    codes = np.full(length, code)
    rows = tables.markers.table.pick(codes, np.arange(length))
    ends = rows.values("received_index")
    columns = zip(
        rows.values("snapshot").tolist(),
        rows.values("sent_index").tolist(),
        rows.values("sent_at").tolist(),
        ends.tolist(),
        rows.values("received_at").tolist(),
        tables.markers.taken(codes, ends).tolist(),
        strict=True,
    )
    return tuple(
        Marker(
            channel,
            ordinal,
            SnapshotId(tables.manifest.snapshots[snapshot]),
            sent,
            Instant(sent_at),
            None if received == NONE else received,
            None if received == NONE else Instant(received_at),
            taken_back=is_taken_back,
        )
        for ordinal, (
            snapshot,
            sent,
            sent_at,
            received,
            received_at,
            is_taken_back,
        ) in enumerate(columns)
    )
