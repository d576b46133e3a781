"""Turns columns with the native field names into columns.RAW, a column at a time."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from orjson import JSONDecodeError, dumps, loads

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model import defects as say
from snapshots.domain.model.defects import Complaint, Defect
from snapshots.domain.model.recording import KINDS
from snapshots.readers.formats.fields import (
    LARGEST,
    Problem,
    Unfit,
    json_text,
    name_problem,
)
from snapshots.readers.formats.json_lines import fault
from snapshots.readers.formats.numerals import Numerals, numbers_of, numerals_of
from snapshots.readers.logs.checks import absent_field, check_batch, field_defect, unknown_kind
from snapshots.readers.logs.columns import NONE, raw_columns

_OF_KNOWN_KINDS = ("channel", "message", "value", "state", "snapshot", "messages", "label")
_KNOWN = ("process", "kind", "index", "at", *_OF_KNOWN_KINDS)


def parse_rows(
    batch: pa.RecordBatch, first_line: int, header: Header
) -> tuple[pa.RecordBatch, list[Defect]]:
    """Return the rows as columns.RAW, without those that have no meaning, and the defects by line.

    Kinds are held as codes and distinct texts; ids, values and states as numbers where they all are
    numbers.

    Args:
        batch: columns of the types that ``native_parquet.check_schema`` lets pass.
        first_line: the number of its first row, from 1.
    """
    return _Rows(batch, first_line, header).parsed()


class _Rows:
    """Converts one batch."""

    def __init__(self, batch: pa.RecordBatch, first_line: int, header: Header) -> None:
        self._batch = batch
        self._first_line = first_line
        self._header = header
        self._good = np.ones(batch.num_rows, bool)  # rows whose fields hold what they must
        self._defects: list[Defect] = []

    def parsed(self) -> tuple[pa.RecordBatch, list[Defect]]:
        kind = self._kinds()
        known = pc.is_in(kind.dictionary, value_set=pa.array(KINDS)).take(kind.indices)
        known = known.fill_null(False).to_numpy(zero_copy_only=False)
        columns = {
            "line": pa.array(np.arange(self._batch.num_rows) + self._first_line, pa.int64()),
            "process": self._codes("process", say.unknown_process, self._header.process_codes),
            "kind": kind,
            "index": self._counts("index"),
            "at": self._counts("at"),
            "channel": self._codes(
                "channel", say.unknown_channel, self._header.channel_codes, known
            ),
            "message": self._messages(known),
            "value": self._json("value", known),
            "state": self._json("state", known),
            "snapshot": self._snapshots(known),
            "messages": self._lists("messages", known),
            "label": self._texts("label", known),
            "extra": self._extra(known),
        }
        self._report_unknown(kind, known)
        rows = raw_columns(columns)
        if not self._good.all():
            rows = rows.filter(pa.array(self._good))
        self._defects += check_batch(rows, self._header)
        return rows, sorted(self._defects, key=lambda item: item.line or 0)

    def _column(self, name: str) -> pa.Array:
        if name in self._batch.schema.names:
            return self._batch[name]
        return pa.nulls(self._batch.num_rows)

    def _refuse(self, rows: Sequence[int], defect_at: Callable[[int, int], Defect]) -> None:
        """Add a refused defect for each of the rows; ``defect_at`` gets the row and its line."""
        for row in rows:
            self._good[row] = False
            self._defects.append(defect_at(row, self._first_line + row))

    def _problem_at(self, rows: Sequence[int], name: str, problem: Problem) -> None:
        self._refuse(rows, lambda _, line: field_defect(name, problem, line))

    def _dictionary(self, name: str, where: np.ndarray | None = None) -> pa.DictionaryArray:
        """Return a string column as codes and distinct strings; it is null outside ``where``."""
        column = self._column(name)
        if not pa.types.is_dictionary(column.type):
            column = column.cast(pa.string()).dictionary_encode()
        indices = column.indices.cast(pa.int64())
        if where is not None:
            indices = pc.if_else(pa.array(where), indices, pa.scalar(None, pa.int64()))
        return pa.DictionaryArray.from_arrays(indices, column.dictionary.cast(pa.string()))

    def _kinds(self) -> pa.DictionaryArray:
        column = self._dictionary("kind")
        self._report_absent("kind", column)
        return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), column.dictionary)

    def _texts(self, name: str, where: np.ndarray) -> pa.Array:
        if pa.types.is_null(self._column(name).type):
            return pa.nulls(self._batch.num_rows, pa.string())
        return _dense(self._dictionary(name, where))

    def _report_absent(self, name: str, column: pa.Array) -> None:
        self._refuse(_rows(column.is_null()), lambda _, line: absent_field(name, line))

    def _codes(
        self,
        name: str,
        unknown: Complaint,
        codes: Mapping[Any, int],
        where: np.ndarray | None = None,
    ) -> pa.Array:
        """Return the number of each name in the header, NONE for a row without a name."""
        column = self._dictionary(name, where)
        if where is None:
            self._report_absent(name, column)
        distinct = [codes.get(text, NONE) for text in column.dictionary.to_pylist()]
        places = pa.array(distinct, pa.int32()).take(column.indices)
        misspelt = _rows(pc.equal(places, NONE)) if NONE in distinct else []
        self._refuse(misspelt, lambda row, line: unknown(name=column[row].as_py(), line=line))
        return places.fill_null(NONE)

    def _counts(self, name: str) -> pa.Array:
        column = self._column(name)
        if pa.types.is_null(column.type):
            return column.cast(pa.int64())
        unsigned = pa.types.is_uint64(column.type)
        bad = _beyond(column) if unsigned else pc.less(column.cast(pa.int64()), 0)
        self._problem_at(
            _rows(bad.fill_null(False)), name, ("number-range", "must be 0 or more and below 2^63")
        )
        return column.cast(pa.int64(), safe=False)

    def _messages(self, where: np.ndarray) -> pa.Array | Numerals:
        column = self._column("message")
        if pa.types.is_integer(column.type):
            return self._whole_numbers("message", column, where)
        texts = self._dictionary("message", where)
        if (distinct := numerals_of(texts.dictionary)) is not None:
            return replace(distinct, numbers=distinct.numbers.take(texts.indices))
        ids = _dense(texts)
        empty = _rows(pc.equal(ids, ""))
        self._problem_at(empty, "message", ("wrong-type", "must not be empty"))
        return ids

    def _snapshots(self, where: np.ndarray) -> pa.Array:
        column = self._column("snapshot")
        if pa.types.is_integer(column.type):
            return self._whole_numbers("snapshot", column, where).numbers.cast(pa.string())
        names = self._dictionary("snapshot", where)
        for place, name in enumerate(names.dictionary.to_pylist()):
            if (problem := name_problem(name)) is not None:
                self._problem_at(_rows(pc.equal(names.indices, place)), "snapshot", problem)
        return _dense(names)

    def _whole_numbers(self, name: str, column: pa.Array, where: np.ndarray) -> Numerals:
        self._check_range(name, column, where)
        return Numerals(_masked(column, where).cast(pa.int64(), safe=False))

    def _check_range(self, name: str, column: pa.Array, where: np.ndarray) -> None:
        if pa.types.is_uint64(column.type):
            rows = _rows(pc.and_(_beyond(column), pa.array(where)))
            self._problem_at(rows, name, ("number-range", "must be below 2^63"))

    def _json(self, name: str, where: np.ndarray) -> pa.Array | Numerals:
        """Return JSON text made canonical, or numbers."""
        column = self._column(name)
        if pa.types.is_integer(column.type):
            return self._whole_numbers(name, column, where)
        if pa.types.is_floating(column.type):
            return self._canonical(name, _masked(column, where).dictionary_encode(), _number_text)
        texts = self._dictionary(name, where)
        if (distinct := numbers_of(texts.dictionary, "")) is not None:
            return Numerals(distinct.take(texts.indices))
        return self._canonical(name, texts, _checked_text)

    def _canonical(
        self, name: str, column: pa.DictionaryArray, text_of: Callable[[Any], str]
    ) -> pa.Array:
        """Return each value as ``text_of`` writes it, null where that raises Unfit."""
        texts: list[str | None] = []
        used = set(pc.unique(column.indices).to_pylist())
        for place, value in enumerate(column.dictionary.to_pylist()):
            texts.append(None)
            if place not in used:
                continue
            try:
                texts[place] = text_of(value)
            except Unfit as unfit:
                self._problem_at(_rows(pc.equal(column.indices, place)), name, unfit.problem)
        return pa.array(texts, pa.string()).take(column.indices)

    def _lists(self, name: str, where: np.ndarray) -> pa.Array:
        column = self._column(name)
        if pa.types.is_null(column.type):
            return column.cast(pa.list_(pa.string()))
        lists = _masked(column, where).cast(pa.list_(pa.string()))
        ids = pc.list_flatten(lists)
        broken = pc.or_kleene(ids.is_null(), pc.equal(ids, "")).fill_null(True)
        rows = pc.unique(pc.list_parent_indices(lists).filter(broken)).to_pylist()
        self._problem_at(rows, name, ("wrong-type", "has an id that is empty or null"))
        return lists

    def _extra(self, known: np.ndarray) -> pa.Array:
        """Return the fields without a meaning as JSON; an event of an unknown kind has more."""
        names = self._batch.schema.names
        if known.all() and set(names) <= set(_KNOWN):
            return pa.nulls(self._batch.num_rows, pa.string())
        further = {name: self._batch[name].to_pylist() for name in names if name not in _KNOWN}
        only_known = [name for name in _OF_KNOWN_KINDS if name in names]
        texts: list[str | None] = [None] * self._batch.num_rows
        rows = range(self._batch.num_rows) if further else np.flatnonzero(~known).tolist()
        for row in rows:
            fields = {name: values[row] for name, values in further.items()}
            if not known[row]:
                fields |= {name: self._batch[name][row].as_py() for name in only_known}
            fields = {name: value for name, value in fields.items() if value is not None}
            if fields:
                texts[row] = self._extra_text(fields, row)
        return pa.array(texts, pa.string())

    def _extra_text(self, fields: dict[str, object], row: int) -> str | None:
        try:
            return json_text(loads(dumps(fields, default=str)))
        except (Unfit, TypeError, ValueError) as error:
            name = next(iter(fields))
            reason = str(error) if isinstance(error, Unfit) else "cannot be kept as JSON"
            self._problem_at([row], name, ("wrong-type", reason))
            return None

    def _report_unknown(self, kind: pa.Array, known: np.ndarray) -> None:
        for row in np.flatnonzero(~known & self._good).tolist():
            line = self._first_line + row
            self._defects.append(unknown_kind(kind[row].as_py(), line))


def _dense(column: pa.DictionaryArray) -> pa.Array:
    return column.dictionary.take(column.indices)


def _beyond(column: pa.Array) -> pa.Array:
    """Return which values of a uint64 column do not fit int64."""
    return pc.greater(column, pa.scalar(LARGEST, pa.uint64()))


def _masked(column: pa.Array, where: np.ndarray) -> pa.Array:
    return pc.if_else(pa.array(where), column, pa.scalar(None, column.type))


def _rows(chosen: pa.Array) -> list[int]:
    if not chosen.true_count:
        return []
    return np.flatnonzero(chosen.fill_null(False).to_numpy(zero_copy_only=False)).tolist()


def _number_text(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        raise Unfit("not-finite", f"is {value}, which is not a JSON number: leave it null")
    return json_text(value)


def _checked_text(text: str) -> str:
    try:
        return json_text(loads(text))
    except JSONDecodeError as error:
        defect = fault(b'{"":' + text.encode() + b"}", 0)
        code = "not-json" if defect is None else defect.code
        hint = _how_to_write(text, error) if code == "not-json" else ""
        raise Unfit(code, f"must be JSON text, not {_shown(text)}{hint}") from error


def _shown(text: str) -> str:
    """Return the beginning of a text, with the text's length if that is not all."""
    quoted = say.quoted(text)
    return f"{quoted} ({len(text):,} characters)" if quoted.endswith("…") else quoted


def _how_to_write(text: str, error: JSONDecodeError) -> str:
    """Return advice for the two usual mistakes: plain text, and Python's own notation."""
    if text.lstrip()[:1] in ("{", "[", '"'):
        place = f"this one has a fault at character {error.pos + 1} ({error.msg})"
        return f". Write each value with json.dumps(value): {place}"
    example = say.quoted(json.dumps("text"))
    return f". Write each value with json.dumps(value), which puts text in quotes: {example}"
