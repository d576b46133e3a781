"""Compares the API's answers about a case with the table of docs/formats/agreement.md."""

from collections.abc import Iterable

from tests.readers.agreements import documented

Pair = tuple[object, object, object]  # where, expected, found
ABSENT = "absent"


def pairs(wanted: dict, found: dict, *mark: object) -> list[Pair]:
    return [((*mark, *where), fact, found.get(where, ABSENT)) for where, fact in wanted.items()]


def require_documented(case: str, compared: Iterable[Pair]) -> list[Pair]:
    """Return the differences. Fail unless their numbers, and those of all facts, are those of the
    table."""
    compared = list(compared)
    differing = [(where, fact, found) for where, fact, found in compared if fact != found]
    counted = len(compared), len(compared) - len(differing)
    assert counted == documented()[case].by_api, (case, counted, differing[:5])
    return differing
