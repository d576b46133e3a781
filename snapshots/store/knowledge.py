"""Who knew which pieces of a snapshot when, from the store: see domain/algorithms/flooding.py.

Only the messages that were sent after the snapshot's first record are looked at, and at most
_BUDGET of them.
"""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.judging.findings import Place
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.simulators.protocols.flooding import MARK, Knowledge, piece_of
from snapshots.store.layout import NONE
from snapshots.store.tables import TIME, Tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapshots.domain.model.topology import ProcessId

_BUDGET = 5 * 10**6  # messages


class TooManyMessages(Exception):
    """What would have to be looked at is more than a request may take."""


def knowledge(tables: Tables, snapshot: SnapshotId) -> Knowledge:
    """Raises: KeyError if there is no such snapshot; TooManyMessages."""
    learned: dict[ProcessId, dict[ProcessId, Place]] = {
        process.id: {} for process in tables.topology.processes
    }
    for process, place in _own(tables, snapshot):
        learned[process][process] = place
    for of, place in sorted(_received(tables, snapshot), key=lambda found: found[1].index):
        learned[place.process].setdefault(of, place)
    return Knowledge(snapshot, learned)


def _records(tables: Tables, snapshot: SnapshotId) -> pa.RecordBatch:
    """The snapshot's rows of RECORD_COLUMNS."""
    code = tables.snapshot_code(snapshot)
    codes = tables.records.column("snapshot").to_numpy()
    first, end = np.searchsorted(codes, [code, code + 1])
    return tables.records.slice(first, end - first)


def _own(tables: Tables, snapshot: SnapshotId) -> "Iterator[tuple[ProcessId, Place]]":
    """Each process whose own piece is whole, and the record that made it so."""
    topology = tables.topology
    rows = _records(tables, snapshot).select(["process", "index", "at", "channel"])
    waited = {
        process: {channel.id for channel in channels} | {None}
        for process, channels in topology.incoming.items()
    }
    for row in rows.to_pylist():
        process = topology.processes[row["process"]].id
        name = None if row["channel"] == NONE else topology.channels[row["channel"]].id
        if name in waited[process]:
            waited[process].remove(name)
            if not waited[process]:
                yield process, Place(process, row["index"], row["at"])


def _received(tables: Tables, snapshot: SnapshotId) -> "Iterator[tuple[ProcessId, Place]]":
    """(whose piece, the receive that brought it), for every piece that arrived."""
    flights = tables.messages
    records = _records(tables, snapshot)
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
        values = flights.table.texts("value", channel).slice(first[channel])
        found = np.flatnonzero(pc.match_substring(values, MARK).fill_null(False).to_numpy(False))
        ordinals = first[channel] + found
        for message in tables.read_messages(np.full(len(ordinals), channel), ordinals):
            piece = piece_of(message.value)
            if piece and piece[0] == snapshot and message.received_index is not None:
                target = tables.topology.channels[channel].target
                yield piece[1], Place(target, message.received_index, message.received_at)
