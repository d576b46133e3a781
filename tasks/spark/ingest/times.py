"""Compute times and steps again if the order of the source is not causal (fourth stage).

A row, here, counts through all events, process by process.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.lib.format import open_memmap

from snapshots.domain.assembling.assembly import refused_cycle
from snapshots.domain.assembling.clocks import NONE, CausalCycle, Times, causal_times
from snapshots.store.decoding import StoredPart, open_part
from snapshots.store.fences import far_numbers
from snapshots.store.layout import EVENTS, PARTED
from snapshots.store.manifest import Part
from snapshots.store.objects.far import FarArray
from snapshots.store.objects.paths import (
    ObjectPath,
    is_here,
    path_of,
    put_file,
    scratch_beside,
)
from snapshots.store.outlines import loaded, save
from snapshots.store.parts import write_events, write_markers


@dataclass(frozen=True)
class Clock:
    """Files of the causal times and steps, int64[N] each.

    Args:
        starts: file of int64[P + 1], the first row of each process.
        snapshots: for each snapshot's old code, its code in the order of the steps.
        first_at, last_at: the earliest and the latest of the times.
    """

    at: str
    step: str
    starts: str
    snapshots: tuple[int, ...]
    first_at: int
    last_at: int

    def instants(self) -> np.ndarray | FarArray:
        return _numbers(self.at)

    def rows(self, process: np.ndarray, index: np.ndarray) -> np.ndarray:
        return np.asarray(_numbers(self.starts))[process] + index

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


@dataclass(frozen=True)
class ClockTask:
    """What to compute the clock from: all events, and all messages and markers.

    Args:
        work: folder of working files.
        starts: int64[P + 1], the first row of each process.
        source, target: int32[C], the processes at the ends of each channel.
        processes: their names, by code.
        snapshots: how many there are.
        restores: the rows of restores, which do not wait for what they take back.
    """

    store: str
    work: str
    events: tuple[Part, ...]
    flights: tuple[Part, ...]
    starts: np.ndarray
    source: np.ndarray
    target: np.ndarray
    processes: tuple[str, ...]
    snapshots: int
    restores: tuple[int, ...]


def set_clock(task: ClockTask) -> Clock:
    """Compute causal times and steps of all events, in files that are mapped.

    It is one task, for the time of an event depends on the times of all events that led to it.
    Raises: InputRefused for events that wait for each other.
    """
    work = path_of(task.work)
    with scratch_beside(work) as folder:
        columns = _Columns(folder, int(task.starts[-1]))
        at, known, line = _logged_times(task, columns)
        cause = _causes(task, columns)
        times = _timed(task, (at, known, line), cause, columns)
        for column in (at, known, line, cause):
            if column is not times.at:
                Path(_file_of(column)).unlink()
        starts = folder / f"starts-{columns.token}.npy"
        save(starts, task.starts)
        return Clock(
            at=_handed(_file_of(times.at), work),
            step=_handed(_file_of(times.step), work),
            starts=_handed(str(starts), work),
            snapshots=tuple(_snapshots_by_step(task, times.step)),
            first_at=int(times.at.min()),
            last_at=int(times.at.max()),
        )


def _handed(file: str, work: Path) -> str:
    """Return where other tasks find a file: on the object store, if the working folder is there."""
    if is_here(work):
        return file
    target = work / Path(file).name
    put_file(Path(file), target)
    return str(target)


def _numbers(file: str) -> np.ndarray | FarArray:
    """Map a file of numbers, or open it by ranges if it is on an object store."""
    path = path_of(file)
    return far_numbers(path) if isinstance(path, ObjectPath) else loaded(path)


class _Columns:
    """Makes columns with one number per event, each a new file that is mapped."""

    def __init__(self, folder: Path, length: int) -> None:
        self.folder = folder
        self.length = length
        self.token = secrets.token_hex(8)
        self._made = 0

    def new(self, kind: type = np.int64) -> np.memmap:
        self._made += 1
        path = self.folder / f"column-{self._made}-{self.token}.npy"
        return open_memmap(path, "w+", kind, (self.length,))


def _file_of(column: np.ndarray) -> str:
    """Return the file of a mapped column, with all its numbers written."""
    assert isinstance(column, np.memmap)
    column.flush()
    return str(column.filename)


def _logged_times(task: ClockTask, columns: _Columns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``at`` (0 if unknown), whether it is known, and the line of all events."""
    at, known, line = columns.new(), columns.new(np.bool_), columns.new()
    for place, part, rows in _placed(task):
        unknown = part.nulls("at", rows)
        known[place] = True if unknown is None else ~unknown
        at[place] = np.where(known[place], part.numbers("at", rows), 0)
        line[place] = part.numbers("line", rows)
    return at, known, line


def _placed(task: ClockTask) -> Iterator[tuple[slice, StoredPart, slice]]:
    """Yield the place of each part of the events among all events, the part, and all its rows."""
    begin = 0
    for part in task.events:
        yield slice(begin, begin + part.rows), *_stored(path_of(task.store), part)
        begin += part.rows


def _causes(task: ClockTask, columns: _Columns) -> np.ndarray:
    """Return the row of the send that each row receives: int64[N], NONE for other events."""
    cause = columns.new()
    cause[:] = NONE
    for part in task.flights:
        channel, sent, received, met = _flights(*_stored(path_of(task.store), part))
        cause[task.starts[task.target[channel[met]]] + received[met]] = (
            task.starts[task.source[channel[met]]] + sent[met]
        )
    cause[list(task.restores)] = NONE
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


def _timed(
    task: ClockTask,
    logged: tuple[np.ndarray, np.ndarray, np.ndarray],
    cause: np.ndarray,
    columns: _Columns,
) -> Times:
    at, known, line = logged
    try:
        return causal_times(task.starts, at, known, line, cause, lambda _: columns.new())
    except CausalCycle as cycle:
        owners = np.searchsorted(task.starts, cycle.rows, side="right") - 1
        names = [task.processes[owner] for owner in owners]
        lines = line[cycle.rows].tolist()
        raise refused_cycle(list(zip(names, lines, strict=True))) from cycle


def _snapshots_by_step(task: ClockTask, step: np.ndarray) -> list[int]:
    """Return the rank of each snapshot code, in the order of the steps that first name it."""
    first = np.full(task.snapshots, np.iinfo(np.int64).max)
    for place, part, rows in _placed(task):
        snapshot = part.numbers("snapshot", rows)
        naming = np.flatnonzero(snapshot != NONE)
        np.minimum.at(first, snapshot[naming], step[place][naming])
    ranks = np.empty(task.snapshots, np.int64)
    ranks[np.argsort(first, kind="stable")] = np.arange(task.snapshots)
    return ranks.tolist()


def retime(task: TimeTask) -> list[Part]:
    """Write one part again with causal times and steps, and snapshots in the order of the steps.

    It is a part of the events or of the markers. The times of messages are those of the events.
    """
    store = path_of(task.store)
    part, _ = _stored(store, task.part)
    rows = part.table(PARTED[task.part.table][0])
    if task.part.table == EVENTS:
        return write_events(store, _retimed_events(rows, task))
    return write_markers(store, _retimed_markers(rows, part, task))


def _retimed_events(rows: pa.Table, task: TimeTask) -> pa.Table:
    own = slice(task.first_row, task.first_row + rows.num_rows)
    at = pa.array(task.clock.instants()[own])
    step = pa.array(_numbers(task.clock.step)[own])
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
