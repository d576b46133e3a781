"""Read columns of all parts of a table in one step, however many parts there are.

The files of the parts are mapped one behind another. A number is then found by the part and the
row: the part says where its column begins, and in how many bytes each number is. Columns that a
part holds in another way are read part by part; see ``mapped.py``.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapshots.store.decoding import StoredPart, damage_told, open_part
from snapshots.store.number_columns import Flat
from snapshots.store.objects.paths import ObjectPath
from snapshots.store.outlines import FENCE
from snapshots.store.pages import MappedFiles, pages_of

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
BLOCK = FENCE
_WORD = 8  # bytes that are read for each number; those behind its own do not count
_BEYOND = BLOCK * _WORD  # bytes that are read behind the last number of a part, at most


class JoinedColumn:
    """A column of numbers of all parts of a table.

    Attributes:
        known: bool[parts], which parts hold the column in a way that can be read here.
        has_all: whether all do.
    """

    def __init__(self, memory: MappedFiles, flats: Sequence[Flat | None]) -> None:
        """Take how the column lies in each part; None if it cannot be read here."""
        # A word begins at each byte, so that numbers of any width are read in the same way.
        self._memory = memory
        self._words = np.ndarray((max(len(memory) - _WORD + 1, 0),), "<u8", memory, strides=(1,))
        address = memory.address
        placed = [
            item if item and 0 <= item.address - address < len(self._words) else None
            for item in flats
        ]
        self.known: Mask = np.array([item is not None for item in placed], np.bool_)
        self.has_all = bool(self.known.all())
        held = [item or Flat(address, 1, 0, None) for item in placed]
        self._first = np.array([item.address - address for item in held], np.int64)
        self._width = np.array([item.width for item in held], np.int64)
        self._largest = np.array([2 ** (8 * item.width) - 1 for item in held], np.uint64)
        self._base = np.array([_wrapped(item.base) for item in held], np.int64)
        self._has_top = np.array([item.top is not None for item in held], np.bool_)
        self._top = np.array([item.top or 0 for item in held], np.int64)

    def take(self, parts: Ints, rows: Ints) -> Ints:
        """Return the numbers of these rows [N], each of the part beside it. Raises: IndexError."""
        return self._numbers(parts, self._codes(parts, rows))

    def take_blocks(self, parts: Ints, first: Ints) -> Ints:
        """Return the numbers of BLOCK rows from each of ``first`` [N] on: int64[N, BLOCK].

        Those behind the last row of a part mean nothing.
        """
        codes = np.empty((len(parts), BLOCK), np.uint64)
        widths = self._width[parts]
        places = self._first[parts] + first * widths
        for width in self._widths:
            lanes = slice(None) if len(self._widths) == 1 else np.flatnonzero(widths == width)
            shape = len(self._words) - (BLOCK - 1) * width, BLOCK
            blocks = np.ndarray(shape, "<u8", self._memory, strides=(1, width))
            codes[lanes] = blocks[places[lanes]]
        return self._numbers(parts[:, None], codes & self._largest[parts, None])

    def tops(self, parts: Ints, rows: Ints) -> Mask | None:
        """Tell which of these rows have the code that stands for something; None if none can."""
        return self._is_top(parts, self._codes(parts, rows)) if self._has_tops else None

    def _codes(self, parts: Ints, rows: Ints) -> NDArray[np.uint64]:
        has_one_width = len(self._widths) == 1
        widths = self._width[0] if has_one_width else self._width[parts]
        codes: NDArray[np.uint64] = self._words[self._first[parts] + rows * widths]
        codes &= self._largest[0] if has_one_width else self._largest[parts]
        return codes

    def _numbers(self, parts: Ints, codes: NDArray[np.uint64]) -> Ints:
        """Return what the codes mean, of which some may stand for something."""
        numbers = codes.astype(np.int64)
        # The sum wraps as encoding does.
        numbers += self._base[0] if self._has_one_base else self._base[parts]
        if self._has_tops:
            np.copyto(numbers, self._top[parts], where=self._is_top(parts, codes))
        return numbers

    def _is_top(self, parts: Ints, codes: NDArray[np.uint64]) -> Mask:
        is_top: Mask = (codes == self._largest[parts]) & self._has_top[parts]
        return is_top

    @cached_property
    def _has_tops(self) -> bool:
        return bool(self._has_top.any())

    @cached_property
    def _has_one_base(self) -> bool:
        return len(np.unique(self._base)) == 1

    @cached_property
    def _widths(self) -> list[int]:
        return np.unique(self._width).tolist()


class JoinedNumerals:
    """A column of texts of all parts, each of which is the prefix of its part and a number."""

    def __init__(self, prefixes: Sequence[str], numbers: JoinedColumn) -> None:
        self._prefixes, self._numbers = prefixes, numbers
        self._is_alike = len(set(prefixes)) == 1

    def listed(self, parts: Ints, rows: Ints) -> list[str | None]:
        """Return the texts of these rows [N], each of the part beside it, with None for null."""
        numbers = self._numbers.take(parts, rows).tolist()
        texts: list[str | None]
        if self._is_alike:
            prefix = self._prefixes[0]
            texts = [f"{prefix}{number}" for number in numbers]
        else:
            pairs = zip(parts.tolist(), numbers, strict=True)
            texts = [f"{self._prefixes[part]}{number}" for part, number in pairs]
        nulls = self._numbers.tops(parts, rows)
        for lane in () if nulls is None else np.flatnonzero(nulls).tolist():
            texts[lane] = None
        return texts


class JoinedParts:
    """The parts of a table whose files lie in one memory. Safe for threads."""

    def __init__(self, memory: MappedFiles, parts: Sequence[StoredPart]) -> None:
        self._memory, self._parts = memory, parts
        self._numbers: dict[str, JoinedColumn | None] = {}
        self._numerals: dict[str, JoinedNumerals | None] = {}

    def numbers(self, name: str) -> JoinedColumn | None:
        """Return a column of numbers; None if it is read part by part. Raises: StoreDamaged."""
        if name not in self._numbers:
            column = JoinedColumn(self._memory, [part.flat(name) for part in self._parts])
            self._numbers[name] = column if column.known.any() else None
        return self._numbers[name]

    def numerals(self, name: str) -> JoinedNumerals | None:
        """Return a column of texts; None if it is read part by part. Raises: StoreDamaged."""
        if name not in self._numerals:
            self._numerals[name] = self._joined_numerals(name)
        return self._numerals[name]

    def _joined_numerals(self, name: str) -> JoinedNumerals | None:
        found = [part.flat_numerals(name) for part in self._parts]
        known = [item for item in found if item is not None]
        if not known or len(known) < len(found):
            return None
        numbers = JoinedColumn(self._memory, [flat for _, flat in known])
        prefixes = [prefix for prefix, _ in known]
        return JoinedNumerals(prefixes, numbers) if numbers.has_all else None


def open_parts(paths: Sequence[Path], table: str) -> tuple[list[StoredPart], JoinedParts | None]:
    """Map parts of one of the PARTED tables, in one memory unless they are on an object store.

    Raises: StoreDamaged, StoreUnreachable.
    """
    if any(isinstance(path, ObjectPath) for path in paths):
        return [open_part(path, table) for path in paths], None
    sizes = []
    for path in paths:
        with damage_told(path):
            sizes.append(path.stat().st_size)
    memory = MappedFiles.reserve(sum(map(pages_of, sizes)) + _BEYOND)
    parts, begin = [], 0
    for path, size in zip(paths, sizes, strict=True):
        with damage_told(path):
            content = memory.add(path, begin, size)
        parts.append(open_part(path, table, content))
        begin += pages_of(size)
    return parts, JoinedParts(memory, parts)


def _wrapped(number: int) -> int:
    """Return a number as 64 bits hold it."""
    return (number + 2**63) % 2**64 - 2**63
