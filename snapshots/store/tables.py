"""Map all tables of a stored recording, and find positions on its two axes."""

from collections.abc import Collection
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from snapshots.domain.model.recording import MARKER_RECEIVE, RECORD_STATE, Message, SnapshotId
from snapshots.domain.model.scopes import in_scope
from snapshots.domain.model.topology import (
    Channel,
    ChannelId,
    JsonText,
    Process,
    ProcessId,
    Topology,
)
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
from snapshots.store.long_texts import excerpt_with_digest, read_shortened
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import Ends, Ints, MappedTable, read_batch
from snapshots.store.objects.together import together
from snapshots.store.restores import TakenBack, read_restores
from snapshots.store.strays import Strays

if TYPE_CHECKING:
    from snapshots.store.matrices import PackedMatrix

TIME = "time"
ORDER = "order"
AXES = (TIME, ORDER)
COORDINATES = {TIME: ("at", 0), ORDER: ("step", 1)}
"""An event's coordinate on each axis: the column that holds it, and what must be added."""


class Tables:
    """The mapped tables of one stored recording; see layout.py.

    The code of a process, channel or snapshot is its place in the header or the manifest.
    ``source`` and ``target`` are int64[C], the processes at the ends of each channel. ``scopes`` is
    int64[P], with equal numbers for processes of one scope. ``matrices`` are the levels mapped so
    far, see levels.py. ``restores`` are those with an epoch, by the code of their process.
    Raises: StoreDamaged.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.matrices: dict[tuple[str, int, str], PackedMatrix | np.ndarray] = {}
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
        self._processes, self._channels = processes, channels

        def mapped(table: str, runs: int, ends: Ends | None = None) -> MappedTable:
            rows = index.filter(pc.equal(index["table"], table))
            return MappedTable(folder, manifest, table, rows, runs, ends)

        count = channels.num_rows
        self.events = mapped(EVENTS, processes.num_rows)
        ends = Ends(self.events, self.source, self.target)
        self.restores = read_restores(folder)
        rows = {code: np.array([r.row for r in own]) for code, own in self.restores.items()}

        def flights(table: MappedTable, disorder: MappedTable) -> Flights:
            return Flights(table, disorder, TakenBack(self.target, rows) if rows else None)

        self.messages = flights(mapped(MESSAGES, count, ends), mapped(MESSAGE_DISORDER, count))
        self.markers = flights(mapped(MARKERS, count), mapped(MARKER_DISORDER, count))
        self.scopes = codes_of(processes.column("scope").to_pylist())
        self.all_processes: Ints = np.arange(processes.num_rows)
        self.all_channels: Ints = np.arange(channels.num_rows)

    @cached_property
    def topology(self) -> Topology:
        """Return the topology; of 100,000 channels it takes long, and few jobs need it."""
        return self.read_topology()

    def read_topology(self) -> Topology:
        """Return a new topology, read from the tables of processes and channels."""
        return _topology(self._processes, self._channels)

    def positions_before(self, axis: str, coordinate: int) -> Ints:
        """Count the events of each process left of ``coordinate`` on the axis: int64[P].

        An event's coordinate is its instant on the time axis and its step + 1 on the order axis.
        """
        column, shift = COORDINATES[axis]
        limit = min(max(coordinate - shift, -(2**63)), 2**63 - 1)
        limits = np.full(len(self.all_processes), limit)
        # Whoever asks for positions asks next what is in the channels there.
        positions, _ = together(
            [lambda: self.events.bisect(column, limits), self.messages.fetch_fences]
        )
        found: Ints = positions
        return found

    def positions_at(self, *, at: int | None = None, step: int | None = None) -> Ints:
        """Return the positions of the cut at an instant or a step: int64[P].

        Inside are the events with ``at`` <= at, or those with ``step`` < step. Such a cut is always
        consistent. Raises: ValueError unless exactly one is given.
        """
        if at is not None and step is None:
            return self.positions_before(TIME, at + 1)
        if step is not None and at is None:
            return self.positions_before(ORDER, step + 1)
        raise ValueError("a cut needs exactly one of at and step")

    @cached_property
    def records(self) -> pa.RecordBatch:
        """Map the rows of RECORD_COLUMNS. Raises: StoreDamaged."""
        return read_batch(self.folder / RECORDS, RECORD_COLUMNS)

    def judged(self, name: str, schema: pa.Schema) -> pa.RecordBatch:
        """Map the states or the channels of the judged snapshots. Raises: StoreDamaged.

        ``name`` is SNAPSHOT_STATES or SNAPSHOT_CHANNELS.
        """
        return read_batch(self.folder / name, schema)

    @cached_property
    def record_order(self) -> tuple[Ints, Ints, Ints]:
        """Return step, process and index [N] of all ``record_state`` events, sorted by step."""
        codes, indices = self.recorded_states(self.records)
        steps = self.events.values("step", codes, indices)
        order = np.argsort(steps)
        return steps[order], codes[order], indices[order]

    def recorded_states(self, records: pa.RecordBatch) -> tuple[Ints, Ints]:
        """Return process and index [N] of the ``record_state`` events among these records."""
        kinds, processes, indices = (
            records.column(name).to_numpy() for name in ("kind", "process", "index")
        )
        states = np.isin(kinds, self.kind_codes({RECORD_STATE}))
        return processes[states].astype(np.int64), indices[states]

    @cached_property
    def snapshot_scopes(self) -> NDArray[np.bool_]:
        """bool[snapshots, scopes]: which scopes each snapshot has; see ``domain.model.scopes``."""
        shape = len(self.manifest.snapshots), int(self.scopes.max(initial=0)) + 1
        if shape[1] == 1:
            return np.ones(shape, np.bool_)
        involved = np.zeros(shape, np.bool_)
        for part in self.markers.table.parts:
            rows = slice(0, part.num_rows)
            snapshot, channel = (part.numbers(name, rows) for name in ("snapshot", "channel"))
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
        involved = self.in_scope(snapshot)
        if involved.all():
            return self.topology
        codes = np.flatnonzero(involved).tolist()
        return in_scope(self.topology, [self.topology.processes[code].id for code in codes])

    @cached_property
    def strays(self) -> Strays:
        """Map the strays. Raises: StoreDamaged."""
        return Strays(self.folder, self.manifest, self.topology)

    @cached_property
    def stray_markers(self) -> pa.RecordBatch:
        """STRAY_COLUMNS: the received markers that no send explains. Raises: StoreDamaged."""
        kind = self.events.values("kind", *self.strays.places)
        is_marker = np.isin(kind, self.kind_codes({MARKER_RECEIVE}))
        return self.strays.batch.filter(pa.array(is_marker))

    def read_messages(
        self, codes: Ints, ordinals: Ints, budget: int | None = None
    ) -> tuple[Message, ...]:
        """Return the messages with these ordinals [N] on the channels with these codes [N].

        Their values are shortened to ``budget`` bytes in all; None leaves them whole.
        """
        table, channels = self.messages.table, self.topology.channels
        rows = table.pick(codes, ordinals)

        def values() -> list[JsonText | None]:
            if budget is None:
                return rows.json("value")
            return read_shortened(table, codes, ordinals, "value", budget, excerpt_with_digest)

        numbers = ("sent_index", "sent_at", "received_index", "received_at")
        texts, contents, *read = together(
            [
                lambda: rows.ids("message"),
                values,
                *(partial(rows.values, name) for name in numbers),
            ]
        )
        sent, sent_at, ends, received_at = (column.tolist() for column in read)
        columns = (
            [channels[code].id for code in codes.tolist()],
            ordinals.tolist(),
            texts,
            contents,
            sent,
            sent_at,
            [None if index == NONE else index for index in ends],
            [None if index == NONE else at for index, at in zip(ends, received_at, strict=True)],
            self.messages.taken(codes, read[2]).tolist(),
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
    names, states, scopes = (processes.column(n).to_pylist() for n in ("id", "state", "scope"))
    ids, sources, targets, fifo, overtaking = (c.to_pylist() for c in channels.columns)
    ends = ([names[code] for code in codes] for codes in (sources, targets))
    return Topology(
        tuple(map(Process, names, states, scopes)),
        tuple(map(Channel, ids, *ends, fifo, overtaking)),
    )


def codes_of(names: list[str | None]) -> Ints:
    """Return equal numbers for equal names: int64[N]."""
    codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return np.array([codes[name] for name in names], np.int64)
