"""Make the rows of a reading as Spark's data source for state gives them."""

from collections.abc import Iterator, Mapping

from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.state.forms import Form
from snapshots.readers.engines.spark_streaming.state.readings import (
    JOIN_SIDE,
    TIMERS,
    VARIABLE,
    Reading,
)
from snapshots.readers.engines.spark_streaming.state.unsafe_rows import sorted_map

LIST, MAP = "ListState", "MapState"
_OF_JOINS_OWN = {"key": "index", "value": "matched"}  # what a join adds to the rows of a side

Rows = list[dict[str, Json]]


def rows_of(
    reading: Reading, variable: str | None, form: Form, state: Mapping[bytes, bytes]
) -> Rows:
    """Return the rows of a state, in no order. Raises: Malformed.

    Args:
        variable: the type of a state variable.
        state: the bytes of values by key.
    """
    if reading.kind == TIMERS:
        return list(_timers(form, state))
    if reading.kind == VARIABLE and variable == MAP:
        return _maps(form, state)
    if reading.kind == VARIABLE and variable == LIST:
        return [
            {"key": form.key(key), "list_value": list(form.values(key, value))}
            for key, value in state.items()
        ]
    own = _OF_JOINS_OWN if reading.kind == JOIN_SIDE else {}
    return [
        {"key": _without(form.key(key), own.get("key")), "value": _without(row, own.get("value"))}
        for key, value in state.items()
        for row in form.values(key, value)
    ]


def _without(row: dict[str, Json], column: str | None) -> dict[str, Json]:
    return {name: row[name] for name in row if name != column}


def _timers(form: Form, state: Mapping[bytes, bytes]) -> Iterator[dict[str, Json]]:
    """Yield timers: their keys are the key of the state, and the time at which they expire."""
    for key in state:
        of_state, at = form.key(key).values()
        yield {"key": of_state, "expiration_timestamp_ms": at}


def _maps(form: Form, state: Mapping[bytes, bytes]) -> Rows:
    """Return maps: their keys are the key of the state, and the key in the map."""
    rows: dict[bytes, dict[str, Json]] = {}
    for key, value in state.items():
        of_state, of_map = form.key(key).values()
        row = rows.setdefault(form.first_part(key), {"key": of_state, "map_value": []})
        row["map_value"].append([of_map, next(form.values(key, value))])
    return [row | {"map_value": sorted_map(row["map_value"])} for row in rows.values()]
