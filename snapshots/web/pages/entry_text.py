"""Write keys, namespaces and values of entries as text, with the times of windows as times."""

from collections.abc import Mapping
from typing import Any

import orjson

from snapshots import quantities
from snapshots.domain.inventory.model import TIMERS

LONGEST_SHOWN = 300  # characters of a key or value
_ROW = '"binaryRow"'
_OF_ROW = {"binaryRow", "arity", "rowKind", "fields"}
_INSERTED = "+I"
_WINDOWS = ("window", "session_window")  # columns of Spark


def shown(row: Mapping[str, Any], kind: str | None = None) -> dict[str, Any]:
    """Return an entry with its JSON as text. A text that is cut says so.

    ``kind`` is that of the state: the value of a timer is an instant.
    """
    texts = {
        "namespace": _text(row["namespace"], is_namespace=True),
        "key": _text(row["key"]),
        "value": _text(row["value"], is_instant=kind == TIMERS),
    }
    return {**row, **texts}


def _text(
    fragment: orjson.Fragment | None, *, is_namespace: bool = False, is_instant: bool = False
) -> str | None:
    if fragment is None:
        return None
    text = orjson.dumps(fragment).decode()
    if is_instant or is_namespace or '"start"' in text or _ROW in text:
        text = _written(orjson.loads(text), is_namespace=is_namespace, is_instant=is_instant)
    if len(text) <= LONGEST_SHOWN:
        return text
    return f"{text[:LONGEST_SHOWN]}… ({len(text):,} characters)"


def of_json(text: str) -> str:
    """Return the JSON of a key as people read it."""
    return _written(orjson.loads(text)) if _ROW in text else text


def _written(value: Any, *, is_namespace: bool = False, is_instant: bool = False) -> str:
    if is_instant and isinstance(value, int):
        return quantities.epoch(value)
    if is_namespace and (window := _window(value)):
        return window
    return orjson.dumps(_with_rows(_with_windows(value))).decode()


def _with_rows(value: Any) -> Any:
    """Replace rows of SQL by their fields, with the kind of change unless that is an insertion."""
    if isinstance(value, list):
        return [_with_rows(part) for part in value]
    if not isinstance(value, dict):
        return value
    if value.keys() != _OF_ROW:
        return {name: _with_rows(part) for name, part in value.items()}
    fields = _with_rows(value["fields"])
    return fields if value["rowKind"] == _INSERTED else {value["rowKind"]: fields}


def _with_windows(value: Any) -> Any:
    """Replace the windows in the columns that Spark names so."""
    if not isinstance(value, dict):
        return value
    return {
        name: (_window(part) if name in _WINDOWS else None) or _with_windows(part)
        for name, part in value.items()
    }


def _window(value: Any) -> str | None:
    """Return a window as text. None for a value that is no window."""
    if not isinstance(value, dict) or value.keys() != {"start", "end"}:
        return None
    start, end = value["start"], value["end"]
    if not isinstance(start, int) or not isinstance(end, int):
        return None
    return quantities.window(start, end)
