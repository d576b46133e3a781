"""Compare the ids of messages as numbers: those that end in a number are not even written out."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from snapshots.readers.formats.numerals import number_after, written
from snapshots.store.decoding import StoredPart
from snapshots.store.layout import NONE

Ints = NDArray[np.int64]
EventRows = Sequence[tuple[StoredPart, Ints]]
"""Parts of the events, and rows of each."""

_MOST_SPAN = 2**40  # of numbers that are codes: each is multiplied by the number of a channel


class MessageIds(Protocol):
    """The ids of some rows.

    Attributes:
        codes: int64[N], 0 or more, equal numbers for equal ids; NONE for markers.
    """

    codes: Ints

    def texts(self, rows: Ints) -> pa.Array:
        """Return the ids of some of the rows as large strings."""

    def codes_of(self, texts: pa.Array) -> Ints:
        """Return the code of each text, NONE for one that is not among the ids."""


def message_ids(events: EventRows, order: Ints) -> MessageIds:
    """Return the ids of the rows of all parts, in this order of them. Raises: StoreDamaged."""
    return _numbered(events, order) or _Texts(events, order)


def _numbered(events: EventRows, order: Ints) -> "_Numbers | None":
    """Return the ids if all are one prefix and a number, and these numbers lie close together."""
    found = [part.numerals("message", rows) for part, rows in events]
    if not found or None in found:
        return None
    prefixes, numbers, nulls = zip(*filter(None, found), strict=True)
    if len(set(prefixes)) > 1:
        return None
    number, is_null = np.concatenate(numbers)[order], np.concatenate(nulls)[order]
    known = number[~is_null]
    low, high = (int(known.min()), int(known.max())) if len(known) else (0, 0)
    if high - low >= _MOST_SPAN:
        return None
    return _Numbers(prefixes[0], low, np.where(is_null, NONE, number - low))


class _Numbers:
    """Ids that are a prefix and ``low`` plus their code."""

    def __init__(self, prefix: str, low: int, codes: Ints) -> None:
        self._prefix, self._low, self.codes = prefix, low, codes

    def texts(self, rows: Ints) -> pa.Array:
        codes = self.codes[rows]
        return written(pa.array(codes + self._low, mask=codes == NONE), self._prefix)

    def codes_of(self, texts: pa.Array) -> Ints:
        most = int(self.codes.max(initial=NONE))
        numbers = (number_after(self._prefix, text) for text in texts.to_pylist())
        codes = (NONE if number is None else number - self._low for number in numbers)
        return np.array([code if 0 <= code <= most else NONE for code in codes], np.int64)


class _Texts:
    """Any ids, numbered in the order of first use."""

    def __init__(self, events: EventRows, order: Ints) -> None:
        none = pa.array([], pa.large_string())
        texts = pa.concat_arrays([none, *(part.texts("message", rows) for part, rows in events)])
        self._texts = texts.take(pa.array(order))
        encoded = self._texts.dictionary_encode()
        self.codes = pc.fill_null(encoded.indices, NONE).to_numpy().astype(np.int64)
        self._names = encoded.dictionary

    def texts(self, rows: Ints) -> pa.Array:
        return self._texts.take(pa.array(rows))

    def codes_of(self, texts: pa.Array) -> Ints:
        places = pc.fill_null(pc.index_in(texts, self._names), NONE)
        found: Ints = places.to_numpy().astype(np.int64)
        return found
