"""Show what has come so far as the tables of a stored recording, so that the same code reads them.

A *view* has the rows of one moment. To its readers all rows of a table lie in one part, run behind
run, wherever their regions are.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from snapshots.domain.model.topology import Topology
from snapshots.growing.columns import GrowingTable, as_array, texts_of
from snapshots.store.column_rows import Mask, Rows, Test
from snapshots.store.fences import first_not_below
from snapshots.store.in_flight import Flights
from snapshots.store.layout import NONE, RECORD_COLUMNS, STRAY_COLUMNS
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import Ends, Ints, MappedTable
from snapshots.store.strays import Strays
from snapshots.store.tables import Tables, codes_of

_NULLABLE = ("received_index", "received_at", "logged_at")
JudgedRows = Mapping[str, list[dict[str, Any]]]
"""The rows of one judged snapshot in SNAPSHOT_STATES and SNAPSHOT_CHANNELS, by these names."""
_ARRIVAL = ("received_index", "received_at")


class ViewedPart:
    """The rows of a growing table at one moment, as a part of a stored one."""

    file = "what has come"

    def __init__(
        self,
        names: Sequence[str],
        columns: Mapping[str, Ints],
        begin: Ints,
        length: Ints,
        heap: NDArray[np.uint8] | None = None,
        limit: Ints | None = None,
    ) -> None:
        """Look at some columns.

        Args:
            names: the names of the columns, texts among them.
            begin: int64[runs], where the rows of each run are.
            length: int64[runs], how many rows each run has.
            heap: the bytes of the texts.
            limit: int64[runs], of flights: how many events the target has; a later arrival is not
                seen yet.
        """
        self.names = tuple(names)
        self._columns = columns
        self._heap = heap
        self.begin, self.length = begin, length
        self._end = np.cumsum(self.length)
        self._shift = self.begin - (self._end - self.length)
        self._limit = limit
        self.num_rows = int(self._end[-1]) if len(self._end) else 0

    @classmethod
    def of(
        cls, table: GrowingTable, names: Sequence[str], limit: Ints | None = None
    ) -> "ViewedPart":
        """Look at a table as it is now."""
        heap = None if table.heap is None else table.heap.bytes
        begin, length = table.begin.copy(), table.length.copy()
        return cls(names, dict(table.columns), begin, length, heap, limit)

    def numbers(self, name: str, rows: Rows) -> Ints:
        """Return the values of a column of numbers, with NONE for null."""
        run, places = self._places(rows)
        values: Ints = np.asarray(self._columns[name][places])
        if self._limit is None or name not in _ARRIVAL:
            return values
        arrival = self._columns["received_index"][places]
        return np.where(arrival < self._limit[run], values, NONE)

    def nulls(self, name: str, rows: Rows) -> Mask | None:
        """Tell which rows of a column of numbers are null; None if none is."""
        return self.numbers(name, rows) == NONE if name in _NULLABLE else None

    def listed(self, name: str, rows: Rows) -> list[str | None]:
        """Return the texts of a column in a list."""
        assert self._heap is not None  # only tables with texts are asked for one
        _, places = self._places(rows)
        begins, sizes = (self._columns[f"{name}.{part}"][places] for part in ("begin", "size"))
        return texts_of(self._heap, begins, sizes)

    def texts(self, name: str, rows: Rows) -> pa.Array:
        """Return the texts of a column as large strings."""
        return as_array(self.listed(name, rows))

    def find(self, name: str, rows: Rows, wanted: pa.Array) -> Ints:
        """Return the place among distinct ``wanted`` texts of each text of a column, or NONE."""
        places = pc.fill_null(pc.index_in(self.texts(name, rows), wanted), NONE)
        found: Ints = places.to_numpy(zero_copy_only=False).astype(np.int64)
        return found

    def matching(self, name: str, rows: Rows, test: Test) -> Mask:
        """Tell which rows of a column of texts pass the test."""
        return test(self.texts(name, rows))

    def column(self, name: str) -> Ints:
        """Return a column with all regions, as ``begin`` counts its rows."""
        return self._columns[name]

    def _places(self, rows: Rows) -> tuple[Ints, Ints]:
        """Return the run of each row, and where it is in the columns."""
        wanted = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        run = np.searchsorted(self._end, wanted, side="right")
        return run, wanted + self._shift[run]


class ViewedTable(MappedTable):
    """One table of a view."""

    def __init__(self, name: str, part: ViewedPart, ends: Ends | None = None) -> None:
        self.name = name
        self.parts = [part]  # type: ignore[list-item]  # it has all that a StoredPart has
        self.length = part.length
        self.end = np.cumsum(self.length)
        self.begin = self.end - self.length
        self.part = np.where(self.length > 0, 0, NONE)
        self._viewed = part
        self._joined = None
        self._ends = ends

    def bisect_in(self, column: str, codes: Ints, targets: Ints) -> Ints:
        """Count per run the rows whose value in the sorted ``column`` is below the target."""
        begin = self._viewed.begin[codes]
        found = first_not_below(
            self._viewed.column(column), begin, begin + self.length[codes], targets
        )
        return found - begin

    def fetch_fences(self, *columns: str) -> None:
        """Do nothing, because there are none."""


class GrowingStrays(Strays):
    """No receive is a stray while its send may still come."""

    def __init__(self, manifest: Manifest, topology: Topology) -> None:
        self.batch = pa.RecordBatch.from_pylist([], STRAY_COLUMNS)
        self._manifest = manifest
        self._topology = topology


class GrowingTables(Tables):
    """All tables of a view.

    Attributes:
        judged_rows: the rows of each judged snapshot, by its code.
    """

    judged_rows: Mapping[int, JudgedRows] = MappingProxyType({})

    def __init__(
        self,
        manifest: Manifest,
        topology: Topology,
        ends: tuple[Ints, Ints],
        events: ViewedTable,
        flights: tuple[Flights, Flights],
        records: list[tuple[object, ...]],
    ) -> None:
        """Take the tables.

        Args:
            ends: the processes at the source and at the target of each channel: int64[C] each.
            flights: the messages and the markers.
            records: rows of RECORD_COLUMNS, in any order.
        """
        self.manifest = manifest
        self.matrices = {}
        self.topology = topology
        self.source, self.target = ends
        self.events = events
        self.messages, self.markers = flights
        self.scopes = codes_of([process.scope for process in topology.processes])
        self.all_processes = np.arange(len(topology.processes))
        self.all_channels = np.arange(len(topology.channels))
        self._rows = records
        self.restores = {}

    def judged(self, name: str, schema: pa.Schema) -> pa.RecordBatch:
        """Return the states or the channels of the snapshots that are judged."""
        rows = [row for of_one in self.judged_rows.values() for row in of_one[name]]
        return pa.RecordBatch.from_pylist(rows, schema)

    def read_topology(self) -> Topology:
        """Return the topology."""
        return self.topology

    @cached_property
    def records(self) -> pa.RecordBatch:
        """The rows of RECORD_COLUMNS, sorted."""
        rows = sorted(self._rows, key=lambda row: row[:3])
        columns: list[object] = list(zip(*rows, strict=True)) or [()] * len(RECORD_COLUMNS)
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(columns, RECORD_COLUMNS, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=RECORD_COLUMNS)

    @cached_property
    def strays(self) -> Strays:
        """Return no strays."""
        return GrowingStrays(self.manifest, self.topology)
