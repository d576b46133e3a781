"""Single events of a stored recording: by place, by neighbourhood of a cursor, by text."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_CHANNEL,
    RECORD_STATE,
    SEND,
)
from snapshots.domain.model.topology import ProcessId
from snapshots.store.layout import NONE
from snapshots.store.mapped import Ints
from snapshots.store.tables import ORDER, Tables

if TYPE_CHECKING:
    from snapshots.store.in_flight import Flights

EVENT = "event"
MARKER = "marker"
RECORD = "record"
GROUPS = (EVENT, MARKER, RECORD)

_BLOCK = 2**18  # rows searched at once
_BUDGET = 2 * 10**7  # rows searched in one call
_TEXTS = ("message", "value", "state", "label", "extra")
_NUMBERS = ("at", "step", "line")


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An event to step to. On the order axis it stands at step + 1."""

    process: ProcessId
    index: int
    kind: str
    at: int
    step: int


@dataclass(frozen=True, slots=True)
class Found:
    """events: (process, index) of each. complete: False if there may be more of them."""

    events: tuple[tuple[ProcessId, int], ...]
    complete: bool


def event(tables: Tables, process: ProcessId, index: int) -> dict[str, Any]:
    """The fields of domain.recording.Event by name, ids for codes, JSON text for state and value.

    And ``flight``: of a send or receive (of a marker too) a dict of channel, ordinal, sent_index,
    sent_at, received_index, received_at (None while in flight); None for other events and strays.
    Raises: KeyError if there is no such event.
    """
    code = tables.process_code(process)
    table = tables.events
    if not 0 <= index < table.length[code]:
        raise KeyError(index)
    row = table.pick(np.array([code]), np.array([index]))
    numbers = {name: int(row.values(name)[0]) for name in (*_NUMBERS, "kind")}
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
    flights: Flights = tables.messages if kind in (SEND, RECEIVE) else tables.markers
    by = flights.sent_by if kind in (SEND, MARKER_SEND) else flights.received_by
    ordinal = by(channel, index)
    if ordinal is None:
        return None
    row = flights.table.pick(np.array([channel]), np.array([ordinal]))
    flight = {"channel": tables.topology.channels[channel].id, "ordinal": ordinal}
    for name in ("sent_index", "sent_at", "received_index", "received_at"):
        flight[name] = row.number_or_none(name)
    return flight


def _record_rows(tables: Tables, snapshot: int) -> slice:
    first, end = np.searchsorted(
        tables.records.column("snapshot").to_numpy(), [snapshot, snapshot + 1]
    )
    return slice(int(first), int(end))


def _recorded_ids(tables: Tables, snapshot: int, process: int, index: int) -> list[str] | None:
    rows = _record_rows(tables, snapshot)
    processes, indices = (
        tables.records.column(name).to_numpy()[rows] for name in ("process", "index")
    )
    found = np.flatnonzero((processes == process) & (indices == index))
    return tables.records.column("messages")[rows.start + int(found[0])].as_py()


def snapshot_positions(tables: Tables, snapshot: int) -> Ints:
    """int64[P]: index of the first ``record_state`` of each process, or NONE."""
    rows = _record_rows(tables, snapshot)
    kinds, processes, indices = (
        tables.records.column(name).to_numpy()[rows] for name in ("kind", "process", "index")
    )
    states = np.isin(kinds, tables.kind_codes({RECORD_STATE}))
    positions = np.full(len(tables.topology.processes), NONE)
    positions[processes[states][::-1]] = indices[states][::-1]
    return positions


def neighbour(
    tables: Tables, cursor: int, direction: int, group: str, axis: str = ORDER
) -> Neighbour | None:
    """The first event right of the cursor (direction 1) or the last left of it (-1); None if none.

    group: ``event``, any; ``marker``, sent or received; ``record``, of a process's state. Events
    at the cursor's own coordinate are on neither side. Raises: ValueError for an unknown group.
    """
    if group not in GROUPS:
        raise ValueError(f"{group!r} is none of {', '.join(GROUPS)}")
    after = direction > 0
    positions = tables.positions_before(axis, cursor + 1 if after else cursor)
    step = int(positions.sum()) - (0 if after else 1)
    if group == MARKER:
        found = _marker_step(tables, positions, after)
    elif group == RECORD:
        found = _in_sorted(tables.record_order[0], step, after)
    else:
        found = step if 0 <= step < tables.manifest.extent.steps else None
    return None if found is None else _at_step(tables, found)


def _in_sorted(steps: Ints, step: int, after: bool) -> int | None:
    """The first of the sorted steps that is >= step, or the last that is <= step."""
    place = np.searchsorted(steps, step) if after else np.searchsorted(steps, step, "right") - 1
    return int(steps[place]) if 0 <= place < len(steps) else None


def _marker_step(tables: Tables, positions: Ints, after: bool) -> int | None:
    markers = tables.markers
    codes = tables.all_channels
    steps = []
    for ends, count, event_number in (
        (tables.source, markers.sent, markers.send),
        (tables.target, markers.received, markers.receive),
    ):
        first = count(codes, positions[ends]) - (0 if after else 1)
        total = count(codes, tables.events.length[ends])
        lanes = np.flatnonzero((first >= 0) & (first < total))
        indices = event_number(codes[lanes], first[lanes])
        steps.append(tables.events.values("step", ends[lanes], indices))
    candidates = np.concatenate(steps)
    if not len(candidates):
        return None
    return int(candidates.min() if after else candidates.max())


def _at_step(tables: Tables, step: int) -> Neighbour:
    positions = tables.positions_at(step=step)
    later = tables.positions_at(step=step + 1)
    code = int(np.flatnonzero(later > positions)[0])
    row = tables.events.pick(np.array([code]), positions[[code]])
    return Neighbour(
        process=tables.topology.processes[code].id,
        index=int(positions[code]),
        kind=tables.manifest.kinds[int(row.values("kind")[0])],
        at=int(row.values("at")[0]),
        step=step,
    )


def find(tables: Tables, text: str, most: int) -> Found:
    """Up to ``most`` events whose message id is ``text`` or whose label contains it.

    Reads the two columns, at most ``_BUDGET`` rows of them.
    """
    found: list[tuple[ProcessId, int]] = []
    budget = _BUDGET
    for batch in tables.events.batches:
        for first in range(0, batch.num_rows, _BLOCK):
            if len(found) > most or budget <= 0:
                return Found(tuple(found[:most]), complete=False)
            found += _matches(tables, batch, first, text)
            budget -= _BLOCK
    return Found(tuple(found[:most]), complete=len(found) <= most)


def _matches(
    tables: Tables, batch: pa.RecordBatch, first: int, text: str
) -> list[tuple[ProcessId, int]]:
    block = batch.slice(first, _BLOCK)
    same = pc.fill_null(pc.equal(block.column("message"), text), False)
    named = pc.match_substring(block.column("label"), text, ignore_case=True)
    rows = np.flatnonzero(pc.or_(same, pc.fill_null(named, False)).to_numpy(zero_copy_only=False))
    codes = block.column("process").to_numpy()[rows]
    indices = first + rows - tables.events.begin[codes]
    names = [tables.topology.processes[code].id for code in codes]
    return list(zip(names, indices.tolist(), strict=True))
