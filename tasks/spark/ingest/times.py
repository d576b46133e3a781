"""Compute times and steps again if the order of the source is not causal (fourth stage).

A row, here, counts through all events, process by process.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.assembling.assembly import refused_cycle
from snapshots.domain.assembling.clocks import NONE, CausalCycle, Times, causal_times
from snapshots.domain.model.topology import Topology
from snapshots.store.decoding import StoredPart, open_part
from snapshots.store.layout import EVENTS, PARTED
from snapshots.store.manifest import Part
from snapshots.store.parts import write_events, write_markers


@dataclass(frozen=True)
class Clock:
    """Files of the causal times and steps, int64[N] each.

    Args:
        starts: file of int64[P + 1], the first row of each process.
        snapshots: for each snapshot's old code, its code in the order of the steps.
    """

    at: str
    step: str
    starts: str
    snapshots: tuple[int, ...]

    def instants(self) -> np.ndarray:
        return np.load(self.at, mmap_mode="r")

    def rows(self, process: np.ndarray, index: np.ndarray) -> np.ndarray:
        return np.load(self.starts)[process] + index

    def codes(self, snapshot: np.ndarray) -> pa.Array:
        return pa.array(np.array((*self.snapshots, NONE), np.int32)[snapshot])


@dataclass(frozen=True)
class TimeTask:
    """What to time again: one part of the store in folder ``store``.

    Args:
        first_row: first row of a part of the events.
        source, target: int32[C], the processes at the ends of each channel.
    """

    store: str
    part: Part
    clock: Clock
    first_row: int
    source: np.ndarray
    target: np.ndarray


def logged_times(store: Path, parts: list[Part]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``at`` (0 if unknown), whether it is known, and the line of all events.

    ``parts`` are the parts of the events, in order.
    """
    columns: list[list[np.ndarray]] = [[np.zeros(0, kind)] for kind in (np.int64, bool, np.int64)]
    for part in parts:
        stored, rows = _stored(store, part)
        unknown = stored.nulls("at", rows)
        known = np.ones(part.rows, bool) if unknown is None else ~unknown
        columns[0].append(np.where(known, stored.numbers("at", rows), 0))
        columns[1].append(known)
        columns[2].append(stored.numbers("line", rows))
    at, known, line = (np.concatenate(column) for column in columns)
    return at, known, line


def causes(
    store: Path, parts: list[Part], starts: np.ndarray, source: np.ndarray, target: np.ndarray
) -> np.ndarray:
    """Return the row of the send that each row receives: int64[N], NONE for other events.

    ``parts`` are the parts of the flights.
    """
    cause = np.full(int(starts[-1]), NONE, np.int64)
    for part in parts:
        channel, sent, received, met = _flights(*_stored(store, part))
        cause[starts[target[channel[met]]] + received[met]] = (
            starts[source[channel[met]]] + sent[met]
        )
    return cause


def _stored(store: Path, part: Part) -> tuple[StoredPart, slice]:
    """Return a part, and all its rows."""
    return open_part(store / part.file, part.table), slice(0, part.rows)


def _flights(
    part: StoredPart, rows: slice
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return channel, sent_index, received_index (NONE in flight), and the rows received."""
    received = part.numbers("received_index", rows)
    return (
        part.numbers("channel", rows),
        part.numbers("sent_index", rows),
        received,
        np.flatnonzero(received != NONE),
    )


def timed(
    topology: Topology,
    starts: np.ndarray,
    logged: tuple[np.ndarray, np.ndarray, np.ndarray],
    cause: np.ndarray,
) -> Times:
    """Return causal times and steps. Raises: InputRefused for events that wait for each other."""
    at, known, line = logged
    try:
        return causal_times(starts, at, known, line, cause)
    except CausalCycle as cycle:
        owners = np.searchsorted(starts, cycle.rows, side="right") - 1
        names = [topology.processes[owner].id for owner in owners]
        lines = line[cycle.rows].tolist()
        raise refused_cycle(list(zip(names, lines, strict=True))) from cycle


def retime(task: TimeTask) -> list[Part]:
    """Write one part again with causal times and steps, and snapshots in the order of the steps.

    It is a part of the events or of the markers. The times of messages are those of the events.
    """
    store = Path(task.store)
    part, _ = _stored(store, task.part)
    rows = part.table(PARTED[task.part.table][0])
    if task.part.table == EVENTS:
        return write_events(store, _retimed_events(rows, task))
    return write_markers(store, _retimed_markers(rows, part, task))


def _retimed_events(rows: pa.Table, task: TimeTask) -> pa.Table:
    own = slice(task.first_row, task.first_row + rows.num_rows)
    at = pa.array(task.clock.instants()[own])
    step = pa.array(np.load(task.clock.step, mmap_mode="r")[own])
    moved = pc.fill_null(pc.not_equal(rows["at"], at), False)
    columns = {
        "at": at,
        "step": step,
        "snapshot": task.clock.codes(rows["snapshot"].to_numpy()),
        "logged_at": pc.if_else(moved, rows["at"], pa.scalar(None, pa.int64())),
    }
    return with_columns(rows, columns)


def _retimed_markers(rows: pa.Table, part: StoredPart, task: TimeTask) -> pa.Table:
    channel, sent, received, met = _flights(part, slice(0, part.num_rows))
    instants = task.clock.instants()
    received_at = np.zeros(len(channel), np.int64)
    received_at[met] = instants[task.clock.rows(task.target[channel[met]], received[met])]
    in_flight = np.ones(len(channel), bool)
    in_flight[met] = False
    columns = {
        "sent_at": pa.array(instants[task.clock.rows(task.source[channel], sent)]),
        "received_at": pa.array(received_at, mask=in_flight),
        "snapshot": task.clock.codes(rows["snapshot"].to_numpy()),
    }
    return with_columns(rows, columns).drop_columns("received_reach")


def with_columns(rows: pa.Table, columns: dict[str, pa.Array]) -> pa.Table:
    """Return the rows with some columns replaced."""
    for name, column in columns.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, column)
    return rows


def snapshots_by_step(store: Path, parts: list[Part], step: np.ndarray, count: int) -> list[int]:
    """Return the rank of each snapshot code, in the order of the steps that first name it."""
    first = np.full(count, np.iinfo(np.int64).max)
    begin = 0
    for part in parts:
        stored, rows = _stored(store, part)
        snapshot = stored.numbers("snapshot", rows)
        naming = np.flatnonzero(snapshot != NONE)
        np.minimum.at(first, snapshot[naming], step[begin + naming])
        begin += part.rows
    ranks = np.empty(count, np.int64)
    ranks[np.argsort(first, kind="stable")] = np.arange(count)
    return ranks.tolist()
