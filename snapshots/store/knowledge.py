"""Find out which process knew which pieces of a snapshot, and since when.

`domain/simulators/protocols/flooding.py` explains pieces and does the same in plain Python. Here,
only messages that were sent after the snapshot's first record are read, and at most _BUDGET.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.judging.findings import Place
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.simulators.protocols.flooding import MARK, Knowledge, piece_of
from snapshots.store.layout import NONE
from snapshots.store.mapped import rows_of_snapshot
from snapshots.store.tables import TIME, Tables

_BUDGET = 5 * 10**6  # messages


class TooManyMessages(Exception):
    """The snapshot is followed by more messages than a request may read."""


def knowledge(tables: Tables, snapshot: SnapshotId) -> Knowledge:
    """Return where each process first knew each piece of a snapshot.

    Raises: KeyError if there is no such snapshot; TooManyMessages.
    """
    learned: dict[ProcessId, dict[ProcessId, Place]] = {
        process.id: {} for process in tables.topology.processes
    }
    records = rows_of_snapshot(tables.records, tables.snapshot_code(snapshot))
    for process, place in _completed(tables, records):
        learned[process][process] = place
    received = _received(tables, snapshot, records)
    for process, place in sorted(received, key=lambda piece: piece[1].index):
        learned[place.process].setdefault(process, place)
    return Knowledge(snapshot, learned)


def _completed(tables: Tables, records: pa.RecordBatch) -> Iterator[tuple[ProcessId, Place]]:
    """Yield each process that recorded its whole piece, and the last record of it."""
    topology = tables.topology
    missing: dict[ProcessId, set[ChannelId | None]] = {
        process: {None, *(channel.id for channel in channels)}
        for process, channels in topology.incoming.items()
    }
    for row in records.select(["process", "index", "at", "channel"]).to_pylist():
        process = topology.processes[row["process"]].id
        channel = None if row["channel"] == NONE else topology.channels[row["channel"]].id
        if channel in missing[process]:
            missing[process].remove(channel)
            if not missing[process]:
                yield process, Place(process, row["index"], row["at"])


def _received(
    tables: Tables, snapshot: SnapshotId, records: pa.RecordBatch
) -> Iterator[tuple[ProcessId, Place]]:
    """Yield the process whose piece it is, and the receive, for every piece that arrived."""
    flights = tables.messages
    if not records.num_rows:
        return
    began = int(records.column("at").to_numpy().min())
    positions = tables.positions_before(TIME, began)
    first = flights.sent(tables.all_channels, positions[tables.source])
    if (flights.table.length - first).sum() > _BUDGET:
        raise TooManyMessages(
            f"More than {_BUDGET:,} messages follow this snapshot: too many to look for its pieces."
        )
    for channel in np.flatnonzero(first < flights.table.length).tolist():
        values = flights.table.texts("value", channel, int(first[channel]))
        matches = pc.match_substring(values, MARK).fill_null(False).to_numpy(False)
        ordinals = first[channel] + np.flatnonzero(matches)
        target = tables.topology.channels[channel].target
        for message in tables.read_messages(np.full(len(ordinals), channel), ordinals):
            piece = piece_of(message.value)
            index, at = message.received_index, message.received_at
            if piece and piece[0] == snapshot and index is not None and at is not None:
                yield piece[1], Place(target, index, at)
