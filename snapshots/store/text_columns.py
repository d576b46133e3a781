"""Decode the columns of texts that ``encoding.py`` wrote: a class for each encoding."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from snapshots.readers.formats.numerals import number_after, written
from snapshots.store.blocks import Blocks
from snapshots.store.column_rows import (
    Ints,
    Mask,
    Places,
    Rows,
    Test,
    chosen,
    count_of,
    numbered,
    places_in,
)
from snapshots.store.layout import NONE
from snapshots.store.number_columns import Flat, Numbers
from snapshots.store.objects.far import FarTexts, block_of
from snapshots.store.packing import unpack

_TEXT = pa.schema([("text", pa.large_string())])
_NO_TEXTS = pa.array([], pa.large_string())


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


class _ReadTexts:
    """What all texts have that are read as an array first."""

    def take(self, rows: Rows) -> pa.Array:
        raise NotImplementedError

    def listed(self, rows: Rows) -> list[str | None]:
        texts: list[str | None] = self.take(rows).to_pylist()
        return texts

    def find(self, rows: Rows, wanted: pa.Array) -> Ints:
        return places_in(self.take(rows), wanted)

    def matching(self, rows: Rows, test: Test) -> Mask:
        return test(self.take(rows))


class PlainTexts(_ReadTexts):
    """The texts as they are."""

    def __init__(self, texts: pa.Array | FarTexts) -> None:
        self._texts = texts

    def take(self, rows: Rows) -> pa.Array:
        if isinstance(self._texts, FarTexts):
            return self._texts.take(numbered(rows))
        return chosen(self._texts, rows)


class RareTexts(_ReadTexts):
    """Texts that nearly all are null."""

    def __init__(self, places: Places, others: Texts) -> None:
        self._places, self._others = places, others

    def take(self, rows: Rows) -> pa.Array:
        lanes, ranks = self._places.among(rows)
        if not len(lanes):
            return pa.nulls(count_of(rows), pa.large_string())
        texts = np.full(count_of(rows), NONE)
        texts[lanes] = np.arange(len(lanes))
        places = pa.array(texts, mask=texts == NONE)
        return self._others.take(ranks).take(places)

    def find(self, rows: Rows, wanted: pa.Array) -> Ints:
        lanes, ranks = self._places.among(rows)
        found = np.full(count_of(rows), NONE)
        if len(lanes):
            found[lanes] = self._others.find(ranks, wanted)
        return found

    def matching(self, rows: Rows, test: Test) -> Mask:
        lanes, ranks = self._places.among(rows)
        matches = np.zeros(count_of(rows), np.bool_)
        if len(lanes):
            matches[lanes] = self._others.matching(ranks, test)
        return matches


class NumeralTexts(_ReadTexts):
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
        return places[places_in(numbers, known)]  # NONE is the last

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


class NamedTexts(_ReadTexts):
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


class PackedTexts(_ReadTexts):
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
        found = np.full(count_of(rows), NONE)
        for lanes, texts in self._by_block(rows):
            found[lanes] = places_in(texts, wanted)
        return found

    def matching(self, rows: Rows, test: Test) -> Mask:
        matches = np.zeros(count_of(rows), np.bool_)
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
