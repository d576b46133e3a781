"""States and values: any JSON, compared by its canonical text."""

import json
from collections.abc import Iterable
from itertools import islice

from snapshots.domain.model.topology import JsonText

_EXACT = 2**53


def canonical(value: object) -> JsonText:
    """The one text of a JSON value: keys sorted, no white space, 5.0 written as 5.

    Two values are equal iff their texts are. Raises: ValueError for NaN and infinities.
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
    """The JSON value of a text; None where it is not known."""
    return None if text is None else json.loads(text)


def number(text: JsonText | None) -> int | float | None:
    """The number that a state or value is, or carries as the only number of an object; else None.

    ``9000`` and ``{"balance":9000}`` are both 9000; a boolean is no number.
    """
    if text is None:
        return None
    value = json.loads(text)
    if isinstance(value, dict):
        numbers = list(islice(filter(_is_number, value.values()), 2))
        return numbers[0] if len(numbers) == 1 else None
    return value if _is_number(value) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def total(texts: Iterable[JsonText | None]) -> int | float | None:
    """The sum of the numbers; None as soon as one text is not a number."""
    numbers = [number(text) for text in texts]
    return None if any(item is None for item in numbers) else sum(numbers)
