"""The window payload: columns as typed arrays, which Plotly takes as they are.

Whole numbers have the smallest type that holds them all. States, values and labels are lists, as
long as the columns beside them.
"""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

import orjson

from snapshots.domain.model.topology import JsonText
from snapshots.payloads.arrays import typed_array
from snapshots.payloads.control import ControlPayload
from snapshots.payloads.declaring import documented, payload_of
from snapshots.store import windows

_NULL = orjson.Fragment("null")


EventColumns = payload_of(windows.WindowEvents, "EventColumns")
MessageColumns = payload_of(windows.WindowMessages, "MessageColumns")
MarkerColumns = payload_of(windows.WindowMarkers, "MarkerColumns")
StrayColumns = payload_of(windows.WindowStrays, "StrayColumns")
Bins = payload_of(windows.WindowBins, "Bins")
WindowPayload = payload_of(
    windows.Window,
    "WindowPayload",
    more={
        **dict.fromkeys(("positions", "positions_to", "depths"), list[int]),
        "states_known": documented(list[bool], "Whether each process of ``states`` has a state."),
        "control": documented(ControlPayload, "What tasks and coordinators do in the window."),
    },
)


def window_payload(window: windows.Window) -> dict[str, Any]:
    return {
        "axis": window.axis,
        "from": window.from_,
        "to": window.to,
        "exact": window.exact,
        "events_total": window.events_total,
        "messages_total": window.messages_total,
        "markers_total": window.markers_total,
        "positions": window.positions.tolist(),
        "positions_to": window.positions_to.tolist(),
        "states": _json(window.states),
        "states_known": [state is not None for state in window.states],
        "watermarks": list(window.watermarks),
        "depths": window.depths.tolist(),
        "strays_before": window.strays_before,
        "strays": _columns(window.strays),
        "events": _columns(window.events, json_fields={"state"}),
        "messages": _columns(window.messages, json_fields={"value"}),
        "markers": _columns(window.markers),
        "kinds": list(window.kinds),
        "snapshots": list(window.snapshots),
        "bins": None if window.bins is None else _bins(window.bins),
    }


def markers_of(window: windows.Window) -> windows.Window:
    """Return a window without its single events and messages, which are most of its bytes."""
    return replace(window, events=_emptied(window.events), messages=_emptied(window.messages))


def _emptied(table: Any) -> Any:
    return replace(table, **{field.name: getattr(table, field.name)[:0] for field in fields(table)})


def _columns(table: Any, json_fields: Iterable[str] = ()) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name in (field.name for field in fields(table)):
        column = getattr(table, name)
        if name in json_fields:
            columns[name] = _json(column)
        else:
            columns[name] = column if isinstance(column, list) else typed_array(column)
    return columns


def _bins(bins: windows.WindowBins) -> dict[str, Any]:
    return {
        "edges": typed_array(bins.edges),
        "bin_width": bins.bin_width,
        "events": typed_array(bins.events),
        "depth": typed_array(bins.depth),
        "processes": typed_array(bins.processes),
        "channels": typed_array(bins.channels),
        "hidden_processes": bins.hidden_processes,
        "hidden_channels": bins.hidden_channels,
    }


def _json(texts: Iterable[JsonText | None]) -> list[orjson.Fragment]:
    return [_NULL if text is None else orjson.Fragment(text) for text in texts]
