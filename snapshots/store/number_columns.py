"""Decode the columns of numbers that ``encoding.py`` wrote: a class for each encoding."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from snapshots.store.column_rows import (
    Ints,
    Mask,
    Places,
    Rows,
    address_of,
    count_of,
    numbered,
    values_of,
)
from snapshots.store.encoding import NULL
from snapshots.store.layout import IN_FLIGHT, NONE
from snapshots.store.objects.far import FarArray


@dataclass(frozen=True, slots=True)
class Flat:
    """How a column of numbers lies in memory, each in so many bytes.

    Attributes:
        address: where the first number is; behind the last one there are bytes up to a whole word.
        base: what is added to each.
        top: what the largest code means, if it is not a number like the others.
    """

    address: int
    width: int
    base: int
    top: int | None


class Numbers(Protocol):
    """A column of numbers."""

    def flat(self, null: int = NONE) -> Flat | None:
        """Return how the numbers lie in memory, with ``null`` for null; None if not like this."""

    def take(self, rows: Rows, null: int = NONE) -> Ints:
        """Return the values of these rows, with ``null`` for null."""

    def nulls(self, rows: Rows) -> Mask | None:
        """Tell which of these rows are null; None if no row of the column is."""


class PlainNumbers:
    """The numbers as they are, with one bit for each row if some are null."""

    def __init__(self, array: pa.Array, viewed: Callable[[np.ndarray], Any]) -> None:
        self._values = viewed(values_of(array))
        bits = array.buffers()[0] if array.null_count else None
        self._valid = None if bits is None else viewed(np.frombuffer(bits, np.uint8))
        self._offset = array.offset

    def flat(self, null: int = NONE) -> Flat | None:
        is_flat = isinstance(self._values, np.ndarray) and self._values.dtype == np.int64
        return (
            Flat(address_of(self._values), 8, 0, None) if is_flat and self._valid is None else None
        )

    def take(self, rows: Rows, null: int = NONE) -> Ints:
        values = self._values[rows].astype(np.int64)
        nulls = self.nulls(rows)
        if nulls is not None:
            values[nulls] = null
        return values

    def nulls(self, rows: Rows) -> Mask | None:
        if self._valid is None:
            return None
        places = numbered(rows) + self._offset
        is_null: Mask = (self._valid[places >> 3] >> (places & 7)) & 1 == 0
        return is_null


class NarrowNumbers:
    """Numbers above a base, in ``width`` bytes each; the largest code may stand for something."""

    def __init__(
        self, codes: np.ndarray | FarArray, width: int, base: int, top: str | None
    ) -> None:
        self._codes = codes
        self._last = 2 ** (8 * width) - 1
        self._is_partial = codes.dtype.itemsize != width
        self._base = np.int64(base)
        self._has_nulls = top == NULL
        self._top = None if top is None or top == NULL else int(top)

    def flat(self, null: int = NONE) -> Flat | None:
        if not isinstance(self._codes, np.ndarray):
            return None
        width = self._codes.strides[0]
        top = null if self._has_nulls else self._top
        return Flat(address_of(self._codes), width, int(self._base), top)

    def take(self, rows: Rows, null: int = NONE) -> Ints:
        codes = self._taken(rows)
        values: Ints = codes.astype(np.int64)
        values += self._base  # wraps as encoding does
        if self._has_nulls or self._top is not None:
            values[codes == self._last] = null if self._top is None else self._top
        return values

    def nulls(self, rows: Rows) -> Mask | None:
        return self._taken(rows) == self._last if self._has_nulls else None

    def _taken(self, rows: Rows) -> NDArray[np.unsignedinteger]:
        codes: NDArray[np.unsignedinteger] = self._codes[rows]
        return codes & self._last if self._is_partial else codes


class RareNumbers:
    """Numbers that are nearly all the same, which is null if ``usual`` is None."""

    def __init__(self, places: Places, others: Numbers, usual: int | None) -> None:
        self._places, self._others, self._usual = places, others, usual

    def flat(self, null: int = NONE) -> None:
        return None

    def take(self, rows: Rows, null: int = NONE) -> Ints:
        values = np.full(count_of(rows), null if self._usual is None else self._usual, np.int64)
        lanes, ranks = self._places.among(rows)
        values[lanes] = self._others.take(ranks, null)
        return values

    def nulls(self, rows: Rows) -> Mask | None:
        lanes, ranks = self._places.among(rows)
        others = self._others.nulls(ranks)
        if self._usual is not None and others is None:
            return None
        is_null = np.full(count_of(rows), self._usual is None)
        is_null[lanes] = False if others is None else others
        return is_null


class RunNumbers:
    """Numbers that stay the same for many rows."""

    def __init__(self, ends: NDArray[np.int64], runs: Numbers) -> None:
        self._ends, self._runs = ends, runs

    def flat(self, null: int = NONE) -> None:
        return None

    def take(self, rows: Rows, null: int = NONE) -> Ints:
        return self._runs.take(np.searchsorted(self._ends, numbered(rows), side="right"))

    def nulls(self, rows: Rows) -> None:
        return None


class ShiftedNumbers:
    """The numbers of another column, plus a constant."""

    def __init__(self, of: Numbers, by: int) -> None:
        self._of, self._by = of, by

    def flat(self, null: int = NONE) -> Flat | None:
        of = self._of.flat()
        return None if of is None or of.top is not None else replace(of, base=of.base + self._by)

    def take(self, rows: Rows, null: int = NONE) -> Ints:
        return self._of.take(rows) + self._by

    def nulls(self, rows: Rows) -> None:
        return None


class ReachNumbers:
    """The numbers of another column, with IN_FLIGHT for null."""

    def __init__(self, of: Numbers) -> None:
        self._of = of

    def flat(self, null: int = NONE) -> Flat | None:
        return self._of.flat(IN_FLIGHT)

    def take(self, rows: Rows, null: int = NONE) -> Ints:
        return self._of.take(rows, IN_FLIGHT)

    def nulls(self, rows: Rows) -> None:
        return None
