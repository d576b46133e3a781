"""The archive's figures: trends of many checkpoints, and which subtask was last over time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapshots import quantities
from snapshots.domain.archive.trends import NUMBER
from snapshots.payloads.arrays import TypedArray, numbers_of, typed_array
from snapshots.web.figures.look import (
    Part,
    colour,
    escaped,
    layout,
    lined_axis,
    quiet_axis,
    row_axis,
    shortened,
)

GAP = 0.045  # share of the figure's height for the title above a trend
FAILED_SHARE = 0.09  # share of the figure's height for the failures
ROOM = 1.06  # share of the largest value at the top of an axis, so that its mark is not cut off
LONGEST_NAME = 22  # characters
MOST_DOTS = 120  # checkpoints of a trend that get a dot each
_TITLES = {
    "duration": "Duration",
    "bytes": "State",
    "alignment": "Alignment",
    "start_delay": "Start delay",
}

Json = Mapping[str, Any]
Numbers = NDArray[np.float64]


def trends(overview: Json) -> Part:
    """Return the figure of the trends: a row for each measure, and the failures below.

    A point of a checkpoint has its pipeline and number as ``customdata``.

    Args:
        overview: an ArchiveOverview.
    """
    measures = [name for name in _TITLES if name in overview["trends"]]
    share = (1 - FAILED_SHARE - GAP * (len(measures) + 1)) / (len(measures) or 1)
    data: list[Part] = []
    axes: dict[str, Part] = {}
    notes: list[Part] = []

    def add_row(place: int, height: float, title: str, most: float) -> None:
        above = 1 - GAP - place * (share + GAP)
        axes[_axis("yaxis", place)] = quiet_axis(
            domain=[max(0.0, above - height), above],
            fixedrange=True,
            range=[0, most * ROOM or 1],
            nticks=5 if height > FAILED_SHARE else 3,
            tickformat=",~r",
        )
        notes.append(_title(title, above))

    for place, name in enumerate(measures):
        trend = overview["trends"][name]
        unit, scale = _unit(trend, name)
        traces = _trend(trend, _TITLES[name], unit, scale)
        data += [trace | {"xaxis": "x", "yaxis": _axis("y", place)} for trace in traces]
        most = max((float(np.max(trace["y"])) for trace in traces if len(trace["y"])), default=0.0)
        add_row(place, share, f"{_TITLES[name]}, {unit}", most)
    failed = numbers_of(overview["failures"]["failed"])
    bars = _failures(overview["failures"]["edges"], failed)
    data.append(bars | {"xaxis": "x", "yaxis": _axis("y", len(measures))})
    add_row(len(measures), FAILED_SHARE, "Failed", max(1, *failed) if len(failed) else 1)
    return {
        "data": [_packed(trace) for trace in data],
        "layout": layout(
            bargap=0,
            dragmode="zoom",
            showlegend=False,
            margin={"l": 52, "r": 16, "t": 0, "b": 44},
            xaxis=_across(overview["axis"], _extent(data), anchor=_axis("y", len(measures))),
            annotations=notes,
            **axes,
        ),
    }


def slowest(overview: Json) -> Part:
    """Return the figure with a row for each subtask, darker where it was last more often.

    Args:
        overview: an ArchiveOverview.
    """
    own = overview["slowest"]
    counts: Sequence[Sequence[int]] = own["counts"]
    edges = numbers_of(own["edges"]).tolist()
    names = [escaped(shortened(name, LONGEST_NAME)) for name in own["names"]]
    heat = {
        "type": "heatmap",
        "x": edges,
        "y": list(range(len(names))),
        "z": counts,
        "zmin": 0,
        "zmax": max((count for row in counts for count in row), default=1) or 1,
        "text": [
            [f"{escaped(name)}: {quantities.counted(count, 'time')}" for count in row]
            for name, row in zip(own["names"], counts, strict=True)
        ],
        "hovertemplate": "%{text}<extra></extra>",
        "colorscale": [[0, colour("surface")], [1, colour("series-5")]],
        "showscale": False,
        "ygap": 2,
    }
    across = _across(overview["axis"], [edges[0], edges[-1]], showgrid=False, fixedrange=True)
    margin = {"l": 0, "r": 16, "t": 8, "b": 44}
    return {
        "data": [heat],
        "layout": layout(margin=margin, xaxis=across, yaxis=row_axis(names)),
        "config": {"displayModeBar": False},
    }


def _trend(trend: Json, title: str, unit: str, scale: float) -> list[Part]:
    """Return the traces of a measure: the band, least to most, the medians, the outliers."""
    x, band_x = numbers_of(trend["x"]), numbers_of(trend["band_x"])
    low, mid, high, lower, upper = (
        numbers_of(trend[name]) * scale for name in ("low", "mid", "high", "lower", "upper")
    )
    exact, outliers = trend["exact"], trend["outliers"]
    traces = [_outline("band", band_x, lower, upper, 0.16)]
    if not exact:
        traces.append(_outline("least to most", x, low, high, 0.35))
    value = f"%{{y:.3~r}} {unit}"
    if exact:
        words = f"%{{customdata[1]}}: {value}"
    else:
        words = f"median {value}, most %{{customdata[2]:.3~r}} {unit} (%{{customdata[1]}})"
    traces.append(
        {
            "type": "scatter",
            "mode": "lines+markers" if exact and len(x) <= MOST_DOTS else "lines",
            "name": title,
            "x": x,
            "y": mid,
            "customdata": _keys(trend, high),
            "hovertemplate": f"{title}<br>{words}<extra></extra>",
            "line": {"color": colour("series-1"), "width": 1.25},
            "marker": {"size": 5},
        }
    )
    look = {"color": colour("series-5"), "size": 6, "symbol": "circle-open", "line": {"width": 1.5}}
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "outlier",
            "x": numbers_of(outliers["x"]),
            "y": numbers_of(outliers["y"]) * scale,
            "customdata": _keys(outliers),
            "hovertemplate": f"{title}, an outlier<br>%{{customdata[1]}}: {value}<extra></extra>",
            "marker": look,
        }
    )
    return traces


def _outline(name: str, x: Numbers, low: Numbers, high: Numbers, opacity: float) -> Part:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": np.concatenate([x, x[::-1]]),
        "y": np.concatenate([low, high[::-1]]),
        "fill": "toself",
        "fillcolor": colour("series-1", opacity),
        "line": {"width": 0},
        "hoverinfo": "skip",
    }


def _keys(points: Json, most: Numbers | None = None) -> list[list[float]]:
    """Return pipeline, number and largest value of each point."""
    columns = [numbers_of(points["pipeline"]).tolist(), numbers_of(points["number"]).tolist()]
    if most is not None:
        columns.append(most.tolist())
    return [list(key) for key in zip(*columns, strict=True)]


def _failures(edges: TypedArray, failed: Numbers) -> Part:
    ends = numbers_of(edges)
    return {
        "type": "bar",
        "name": "failed",
        "x": (ends[:-1] + ends[1:]) / 2,
        "width": np.diff(ends),
        "y": failed,
        "hovertemplate": "%{y:,} failed<extra></extra>",
        "marker": {"color": colour("orphan")},
    }


def _unit(trend: Json, name: str) -> tuple[str, float]:
    """Return the unit that fits the largest value of a measure, and by what values are scaled."""
    high = numbers_of(trend["high"])
    largest = max(1.0, float(np.nanmax(high)) if len(high) else 1.0)
    if name == "bytes":
        size = quantities.file_size(round(largest)).split()[1]
        return size, 1 / quantities.BYTES[size]
    unit_name, amount = quantities.scale_for(largest, "ms")
    return unit_name, 1 / amount


def _extent(data: Sequence[Part]) -> list[float]:
    """Return the ends of all that is drawn, with a small margin."""
    places = [trace["x"] for trace in data if len(trace["x"])]
    bars = data[-1]
    if len(bars["x"]):
        places.append(np.array([bars["x"][0] - bars["width"][0] / 2]))
        places.append(np.array([bars["x"][-1] + bars["width"][-1] / 2]))
    if not places:
        return [0, 1]
    low, high = min(float(each.min()) for each in places), max(float(each.max()) for each in places)
    beside = (high - low) / 200 or 1
    return [low - beside, high + beside]


def _across(axis: str, ends: Sequence[float], **more: Any) -> Part:
    """Return the axis of time, in epoch ms, or of numbers."""
    if axis == NUMBER:
        more["title"] = {"text": "number", "standoff": 4}
    kind = "linear" if axis == NUMBER else "date"
    return lined_axis(type=kind, range=list(ends), nticks=8, **more)


def _title(text: str, y: float) -> Part:
    return {
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": y,
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "text": text,
        "font": {"color": colour("text-soft")},
    }


def _axis(prefix: str, place: int) -> str:
    """Return Plotly's name of the axis of a row: ``y``, ``y2``, … or ``yaxis``, ``yaxis2``, …"""
    return f"{prefix}{place + 1}" if place else prefix


def _packed(trace: Part) -> Part:
    """Return a trace whose arrays are written as Plotly reads them fastest."""
    return {
        name: typed_array(value) if isinstance(value, np.ndarray) else value
        for name, value in trace.items()
    }
