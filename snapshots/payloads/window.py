"""The window payload: columns as typed arrays, which Plotly takes as they are.

Instants and steps are f8 (exact below 2^53), codes and indexes the smallest whole numbers that hold
them. States, values and labels are lists, as long as the columns beside them.
"""

import base64
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, NotRequired

import numpy as np
import orjson
from numpy.typing import NDArray
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.model.topology import JsonText
from snapshots.payloads.declaring import described, documented, payload_of, show_as
from snapshots.store import windows

_INSTANTS = frozenset({"at", "step", "sent_at", "received_at", "sent_step", "received_step"})
_NULL = orjson.Fragment("null")


@described
class TypedArray(TypedDict):
    """Little-endian numbers.

    Attributes:
        dtype: ``i1``, ``i2``, ``i4``, ``u1`` or ``f8``.
        bdata: the numbers in base64.
        shape: the numbers of rows and columns, as ``2,3``; absent for a single row.
    """

    dtype: str
    bdata: str
    shape: NotRequired[str]


show_as(np.ndarray, TypedArray)
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
        elif name in _INSTANTS:
            columns[name] = typed_array(np.asarray(column, np.float64))
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


def typed_array(numbers: NDArray) -> TypedArray:
    """Encode numbers as Plotly takes them.

    Whole numbers get the smallest type that holds them all. Those beyond 32 bits, and fractions,
    are sent as f8.
    """
    packed = np.ascontiguousarray(numbers.astype(_dtype(numbers)))
    array: TypedArray = {
        "dtype": packed.dtype.str[1:],
        "bdata": base64.b64encode(packed.data).decode("ascii"),
    }
    if packed.ndim == 2:
        array["shape"] = f"{packed.shape[0]},{packed.shape[1]}"
    return array


def _dtype(numbers: NDArray) -> str:
    if numbers.dtype.kind == "b":
        return "|u1"
    if numbers.dtype.kind not in "iu":
        return "<f8"
    low, high = (int(numbers.min()), int(numbers.max())) if numbers.size else (0, 0)
    for dtype in ("|i1", "<i2", "<i4"):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return dtype
    return "<f8"


def _json(texts: Iterable[JsonText | None]) -> list[orjson.Fragment]:
    return [_NULL if text is None else orjson.Fragment(text) for text in texts]
