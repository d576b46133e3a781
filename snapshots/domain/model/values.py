"""Read and compare states and values: JSON in one canonical text."""

import json
import math
from collections.abc import Iterable
from itertools import islice
from typing import TypeGuard

from snapshots.domain.model.topology import JsonText

_EXACT = 2**53
_NEAR = 1e-9  # sums of fractions depend on their order


def canonical(value: object) -> JsonText:
    """Return the canonical text of a JSON value: sorted keys, no white space, 5 for 5.0.

    Two values are equal iff their texts are equal. Raises: ValueError for NaN and infinities.
    """
    return JsonText(
        json.dumps(
            _plain(value),
            sort_keys=True,
            separators=(",", ":"),
            ensure_ascii=False,
            allow_nan=False,
        )
    )


def _plain(value: object) -> object:
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def parsed(text: JsonText | None) -> object:
    """Return the JSON value of a text, or None if the text is None."""
    return None if text is None else json.loads(text)


def number(text: JsonText | None) -> int | float | None:
    """Return the number that a state or value is, or that is the only number of an object.

    ``9000`` and ``{"balance":9000}`` both give 9000. A boolean is not a number. None stands for
    every other text.
    """
    if text is None:
        return None
    value = json.loads(text)
    if isinstance(value, dict):
        numbers = list(islice(filter(_is_number, value.values()), 2))
        return numbers[0] if len(numbers) == 1 else None
    return value if _is_number(value) else None


def same_amount(one: int | float, other: int | float) -> bool:
    """Tell whether two sums are equal; sums with fractions need only be equal to nine digits."""
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    return math.isclose(one, other, rel_tol=_NEAR)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def total(texts: Iterable[JsonText | None]) -> int | float | None:
    """Return the sum of ``number`` over the texts, or None if one of them has no number."""
    numbers = [number(text) for text in texts]
    known = [item for item in numbers if item is not None]
    return sum(known) if len(known) == len(numbers) else None
