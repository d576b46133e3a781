"""Declare a table of a page: its columns, and where the context of the page holds its rows."""

import json
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial, reduce
from typing import Any

from django.core.paginator import Page
from django.db.models import QuerySet

from snapshots.domain.model.derived import is_derived
from snapshots.files.recordings import open_recording
from snapshots.web.json import dumps

Context = Mapping[str, Any]
TEXT = "text"
WHOLE = "whole number"  # of 64 bits
NUMBER = "number"
TRUTH = "truth"
MOMENT = "moment"  # in UTC
VALUE = "value"  # any JSON, with whole numbers of any size
ROWS_AT_ONCE = 2_000  # that are taken from the database


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: the name of the column in all files.
        kind: one of the kinds above.
        source: the path to the value in a row, such as ``state.bytes``, or what returns the value.
        unit: the unit of the numbers, or what returns it for a page; empty if there is none.
    """

    name: str
    kind: str
    source: str | Callable[[Any], Any]
    unit: str | Callable[[Context], str] = ""

    def value(self, row: Any) -> Any:
        """Return the value of a row: None where it is not known, or there is none."""
        value = self.source(row) if callable(self.source) else at(row, self.source)
        return None if value is None else _AS[self.kind](value)

    def on(self, context: Context) -> "Column":
        """Return the column with its unit on a page."""
        return replace(self, unit=self.unit(context)) if callable(self.unit) else self


def at(row: Any, path: str) -> Any:
    """Return the value at a path of keys, indices and attributes; None where a part is absent."""
    return reduce(_part, path.split("."), row)


def _part(row: Any, name: str) -> Any:
    if isinstance(row, Mapping):
        return row.get(name)
    if isinstance(row, Sequence) and name.isdecimal():
        return row[int(name)] if int(name) < len(row) else None
    value = getattr(row, name, None)
    return value() if callable(value) else value


def _number(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.astimezone(UTC)


def _json(value: Any) -> Any:
    return json.loads(dumps(value))


_AS: Mapping[str, Callable[[Any], Any]] = {
    TEXT: str,
    WHOLE: operator.index,
    NUMBER: _number,
    TRUTH: bool,
    MOMENT: _moment,
    VALUE: _json,
}


def _column(
    kind: str,
    name: str,
    source: str | Callable[[Any], Any] = "",
    unit: str | Callable[[Context], str] = "",
) -> Column:
    return Column(name, kind, source or name, unit)


text = partial(_column, TEXT)
whole = partial(_column, WHOLE)
number = partial(_column, NUMBER)
truth = partial(_column, TRUTH)
moment = partial(_column, MOMENT)
value = partial(_column, VALUE)


def pair(name: str, source: str = "", unit: str = "") -> tuple[Column, Column]:
    """Return the two columns of a number before and after."""
    path = source or name
    return (
        whole(f"{name}_before", f"{path}.before", unit),
        whole(f"{name}_after", f"{path}.after", unit),
    )


def unit_of_recording(context: Context) -> str:
    """Return the unit of the instants of the page's recording."""
    return context["recording"].time_unit


@dataclass(frozen=True)
class Table:
    """A table of a page.

    Attributes:
        name: the name in addresses and file names, such as ``snapshots``.
        title: what it shows, as in "Download TITLE".
        rows: the path to the rows in the context of the page, or what returns them; without rows
            in the context the page has no such table just now.
        columns: the columns, or what returns them for a page.
        left_out: what returns how many rows are only counted, and are in no file either.
        about_log: whether it shows what the log of the page's recording says. If that log is
            derived, each file says so.
        more_if_derived: columns that only a derived recording has.
    """

    name: str
    title: str
    rows: str | Callable[[Context], Iterable[Any] | None]
    columns: Sequence[Column] | Callable[[Context], Sequence[Column]]
    left_out: Callable[[Context], int] = lambda context: 0
    about_log: bool = False
    more_if_derived: Sequence[Column] = ()

    def rows_on(self, context: Context) -> Iterable[Any] | None:
        """Return all rows, also those of other pages; None if the page has no such table now."""
        rows = self.rows(context) if callable(self.rows) else at(context, self.rows)
        return None if rows is None else all_rows(rows)

    def columns_on(self, context: Context) -> list[Column]:
        columns = self.columns(context) if callable(self.columns) else self.columns
        if self.is_derived_on(context):
            columns = (*columns, *self.more_if_derived, truth("derived", lambda row: True))
        return [column.on(context) for column in columns]

    def is_derived_on(self, context: Context) -> bool:
        """Tell whether the table shows a log that was derived from what an engine kept."""
        recording = context.get("recording")
        if not self.about_log or recording is None or not recording.is_ready:
            return False
        return is_derived(open_recording(recording).manifest.header_extra)


def all_rows(rows: Iterable[Any]) -> Iterable[Any]:
    """Return all rows of what a page shows a part of."""
    if isinstance(rows, Page):
        return all_rows(rows.paginator.object_list)
    if isinstance(rows, QuerySet):
        return rows.iterator(chunk_size=ROWS_AT_ONCE)
    return rows


@dataclass(frozen=True)
class Inner:
    """A row of a table within a row of another, such as a state of an operator."""

    outer: Any
    row: Any


def inner_rows(outer: str, inner: str) -> Callable[[Context], Iterator[Inner] | None]:
    """Return what yields the rows at a path within each of the rows at another path."""

    def rows(context: Context) -> Iterator[Inner] | None:
        found = at(context, outer)
        if found is None:
            return None
        return (Inner(item, row) for item in all_rows(found) for row in at(item, inner) or ())

    return rows
