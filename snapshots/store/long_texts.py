"""Read texts of a mapped table shortened, so that no answer grows with the length of a value.

A JSON text that is too long is replaced by ``{"$excerpt": its beginning, "$bytes": its length}``,
which is JSON again. Where the whole was read, ``$digest`` tells whether two of them are the same.
The event that holds a text is the way to the whole of it.

Columns are packed, so a length is known only once a text was read. They are read some rows at a
time: long texts are never all in memory at once.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import TypeVar, cast

import orjson

from snapshots.domain.model.topology import JsonText
from snapshots.store.mapped import Ints, MappedTable

T = TypeVar("T", bound=str)

LONGEST = 2_000  # bytes of a text that are shown where not all are
_SHORTEST = 16
_FIRST = 64  # rows that are read at once where texts may be long
_MOST_ROWS = 8_192
_MOST_BYTES = 1_000_000  # read at once, as far as the texts before tell


def excerpt_of_json(whole: bytes, most: int) -> JsonText:
    """Return the JSON text that stands for a longer one, with ``most`` bytes of it."""
    return JsonText(orjson.dumps(_excerpt(whole, most)).decode())


def excerpt_with_digest(whole: bytes, most: int) -> JsonText:
    """Return the same with a digest, by which different texts differ though they begin alike."""
    digest = blake2b(whole, digest_size=8).hexdigest()
    return JsonText(orjson.dumps(_excerpt(whole, most) | {"$digest": digest}).decode())


def _excerpt(whole: bytes, most: int) -> dict[str, str | int]:
    return {"$excerpt": whole[:most].decode(errors="ignore"), "$bytes": len(whole)}


def excerpt_of_text(whole: bytes, most: int) -> str:
    """Return the beginning of a text that is no JSON, and how long the whole is."""
    text = whole[:most].decode(errors="ignore")
    return f"{text}… (the first {most:,} of {len(whole):,} bytes)"


def has_more(table: MappedTable, codes: Ints, offsets: Ints, column: str, most: int) -> bool:
    """Tell whether the texts of the rows at ``offsets`` [N] of the runs ``codes`` [N] have more
    than ``most`` bytes; about so many are read."""
    total = 0
    for texts in _pieces(table, codes, offsets, column):
        total += sum(len(text.encode()) for text in texts if text is not None)
        if total > most:
            return True
    return False


def read_shortened(
    table: MappedTable,
    codes: Ints,
    offsets: Ints,
    column: str,
    budget: int,
    shorten: Callable[[bytes, int], T],
) -> list[T | None]:
    """Return the texts of the same rows, shortened to a budget of bytes; None for null.

    If all together have no more bytes than the budget, all stay whole. Else each has at most its
    share of the budget, and at most 2,000 bytes.
    """
    found: list[T | None] = []
    if not has_more(table, codes, offsets, column, budget):
        for texts in _pieces(table, codes, offsets, column):
            found += cast("list[T | None]", texts)
        return found
    most = _share(budget, len(codes))
    for texts in _pieces(table, codes, offsets, column):
        found += [_cut(text, most, shorten) for text in cast("list[T | None]", texts)]
    return found


def shortened(texts: Sequence[JsonText | None], budget: int) -> list[JsonText | None]:
    """Return JSON texts that were read already, shortened in the same way."""
    if sum(len(text) for text in texts if text is not None) <= budget:
        return list(texts)
    most = _share(budget, len(texts))
    return [None if text is None else _cut(text, most, excerpt_with_digest) for text in texts]


def _share(budget: int, count: int) -> int:
    return max(min(budget // max(count, 1), LONGEST), _SHORTEST)


def _pieces(
    table: MappedTable, codes: Ints, offsets: Ints, column: str
) -> Iterator[list[str | None]]:
    """Yield the texts some rows at a time: the longer they are, the fewer."""
    begin, rows = 0, _FIRST
    while begin < len(codes):
        piece = slice(begin, begin + rows)
        texts = table.pick(codes[piece], offsets[piece]).texts(column)
        yield texts
        begin += rows
        mean = sum(len(text) for text in texts if text is not None) // len(texts) + 1
        rows = max(min(_MOST_BYTES // mean, 4 * rows, _MOST_ROWS), 1)


def _cut(text: T | None, most: int, shorten: Callable[[bytes, int], T]) -> T | None:
    if text is None or len(text) * 4 <= most:
        return text
    whole = text.encode()
    return text if len(whole) <= most else shorten(whole, most)
