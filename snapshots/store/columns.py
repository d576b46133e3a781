"""Decode the columns of a part that ``encoding.py`` wrote, by rows and never as a whole.

*Rows* are an array of row numbers, or a slice with a begin and an end. Reading a slice costs what
the slice costs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from snapshots.store.blocks import Blocks
from snapshots.store.encoding import (
    ENCODING,
    FOLLOWED,
    NULL,
    PADDING,
    PLAIN,
    number_after,
    written,
)
from snapshots.store.layout import IN_FLIGHT, NONE
from snapshots.store.objects.far import FarArray, FarFile, FarTexts, block_of
from snapshots.store.packing import unpack

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Rows = Ints | slice
Test = Callable[[pa.Array], Mask]
"""Tells which texts of an array match; a null does not."""

UNREADABLE = (pa.ArrowException, ValueError, IndexError, KeyError, OverflowError)
"""What decoding raises if a part is not what its metadata say."""

_TEXT = pa.schema([("text", pa.large_string())])
_NO_TEXTS = pa.array([], pa.large_string())


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


class Texts(Protocol):
    """A column of texts, of which some may be null."""

    def take(self, rows: Rows) -> pa.Array:
        """Return the texts of these rows as large strings."""

    def listed(self, rows: Rows) -> list[str | None]:
        """Return the same in a list, with None for null."""

    def find(self, rows: Rows, wanted: pa.Array) -> Ints:
        """Return the place among distinct ``wanted`` texts of each row's text, or NONE."""

    def matching(self, rows: Rows, test: Test) -> Mask:
        """Tell which of these rows pass the test."""


class Columns:
    """The columns of one part, each decoded when it is first asked for.

    Attributes:
        names: the names of the columns.
    """

    def __init__(self, batch: pa.RecordBatch, rows: int, far: FarFile | None = None) -> None:
        """Take the batch of a part with so many rows: mapped, or in a far file."""
        self._batch, self._rows, self._far = batch, rows, far
        self._fields = {field.name: field for field in batch.schema}
        self.names = tuple(name for name in self._fields if "." not in name)
        self._numbers: dict[str, Numbers] = {}
        self._texts: dict[str, Texts] = {}

    def numbers(self, name: str, count: int | None = None) -> Numbers:
        """Return a column that must have ``count`` rows, by default those of the part.

        Raises: ValueError, KeyError, pa.ArrowException if it cannot be decoded.
        """
        if name not in self._numbers:
            count = self._rows if count is None else count
            self._numbers[name] = self._decoded_numbers(name, count)
        return self._numbers[name]

    def texts(self, name: str, count: int | None = None) -> Texts:
        """Return a column of texts in the same way."""
        if name not in self._texts:
            count = self._rows if count is None else count
            self._texts[name] = self._decoded_texts(name, count)
        return self._texts[name]

    def numerals(self, name: str, rows: Rows) -> tuple[str, Ints, Mask] | None:
        """Return the prefix of all texts, the number after it, and which of these rows are null.

        None if the column is not stored as such numbers.
        """
        texts = self.texts(name)
        return texts.numerals(rows) if isinstance(texts, _NumeralTexts) else None

    def flat(self, name: str) -> Flat | None:
        """Return how a column of numbers lies in memory; None if it cannot be read like this."""
        return self.numbers(name).flat()

    def flat_numerals(self, name: str) -> tuple[str, Flat] | None:
        """Return the prefix of all texts, and how the numbers after it lie in memory."""
        texts = self.texts(name)
        return texts.flat_numerals() if isinstance(texts, _NumeralTexts) else None

    def _content(self, name: str) -> pa.Array:
        column = self._batch.column(name)
        return column.values if pa.types.is_large_list(column.type) else column

    def _viewed(self, values: np.ndarray) -> np.ndarray | FarArray:
        """Return how rows of a view of the batch are read."""
        return values if self._far is None else FarArray(self._far, values)

    def _facts(self, name: str) -> dict[str, str]:
        stored = self._fields[name].metadata or {}
        return {key.decode(): value.decode() for key, value in stored.items()}

    def _decoded_numbers(self, name: str, count: int) -> Numbers:
        facts, content = self._facts(name), self._content(name)
        match facts.get(ENCODING, PLAIN):
            case "plain":
                _require(len(content) == count, name)
                return _PlainNumbers(content, self._viewed)
            case "narrow":
                width = int(facts["width"])
                _require(1 <= width <= 8 and len(content) == count * width + PADDING, name)
                codes = self._viewed(_codes(content, width))
                return _NarrowNumbers(codes, width, int(facts["base"]), facts.get("top"))
            case "rare":
                usual = None if facts["usual"] == NULL else int(facts["usual"])
                others = self.numbers(f"{name}.rare", len(content))
                return _RareNumbers(_Places(self._viewed(_values(content))), others, usual)
            case "runs":
                ends = np.asarray(self._viewed(_values(content))).astype(np.int64)
                _require(len(ends) > 0 and int(ends[-1]) == count, name)
                return _RunNumbers(ends, self.numbers(f"{name}.runs", len(ends)))
            case "shifted":
                return _ShiftedNumbers(self._followed(name, facts), int(facts["by"]))
            case "reach":
                return _ReachNumbers(self._followed(name, facts))
            case other:
                raise ValueError(f"{name} has numbers in the unknown encoding {other}")

    def _followed(self, name: str, facts: dict[str, str]) -> Numbers:
        """Return the column from which this one follows, which follows from no other."""
        if FOLLOWED.get(name) != facts["of"]:
            raise ValueError(f"{name} cannot follow from {facts['of']}")
        return self.numbers(facts["of"])

    def _decoded_texts(self, name: str, count: int) -> Texts:
        facts, content = self._facts(name), self._content(name)
        match facts.get(ENCODING, PLAIN):
            case "plain":
                _require(len(content) == count, name)
                return _PlainTexts(content if self._far is None else FarTexts(self._far, content))
            case "rare":
                others = self.texts(f"{name}.rare", len(content))
                return _RareTexts(_Places(self._viewed(_values(content))), others)
            case "numerals":
                numbers = self.numbers(f"{name}.numerals", count)
                return _NumeralTexts(numbers, facts["prefix"])
            case "named":
                if self._far is not None:
                    content = FarTexts(self._far, content).take(np.arange(len(content)))
                return _NamedTexts(content, self.numbers(f"{name}.named", count))
            case "packed":
                if not pa.types.is_large_binary(content.type):
                    raise ValueError(f"{name} has blocks that are no bytes")
                ends = self.numbers(f"{name}.packed", len(content))
                blocks = content if self._far is None else FarTexts(self._far, content)
                return _PackedTexts(blocks, ends.take(slice(0, len(content))))
            case other:
                raise ValueError(f"{name} has texts in the unknown encoding {other}")


def _require(fits: bool, name: str) -> None:
    if not fits:
        raise ValueError(f"{name} does not have as many values as there are rows")


# --- numbers -------------------------------------------------------------------------------------


class _PlainNumbers:
    """The numbers as they are, with one bit for each row if some are null."""

    def __init__(self, array: pa.Array, viewed: Callable[[np.ndarray], Any]) -> None:
        self._values = viewed(_values(array))
        bits = array.buffers()[0] if array.null_count else None
        self._valid = None if bits is None else viewed(np.frombuffer(bits, np.uint8))
        self._offset = array.offset

    def flat(self, null: int = NONE) -> Flat | None:
        is_flat = isinstance(self._values, np.ndarray) and self._values.dtype == np.int64
        return Flat(_address(self._values), 8, 0, None) if is_flat and self._valid is None else None

    def take(self, rows: Rows, null: int = NONE) -> Ints:
        values = self._values[rows].astype(np.int64)
        nulls = self.nulls(rows)
        if nulls is not None:
            values[nulls] = null
        return values

    def nulls(self, rows: Rows) -> Mask | None:
        if self._valid is None:
            return None
        places = _numbered(rows) + self._offset
        is_null: Mask = (self._valid[places >> 3] >> (places & 7)) & 1 == 0
        return is_null


class _NarrowNumbers:
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
        return Flat(_address(self._codes), width, int(self._base), top)

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


class _RareNumbers:
    """Numbers that are nearly all the same, which is null if ``usual`` is None."""

    def __init__(self, places: "_Places", others: Numbers, usual: int | None) -> None:
        self._places, self._others, self._usual = places, others, usual

    def flat(self, null: int = NONE) -> None:
        return None

    def take(self, rows: Rows, null: int = NONE) -> Ints:
        values = np.full(_count(rows), null if self._usual is None else self._usual, np.int64)
        lanes, ranks = self._places.among(rows)
        values[lanes] = self._others.take(ranks, null)
        return values

    def nulls(self, rows: Rows) -> Mask | None:
        lanes, ranks = self._places.among(rows)
        others = self._others.nulls(ranks)
        if self._usual is not None and others is None:
            return None
        is_null = np.full(_count(rows), self._usual is None)
        is_null[lanes] = False if others is None else others
        return is_null


class _RunNumbers:
    """Numbers that stay the same for many rows."""

    def __init__(self, ends: NDArray[np.int64], runs: Numbers) -> None:
        self._ends, self._runs = ends, runs

    def flat(self, null: int = NONE) -> None:
        return None

    def take(self, rows: Rows, null: int = NONE) -> Ints:
        return self._runs.take(np.searchsorted(self._ends, _numbered(rows), side="right"))

    def nulls(self, rows: Rows) -> None:
        return None


class _ShiftedNumbers:
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


class _ReachNumbers:
    """The numbers of another column, with IN_FLIGHT for null."""

    def __init__(self, of: Numbers) -> None:
        self._of = of

    def flat(self, null: int = NONE) -> Flat | None:
        return self._of.flat(IN_FLIGHT)

    def take(self, rows: Rows, null: int = NONE) -> Ints:
        return self._of.take(rows, IN_FLIGHT)

    def nulls(self, rows: Rows) -> None:
        return None


# --- texts ---------------------------------------------------------------------------------------


class _ReadTexts:
    """What all texts have that are read as an array first."""

    def take(self, rows: Rows) -> pa.Array:
        raise NotImplementedError

    def listed(self, rows: Rows) -> list[str | None]:
        texts: list[str | None] = self.take(rows).to_pylist()
        return texts

    def find(self, rows: Rows, wanted: pa.Array) -> Ints:
        return _places_in(self.take(rows), wanted)

    def matching(self, rows: Rows, test: Test) -> Mask:
        return test(self.take(rows))


class _PlainTexts(_ReadTexts):
    """The texts as they are."""

    def __init__(self, texts: pa.Array | FarTexts) -> None:
        self._texts = texts

    def take(self, rows: Rows) -> pa.Array:
        if isinstance(self._texts, FarTexts):
            return self._texts.take(_numbered(rows))
        return _chosen(self._texts, rows)


class _RareTexts(_ReadTexts):
    """Texts that nearly all are null."""

    def __init__(self, places: "_Places", others: Texts) -> None:
        self._places, self._others = places, others

    def take(self, rows: Rows) -> pa.Array:
        lanes, ranks = self._places.among(rows)
        if not len(lanes):
            return pa.nulls(_count(rows), pa.large_string())
        texts = np.full(_count(rows), NONE)
        texts[lanes] = np.arange(len(lanes))
        places = pa.array(texts, mask=texts == NONE)
        return self._others.take(ranks).take(places)

    def find(self, rows: Rows, wanted: pa.Array) -> Ints:
        lanes, ranks = self._places.among(rows)
        found = np.full(_count(rows), NONE)
        if len(lanes):
            found[lanes] = self._others.find(ranks, wanted)
        return found

    def matching(self, rows: Rows, test: Test) -> Mask:
        lanes, ranks = self._places.among(rows)
        matches = np.zeros(_count(rows), np.bool_)
        if len(lanes):
            matches[lanes] = self._others.matching(ranks, test)
        return matches


class _NumeralTexts(_ReadTexts):
    """Texts that are one prefix and a number."""

    def __init__(self, numbers: Numbers, prefix: str) -> None:
        self._numbers, self._prefix = numbers, prefix

    def flat_numerals(self) -> tuple[str, Flat] | None:
        flat = self._numbers.flat()
        return None if flat is None else (self._prefix, flat)

    def numerals(self, rows: Rows) -> tuple[str, Ints, Mask]:
        numbers, nulls = self._numbers.take(rows), self._numbers.nulls(rows)
        return self._prefix, numbers, np.zeros(len(numbers), np.bool_) if nulls is None else nulls

    def take(self, rows: Rows) -> pa.Array:
        numbers = pa.array(self._numbers.take(rows), mask=self._numbers.nulls(rows))
        return written(numbers, self._prefix)

    def listed(self, rows: Rows) -> list[str | None]:
        numbers, nulls = self._numbers.take(rows).tolist(), self._numbers.nulls(rows)
        prefix = self._prefix
        if nulls is None:
            return [f"{prefix}{number}" for number in numbers]
        pairs = zip(numbers, nulls.tolist(), strict=True)
        return [None if is_null else f"{prefix}{number}" for number, is_null in pairs]

    def find(self, rows: Rows, wanted: pa.Array) -> Ints:
        sought = [number_after(self._prefix, text) for text in wanted.to_pylist()]
        places = np.array([n for n, number in enumerate(sought) if number is not None] + [NONE])
        known = pa.array([number for number in sought if number is not None], pa.int64())
        numbers = pa.array(self._numbers.take(rows), mask=self._numbers.nulls(rows))
        return places[_places_in(numbers, known)]  # NONE is the last

    def matching(self, rows: Rows, test: Test) -> Mask:
        numbers, nulls = self._numbers.take(rows), self._numbers.nulls(rows)
        if not len(numbers):
            return np.zeros(0, np.bool_)
        low, high = int(numbers.min()), int(numbers.max())
        if high - low >= len(numbers):
            return test(self.take(rows))
        # Many rows have the same text, so each possible text is tested only once.
        possible = low + np.arange(high - low + 1)
        matches = test(written(pa.array(possible), self._prefix))[numbers - low]
        return matches if nulls is None else matches & ~nulls


class _NamedTexts(_ReadTexts):
    """Texts of which only a few are distinct."""

    def __init__(self, names: pa.Array, codes: Numbers) -> None:
        self._names, self._codes = names, codes

    def take(self, rows: Rows) -> pa.Array:
        return self._names.take(pa.array(self._codes.take(rows), mask=self._codes.nulls(rows)))

    def matching(self, rows: Rows, test: Test) -> Mask:
        matches: Mask = np.append(test(self._names), False)  # the last is for null
        codes, nulls = self._codes.take(rows), self._codes.nulls(rows)
        if nulls is not None:
            codes[nulls] = len(self._names)
        return matches[codes]


class _PackedTexts(_ReadTexts):
    """Texts in compressed blocks, of which one is unpacked at a time unless all are asked for."""

    def __init__(self, blocks: pa.Array | FarTexts, ends: Ints) -> None:
        self._blocks, self._ends = blocks, ends
        self._kept = Blocks()

    def take(self, rows: Rows) -> pa.Array:
        pieces = list(self._by_block(rows))
        texts = pa.concat_arrays([_NO_TEXTS, *(piece for _, piece in pieces)])
        if isinstance(rows, slice) or not pieces:
            return texts
        places = np.empty(len(rows), np.int64)
        places[np.concatenate([lanes for lanes, _ in pieces])] = np.arange(len(rows))
        return texts.take(pa.array(places))

    def find(self, rows: Rows, wanted: pa.Array) -> Ints:
        found = np.full(_count(rows), NONE)
        for lanes, texts in self._by_block(rows):
            found[lanes] = _places_in(texts, wanted)
        return found

    def matching(self, rows: Rows, test: Test) -> Mask:
        matches = np.zeros(_count(rows), np.bool_)
        for lanes, texts in self._by_block(rows):
            matches[lanes] = test(texts)
        return matches

    def _by_block(self, rows: Rows) -> Iterator[tuple[Any, pa.Array]]:
        """Yield the texts of those rows that are in one block, and their places in ``rows``."""
        return self._between(rows) if isinstance(rows, slice) else self._among(rows)

    def _between(self, rows: slice) -> Iterator[tuple[slice, pa.Array]]:
        begin = rows.start
        number = int(np.searchsorted(self._ends, begin, side="right"))
        if isinstance(self._blocks, FarTexts) and begin < rows.stop:
            last = int(np.searchsorted(self._ends, rows.stop))
            self._blocks.fetch(np.arange(number, min(last + 1, len(self._ends))))
        while begin < rows.stop:
            end = min(int(self._ends[number]), rows.stop)
            texts = self._block(number).slice(begin - self._begin(number), end - begin)
            yield slice(begin - rows.start, end - rows.start), texts
            begin, number = end, number + 1

    def _among(self, rows: Ints) -> Iterator[tuple[Ints, pa.Array]]:
        owners = np.searchsorted(self._ends, rows, side="right")
        order = np.argsort(owners, kind="stable")
        numbers, begins = np.unique(owners[order], return_index=True)
        if isinstance(self._blocks, FarTexts):
            self._blocks.fetch(numbers)
        for number, lanes in zip(numbers.tolist(), np.split(order, begins[1:]), strict=False):
            yield lanes, self._block(number).take(pa.array(rows[lanes] - self._begin(number)))

    def _begin(self, number: int) -> int:
        return int(self._ends[number - 1]) if number else 0

    def _block(self, number: int) -> pa.Array:
        return self._kept.block(number, self._unpacked)

    def _unpacked(self, number: int) -> pa.Array:
        try:
            content = unpack(block_of(self._blocks, number))
            block = pa.ipc.read_record_batch(content, _TEXT).column(0)
        except OSError as error:
            raise ValueError(f"block {number} holds no texts ({error})") from error
        if len(block) != self._ends[number] - self._begin(number):
            raise ValueError(f"block {number} has {len(block)} texts")
        return block


# --- rows ----------------------------------------------------------------------------------------


class _Places:
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


def _values(array: pa.Array) -> NDArray[np.integer]:
    """Return a view of the numbers of an array; nulls have any value."""
    dtype = np.dtype(array.type.to_pandas_dtype())
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros(0, dtype)
    values: NDArray[np.integer] = np.frombuffer(buffer, dtype, array.offset + len(array))
    return values[array.offset :]


def _address(values: np.ndarray) -> int:
    address: int = values.__array_interface__["data"][0]
    return address


def _codes(content: pa.Array, width: int) -> np.ndarray:
    """Return a view of narrow numbers, which are read with the bytes that follow them."""
    word = next(size for size in (1, 2, 4, 8) if size >= width)
    count = (len(content) - PADDING) // width
    return np.ndarray((count,), f"<u{word}", _values(content), strides=(width,))


def _numbered(rows: Rows) -> Ints:
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def _count(rows: Rows) -> int:
    return rows.stop - rows.start if isinstance(rows, slice) else len(rows)


def _places_in(values: pa.Array, wanted: pa.Array) -> Ints:
    places = pc.fill_null(pc.index_in(values, wanted), NONE)
    found: Ints = places.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _chosen(array: pa.Array, rows: Rows) -> pa.Array:
    if isinstance(rows, slice):
        return array.slice(rows.start, rows.stop - rows.start)
    return array.take(pa.array(rows))
