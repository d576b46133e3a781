"""Read single events of a stored recording, and the events at which processes recorded."""

from typing import Any

import numpy as np

from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_CHANNEL,
    SEND,
)
from snapshots.domain.model.topology import ProcessId
from snapshots.store.layout import NONE
from snapshots.store.mapped import Ints, rows_of_snapshot
from snapshots.store.tables import Tables

_TEXTS = ("message", "value", "state", "label", "extra")
_NUMBERS = ("at", "step", "line", "kind")


def event(tables: Tables, process: ProcessId, index: int) -> dict[str, Any]:
    """Return the fields of one event, as in `domain.model.recording.Event`, and its ``flight``.

    It has ids instead of codes; ``state`` and ``value`` are JSON text. The flight of a send or
    receive is a dict of channel, ordinal, sent_index, sent_at, received_index and received_at; the
    last two are None while it is in flight. It is None for other events and for strays.
    Raises: KeyError if there is no such event.
    """
    code = tables.process_code(process)
    if not 0 <= index < tables.events.length[code]:
        raise KeyError(index)
    row = tables.events.pick(np.array([code]), np.array([index]))
    numbers = {name: int(row.values(name)[0]) for name in _NUMBERS}
    texts = {name: row.texts(name)[0] for name in _TEXTS}
    channel, snapshot = (int(row.values(name)[0]) for name in ("channel", "snapshot"))
    kind = tables.manifest.kinds[numbers["kind"]]
    messages = _recorded_ids(tables, snapshot, code, index) if kind == RECORD_CHANNEL else None
    return {
        "process": process,
        "index": index,
        **numbers,
        "kind": kind,
        **texts,
        "channel": None if channel == NONE else tables.topology.channels[channel].id,
        "snapshot": None if snapshot == NONE else tables.manifest.snapshots[snapshot],
        "messages": messages,
        "logged_at": row.number_or_none("logged_at"),
        "flight": _flight(tables, kind, channel, index),
    }


def _flight(tables: Tables, kind: str, channel: int, index: int) -> dict[str, Any] | None:
    if kind not in (SEND, RECEIVE, MARKER_SEND, MARKER_RECEIVE):
        return None
    flights = tables.messages if kind in (SEND, RECEIVE) else tables.markers
    ordinal_of = flights.sent_by if kind in (SEND, MARKER_SEND) else flights.received_by
    ordinal = ordinal_of(channel, index)
    if ordinal is None:
        return None
    row = flights.table.pick(np.array([channel]), np.array([ordinal]))
    names = ("sent_index", "sent_at", "received_index", "received_at")
    numbers = {name: row.number_or_none(name) for name in names}
    if flights.taken(np.array([channel]), row.values("received_index"))[0]:
        numbers |= {"received_index": None, "received_at": None}
    return {"channel": tables.topology.channels[channel].id, "ordinal": ordinal, **numbers}


def _recorded_ids(tables: Tables, snapshot: int, process: int, index: int) -> list[str] | None:
    records = rows_of_snapshot(tables.records, snapshot)
    processes, indices = (records.column(name).to_numpy() for name in ("process", "index"))
    rows = np.flatnonzero((processes == process) & (indices == index))
    return records.column("messages")[int(rows[0])].as_py()


def snapshot_positions(tables: Tables, snapshot: int) -> Ints:
    """Return the index of each process's first ``record_state``, or NONE: int64[P]."""
    processes, indices = tables.recorded_states(rows_of_snapshot(tables.records, snapshot))
    positions = np.full(len(tables.topology.processes), NONE)
    positions[processes[::-1]] = indices[::-1]
    return positions
