"""Write keys, namespaces and values of entries as text, with the times of windows as times."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from snapshots import quantities
from snapshots.domain.inventory.held import offset_text
from snapshots.domain.inventory.model import TIMERS

MAP = "map"  # a kind of state
LONGEST_SHOWN = 300  # characters of a key or value
_ROW = '"binaryRow"'
_OF_ROW = {"binaryRow", "arity", "rowKind", "fields"}
_INSERTED = "+I"
_WINDOWS = ("window", "session_window")  # columns of Spark


@dataclass(frozen=True, slots=True)
class Names:
    """The names of columns in one state; empty where nothing names them.

    Attributes:
        key: the columns of the key.
        user_key: the columns of the keys of a map.
        row: the columns of the rows in a value.
    """

    key: tuple[str | None, ...] = ()
    user_key: tuple[str | None, ...] = ()
    row: tuple[str | None, ...] = ()

    @classmethod
    def of(cls, columns: Mapping[str, Any] | None) -> "Names":
        """Return the names in the columns of a state."""
        parts = (columns[part] if columns else () for part in ("key", "user_key", "row"))
        return cls(*(tuple(one["name"] for one in part) for part in parts))


_NO_NAMES = Names()


def shown(
    row: Mapping[str, Any],
    kind: str | None = None,
    names: Names = _NO_NAMES,
    clock: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return an entry with its JSON as text. A text that is cut says so.

    Args:
        kind: that of the state: the value of a timer is an instant.
        names: those of the columns in rows of SQL.
        clock: by which clock the windows of a query end, as in WindowClock.
    """
    texts = {
        "namespace": _text(row["namespace"], lambda value: _namespace(value, clock)),
        "key": _text(row["key"], lambda value: _with_rows(_with_windows(value), names.key)),
        "value": _text(row["value"], lambda value: _value(value, kind, names)),
    }
    return {**row, **texts}


def _value(value: Any, kind: str | None, names: Names) -> Any:
    if kind == TIMERS and isinstance(value, int):
        return quantities.epoch(value)
    value = _with_windows(value)
    if kind == MAP and isinstance(value, list) and all(map(_is_pair, value)):
        return [[_with_rows(key, names.user_key), _with_rows(own, names.row)] for key, own in value]
    return _with_rows(value, names.row)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2


def _namespace(value: Any, clock: Mapping[str, Any] | None) -> Any:
    if clock is None:
        return _window(value) or _with_rows(_with_windows(value), ())
    offsets = clock["offsets"]
    where = "local time" if len(offsets) != 1 else offset_text(offsets[0])
    if isinstance(value, int):
        return f"window up to {_local(value)} ({where})"
    if _window(value):
        return f"{_local(value['start'])} to {_local(value['end'])} ({where})"
    return value


def _local(milliseconds: int) -> str:
    """Write what a clock showed, which is stored as if its zone were UTC."""
    return quantities.epoch(milliseconds).removesuffix(" UTC").removesuffix(".000")


def _text(fragment: orjson.Fragment | None, written: Callable[[Any], Any]) -> str | None:
    """Return the JSON of a part as people read it; a text in place of JSON as it is."""
    if fragment is None:
        return None
    text = orjson.dumps(fragment).decode()
    value = orjson.loads(text)
    if (better := written(value)) != value:
        text = better if isinstance(better, str) else orjson.dumps(better).decode()
    if len(text) <= LONGEST_SHOWN:
        return text
    return f"{text[:LONGEST_SHOWN]}… ({len(text):,} characters)"


def of_json(text: str, names: tuple[str | None, ...] = ()) -> str:
    """Return the JSON of a key as people read it."""
    return orjson.dumps(_with_rows(orjson.loads(text), names)).decode() if _ROW in text else text


def _with_rows(value: Any, names: tuple[str | None, ...]) -> Any:
    """Replace rows of SQL by their fields, with the kind of change unless that is an insertion.

    Fields have names if there are as many names, all of them different.
    """
    if isinstance(value, list):
        return [_with_rows(part, names) for part in value]
    if not isinstance(value, dict):
        return value
    if value.keys() != _OF_ROW:
        return {name: _with_rows(part, names) for name, part in value.items()}
    fields = _with_rows(value["fields"], ())
    if fields and len(names) == len(fields) == len({*names} - {None}):
        fields = dict(zip(names, fields, strict=True))
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
