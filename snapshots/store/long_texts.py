"""Read texts of a mapped table shortened, so that no answer grows with the length of a value.

A JSON text that is too long is replaced by ``{"$excerpt": its beginning, "$bytes": its length}``,
which is JSON again. Where the whole was read, ``$digest`` tells whether two of them are the same.
The event that holds a text is the way to the whole of it.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import TypeVar, cast

import numpy as np
import orjson
import pyarrow as pa

from snapshots.domain.model.topology import JsonText
from snapshots.store.mapped import Ints, Picked

LONGEST = 2_000  # bytes of a text that are shown where not all are
_SHORTEST = 16

T = TypeVar("T", bound=str)


def excerpt_of_json(beginning: bytes, length: int) -> JsonText:
    """Return the JSON text that stands for one of ``length`` bytes with this beginning."""
    text = beginning.decode(errors="ignore")
    return JsonText(orjson.dumps({"$excerpt": text, "$bytes": length}).decode())


def excerpt_of_text(beginning: bytes, length: int) -> str:
    """Return the beginning of a text that is no JSON, and how long the whole is."""
    text = beginning.decode(errors="ignore")
    return f"{text}… (the first {len(beginning):,} of {length:,} bytes)"


def bytes_of(picked: Picked, column: str) -> Ints:
    """Return the number of bytes of each text [N], 0 for null, without reading the texts."""
    lengths = np.zeros(picked.count, np.int64)
    for number, lanes, rows in picked.places:
        lengths[lanes] = _lengths(picked.table.batches[number].column(column), rows)
    return lengths


def _lengths(texts: pa.Array, rows: Ints) -> Ints:
    if pa.types.is_dictionary(texts.type):
        codes = texts.indices.take(pa.array(rows))
        found = _lengths(texts.dictionary, codes.fill_null(0).to_numpy().astype(np.int64))
        return np.where(codes.is_valid().to_numpy(zero_copy_only=False), found, 0)
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    if not len(texts):
        return np.zeros(len(rows), np.int64)
    offsets = np.frombuffer(texts.buffers()[1], width)[texts.offset :]
    return offsets[rows + 1].astype(np.int64) - offsets[rows].astype(np.int64)


def most_kept(lengths: Iterable[int] | Ints, budget: int) -> int:
    """Return how many bytes each text may keep so that all together have ``budget`` bytes.

    Short texts stay whole, and leave the longer ones more. It is never less than 16.
    """
    ordered = np.sort(np.asarray(lengths, np.int64))
    if ordered.sum() <= budget:
        return int(ordered[-1]) if len(ordered) else 0
    kept = np.concatenate(([0], np.cumsum(ordered)[:-1]))
    rest = len(ordered) - np.arange(len(ordered))
    first = int(np.searchsorted(kept + ordered * rest, budget, side="right"))
    return max(int((budget - kept[first]) // rest[first]), _SHORTEST)


def read_shortened(
    picked: Picked, column: str, budget: int, shorten: Callable[[bytes, int], T]
) -> list[T | None]:
    """Return the texts [N] of a column, shortened to a budget of bytes; None for null.

    If all together have no more bytes than the budget, all stay whole. Else each has at most 2,000.
    """
    lengths = bytes_of(picked, column)
    if lengths.sum() <= budget:
        return cast("list[T | None]", picked.texts(column))
    most = min(most_kept(lengths, budget), LONGEST)
    found = np.full(picked.count, None, object)
    for number, lanes, rows in picked.places:
        texts = picked.table.batches[number].column(column)
        found[lanes] = [_read(texts[row], most, shorten) for row in rows.tolist()]
    return found.tolist()


def _read(scalar: pa.Scalar, most: int, shorten: Callable[[bytes, int], T]) -> T | None:
    if not scalar.is_valid:
        return None
    value = scalar.value if isinstance(scalar, pa.DictionaryScalar) else scalar
    buffer = value.as_buffer()
    if buffer.size <= most:
        return cast("T", value.as_py())
    return shorten(buffer.slice(0, most).to_pybytes(), buffer.size)


def shortened(texts: Sequence[JsonText | None], budget: int) -> list[JsonText | None]:
    """Return JSON texts that were read already, shortened in the same way."""
    lengths = [0 if text is None else len(text) for text in texts]
    if sum(lengths) <= budget:
        return list(texts)
    kept = min(most_kept(lengths, budget), LONGEST)
    return [text if text is None or len(text) <= kept else _cut(text, kept) for text in texts]


def _cut(text: JsonText, most: int) -> JsonText:
    whole = text.encode()
    beginning = whole[:most].decode(errors="ignore")
    digest = blake2b(whole, digest_size=8).hexdigest()
    excerpt = {"$excerpt": beginning, "$bytes": len(whole), "$digest": digest}
    return JsonText(orjson.dumps(excerpt).decode())
