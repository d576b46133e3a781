"""Sort all events of some processes and write them as one part (second stage of the ingest)."""

import secrets
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.assembling.clocks import fallen
from snapshots.domain.model import defects as say
from snapshots.domain.model.defects import MOST_LISTED, Defects
from snapshots.domain.model.recording import KINDS, RECORD_CHANNEL, RECORD_STATE
from snapshots.readers.formats.numerals import alike, held_as, written_out
from snapshots.store.layout import EVENT_COLUMNS, RECORD_COLUMNS
from snapshots.store.objects.paths import path_of
from snapshots.store.parts import write_events
from tasks.spark.ingest.parse import from_disk, stable_order
from tasks.spark.ingest.restored import restores_in
from tasks.spark.ingest.schemas import (
    ENDS,
    MARKER_RECEIVE_CODE,
    SEND_CODE,
    STAGED,
    ListedDefects,
    Ordered,
    Piece,
    runs,
)
from tasks.spark.ingest.working import differences, read_codes, taken, write_sorted

RECORD_CODES = (KINDS.index(RECORD_STATE), KINDS.index(RECORD_CHANNEL))


@dataclass(frozen=True)
class OrderTask:
    """What to sort: the processes with codes in [``first``, ``end``), and their names.

    ``ends`` and ``records`` are the folders of those working tables.
    """

    store: str
    ends: str
    records: str
    pieces: tuple[Piece, ...]
    first: int
    end: int
    names: tuple[str, ...]


def order_processes(task: OrderTask) -> Ordered:
    """Write the events of the task's processes, their ends of messages, and their records.

    ``at`` is as logged (null if missing), ``step`` is the order of the source. Both stand if that
    order is causal; if not, the kernels of ``times`` write the part again.
    """
    rows = _gathered(task)
    order = Order.of(rows, task)
    rows = order.sorted(rows)
    [part] = write_events(path_of(task.store), _events(rows))
    return Ordered(
        part=part,
        records=_kept(_records(rows, order), task.records),
        ends=_kept(_ends(rows), task.ends),
        restores=restores_in(rows, order.index),
        in_step=order.in_step,
        order=ListedDefects.of(order.defects),
        clocks=ListedDefects.of(order.clocks(rows)),
    )


def _gathered(task: OrderTask) -> pa.Table:
    """Return the staged rows of the processes with the recording's codes and ranks.

    They are sorted by process, and within a process they keep the order of the source.
    """
    tables = [_slice(piece, task.first, task.end) for piece in task.pieces]
    held = alike([table for table in tables if table.num_rows], STAGED)
    rows = pa.concat_tables(held).combine_chunks()
    if len(task.pieces) == 1:
        return rows
    return taken(rows, stable_order(rows["process"].to_numpy() - task.first))


def _slice(piece: Piece, first: int, end: int) -> pa.Table:
    rows = from_disk(read_codes(path_of(piece.file), "process", first, end))
    rows = _set(rows, "kind", np.array(piece.kinds, np.int32)[rows["kind"].to_numpy()])
    snapshots = np.array((*piece.snapshots, -1), np.int32)  # code -1 is the last
    rows = _set(rows, "snapshot", snapshots[rows["snapshot"].to_numpy()])
    return _set(rows, "rank", rows["rank"].to_numpy() + piece.base)


def _set(rows: pa.Table, name: str, values: np.ndarray) -> pa.Table:
    column = STAGED.get_field_index(name)
    return rows.set_column(column, STAGED.field(name), pa.array(values, STAGED.field(name).type))


class Order:
    """The order of the gathered rows, and the defects of their indexes.

    ``starts`` is int64[p + 1], the first row of each process of the task.
    """

    def __init__(self, starts: np.ndarray, index: np.ndarray, line: np.ndarray, task: OrderTask):
        self.starts = starts
        self.counts = np.diff(starts)
        self.names = task.names
        self.defects = Defects()
        self.place: np.ndarray | None = None  # None if the rows are in order already
        self._sort(index, line)

    @classmethod
    def of(cls, rows: pa.Table, task: OrderTask) -> "Order":
        process = rows["process"].to_numpy()
        starts = np.searchsorted(process, np.arange(task.first, task.end + 1))
        index = pc.fill_null(rows["index"], -1).to_numpy()
        return cls(starts, index, rows["line"].to_numpy(), task)

    @property
    def in_step(self) -> bool:
        return self.place is None

    @property
    def index(self) -> np.ndarray:
        """Return the index of each sorted row within its process."""
        return np.arange(self.starts[-1]) - np.repeat(self.starts[:-1], self.counts)

    def sorted(self, rows: pa.Table) -> pa.Table:
        return rows if self.place is None else taken(rows, self.place)

    def clocks(self, rows: pa.Table) -> Defects:
        """Return one defect for each process whose clock goes back; ``rows`` are sorted."""
        defects = Defects()
        known = pc.is_valid(rows["at"]).to_numpy()
        at = pc.fill_null(rows["at"], 0).to_numpy()
        falls = np.flatnonzero(fallen(self.starts, at, known))
        process = np.searchsorted(self.starts, falls, side="right") - 1
        for code, begin, end in runs(process):
            line = rows["line"][int(falls[begin])].as_py()
            defects.add(say.falling_clock(process=self.names[code], count=end - begin, line=line))
        return defects

    def _sort(self, index: np.ndarray, line: np.ndarray) -> None:
        """Sort by index if every row of a process has one, else keep the order of the source."""
        if not len(index) or np.array_equal(index, self.index):
            return
        process = np.repeat(np.arange(len(self.counts)), self.counts)
        lacks = np.bincount(process[index < 0], minlength=len(self.counts))
        key = np.where((lacks == 0)[process], index, 0)
        if ((key[1:] < key[:-1]) & (process[1:] == process[:-1])).any():
            self.place = np.lexsort((line, key, process))
        if (lacks < self.counts).any():
            self._report(index, line, process, lacks)

    def _report(
        self, index: np.ndarray, line: np.ndarray, process: np.ndarray, lacks: np.ndarray
    ) -> None:
        by_index = np.lexsort((line, index, process))
        index, line = index[by_index], line[by_index]
        for code in np.flatnonzero(lacks < self.counts).tolist():
            begin, end = self.starts[code], self.starts[code + 1]
            given = begin + lacks[code]  # the rows without an index, sorted by line, come first
            self._report_process(code, index[given:end], line[given:end], line[begin:given])

    def _report_process(
        self, code: int, index: np.ndarray, line: np.ndarray, without: np.ndarray
    ) -> None:
        """Add the index defects of one process.

        Args:
            index, line: of the rows with an index, sorted by index.
            without: lines of the rows without one.
        """
        name = self.names[code]
        twice = np.flatnonzero(index[1:] == index[:-1])
        for row in twice[:MOST_LISTED].tolist():
            self.defects.add(
                say.index_twice(
                    process=name,
                    index=int(index[row]),
                    line=int(line[row + 1]),
                    earlier_line=int(line[row]),
                )
            )
        self.defects.total += max(0, len(twice) - MOST_LISTED)
        if len(without):
            self.defects.add(
                say.index_partly(process=name, count=len(without), line=int(without[0]))
            )
            return
        gaps = np.flatnonzero(index > np.arange(len(index)))
        if len(gaps):
            gap = int(gaps[0])
            missing = int(index[-1]) + 1 - len(index)
            self.defects.add(
                say.index_gap(process=name, count=missing, first=gap, line=int(line[gap]))
            )


def _events(rows: pa.Table) -> pa.Table:
    none = pa.nulls(rows.num_rows, pa.int64())
    columns = {
        "process": rows["process"],
        "kind": rows["kind"],
        "at": rows["at"],
        "step": rows["rank"],
        "line": rows["line"],
        "channel": rows["channel"],
        "snapshot": rows["snapshot"],
        **{name: rows[name] for name in ("message", "value", "state", "label", "extra")},
        "logged_at": none,
    }
    # Texts that are held as numbers are written as such.
    schema = held_as(EVENT_COLUMNS, rows.schema)
    return pa.table([columns[name] for name in schema.names], schema.names).cast(schema)


def _records(rows: pa.Table, order: Order) -> pa.Table:
    """Return RECORD_COLUMNS sorted by channel, by which the next stage asks for them."""
    kind = rows["kind"].to_numpy()
    chosen = np.flatnonzero(np.isin(kind, RECORD_CODES))
    chosen = chosen[np.argsort(rows["channel"].to_numpy()[chosen], kind="stable")]
    rows = written_out(rows.take(chosen), STAGED)
    columns = {name: rows[name] for name in rows.column_names}
    columns["index"] = pa.array(order.index[chosen])
    return pa.table([columns[name] for name in RECORD_COLUMNS.names], RECORD_COLUMNS.names).cast(
        RECORD_COLUMNS
    )


def _ends(rows: pa.Table) -> pa.Table:
    """Return the ends of messages and markers as ENDS, sorted by channel."""
    kind, channel = rows["kind"].to_numpy(), rows["channel"].to_numpy()
    chosen = np.flatnonzero((kind >= SEND_CODE) & (kind <= MARKER_RECEIVE_CODE))
    chosen = chosen[stable_order(channel[chosen])]
    return pa.table([channel[chosen], differences(chosen, channel[chosen])], ENDS)


def _kept(table: pa.Table, folder: str) -> str | None:
    if not table.num_rows:
        return None
    path = path_of(folder) / f"{secrets.token_hex(8)}.arrow"
    write_sorted(path, table, "channel")
    return str(path)
