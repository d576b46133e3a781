"""Choose rows of a column.

*Rows* are an array of row numbers, or a slice with a begin and an end. Reading a slice costs what
the slice costs.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from snapshots.store.encoding import PADDING
from snapshots.store.layout import NONE
from snapshots.store.objects.far import FarArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Rows = Ints | slice
Test = Callable[[pa.Array], Mask]
"""Tells which texts of an array match; a null does not."""


class Places:
    """Some rows of a column, sorted."""

    def __init__(self, rows: np.ndarray | FarArray) -> None:
        self._rows = rows

    def among(self, rows: Rows) -> tuple[Ints, Ints]:
        """Return which of ``rows`` are places, and the number of each such place."""
        own = np.asarray(self._rows)
        if isinstance(rows, slice):
            # Numbers of another type would make each search copy all places.
            first, end = np.searchsorted(own, np.array([rows.start, rows.stop], own.dtype))
            return own[first:end].astype(np.int64) - rows.start, np.arange(first, end)
        if not len(own):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        wanted = rows.astype(own.dtype)
        ranks = np.searchsorted(own, wanted)
        lanes = np.flatnonzero(own.take(ranks, mode="clip") == wanted)
        return lanes, ranks[lanes]


def values_of(array: pa.Array) -> NDArray[np.integer]:
    """Return a view of the numbers of an array; nulls have any value."""
    dtype = np.dtype(array.type.to_pandas_dtype())
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros(0, dtype)
    values: NDArray[np.integer] = np.frombuffer(buffer, dtype, array.offset + len(array))
    return values[array.offset :]


def address_of(values: np.ndarray) -> int:
    """Return where the first of some numbers lies in memory."""
    address: int = values.__array_interface__["data"][0]
    return address


def codes_of(content: pa.Array, width: int) -> np.ndarray:
    """Return a view of narrow numbers, which are read with the bytes that follow them."""
    word = next(size for size in (1, 2, 4, 8) if size >= width)
    count = (len(content) - PADDING) // width
    return np.ndarray((count,), f"<u{word}", values_of(content), strides=(width,))


def numbered(rows: Rows) -> Ints:
    """Return the numbers of the rows."""
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def count_of(rows: Rows) -> int:
    """Return how many rows there are."""
    return rows.stop - rows.start if isinstance(rows, slice) else len(rows)


def places_in(values: pa.Array, wanted: pa.Array) -> Ints:
    """Return the place of each value among distinct ``wanted`` ones, or NONE."""
    places = pc.fill_null(pc.index_in(values, wanted), NONE)
    found: Ints = places.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def chosen(array: pa.Array, rows: Rows) -> pa.Array:
    """Return the values of these rows."""
    if isinstance(rows, slice):
        return array.slice(rows.start, rows.stop - rows.start)
    return array.take(pa.array(rows))
