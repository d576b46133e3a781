"""Write and read the overview: events and depths in bins of several widths.

It is written once, with the recording. Each level of an axis has two matrices in compressed
blocks, ``levels/<axis>-<exponent>-events.arrow`` [P, bins] and ``…-depth.arrow`` [C, bins] (the
most messages in the channel at once). Older stores have ``.npy`` files instead. Bins are
2**exponent wide and begin at its multiples. The bins of each level are twice as wide as those of
the next finer one, so all follow from the finest. A recording that is small enough to be counted
for each window has no levels.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from snapshots.store.bins import Bins, event_counts, most_messages
from snapshots.store.fences import read_matrix
from snapshots.store.layout import LEVELS
from snapshots.store.manifest import Extent, Manifest
from snapshots.store.mapped import Ints
from snapshots.store.matrices import PackedMatrix, write_packed
from snapshots.store.tables import AXES, TIME, Tables

COUNTED_ON_THE_FLY = 100_000  # events that are counted for a window without a level
_COARSEST = 256  # bins over the extent
_EVENTS_A_BIN = 128  # at the finest level, where the other limits allow it
_FINEST = 2**16
_MATRIX = 2**25  # entries of the finest level at most
_CHUNK = 2**22  # matrix entries, or messages, in memory at once


def write_levels(
    folder: Path, manifest: Manifest, above: int = COUNTED_ON_THE_FLY
) -> dict[str, tuple[int, ...]]:
    """Write all levels of a recording whose index is written. Return the exponents of each axis.

    A recording gets levels only if it has more than ``above`` events.
    Raises: StoreDamaged, OSError.
    """
    if manifest.counts["events"] <= above:
        return dict.fromkeys(AXES, ())
    tables = Tables(folder, manifest)
    (folder / LEVELS).mkdir(exist_ok=True)
    with ThreadPoolExecutor(len(AXES)) as pool:  # numpy lets threads run side by side
        exponents = pool.map(lambda axis: _write_axis(folder, tables, axis, manifest), AXES)
        return dict(zip(AXES, exponents, strict=True))


def _write_axis(folder: Path, tables: Tables, axis: str, manifest: Manifest) -> tuple[int, ...]:
    rows = max(len(tables.all_processes) + len(tables.all_channels), 1)
    wanted = 1 << (manifest.counts["events"] // _EVENTS_A_BIN).bit_length()
    most = max(_COARSEST, min(_FINEST, _MATRIX // rows, wanted))
    bins = Bins.at_most(*span(manifest.extent, axis), most)
    events = _stacked(
        tables.events.length, bins, lambda codes: event_counts(tables, axis, codes, bins)
    )
    depth = _stacked(
        tables.messages.table.length, bins, lambda codes: most_messages(tables, axis, codes, bins)
    )
    exponents = []
    while True:
        exponents.append(bins.exponent)
        write_packed(_path(folder, axis, bins.exponent, "events"), events)
        write_packed(_path(folder, axis, bins.exponent, "depth"), depth)
        if bins.count <= _COARSEST:
            return tuple(exponents)
        odd = bins.first & 1
        events = _paired(events, odd, np.add)
        depth = _paired(depth, odd, np.maximum)
        bins = Bins(bins.exponent + 1, bins.first >> 1, events.shape[1])


def span(extent: Extent, axis: str) -> tuple[int, int]:
    """Return the first and the last coordinate of the axis."""
    return (extent.from_, extent.to) if axis == TIME else (0, extent.steps)


def _stacked(
    lengths: np.ndarray, bins: Bins, counted: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return the matrix of all codes, counted a few codes at a time to keep memory bounded."""
    matrices = [np.zeros((0, bins.count), np.int64)]
    codes = np.arange(len(lengths))
    load = np.cumsum(lengths + bins.count) // _CHUNK
    for chunk in np.split(codes, np.flatnonzero(np.diff(load)) + 1):
        if len(chunk):
            matrix = counted(chunk)
            matrices.append(matrix.astype(np.min_scalar_type(int(matrix.max(initial=0)))))
    kind = np.result_type(np.uint8, *(matrix.dtype for matrix in matrices[1:]))
    return np.concatenate([matrix.astype(kind) for matrix in matrices])


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
    return read_matrix(older, shape) if older.exists() else PackedMatrix(path, shape)
