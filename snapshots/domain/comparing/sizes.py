"""Measure how far two states, or the messages of two channels, are apart."""

import json
import math
from collections.abc import Callable, Iterable

from snapshots.domain.comparing.model import AMOUNT, PARTS, Entry
from snapshots.domain.model.topology import JsonText
from snapshots.domain.model.values import number

Size = tuple[str, int | float]


def between_states(left: JsonText, right: JsonText) -> Size:
    """Return measure and size of the difference between two states that are not equal."""
    one, other = number(left), number(right)
    if one is not None and other is not None and (apart := _distance(one, other)):
        return AMOUNT, apart
    return PARTS, parts_that_differ(json.loads(left), json.loads(right))


def of_messages(entries: Iterable[Entry]) -> Size:
    """Return measure and size of messages that only one side holds."""
    entries = list(entries)
    amounts = [number(entry.value) for entry in entries]
    known = [abs(amount) for amount in amounts if amount is not None]
    if len(known) == len(entries) and (total := _sum(known)):
        return AMOUNT, total
    return PARTS, len(entries)


def parts_that_differ(left: object, right: object) -> int:
    """Count the fields in which two JSON values differ; values of different shapes count as 1."""
    count, pairs = 0, [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            both = one.keys() & other.keys()
            count += len(one) + len(other) - 2 * len(both)
            pairs += [(one[key], other[key]) for key in both]
        elif isinstance(one, list) and isinstance(other, list):
            count += abs(len(one) - len(other))
            pairs += zip(one, other, strict=False)
        else:
            count += json.dumps(one) != json.dumps(other)
    return count


def _distance(one: int | float, other: int | float) -> int | float | None:
    """Return how far two numbers are apart; None if no number can hold that."""
    return _finite(lambda: abs(one - other))


def _sum(numbers: Iterable[int | float]) -> int | float | None:
    return _finite(lambda: sum(numbers))


def _finite(compute: Callable[[], int | float]) -> int | float | None:
    """Return what a computation gives; None if no number can hold that."""
    try:
        result = compute()
        return result if math.isfinite(result) else None
    except OverflowError:  # a whole number beyond every fraction, and a fraction
        return None
