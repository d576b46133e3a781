"""Decode the columns of a part that ``encoding.py`` wrote, by rows and never as a whole."""

import numpy as np
import pyarrow as pa

from snapshots.store.column_rows import Ints, Mask, Places, Rows, codes_of, values_of
from snapshots.store.encoding import ENCODING, FOLLOWED, NULL, PADDING, PLAIN
from snapshots.store.number_columns import (
    Flat,
    NarrowNumbers,
    Numbers,
    PlainNumbers,
    RareNumbers,
    ReachNumbers,
    RunNumbers,
    ShiftedNumbers,
)
from snapshots.store.objects.far import FarArray, FarFile, FarTexts
from snapshots.store.text_columns import (
    NamedTexts,
    NumeralTexts,
    PackedTexts,
    PlainTexts,
    RareTexts,
    Texts,
)

UNREADABLE = (pa.ArrowException, ValueError, IndexError, KeyError, OverflowError)
"""What decoding raises if a part is not what its metadata say."""


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
        return texts.numerals(rows) if isinstance(texts, NumeralTexts) else None

    def flat(self, name: str) -> Flat | None:
        """Return how a column of numbers lies in memory; None if it cannot be read like this."""
        return self.numbers(name).flat()

    def flat_numerals(self, name: str) -> tuple[str, Flat] | None:
        """Return the prefix of all texts, and how the numbers after it lie in memory."""
        texts = self.texts(name)
        return texts.flat_numerals() if isinstance(texts, NumeralTexts) else None

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
                return PlainNumbers(content, self._viewed)
            case "narrow":
                width = int(facts["width"])
                _require(1 <= width <= 8 and len(content) == count * width + PADDING, name)
                codes = self._viewed(codes_of(content, width))
                return NarrowNumbers(codes, width, int(facts["base"]), facts.get("top"))
            case "rare":
                usual = None if facts["usual"] == NULL else int(facts["usual"])
                others = self.numbers(f"{name}.rare", len(content))
                return RareNumbers(Places(self._viewed(values_of(content))), others, usual)
            case "runs":
                ends = np.asarray(self._viewed(values_of(content))).astype(np.int64)
                _require(len(ends) > 0 and int(ends[-1]) == count, name)
                return RunNumbers(ends, self.numbers(f"{name}.runs", len(ends)))
            case "shifted":
                return ShiftedNumbers(self._followed(name, facts), int(facts["by"]))
            case "reach":
                return ReachNumbers(self._followed(name, facts))
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
                return PlainTexts(content if self._far is None else FarTexts(self._far, content))
            case "rare":
                others = self.texts(f"{name}.rare", len(content))
                return RareTexts(Places(self._viewed(values_of(content))), others)
            case "numerals":
                numbers = self.numbers(f"{name}.numerals", count)
                return NumeralTexts(numbers, facts["prefix"])
            case "named":
                if self._far is not None:
                    content = FarTexts(self._far, content).take(np.arange(len(content)))
                return NamedTexts(content, self.numbers(f"{name}.named", count))
            case "packed":
                if not pa.types.is_large_binary(content.type):
                    raise ValueError(f"{name} has blocks that are no bytes")
                ends = self.numbers(f"{name}.packed", len(content))
                blocks = content if self._far is None else FarTexts(self._far, content)
                return PackedTexts(blocks, ends.take(slice(0, len(content))))
            case other:
                raise ValueError(f"{name} has texts in the unknown encoding {other}")


def _require(fits: bool, name: str) -> None:
    if not fits:
        raise ValueError(f"{name} does not have as many values as there are rows")
