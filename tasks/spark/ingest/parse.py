"""Parse a source and stage its rows so that processes can be cut out of them (first stage)."""

import pickle
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import Defects
from snapshots.domain.model.recording import MARKER_RECEIVE, MARKER_SEND, RECEIVE, SEND
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.numerals import alike, held_as, lengths_of, prefix_in
from snapshots.readers.logs.columns import RAW
from snapshots.readers.logs.native import read_lines
from snapshots.readers.logs.native_parquet import RowGroup, read_row_group
from snapshots.readers.recognition import reader_named
from snapshots.store.objects.paths import path_of
from tasks.spark.ingest.handing import fetched
from tasks.spark.ingest.schemas import STAGED, ListedDefects, Staged
from tasks.spark.ingest.working import differences, summed, write_sorted

ROWS_PER_CHUNK = 262_144
BYTES_PER_CHUNK = 256 * 2**20  # far below the 2 GiB of text that 32-bit offsets can address
_END_KINDS = pa.array([SEND, RECEIVE, MARKER_SEND, MARKER_RECEIVE])


@dataclass(frozen=True)
class TextTask:
    """Whole lines of a native text: ``length`` bytes from ``offset``, and a pickled header."""

    text: str
    offset: int
    length: int
    first_line: int
    header: str
    work: str


@dataclass(frozen=True)
class SourceTask:
    """A source to be read from its beginning to its end, and a file with the pickled header."""

    source: str
    format: str
    limits: Limits
    header: str
    work: str


@dataclass(frozen=True)
class GroupTask:
    """Row groups of Parquet that follow each other, and a file with the pickled header."""

    groups: tuple[RowGroup, ...]
    limits: Limits
    header: str
    work: str


def parse_text(task: TextTask) -> tuple[list[Staged], ListedDefects]:
    """Stage the events of some lines."""
    with path_of(task.text).open("rb") as file:
        file.seek(task.offset)
        data = file.read(task.length)
    batch, defects = read_lines(data, task.first_line, _header(task.header))
    return stage([batch], path_of(task.work)), ListedDefects.of(Defects(defects))


def parse_source(task: SourceTask) -> tuple[list[Staged], ListedDefects]:
    """Stage all events of a source. Raises: InputRefused if reading cannot go on."""
    defects = Defects()
    reader = reader_named(task.format)
    with fetched(task.source) as source:
        batches = reader.batches(source, _header(task.header), task.limits, defects)
        return stage(batches, path_of(task.work)), ListedDefects.of(defects)


def parse_groups(task: GroupTask) -> tuple[list[Staged], ListedDefects]:
    """Stage the events of some row groups. Raises: InputRefused for a damaged one."""
    defects = Defects()

    def batches() -> Iterator[pa.RecordBatch]:
        for group in task.groups:
            for batch, flaws in read_row_group(group, _header(task.header), task.limits):
                defects.extend(flaws)
                yield batch

    return stage(batches(), path_of(task.work)), ListedDefects.of(defects)


@lru_cache(maxsize=2)
def _header(path: str) -> Header:
    return pickle.loads(path_of(path).read_bytes())


def stage(batches: Iterable[pa.RecordBatch], folder: Path) -> list[Staged]:
    """Write rows of readers.columns.RAW as staged chunks, in the order of the source."""
    return [_stage_chunk(chunk, folder) for chunk in _chunks(batches)]


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Collect the rows into tables of ROWS_PER_CHUNK or BYTES_PER_CHUNK, whichever is less."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= ROWS_PER_CHUNK or size >= BYTES_PER_CHUNK:
            yield pa.Table.from_batches(alike(held, RAW))
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(alike(held, RAW))


def _stage_chunk(rows: pa.Table, folder: Path) -> Staged:
    rows = rows.combine_chunks()
    kinds, kind_names = _encoded(rows["kind"])
    snapshots, snapshot_names = _encoded(rows["snapshot"])
    process = rows["process"].to_numpy()
    file = folder / f"staged-{secrets.token_hex(8)}.arrow"
    columns = {name: rows[name] for name in STAGED.names if name in rows.column_names}
    columns |= {"kind": kinds, "snapshot": snapshots, "rank": pa.array(np.arange(len(process)))}
    schema = held_as(STAGED, rows.schema)
    table = pa.table([columns[name] for name in STAGED.names], STAGED.names)
    write_sorted(file, for_disk(table.take(stable_order(process)).cast(schema)), "process")
    orderly, first_at, last_at = _orderly(rows["at"])
    return Staged(
        file=str(file),
        rows=len(process),
        counts=_counts(process),
        sizes=_sizes(process, rows),
        ends=_ends(rows),
        kinds=kind_names,
        snapshots=snapshot_names,
        orderly=orderly,
        first_at=first_at,
        last_at=last_at,
    )


def for_disk(rows: pa.Table) -> pa.Table:
    """Return staged rows, sorted by process, as numbers that take little room on disk.

    A line is less by the rank of its row, an index by the rows before it of the same process, and a
    rank and a time by the one before it. Usually the first two leave one number for many rows.
    """
    process, rank = rows["process"].to_numpy(), rows["rank"].to_numpy()
    rows = _replaced(rows, "at", _along(differences, rows["at"], process))
    rows = _add(rows, "line", -rank)
    rows = _add(rows, "index", -_before(process))
    return _replaced(rows, "rank", pa.array(differences(rank, process)))


def from_disk(rows: pa.Table) -> pa.Table:
    """Return what ``for_disk`` took, for all rows of some processes."""
    process = rows["process"].to_numpy()
    rows = _replaced(rows, "at", _along(summed, rows["at"], process))
    rank = summed(rows["rank"].to_numpy(), process)
    rows = _add(rows, "line", rank)
    rows = _add(rows, "index", _before(process))
    return _replaced(rows, "rank", pa.array(rank))


def _along(
    of: Callable[[np.ndarray, np.ndarray], np.ndarray], column: pa.ChunkedArray, codes: np.ndarray
) -> pa.Array:
    """Return what a function makes of the values that are known, in their rows."""
    if not column.null_count:
        return pa.array(of(column.to_numpy(), codes))
    known = column.is_valid().to_numpy()
    values = np.zeros(len(codes), np.int64)
    values[known] = of(column.drop_null().to_numpy(), codes[known])
    return pa.array(values, mask=~known)


def _before(process: np.ndarray) -> np.ndarray:
    """Return how many rows of the same process come before each row."""
    before: np.ndarray = np.arange(len(process)) - np.searchsorted(process, process)
    return before


def _add(rows: pa.Table, name: str, numbers: np.ndarray) -> pa.Table:
    return _replaced(rows, name, pc.add(rows[name], pa.array(numbers)))


def _replaced(rows: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return rows.set_column(STAGED.get_field_index(name), STAGED.field(name), column)


def _encoded(column: pa.ChunkedArray) -> tuple[pa.Array, tuple[str, ...]]:
    """Return int32 codes in the order of first use (-1 for null), and their names."""
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    codes = pc.fill_null(encoded.indices, -1).cast(pa.int32())
    return codes, tuple(encoded.dictionary.to_pylist())


def _counts(codes: np.ndarray) -> dict[int, int]:
    counts = np.bincount(codes)
    used = np.flatnonzero(counts)
    return dict(zip(used.tolist(), counts[used].tolist(), strict=True))


def _sizes(process: np.ndarray, rows: pa.Table) -> dict[int, int]:
    """Return the bytes of the texts of each process that has any."""
    sizes = np.zeros(len(process), np.int64)
    for field in STAGED:
        if field.name in rows.column_names and pa.types.is_large_string(field.type):
            sizes += _lengths(rows[field.name], prefix_in(rows.schema.field(field.name)))
    lists = rows["messages"].combine_chunks()
    lengths = pc.fill_null(pc.binary_length(pc.list_flatten(lists)), 0)
    np.add.at(sizes, pc.list_parent_indices(lists).to_numpy(), lengths.to_numpy())
    totals = np.bincount(process, weights=sizes).astype(np.int64)
    used = np.flatnonzero(totals)
    return dict(zip(used.tolist(), totals[used].tolist(), strict=True))


def _lengths(column: pa.ChunkedArray, prefix: str | None) -> np.ndarray | int:
    """Return the bytes of each text of a column, 0 for null."""
    if column.null_count == len(column):
        return 0
    if prefix is None:
        return pc.fill_null(pc.binary_length(column), 0).to_numpy()
    lengths = lengths_of(pc.fill_null(column, 0).to_numpy(), prefix)
    return lengths * column.is_valid().to_numpy() if column.null_count else lengths


def _ends(rows: pa.Table) -> dict[int, int]:
    ends = pc.filter(rows["channel"], pc.is_in(rows["kind"], _END_KINDS))
    return _counts(ends.to_numpy())


def _orderly(at: pa.ChunkedArray) -> tuple[bool, int, int]:
    if at.null_count:
        return False, 0, 0
    times = at.to_numpy()
    return bool((times[1:] >= times[:-1]).all()), int(times[0]), int(times[-1])


def stable_order(codes: np.ndarray) -> np.ndarray:
    """Return the order that sorts a column of small non-negative codes; equal ones keep theirs."""
    if len(codes) and codes.max() < 2**16:
        codes = codes.astype(np.uint16)  # numpy sorts 16 bits by radix
    return np.argsort(codes, kind="stable")
