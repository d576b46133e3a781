"""Count the rows in the state of a query while its entries are read."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from snapshots.readers.engines.flink.sql.meanings import JOINED, ONE, UNCOUNTED

MOST_KEYS = 200_000  # of one side of a join, whose keys are compared with those of the other side


@dataclass(slots=True)
class Counted:
    """The rows of one state.

    Attributes:
        keys: how many entries hold a row: one for each key and window.
        rows: how many rows they hold; None if a value cannot be read, or has another form.
        unmatched: how many of them match no row of the other side, by the numbers that an outer
            side keeps; None if the state keeps none.
        of_key: the rows of each key of a join; None if there are too many.
    """

    keys: int = 0
    rows: int | None = 0
    unmatched: int | None = None
    of_key: dict[bytes, int] | None = field(default_factory=dict)

    def add(self, counts: str, is_map: bool, identity: bytes, value: object) -> None:
        """Add the value of one key; ``counts`` is as in Meaning."""
        if counts == UNCOUNTED:
            self.rows = None
        if self.rows is None:
            return
        try:
            rows, unmatched = (1, None) if counts == ONE else _rows(counts, is_map, value)
        except _OtherForm:
            self.rows = self.unmatched = self.of_key = None
            return
        self.rows += rows
        self.keys += rows > 0
        if unmatched is not None:
            self.unmatched = (self.unmatched or 0) + unmatched
        if counts != JOINED or self.of_key is None:
            return
        self.of_key[identity] = self.of_key.get(identity, 0) + rows
        if len(self.of_key) > MOST_KEYS:
            self.of_key = None


def alone(own: Counted, other: Counted) -> int | None:
    """Return how many rows of a side have keys that the other side lacks; None if not known."""
    if own.of_key is None or other.of_key is None:
        return None
    return sum(rows for key, rows in own.of_key.items() if key not in other.of_key)


class _OtherForm(Exception):
    """A value has not the form of its state."""


def _rows(counts: str, is_map: bool, value: object) -> tuple[int, int | None]:
    """Return the rows in a value, and how many of them match nothing."""
    rows, unmatched = 0, None
    for part in _parts(value) if is_map else (value,):
        own, lonely = (_joined if counts == JOINED else _listed)(_unwrapped(part))
        rows += own
        if lonely is not None:
            unmatched = (unmatched or 0) + lonely
    return rows, unmatched


def _parts(value: Any) -> Iterator[object]:
    """Yield what a map holds, whose JSON is an object, or a list of pairs if its keys are none."""
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list) and all(
        isinstance(each, list) and len(each) == 2 for each in value
    ):
        yield from (each[1] for each in value)
    else:
        raise _OtherForm


def _unwrapped(value: Any) -> Any:
    """Return a value without the time stamp that a time to live adds."""
    return value["userValue"] if isinstance(value, dict) and "userValue" in value else value


def _joined(value: Any) -> tuple[int, int | None]:
    """Return the rows of a side of a join: a row, a number of equal rows, either with matches."""
    match value:
        case bool():
            raise _OtherForm
        case int():
            return value, None
        case {"binaryRow": _}:
            return 1, None
        case [int(rows), int(matches)]:
            return rows, 0 if matches else rows
        case [{"binaryRow": _}, int(matches)]:
            return 1, 0 if matches else 1
    raise _OtherForm


def _listed(value: Any) -> tuple[int, None]:
    """Return how many elements a list has; everything else is one."""
    if isinstance(value, list) and not _is_row_with_number(value):
        return len(value), None
    return 1, None


def _is_row_with_number(value: list[Any]) -> bool:
    """Tell whether a list is a row with its place or mark."""
    return len(value) == 2 and isinstance(value[0], dict) and not isinstance(value[1], dict | list)
