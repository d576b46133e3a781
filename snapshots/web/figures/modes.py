"""The figure of the page that compares modes: one time axis, a panel for each cost, one cursor.

A colour is one of the page, such as ``var(--color-series-1)``; the page's script puts in what that
is in the theme.
"""

from collections.abc import Callable, Sequence
from typing import Any

import plotly.graph_objects as go

from snapshots.domain.dataflow_logs.costs import Cost, Series
from snapshots.simulating.compared_modes import MODES, ComparedModes

COLOURS = ("var(--color-series-1)", "var(--color-series-5)", "var(--color-series-3)")
DASHES = ("solid", "dash", "dot")
SYMBOLS = ("circle", "diamond", "square")
HEIGHT = 720
_GAP = 0.06  # between panels, as a part of the height
_Trace = Callable[[Cost, Series], tuple[Sequence[float], Sequence[float | None]]]


def mode_picture(found: ComparedModes) -> dict[str, Any]:
    """Return the figure as Plotly's JSON; times are in ms."""
    panels: tuple[tuple[str, bool, _Trace], ...] = (
        ("records / s", False, lambda _, series: (series.at, series.per_second)),
        ("latency, ms", False, lambda _, series: (series.at, _in_ms(series.latency))),
        ("blocked channels", False, lambda _, series: (series.at, series.blocked)),
        ("stored in flight", True, _stored),
    )
    figure = go.Figure(layout=_layout([title for title, *_ in panels]))
    for row, (title, is_marks, points) in enumerate(panels):
        for number, mode in enumerate(MODES):
            moments, values = points(found.costs[number], found.series[number])
            figure.add_trace(_trace(number, mode, row, title, is_marks, _in_ms(moments), values))
    for at in sorted({at for cost in found.costs for at in cost.failed_at}):
        line = {"color": "var(--color-danger)", "width": 1, "dash": "dash"}
        figure.add_shape(x0=at / 1000, x1=at / 1000, y0=0, y1=1, yref="paper", line=line)
        font = {"color": "var(--color-danger)"}
        figure.add_annotation(
            x=at / 1000,
            y=1,
            yref="paper",
            yanchor="bottom",
            text="fails",
            showarrow=False,
            font=font,
        )
    document: dict[str, Any] = figure.to_plotly_json()
    return document


def _stored(cost: Cost, _: Series) -> tuple[Sequence[float], Sequence[float | None]]:
    return [item.at for item in cost.stored], [item.in_flight for item in cost.stored]


def _in_ms(values: Sequence[float | None]) -> list[Any]:
    return [None if value is None else value / 1000 for value in values]


def _trace(
    number: int,
    mode: str,
    row: int,
    title: str,
    is_marks: bool,
    at: Sequence[float],
    values: Sequence[float | None],
) -> go.Scatter:
    return go.Scatter(
        x=list(at),
        y=list(values),
        name=mode,
        legendgroup=mode,
        showlegend=row == 0,
        xaxis="x",
        yaxis="y" if row == 0 else f"y{row + 1}",
        mode="markers" if is_marks else "lines",
        line={"color": COLOURS[number], "dash": DASHES[number], "width": 2},
        marker={"color": COLOURS[number], "symbol": SYMBOLS[number], "size": 9},
        cliponaxis=False,
        hovertemplate=f"%{{y:,.4~g}} {title}",
    )


def _layout(titles: Sequence[str]) -> dict[str, Any]:
    """Return a layout with one time axis for all panels, so that one cursor crosses them."""
    quiet = {"color": "var(--color-text-soft)", "gridcolor": "var(--color-line)", "zeroline": False}
    height = (1 - _GAP * (len(titles) - 1)) / len(titles)
    axes = {}
    for row, title in enumerate(titles):
        top = 1 - row * (height + _GAP)
        axes["yaxis" if row == 0 else f"yaxis{row + 1}"] = quiet | {
            "domain": [max(0.0, top - height), top],
            "title": {"text": title, "standoff": 4},
            "rangemode": "tozero",
            "fixedrange": True,
            "nticks": 4,
        }
    return axes | {
        "template": {},
        "height": HEIGHT,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": "var(--color-text)"},
        "margin": {"l": 64, "r": 12, "t": 56, "b": 44},
        "hovermode": "x unified",
        "hoversubplots": "axis",
        "hoverlabel": {
            "bgcolor": "var(--color-surface-raised)",
            "bordercolor": "var(--color-line)",
        },
        "legend": {"orientation": "h", "x": 0, "y": 1.04, "yanchor": "bottom"},
        "xaxis": quiet
        | {
            "anchor": f"y{len(titles)}",
            "title": {"text": "time, ms"},
            "showspikes": True,
            "spikemode": "across",
            "spikesnap": "cursor",
            "spikethickness": 1,
            "spikedash": "solid",
            "spikecolor": "var(--color-text)",
            "rangemode": "tozero",
        },
    }
