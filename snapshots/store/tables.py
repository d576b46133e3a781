"""All tables of a stored recording, mapped, and how its two axes are read."""

from collections.abc import Collection
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from snapshots.domain.model.recording import MARKER_RECEIVE, RECORD_STATE, Message, SnapshotId
from snapshots.domain.model.scopes import in_scope
from snapshots.domain.model.topology import Channel, ChannelId, Process, ProcessId, Topology
from snapshots.store.errors import StoreDamaged
from snapshots.store.in_flight import Flights
from snapshots.store.layout import (
    CHANNEL_COLUMNS,
    CHANNELS,
    EVENTS,
    INDEX,
    INDEX_COLUMNS,
    MARKER_DISORDER,
    MARKERS,
    MESSAGE_DISORDER,
    MESSAGES,
    NONE,
    PROCESS_COLUMNS,
    PROCESSES,
    RECORD_COLUMNS,
    RECORDS,
)
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import Ints, MappedTable, read_batch
from snapshots.store.strays import Strays

TIME = "time"
ORDER = "order"
AXES = (TIME, ORDER)
COORDINATES = {TIME: ("at", 0), ORDER: ("step", 1)}
"""Where an event stands on an axis: the value of a column, and what is added to it."""


class Tables:
    """What the questions to a stored recording are answered from; see layout.py.

    Processes, channels and snapshots are numbered by their places in the header and the manifest:
    these numbers are their codes.

    topology: of the header. source, target: int64[C], the processes at the ends of each channel.
    scopes: int64[P], a number for the scope of each process. matrices: the levels mapped so far,
    see levels.py.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Raises: StoreDamaged."""
        self.folder = folder
        self.manifest = manifest
        self.matrices: dict[tuple[str, int, str], np.ndarray] = {}
        processes = read_batch(folder / PROCESSES, PROCESS_COLUMNS)
        channels = read_batch(folder / CHANNELS, CHANNEL_COLUMNS)
        index = pa.Table.from_batches([read_batch(folder / INDEX, INDEX_COLUMNS)])
        self.source = channels.column("source").to_numpy().astype(np.int64)
        self.target = channels.column("target").to_numpy().astype(np.int64)
        for ends in (self.source, self.target):
            if ((ends < 0) | (ends >= processes.num_rows)).any():
                raise StoreDamaged(
                    CHANNELS, "A channel's end is no process.", "Was processes.arrow exchanged?"
                )
        self.topology = _topology(processes, channels)
        mapped = {
            table: MappedTable(
                folder,
                manifest,
                table,
                index.filter(pc.equal(index["table"], table)),
                processes.num_rows if table == EVENTS else channels.num_rows,
            )
            for table in (EVENTS, MESSAGES, MESSAGE_DISORDER, MARKERS, MARKER_DISORDER)
        }
        self.events = mapped[EVENTS]
        self.messages = Flights(mapped[MESSAGES], mapped[MESSAGE_DISORDER])
        self.markers = Flights(mapped[MARKERS], mapped[MARKER_DISORDER])
        self.scopes = _codes([process.scope for process in self.topology.processes])
        self.all_processes: Ints = np.arange(processes.num_rows)
        self.all_channels: Ints = np.arange(channels.num_rows)

    def positions_before(self, axis: str, coordinate: int) -> Ints:
        """int64[P]: how many events of each process stand left of ``coordinate`` on the axis.

        On the time axis an event stands at its instant, on the order axis at its step + 1.
        """
        column, shift = COORDINATES[axis]
        limit = min(max(coordinate - shift, -(2**63)), 2**63 - 1)
        return self.events.bisect(column, np.full(len(self.all_processes), limit))

    def positions_at(self, *, at: int | None = None, step: int | None = None) -> Ints:
        """int64[P]: the events with ``at`` <= at, or those with ``step`` < step. Always consistent.

        Raises: ValueError unless exactly one is given.
        """
        if (at is None) == (step is None):
            raise ValueError("a cut is asked for by exactly one of at and step")
        if at is not None:
            return self.positions_before(TIME, at + 1)
        return self.positions_before(ORDER, step + 1)

    @cached_property
    def records(self) -> pa.RecordBatch:
        """RECORD_COLUMNS, mapped. Raises: StoreDamaged."""
        return read_batch(self.folder / RECORDS, RECORD_COLUMNS)

    @cached_property
    def record_order(self) -> tuple[Ints, Ints, Ints]:
        """step, process and index [N] of all ``record_state`` events, by step."""
        kinds, processes, indices = (
            self.records.column(name).to_numpy() for name in ("kind", "process", "index")
        )
        states = np.isin(kinds, self.kind_codes({RECORD_STATE}))
        codes, indices = processes[states].astype(np.int64), indices[states]
        steps = self.events.values("step", codes, indices)
        order = np.argsort(steps)
        return steps[order], codes[order], indices[order]

    @cached_property
    def snapshot_scopes(self) -> NDArray[np.bool_]:
        """bool[snapshots, scopes]: which scopes each snapshot has; see ``domain.model.scopes``."""
        shape = len(self.manifest.snapshots), int(self.scopes.max(initial=0)) + 1
        if shape[1] == 1:
            return np.ones(shape, np.bool_)
        involved = np.zeros(shape, np.bool_)
        for part, _ in enumerate(self.markers.table.batches):
            snapshot, channel = (
                self.markers.table.column(part, name) for name in ("snapshot", "channel")
            )
            involved[snapshot, self.scopes[self.source[channel]]] = True
        for batch in (self.records, self.stray_markers):
            snapshot, process = (batch.column(name).to_numpy() for name in ("snapshot", "process"))
            involved[snapshot, self.scopes[process]] = True
        involved[~involved.any(axis=1)] = True
        return involved

    def in_scope(self, snapshot: int) -> NDArray[np.bool_]:
        """bool[P]: which processes belong to a snapshot, given by its code."""
        return self.snapshot_scopes[snapshot, self.scopes]

    def scope(self, snapshot: int) -> Topology:
        """Return the part of the topology that belongs to a snapshot, given by its code."""
        codes = np.flatnonzero(self.in_scope(snapshot)).tolist()
        return in_scope(self.topology, [self.topology.processes[code].id for code in codes])

    @cached_property
    def strays(self) -> Strays:
        """Raises: StoreDamaged."""
        return Strays(self.folder, self.manifest, self.topology)

    @cached_property
    def stray_markers(self) -> pa.RecordBatch:
        """STRAY_COLUMNS: the received markers that no send explains. Raises: StoreDamaged."""
        kind = self.events.values("kind", *self.strays.places)
        is_marker = np.isin(kind, self.kind_codes({MARKER_RECEIVE}))
        return self.strays.batch.filter(pa.array(is_marker))

    def read_messages(self, codes: Ints, ordinals: Ints) -> tuple[Message, ...]:
        """Return the messages with these ordinals [N] on the channels with these codes [N]."""
        rows = self.messages.table.pick(codes, ordinals)
        channels = self.topology.channels
        received = rows.nullable("received_index").tolist()
        received_at = rows.nullable("received_at").tolist()
        columns = (
            [channels[code].id for code in codes.tolist()],
            ordinals.tolist(),
            rows.texts("message"),
            rows.texts("value"),
            rows.values("sent_index").tolist(),
            rows.values("sent_at").tolist(),
            [None if index == NONE else index for index in received],
            [
                None if index == NONE else at
                for index, at in zip(received, received_at, strict=True)
            ],
        )
        return tuple(map(Message, *columns))

    def process_code(self, process: ProcessId) -> int:
        """Return the place of a process in the header. Raises: KeyError."""
        return self._process_codes[process]

    def channel_code(self, channel: ChannelId) -> int:
        """Return the place of a channel in the header. Raises: KeyError."""
        return self._channel_codes[channel]

    def snapshot_code(self, snapshot: SnapshotId) -> int:
        """Return the place of a snapshot in the manifest. Raises: KeyError."""
        return self._snapshot_codes[snapshot]

    def kind_codes(self, kinds: Collection[str]) -> Ints:
        """Return the codes of those of the kinds that the manifest lists."""
        return np.array([n for n, kind in enumerate(self.manifest.kinds) if kind in kinds])

    @cached_property
    def _process_codes(self) -> dict[str, int]:
        return {process.id: code for code, process in enumerate(self.topology.processes)}

    @cached_property
    def _channel_codes(self) -> dict[str, int]:
        return {channel.id: code for code, channel in enumerate(self.topology.channels)}

    @cached_property
    def _snapshot_codes(self) -> dict[str, int]:
        return {snapshot: code for code, snapshot in enumerate(self.manifest.snapshots)}


def _topology(processes: pa.RecordBatch, channels: pa.RecordBatch) -> Topology:
    names = processes.column("id").to_pylist()
    ends = (channels.column(end).to_pylist() for end in ("source", "target"))
    states = processes.column("state").to_pylist()
    scopes = processes.column("scope").to_pylist()
    names_of_channels = channels.column("id").to_pylist()
    kept = (channels.column(flag).to_pylist() for flag in ("fifo", "overtaking"))
    return Topology(
        tuple(Process(*fields) for fields in zip(names, states, scopes, strict=True)),
        tuple(
            Channel(name, names[source], names[target], *flags)
            for name, source, target, *flags in zip(names_of_channels, *ends, *kept, strict=True)
        ),
    )


def _codes(names: list[str | None]) -> Ints:
    """int64[N]: equal numbers for equal names."""
    codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return np.array([codes[name] for name in names], np.int64)
