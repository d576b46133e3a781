"""Extract single fields from columns of JSON texts without parsing each text.

In the canonical text of an object without nested objects, a field stands where its name stands.
Texts of any other form are parsed row by row.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.dataflow_logs.events import fields_of, whole
from snapshots.domain.dataflow_logs.failovers.rids import rid_of
from snapshots.domain.model.topology import JsonText
from snapshots.domain.model.values import canonical

_STRING = r'"(?:[^"\\]|\\.)*"'
_NUMBER = r"-?(?:0|[1-9][0-9]{0,17})"


def rids(extra: pa.Array) -> pa.Array:
    """Return the canonical text of each ``rid``; null if it is missing or invalid."""
    pattern = rf"\[{_STRING},{_NUMBER},{_STRING}\]"
    return _field(extra, "rid", pattern, rid_of)


def texts(extra: pa.Array, name: str) -> pa.Array:
    """Return the JSON text of each string under ``name``; null if there is none."""
    return _field(extra, name, _STRING, lambda fields: _if(fields.get(name), str))


def numbers(extra: pa.Array, name: str) -> pa.Array:
    """Return each whole number under ``name`` as int64; null if missing or beyond 64 bits."""
    integers = _field(extra, name, _NUMBER, lambda fields: _within(whole(fields.get(name))))
    return integers.cast(pa.int64())


def codes(values: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Return the dictionary code of each value (int64, -1 for null), and the distinct values."""
    encoded = values.dictionary_encode()
    indices = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return indices.astype(np.int64), encoded.dictionary


def _field(rows: pa.Array, name: str, pattern: str, slowly: Callable[[dict], Any]) -> pa.Array:
    """Extract one field of each row by a pattern, and by parsing where the pattern cannot decide.

    ``slowly`` returns the field of a parsed object.
    """
    rows = rows.cast(pa.large_string())
    named = f"{canonical(name)}:"
    values = pc.struct_field(pc.extract_regex(rows, rf"{named}(?P<found>{pattern})[,}}]"), "found")
    is_plain = pc.and_(
        pc.equal(pc.count_substring(rows, named), 1), pc.equal(pc.count_substring(rows, "{"), 1)
    )
    absent = pc.equal(pc.count_substring(rows, canonical(name)[1:-1]), 0)
    is_decided = pc.or_(absent, pc.and_(is_plain, pc.is_valid(values)))
    undecided = np.flatnonzero(~pc.fill_null(is_decided, True).to_numpy(zero_copy_only=False))
    if not len(undecided):
        return values
    answers = values.to_numpy(zero_copy_only=False)
    for row in undecided.tolist():
        value = slowly(_fields(rows[row].as_py()))
        answers[row] = None if value is None else canonical(value)
    return pa.array(answers, pa.large_string(), from_pandas=True)


def _fields(text: str) -> dict[str, Any]:
    try:
        return fields_of(JsonText(text))
    except json.JSONDecodeError:
        return {}


def _if(value: Any, kind: type) -> Any:
    return value if isinstance(value, kind) else None


def _within(number: int | None) -> int | None:
    return number if number is not None and -(2**63) <= number < 2**63 else None
