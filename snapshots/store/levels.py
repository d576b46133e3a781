"""Write and read the overview: events and depths in bins of several widths.

It is written once, with the recording. Each level of an axis has two matrices in compressed
blocks, ``levels/<axis>-<exponent>-events.arrow`` [P, bins] and ``…-depth.arrow`` [C, bins] (the
most messages in the channel at once). Older stores have ``.npy`` files instead. Bins are
2**exponent wide and begin at its multiples. The bins of each level are twice as wide as those of
the next finer one, so all follow from the finest. A recording that is small enough to be counted
for each window has no levels.
"""

import itertools
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from snapshots.store.bins import Bins, event_counts, most_messages
from snapshots.store.fences import read_matrix
from snapshots.store.layout import LEVELS
from snapshots.store.manifest import Extent, Manifest
from snapshots.store.mapped import Ints
from snapshots.store.matrices import PackedMatrix, write_packed
from snapshots.store.objects.paths import is_here, remove_tree
from snapshots.store.tables import AXES, TIME, Tables

COUNTED_ON_THE_FLY = 100_000  # events that are counted for a window without a level
_COARSEST = 256  # bins over the extent
_EVENTS_A_BIN = 128  # at the finest level, where the other limits allow it
_FINEST = 2**16
_MATRIX = 2**25  # entries of the finest level at most
_CHUNK = 2**22  # matrix entries, or messages, in memory at once
_COUNTED = ".counted"  # the folder of what the tasks have counted
_QUANTITIES = {"events": (event_counts, np.add), "depth": (most_messages, np.maximum)}
"""How to count each quantity in bins, and how two bins make one of twice the width."""


@dataclass(frozen=True)
class LevelTask:
    """Which rows of the levels of an axis to count: those of the codes in [``first``, ``end``).

    Attributes:
        folder: of the recording, whose index is written.
        quantity: ``events``, with one row per process, or ``depth``, with one row per channel.
        levels: the bins of each level, the finest first.
        load: the events or messages of these rows, and their bins.
    """

    folder: Path
    manifest: Manifest
    axis: str
    quantity: str
    levels: tuple[Bins, ...]
    first: int
    end: int
    load: int


Run = Callable[[Callable[[LevelTask], list[str]], list[LevelTask]], list[list[str]]]
"""Runs a function for each of some tasks, in any process, and returns the results in order."""


def in_threads(count: Callable[[LevelTask], list[str]], tasks: list[LevelTask]) -> list[list[str]]:
    """Run the tasks in this process, two at a time: numpy lets threads run side by side."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(count, tasks))


def write_levels(
    folder: Path, manifest: Manifest, above: int = COUNTED_ON_THE_FLY, run: Run = in_threads
) -> dict[str, tuple[int, ...]]:
    """Write all levels of a recording whose index is written. Return the exponents of each axis.

    A recording gets levels only if it has more than ``above`` events. ``run`` runs the tasks that
    count them. Here their matrices are only put together.
    Raises: StoreDamaged, OSError.
    """
    if manifest.counts["events"] <= above:
        return dict.fromkeys(AXES, ())
    levels = {axis: tuple(_levels(manifest, axis)) for axis in AXES}
    tasks = list(_tasks(folder, manifest, levels))
    (folder / LEVELS).mkdir(exist_ok=True)
    (folder / _COUNTED).mkdir(exist_ok=True)
    try:
        counted = list(zip(tasks, run(count_levels, tasks), strict=True))
        for axis, quantity in itertools.product(AXES, _QUANTITIES):
            own = [
                names for task, names in counted if (task.axis, task.quantity) == (axis, quantity)
            ]
            for number, bins in enumerate(levels[axis]):
                files = [folder / _COUNTED / names[number] for names in own]
                _join(_path(folder, axis, bins.exponent, quantity), bins.count, files)
    finally:
        remove_tree(folder / _COUNTED)
    return {axis: tuple(bins.exponent for bins in levels[axis]) for axis in AXES}


def _levels(manifest: Manifest, axis: str) -> Iterator[Bins]:
    """Yield the bins of each level, the finest first."""
    rows = max(manifest.counts["processes"] + manifest.counts["channels"], 1)
    wanted = 1 << (manifest.counts["events"] // _EVENTS_A_BIN).bit_length()
    most = max(_COARSEST, min(_FINEST, _MATRIX // rows, wanted))
    extent = span(manifest.extent, axis)
    bins = Bins.at_most(*extent, most)
    yield bins
    while bins.count > _COARSEST:
        bins = Bins.covering(*extent, bins.exponent + 1)
        yield bins


def _tasks(
    folder: Path, manifest: Manifest, levels: dict[str, tuple[Bins, ...]]
) -> Iterator[LevelTask]:
    """Yield tasks of about _CHUNK matrix entries, events or messages each."""
    tables = Tables(folder, manifest)
    lengths = {"events": tables.events.length, "depth": tables.messages.table.length}
    bare = replace(manifest, header_extra={})
    for axis, quantity in itertools.product(AXES, _QUANTITIES):
        load = lengths[quantity] + levels[axis][0].count
        chunk = np.cumsum(load) // _CHUNK
        bounds = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), len(load)]
        for first, end in itertools.pairwise(bounds):
            if end > first:
                total = int(load[first:end].sum())
                yield LevelTask(folder, bare, axis, quantity, levels[axis], first, end, total)


def count_levels(task: LevelTask) -> list[str]:
    """Count the rows of a task for each level.

    Return the names of the files that hold them, which are compressed because many bins are empty.
    """
    count, joined = _QUANTITIES[task.quantity]
    codes = np.arange(task.first, task.end)
    counts = count(Tables(task.folder, task.manifest), task.axis, codes, task.levels[0])
    matrices = [counts.astype(np.min_scalar_type(int(counts.max(initial=0))))]
    for finer in task.levels[:-1]:
        matrices.append(_paired(matrices[-1], finer.first & 1, joined))
    token = secrets.token_hex(8)
    names = [f"{token}-{bins.exponent}" for bins in task.levels]
    for name, matrix in zip(names, matrices, strict=True):
        with (
            (task.folder / _COUNTED / name).open("wb") as file,
            pa.CompressedOutputStream(file, "zstd") as sink,
        ):
            np.lib.format.write_array(sink, matrix)
    return names


def _join(path: Path, width: int, files: list[Path]) -> None:
    """Write the matrix whose rows lie in these files, one file after another."""
    matrices = [_counted(file) for file in files]
    kind = np.result_type(np.uint8, *(matrix.dtype for matrix in matrices))
    none = np.zeros((0, width), kind)
    write_packed(path, np.concatenate([none, *(matrix.astype(kind) for matrix in matrices)]))
    for file in files:
        file.unlink()  # so that the disk never holds two of all levels


def _counted(file: Path) -> np.ndarray:
    with file.open("rb") as packed, pa.CompressedInputStream(packed, "zstd") as source:
        matrix: np.ndarray = np.lib.format.read_array(source)
    return matrix


def span(extent: Extent, axis: str) -> tuple[int, int]:
    """Return the first and the last coordinate of the axis."""
    return (extent.from_, extent.to) if axis == TIME else (0, extent.steps)


def _paired(matrix: np.ndarray, odd: int, joined: np.ufunc) -> np.ndarray:
    """Join neighbouring bins into the next wider level.

    ``odd`` is 1 if the first bin is the second of its pair, else 0.
    """
    width = matrix.shape[1]
    wide = matrix.astype(np.int64) if joined is np.add else matrix
    padded = np.pad(wide, ((0, 0), (odd, (odd + width) % 2)))
    pairs = joined(padded[:, ::2], padded[:, 1::2])
    return pairs.astype(np.min_scalar_type(int(pairs.max(initial=0))))


def _path(folder: Path, axis: str, exponent: int, quantity: str) -> Path:
    return folder / LEVELS / f"{axis}-{exponent}-{quantity}.arrow"


def level(tables: Tables, axis: str, bins: Bins, quantity: str, codes: Ints) -> np.ndarray:
    """Return the rows ``codes`` of a stored level in ``bins``.

    ``quantity`` is ``events``, with one row per process, or ``depth``, with one row per channel.
    Raises: StoreDamaged.
    """
    stored = Bins.covering(*span(tables.manifest.extent, axis), bins.exponent)
    key = axis, bins.exponent, quantity
    if key not in tables.matrices:
        rows = tables.all_processes if quantity == "events" else tables.all_channels
        path = _path(tables.folder, axis, bins.exponent, quantity)
        tables.matrices[key] = _opened(path, (len(rows), stored.count))
    first, matrix = bins.first - stored.first, tables.matrices[key]
    if isinstance(matrix, PackedMatrix):
        return matrix.part(codes, first, first + bins.count)
    return matrix[codes, first : first + bins.count]


def _opened(path: Path, shape: tuple[int, int]) -> PackedMatrix | np.ndarray:
    older = path.with_suffix(".npy")
    is_older = is_here(path) and older.exists()
    return read_matrix(older, shape) if is_older else PackedMatrix(path, shape)
