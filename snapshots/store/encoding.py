"""Write the columns of a part in as few bytes as they need; ``decoding.py`` reads them.

A part is one Arrow record batch with a single row, in which every *piece* is a list of any length.
A column is the piece with its name, and further pieces whose names add a suffix. The metadata of
a piece's field says how to read it:

    encoding   content of the piece               further metadata and pieces
    plain      the values as they are
    narrow     each number minus ``base``, as     ``width``: the bytes; ``top``: what the largest
               little-endian bytes                code means, ``null`` or a number
    rare       the rows whose value is not the    ``usual``: that value, ``null`` or a number;
               usual one, sorted                  ``.rare``: the values of these rows
    runs       the end of each run of equal       ``.runs``: the value of each run
               values
    shifted    nothing                            the column ``of`` plus ``by``
    reach      nothing                            the column ``of``, with IN_FLIGHT for null
    numerals   nothing                            ``prefix``: what each text begins with;
                                                  ``.numerals``: the number after it
    named      the distinct texts                 ``.named``: the place of each row's text
    packed     compressed blocks of texts         ``.packed``: the end of each block in rows

The pieces with a suffix are columns themselves. The metadata of the schema says how many ``rows``
the part has. Columns of older stores have one Arrow array with a value for each row, which is what
``plain`` means without the list.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from snapshots.readers.formats.numerals import Numerals, numbers_of, prefix_in, prefix_of
from snapshots.store.layout import IN_FLIGHT
from snapshots.store.packing import pack

ROWS = "rows"
ENCODING = "encoding"
NULL = "null"
PLAIN = "plain"

FOLLOWED = {"line": "step", "received_reach": "received_index"}
"""The columns that may be ``shifted`` or ``reach``, and the one from which each follows."""

PADDING = 8  # bytes after narrow numbers, so that each can be read as a whole word

_RARE = 8  # rare values are at most one in so many
_RUN = 32  # rows that a run has at least on average
_SAMPLE = 1024  # rows that are looked at to find out which encoding suits
_NAMED = 16  # rows for each distinct text, at least
_SMALL = 2**12  # bytes of texts that are not worth compressing
_BLOCK_BYTES = 2**16  # of texts in a block, unless a single one is longer
_BLOCK_ROWS = 2**12
_LONGEST = 2**31 - 1  # values of an array that Arrow writes to a file

_NOTHING = pa.array([], pa.uint8())


@dataclass(frozen=True)
class Piece:
    """One list of an encoded part, and the metadata of its field."""

    name: str
    content: pa.Array
    facts: Mapping[str, str] = field(default_factory=dict)


def encode(rows: pa.Table, schema: pa.Schema) -> pa.RecordBatch:
    """Return the columns of ``schema`` encoded, as a batch with one row.

    Columns of texts may be held as numbers (see ``readers.formats.numerals``).
    Raises: KeyError or pa.ArrowInvalid if the rows do not fit the schema.
    """
    columns = {field.name: _one(rows, field) for field in schema}
    pieces = [piece for name in columns for piece in _column(name, columns)]
    lists = [
        pa.LargeListArray.from_arrays(np.array([0, len(piece.content)]), piece.content)
        for piece in pieces
    ]
    fields = [
        pa.field(piece.name, array.type, metadata=dict(piece.facts))
        for piece, array in zip(pieces, lists, strict=True)
    ]
    return pa.RecordBatch.from_arrays(
        lists, schema=pa.schema(fields, metadata={ROWS: str(rows.num_rows)})
    )


def _one(rows: pa.Table, field: pa.Field) -> pa.Array | Numerals:
    """Return a column as one array, or as the numbers as which its texts are held."""
    prefix = prefix_in(rows.schema.field(field.name))
    kind = field.type if prefix is None else pa.int64()
    column = rows.column(field.name).cast(kind)
    array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], kind)
    return array if prefix is None else Numerals(array, prefix)


def _column(name: str, columns: Mapping[str, pa.Array | Numerals]) -> Iterator[Piece]:
    column = columns[name]
    if isinstance(column, Numerals):
        return _texts(name, column.numbers, column.prefix)
    if pa.types.is_large_string(column.type):
        return _texts(name, column)
    return _following(name, columns) or _numbers(name, column)


def _following(name: str, columns: Mapping[str, Any]) -> Iterator[Piece] | None:
    """Return how to rebuild a column from another one of the part; None if that is impossible."""
    array = columns[name]
    if not len(array):
        return None
    if name == "line" and "step" in columns:
        by = pc.subtract(array, columns["step"])
        if pc.min_max(by)["min"] == pc.min_max(by)["max"]:
            return iter([_piece(name, "shifted", of="step", by=str(by[0].as_py()))])
    if name == "received_reach":
        received = pc.fill_null(columns["received_index"], IN_FLIGHT)
        if received.equals(array):
            return iter([_piece(name, "reach", of="received_index")])
    return None


def _piece(name: str, encoding: str, content: pa.Array = _NOTHING, **facts: str) -> Piece:
    return Piece(name, content, {ENCODING: encoding} | facts)


# --- numbers -------------------------------------------------------------------------------------


def _numbers(name: str, array: pa.Array) -> Iterator[Piece]:
    """Encode a column of integers, of which some may be null."""
    if not len(array):
        yield _piece(name, PLAIN, array)
        return
    values = pc.fill_null(array, 0).to_numpy().astype(np.int64, copy=False)
    nulls = pc.is_null(array).to_numpy(zero_copy_only=False) if array.null_count else None
    is_null, usual = _usual(values, nulls)
    differs = _differs(values, nulls, is_null, usual)
    if np.count_nonzero(differs) * _RARE <= len(array):
        others = np.flatnonzero(differs)
        yield _piece(name, "rare", _places(others, len(array)), usual=NULL if is_null else usual)
        yield from _numbers(f"{name}.rare", array.take(pa.array(others)))
        return
    is_last = np.append(values[1:] != values[:-1], True)
    if nulls is None and np.count_nonzero(is_last) * _RUN <= len(values):
        ends = np.flatnonzero(is_last) + 1
        yield _piece(name, "runs", pa.array(ends))
        yield from _numbers(f"{name}.runs", pa.array(values[ends - 1]))
        return
    yield _narrow(name, values, nulls) or _piece(name, PLAIN, array)


def _usual(values: NDArray[np.int64], nulls: NDArray[np.bool_] | None) -> tuple[bool, str]:
    """Return whether null is the most likely of all values, and the most likely number."""
    sample = slice(None, None, max(len(values) // _SAMPLE, 1))
    is_null = nulls is not None and bool(2 * nulls[sample].sum() > len(nulls[sample]))
    return is_null, str(np.sort(values[sample])[len(values[sample]) // 2])


def _differs(
    values: NDArray[np.int64], nulls: NDArray[np.bool_] | None, is_null: bool, usual: str
) -> NDArray[np.bool_]:
    if is_null:
        return ~nulls if nulls is not None else np.ones(len(values), np.bool_)
    differs: NDArray[np.bool_] = values != int(usual)
    return differs if nulls is None else differs | nulls


def _places(rows: NDArray[np.int64], count: int) -> pa.Array:
    return pa.array(rows.astype(np.uint32 if count <= 2**32 else np.int64))


def _narrow(name: str, values: NDArray[np.int64], nulls: NDArray[np.bool_] | None) -> Piece | None:
    """Return the numbers in as few bytes each as they need.

    None if eight are too few, or if their bytes are more than Arrow writes as one array.
    """
    special = values == IN_FLIGHT if nulls is None else nulls
    has_top = bool(special.any())
    # Some rows are not special, or the column would have a usual value.
    known = values[~special] if has_top else values
    low, high = int(known.min()), int(known.max())
    width = max(-(-(high - low + has_top).bit_length() // 8), 1)
    if width > 8 or len(values) * width + PADDING > _LONGEST:
        return None
    codes = values.astype(np.uint64) - np.uint64(low % 2**64)  # wraps as decoding does
    if has_top:
        codes[special] = 2 ** (8 * width) - 1
    content = pa.array(np.append(_bytes(codes, width), np.zeros(PADDING, np.uint8)))
    facts = {"base": str(low), "width": str(width)}
    if has_top:
        facts["top"] = str(IN_FLIGHT) if nulls is None else NULL
    return _piece(name, "narrow", content, **facts)


def _bytes(codes: NDArray[np.uint64], width: int) -> NDArray[np.uint8]:
    """Return the lowest ``width`` bytes of each code."""
    if width in (1, 2, 4):
        return codes.astype(f"<u{width}").view(np.uint8)
    return codes.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)[:, :width].reshape(-1)


# --- texts ---------------------------------------------------------------------------------------


def _texts(name: str, texts: pa.Array, prefix: str | None = None) -> Iterator[Piece]:
    """Encode a column of texts, of which some may be null.

    With a prefix, ``texts`` are the numbers after it.
    """
    known = len(texts) - texts.null_count
    if known * _RARE <= len(texts):
        rows = np.flatnonzero(pc.is_valid(texts).to_numpy(zero_copy_only=False))
        yield _piece(name, "rare", _places(rows, len(texts)), usual=NULL)
        if known:
            yield from _texts(f"{name}.rare", texts.take(pa.array(rows)), prefix)
        else:
            yield _piece(f"{name}.rare", PLAIN, pa.array([], pa.large_string()))
    elif prefix is not None:
        yield from _numeral_pieces(name, texts, prefix)
    else:
        yield from _numerals(name, texts) or _named(name, texts) or _packed(name, texts)


def _numerals(name: str, texts: pa.Array) -> Iterator[Piece] | None:
    """Encode texts that are one prefix and a whole number without needless characters."""
    prefix = prefix_of(texts)
    if prefix is None or numbers_of(texts.slice(0, _SAMPLE), prefix) is None:
        return None
    numbers = numbers_of(texts, prefix)
    return None if numbers is None else _numeral_pieces(name, numbers, prefix)


def _numeral_pieces(name: str, numbers: pa.Array, prefix: str) -> Iterator[Piece]:
    yield _piece(name, "numerals", prefix=prefix)
    yield from _numbers(f"{name}.numerals", numbers)


def _named(name: str, texts: pa.Array) -> Iterator[Piece] | None:
    """Encode texts of which only a few are distinct, and these are not long in all."""
    step = max(len(texts) // _SAMPLE, 1)
    sample = texts.take(pa.array(np.arange(0, len(texts), step)))
    if 2 * len(sample.unique()) > len(sample):
        return None
    encoded = texts.dictionary_encode()
    if len(encoded.dictionary) * _NAMED > len(texts) or encoded.dictionary.nbytes > _BLOCK_BYTES:
        return None
    names = _piece(name, "named", encoded.dictionary)
    return iter([names, *_numbers(f"{name}.named", encoded.indices.cast(pa.int64()))])


def _packed(name: str, texts: pa.Array) -> Iterator[Piece]:
    """Encode texts as compressed blocks; a long text has a block of its own."""
    if texts.nbytes < _SMALL:
        yield _piece(name, PLAIN, texts)
        return
    ends = _block_ends(pc.fill_null(pc.binary_length(texts), 0).to_numpy())
    blocks = [
        pack(pa.record_batch([texts.slice(first, end - first)], ["text"]).serialize())
        for first, end in zip([0, *ends[:-1]], ends, strict=True)
    ]
    yield _piece(name, "packed", pa.array(blocks, pa.large_binary()))
    yield from _numbers(f"{name}.packed", pa.array(ends, pa.int64()))


def _block_ends(lengths: NDArray[np.int64]) -> list[int]:
    """Return the row at which each block ends."""
    total = np.cumsum(lengths)
    ends: list[int] = []
    begin = 0
    while begin < len(lengths):
        before = int(total[begin - 1]) if begin else 0
        fitting = int(np.searchsorted(total, before + _BLOCK_BYTES, side="right"))
        begin = min(max(fitting, begin + 1), begin + _BLOCK_ROWS, len(lengths))
        ends.append(begin)
    return ends
