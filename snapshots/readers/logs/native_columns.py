"""Reads lines of the native format a column at a time, where every line is as usual.

That is several times as quick as a line at a time. It says nothing of other lines: ``native``
reads those one by one, and explains what is wrong with them.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from orjson import loads

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.recording import KINDS
from snapshots.readers.formats.fields import LARGEST, json_text, name_problem
from snapshots.readers.formats.numerals import Numerals, numerals_of
from snapshots.readers.logs.columns import NONE, raw_columns

_KINDS = pa.array(KINDS)
_TEXTS = ("process", "kind", "channel", "snapshot", "label")
_COUNTS = ("index", "at")
_EITHER = ("message", "value", "state")  # whole numbers or texts
_SAMPLED = 30  # lines whose fields say which types all lines have


class Unusual(ValueError):
    """Some line is not as usual; reading line by line says what it is."""


def usual_lines(data: bytes, first_line: int, header: Header) -> pa.RecordBatch:
    """Return lines that all hold an event without any fault as columns.RAW.

    Ids, values and states are held as numbers if they all are numbers.

    As usual are lines without blanks around them, of known kinds and with fields that have a
    meaning. A value or state is a whole number in all of them or a text in all of them.

    Args:
        data: lines of text.
        first_line: the number of the first one, from 1.

    Raises: Unusual if any line is something else.
    """
    try:
        lines = _lines(data)
        options = pj.ParseOptions(_schema(data), unexpected_field_behavior="error")
        whole = pj.ReadOptions(use_threads=False, block_size=len(data) + 1)
        table = pj.read_json(pa.BufferReader(data), whole, options)
        _require(table.num_rows == lines)
        [rows] = table.combine_chunks().to_batches()
        return _batch(rows, first_line, header)
    except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        raise Unusual from error


def _require(fits: bool) -> None:
    if not fits:
        raise Unusual


def _lines(data: bytes) -> int:
    """Return how many lines there are. Each begins with a brace and ends with one.

    No object of the schema holds another one, so that an object cannot cross such an end.
    """
    data.decode()  # the reader of columns takes bytes that are not UTF-8
    between = data.removesuffix(b"\n").count(b"\n")
    _require(data.count(b"}\n{") == between)
    return between + 1


def _schema(data: bytes) -> pa.Schema:
    """Return the types of all fields, as the first lines have them."""
    first = [loads(text) for text in data.split(b"\n", _SAMPLED)[:_SAMPLED] if text]
    types = {name: pa.string() for name in _TEXTS} | {name: pa.int64() for name in _COUNTS}
    for name in _EITHER:
        given = {type(event[name]) for event in first if event.get(name) is not None}
        _require(given <= {int} or given <= {str})
        types[name] = pa.int64() if int in given else pa.string()
    types["messages"] = pa.list_(types["message"])
    return pa.schema(types)


def _batch(rows: pa.RecordBatch, first_line: int, header: Header) -> pa.RecordBatch:
    _require(pc.all(pc.is_in(rows["kind"], _KINDS)).as_py())
    ids = rows["messages"].flatten()
    _require(ids.null_count == 0)
    columns = {
        "line": pa.array(np.arange(first_line, first_line + rows.num_rows)),
        "process": _codes(rows["process"], header.process_codes),
        "kind": rows["kind"],
        "index": _within(rows["index"], 0),
        "at": _within(rows["at"], 0),
        "channel": _codes(rows["channel"], header.channel_codes | {None: NONE}),
        "message": _ids(rows["message"]),
        "value": _json(rows["value"]),
        "state": _json(rows["state"]),
        "snapshot": _names(rows["snapshot"]),
        "messages": rows["messages"].cast(pa.list_(pa.string())),
        "label": rows["label"],
        "extra": pa.nulls(rows.num_rows, pa.string()),
    }
    _ids(ids)
    return raw_columns(columns)


def _codes(names: pa.Array, codes: Mapping[Any, int]) -> pa.Array:
    encoded = names.dictionary_encode(null_encoding="encode")
    distinct = [codes[name] for name in encoded.dictionary.to_pylist()]
    return pa.array(distinct, pa.int32()).take(encoded.indices)


def _within(numbers: pa.Array, least: int) -> pa.Array:
    smallest = pc.min(numbers).as_py()
    _require(smallest is None or smallest >= least)
    return numbers


def _ids(ids: pa.Array) -> pa.Array | Numerals:
    if pa.types.is_integer(ids.type):
        return Numerals(_within(ids, -LARGEST))
    _require(not pc.any(pc.equal(ids, "")).as_py())
    return numerals_of(ids) or ids


def _json(values: pa.Array) -> pa.Array | Numerals:
    if pa.types.is_integer(values.type):
        return Numerals(_within(values, -LARGEST))
    encoded = values.dictionary_encode()
    texts = [json_text(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


def _names(names: pa.Array) -> pa.Array:
    _require(not any(map(name_problem, pc.unique(names.drop_null()).to_pylist())))
    return names
