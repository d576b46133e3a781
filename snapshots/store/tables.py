"""All tables of a stored recording, mapped, and how its two axes are read."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.model.topology import Channel, Process, Topology
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
    PROCESS_COLUMNS,
    PROCESSES,
)
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import Ints, MappedTable, read_batch

TIME = "time"
ORDER = "order"
AXES = (TIME, ORDER)
COORDINATES = {TIME: ("at", 0), ORDER: ("step", 1)}
"""Where an event stands on an axis: the value of a column, and what is added to it."""


class Tables:
    """What the questions to a stored recording are answered from; see layout.py.

    topology: of the header. source, target: int64[C], the processes at the ends of each channel.
    scopes: int64[P], a number for the scope of each process.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Raises: StoreDamaged."""
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
