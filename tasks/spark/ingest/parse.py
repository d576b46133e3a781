"""Parse a source and stage its rows so that processes can be cut out of them (first stage)."""

import itertools
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
from snapshots.readers.formats.numerals import alike, held_as, prefix_in
from snapshots.readers.logs.columns import RAW
from snapshots.readers.logs.native import read_lines
from snapshots.readers.logs.native_parquet import RowGroup, read_row_group
from snapshots.readers.recognition import reader_named
from snapshots.store.objects.paths import path_of
from tasks.spark.ingest.handing import fetched
from tasks.spark.ingest.schemas import STAGED, ListedDefects, Staged
from tasks.spark.ingest.working import differences, runs_of, summed, taken, write_sorted

ROWS_PER_CHUNK = 262_144
BYTES_PER_CHUNK = 256 * 2**20  # far below the 2 GiB of text that 32-bit offsets can address
_END_KINDS = frozenset((SEND, RECEIVE, MARKER_SEND, MARKER_RECEIVE))


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
    """Row groups of Parquet that follow each other, and a file with the pickled header.

    ``most_rows`` are staged as one chunk.
    """

    groups: tuple[RowGroup, ...]
    limits: Limits
    header: str
    work: str
    most_rows: int


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

    staged = stage(batches(), path_of(task.work), task.most_rows)
    return staged, ListedDefects.of(defects)


@lru_cache(maxsize=2)
def _header(path: str) -> Header:
    return pickle.loads(path_of(path).read_bytes())


def stage(
    batches: Iterable[pa.RecordBatch], folder: Path, most_rows: int = ROWS_PER_CHUNK
) -> list[Staged]:
    """Write rows of readers.columns.RAW as staged chunks, in the order of the source."""
    return [_stage_chunk(chunk, folder) for chunk in _chunks(batches, most_rows)]


def _chunks(batches: Iterable[pa.RecordBatch], most_rows: int) -> Iterator[pa.Table]:
    """Collect the rows into tables of ``most_rows`` or BYTES_PER_CHUNK, whichever is less."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(_coded(batch))
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= most_rows or size >= BYTES_PER_CHUNK:
            yield pa.Table.from_batches(alike(held, RAW))
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(alike(held, RAW))


def _coded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with its kinds as codes and distinct texts, as some readers yield them."""
    place = batch.schema.get_field_index("kind")
    if pa.types.is_dictionary(batch.schema.field(place).type):
        return batch
    kinds = batch.column(place).dictionary_encode()
    return batch.set_column(place, batch.schema.field(place).with_type(kinds.type), kinds)


def _stage_chunk(rows: pa.Table, folder: Path) -> Staged:
    rows = rows.unify_dictionaries().combine_chunks()
    kinds, kind_names = _encoded(rows["kind"])
    snapshots, snapshot_names = _encoded(rows["snapshot"])
    process = rows["process"].to_numpy()
    file = folder / f"staged-{secrets.token_hex(8)}.arrow"
    columns = {name: rows[name] for name in STAGED.names if name in rows.column_names}
    columns |= {"kind": kinds, "snapshot": snapshots, "rank": pa.array(np.arange(len(process)))}
    schema = held_as(STAGED, rows.schema)
    table = pa.table([columns[name] for name in STAGED.names], STAGED.names)
    write_sorted(file, for_disk(taken(table, stable_order(process)).cast(schema)), "process")
    orderly, first_at, last_at = _orderly(rows["at"])
    return Staged(
        file=str(file),
        rows=len(process),
        counts=_counts(process),
        sizes=_sizes(process, rows),
        ends=_ends(rows["channel"].to_numpy(), kinds.to_numpy(), kind_names),
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
    begins, counts = runs_of(process)
    before: np.ndarray = np.arange(len(process)) - np.repeat(begins, counts)
    return before


def _add(rows: pa.Table, name: str, numbers: np.ndarray) -> pa.Table:
    return _replaced(rows, name, pc.add(rows[name], pa.array(numbers)))


def _replaced(rows: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return rows.set_column(STAGED.get_field_index(name), STAGED.field(name), column)


def _encoded(column: pa.ChunkedArray) -> tuple[pa.Array, tuple[str, ...]]:
    """Return int32 codes, -1 for null, and their names, each of which occurs."""
    encoded = column.combine_chunks()
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    codes, names = encoded.indices.fill_null(-1).cast(pa.int32()), encoded.dictionary.to_pylist()
    occurs = np.bincount(codes.to_numpy() + 1, minlength=len(names) + 1)[1:] > 0
    if not occurs.all():
        again = np.append(np.cumsum(occurs) - 1, -1).astype(np.int32)  # code -1 is the last
        codes = pa.array(again[codes.to_numpy()])
        names = list(itertools.compress(names, occurs))
    return codes, tuple(names)


def _counts(codes: np.ndarray) -> dict[int, int]:
    counts = np.bincount(codes)
    used = np.flatnonzero(counts)
    return dict(zip(used.tolist(), counts[used].tolist(), strict=True))


def _sizes(process: np.ndarray, rows: pa.Table) -> dict[int, int]:
    """Return the bytes of the texts of each process that has any.

    Texts that are held as numbers count as the longest of their column: these are short.
    """
    sizes = np.zeros(len(process), np.int64)
    for field in STAGED:
        if field.name in rows.column_names and pa.types.is_large_string(field.type):
            sizes += _lengths(rows[field.name], prefix_in(rows.schema.field(field.name)))
    lists = rows["messages"].combine_chunks()
    if lists.null_count < len(lists):
        lengths = pc.fill_null(pc.binary_length(pc.list_flatten(lists)), 0)
        np.add.at(sizes, pc.list_parent_indices(lists).to_numpy(), lengths.to_numpy())
    totals = np.bincount(process, weights=sizes).astype(np.int64)
    used = np.flatnonzero(totals)
    return dict(zip(used.tolist(), totals[used].tolist(), strict=True))


def _lengths(column: pa.ChunkedArray, prefix: str | None) -> np.ndarray | int:
    """Return the bytes of each text of a column, 0 for null; the longest of numbers, or more."""
    if column.null_count == len(column):
        return 0
    if prefix is None:
        return pc.fill_null(pc.binary_length(column), 0).to_numpy()
    extremes = pc.min_max(column).as_py()
    return max(len(f"{prefix}{number}".encode()) for number in extremes.values())


def _ends(channel: np.ndarray, kinds: np.ndarray, names: tuple[str, ...]) -> dict[int, int]:
    """Count the sends and receives, of markers too, on each channel; ``kinds`` are by ``names``."""
    is_end = np.array([name in _END_KINDS for name in names], bool)
    return _counts(channel[is_end[kinds]])


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
