"""Checks what a JSON field holds, with the reason if it may not, and writes values canonically."""

from collections.abc import Callable
from typing import Any

from orjson import OPT_SORT_KEYS, dumps

from snapshots.domain.model.defects import quoted
from snapshots.domain.model.values import canonical

LARGEST = 2**63 - 1
DEEPEST = 100  # levels of nesting in a state or value
LONGEST_NAME = 1000  # characters of an id that names a process, channel or snapshot

Problem = tuple[str, str]
"""The code of a defect, and what is wrong as the end of a sentence: "must be …"."""
Check = Callable[[object], Problem | None]


class Unfit(ValueError):
    """The field cannot hold the value; code and reason are those of a Problem."""

    def __init__(self, code: str, reason: str) -> None:
        self.problem: Problem = (code, reason)
        super().__init__(reason)


def json_text(value: object) -> str:
    """Return the canonical text of a JSON value, as ``values.canonical`` does.

    A value without fractions is written directly, which is quicker.
    Raises: Unfit for a number of 2^63 or beyond, and for deep nesting.
    """
    if type(value) is int and -LARGEST <= value <= LARGEST:
        return str(value)
    if type(value) is dict:
        for item in value.values():
            if type(item) is not str and (type(item) is not int or not -LARGEST <= item <= LARGEST):
                break
        else:
            return dumps(value, None, OPT_SORT_KEYS).decode()
    if _without_fractions(value, DEEPEST):
        return dumps(value, None, OPT_SORT_KEYS).decode()
    return canonical(value)


def _without_fractions(value: Any, levels: int) -> bool:
    """Return whether no number in a value has a fraction. Raises: Unfit."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int or kind is float:
        if not -LARGEST - 1 <= value <= LARGEST:
            raise Unfit("number-range", "holds a number of 2^63 or beyond, which would lose digits")
        return kind is int
    if not levels:
        raise Unfit("wrong-type", f"is nested more than {DEEPEST} levels deep")
    items = value.values() if kind is dict else value
    # A list, since every item must be checked.
    return all([_without_fractions(item, levels - 1) for item in items])  # noqa: C419


def json_problem(value: object) -> Problem | None:
    """Return why a value cannot be kept as JSON, None if it can."""
    try:
        json_text(value)
    except Unfit as unfit:
        return unfit.problem
    return None


def count_problem(value: object) -> Problem | None:
    """Return why a value is not a whole number of 0 or more, None if it is."""
    if type(value) is float and abs(value) >= 2.0**63:
        return "number-range", "must be below 2^63"
    if type(value) is not int:
        return "wrong-type", f"must be a whole number, not {quoted(value)}"
    if not 0 <= value <= LARGEST:
        return "number-range", f"must be 0 or more and below 2^63, not {value}"
    return None


def text_problem(value: object) -> Problem | None:
    """Return why a value is not a string, None if it is."""
    if type(value) is not str:
        return "wrong-type", f"must be a string, not {quoted(value)}"
    return None


def id_problem(value: object) -> Problem | None:
    """Return why a value is neither a string that is not empty nor an integer, None if it is."""
    if type(value) is float and abs(value) >= 2.0**63:
        return "number-range", "must be below 2^63"
    if type(value) is int:
        return None if abs(value) <= LARGEST else ("number-range", "must be below 2^63")
    if type(value) is not str:
        return "wrong-type", f"must be a string or an integer, not {quoted(value)}"
    return None if value else ("wrong-type", "must not be empty")


def name_problem(value: object) -> Problem | None:
    """Return why a value cannot name a snapshot: it is no id, or long, or holds NUL; else None."""
    if (problem := id_problem(value)) is not None or not isinstance(value, str):
        return problem
    if len(value) > LONGEST_NAME:
        return "wrong-type", f"must not be longer than {LONGEST_NAME} characters"
    if "\x00" in value:
        return "wrong-type", "must not hold a NUL character"
    return None


def given_name_problem(value: object) -> Problem | None:
    """Return why a value cannot be the id of a process or channel in a header, None if it can."""
    return text_problem(value) or name_problem(value)


def ids_problem(value: object) -> Problem | None:
    """Return why a value is not a list of message ids, None if it is."""
    if not isinstance(value, list):
        return "wrong-type", f"must be a list of message ids, not {quoted(value)}"
    for place, item in enumerate(value):
        if (problem := id_problem(item)) is not None:
            return problem[0], f"has at place {place} an id that {problem[1]}"
    return None
