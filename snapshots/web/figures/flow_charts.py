"""The flow charts of the aligner and the tracker, with the steps that an event took lit.

A chart has two columns; places are in shares of its width, and in rows from the top.
"""

import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from snapshots.domain.dataflow_logs.barriers import charts
from snapshots.domain.dataflow_logs.barriers.charts import DECISION, ENTRY, Chart, Node, Way
from snapshots.web.figures.look import Part, colour, layout

ROW = 62  # pixels
MENU = 20  # pixels above the chart, for the menu that saves it
LINE = 18  # characters of a line in a node
LEFT, RIGHT = 0.25, 0.745
HALF = 0.205  # of the width of a node
TALL = 0.34  # half of the height of a node, in rows
POINT = 0.035  # how far the sides of a decision reach out
EDGES = 0.012, 0.988  # where ways pass beside the columns

Place = tuple[float, float]
Line = tuple[Place, ...]

_BOTH = {
    charts.BARRIER: (LEFT, 0),
    charts.OLD: (LEFT, 1),
    charts.IGNORE: (RIGHT, 1),
    charts.ALL: (LEFT, 5),
    charts.OFF: (LEFT, 6),
    charts.FORWARD: (LEFT, 7),
    charts.CANCEL: (RIGHT, 7),
    charts.SNAPSHOT: (LEFT, 8),
}
PLACES: Mapping[str, Mapping[str, Place]] = {
    charts.ALIGNER.title: {
        **_BOTH,
        charts.SAME: (LEFT, 2),
        charts.UNDER_WAY: (LEFT, 3),
        charts.DROP: (RIGHT, 3),
        charts.FOLLOW: (LEFT, 4),
        charts.END: (RIGHT, 4),
        charts.BLOCK: (RIGHT, 5),
        charts.GIVE_UP: (RIGHT, 6),
        charts.UNBLOCK: (LEFT, 9),
    },
    charts.TRACKER.title: {
        **_BOTH,
        charts.END: (RIGHT, 0),
        charts.PENDING: (LEFT, 2),
        charts.BEGIN: (RIGHT, 2),
        charts.MANY: (RIGHT, 3),
        charts.COUNT: (LEFT, 4),
        charts.DROP_OLDEST: (RIGHT, 4),
        charts.WAIT: (RIGHT, 5),
        charts.NOTIFY: (RIGHT, 6),
        charts.FORGET: (LEFT, 9),
    },
}
"""The middle of each node."""


def _beside(x: float, start: Place, end: Place) -> Line:
    """Return the bends of a way that passes beside the columns."""
    return (start, (x, start[1]), (x, end[1]), end)


_JOINS_FOLLOW = ((RIGHT, 3 + TALL), (RIGHT, 3.5), (LEFT, 3.5), (LEFT, 4 - TALL))
_JOINS_ALL = ((LEFT, 4.5), (LEFT, 5 - TALL))
BENT: Mapping[tuple[str, str, str], Line] = {
    (charts.ALIGNER.title, charts.SAME, charts.ALL): _beside(
        EDGES[0], (LEFT - HALF, 2), (LEFT - HALF, 5)
    ),
    (charts.ALIGNER.title, charts.DROP, charts.FOLLOW): _JOINS_FOLLOW,
    (charts.ALIGNER.title, charts.END, charts.ALL): (
        (RIGHT, 4 + TALL),
        (RIGHT, 4.5),
        *_JOINS_ALL,
    ),
    (charts.TRACKER.title, charts.MANY, charts.COUNT): (
        (RIGHT - HALF, 3),
        (LEFT, 3),
        (LEFT, 4 - TALL),
    ),
    (charts.TRACKER.title, charts.END, charts.ALL): (
        *_beside(EDGES[1], (RIGHT + HALF, 0), (LEFT, 4.5)),
        (LEFT, 5 - TALL),
    ),
    (charts.TRACKER.title, charts.NOTIFY, charts.FORGET): _beside(
        EDGES[1], (RIGHT + HALF, 6), (LEFT + HALF, 9)
    ),
}
"""The ways that are not straight, by chart, source and target."""


class _Look(NamedTuple):
    """How what is lit looks, and what is not."""

    line: str
    fill: str
    text: str
    width: float
    weight: int

    def font(self, size: int) -> Part:
        """Return the font of a text."""
        return {"size": size, "color": self.text, "weight": self.weight}


_LIT = _Look(colour("accent"), colour("accent-soft"), colour("text"), 3, 600)
_UNLIT = _Look(colour("line-strong"), colour("surface"), colour("text-soft"), 1, 400)


def flow_chart(chart: Chart, path: Sequence[str]) -> Part:
    """Return the figure of a chart.

    Each node is a trace with its name; its ``meta`` is "lit" or "".

    Args:
        path: the nodes of the steps that were taken, in order.
    """
    places = PLACES[chart.title]
    taken = set(pairwise(path))
    order = {name: path.index(name) + 1 for name in path}
    ways = sorted(chart.ways, key=lambda way: way[:2] in taken)  # those that were taken on top
    rows = max(y for _, y in places.values())
    axis = {"visible": False, "fixedrange": True}
    return {
        "data": [
            *(_line(chart, way, is_lit=way[:2] in taken) for way in ways),
            *(
                _node(node, name, places[name], is_lit=name in order)
                for name, node in chart.nodes.items()
            ),
            _texts(chart, places, order, is_lit=False),
            _texts(chart, places, order, is_lit=True),
            _numbers(places, order),
        ],
        "layout": layout(
            height=round(ROW * (rows + 1)) + MENU,
            margin={"l": 0, "r": 0, "t": MENU, "b": 0},
            showlegend=False,
            xaxis=axis | {"range": [0, 1]},
            yaxis=axis | {"range": [rows + 0.5, -0.5]},
            annotations=[
                *(_head(chart, way, is_lit=way[:2] in taken) for way in ways),
                *(_answer(chart, way, is_lit=way[:2] in taken) for way in ways if way.answer),
            ],
        ),
        "config": {"staticPlot": True},
    }


def _points(chart: Chart, way: Way) -> Line:
    """Return the bends of a way, from the edge of its source to that of its target."""
    bent = BENT.get((chart.title, way.source, way.target))
    if bent is not None:
        return bent
    places = PLACES[chart.title]
    (x, y), (to_x, to_y) = places[way.source], places[way.target]
    across, down = (to_x > x) - (to_x < x), (to_y > y) - (to_y < y)
    return (x + across * HALF, y + down * TALL), (to_x - across * HALF, to_y - down * TALL)


def _line(chart: Chart, way: Way, *, is_lit: bool) -> Part:
    look = _LIT if is_lit else _UNLIT
    points = _points(chart, way)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{way.source} → {way.target}",
        "meta": "lit" if is_lit else "",
        "x": [x for x, _ in points],
        "y": [y for _, y in points],
        "line": {"color": look.line, "width": look.width},
        "hoverinfo": "skip",
    }


def _head(chart: Chart, way: Way, *, is_lit: bool) -> Part:
    look = _LIT if is_lit else _UNLIT
    (x, y), (to_x, to_y) = _points(chart, way)[-2:]
    return {
        "x": to_x,
        "y": to_y,
        "ax": x,
        "ay": y,
        **dict.fromkeys(("xref", "axref"), "x"),
        **dict.fromkeys(("yref", "ayref"), "y"),
        "text": "",
        "arrowhead": 2,
        "arrowsize": 0.9 if is_lit else 1.4,
        "arrowwidth": look.width,
        "arrowcolor": look.line,
    }


def _answer(chart: Chart, way: Way, *, is_lit: bool) -> Part:
    """Return the word at the begin of a decision's way, or where it has room beside the nodes."""
    points = _points(chart, way)
    is_beside = points[1][0] in EDGES
    (x, y), (to_x, to_y) = points[1:3] if is_beside else points[:2]
    is_level = y == to_y
    return {
        "x": max(x, to_x) - (RIGHT - LEFT) / 2 + HALF if is_level else x,
        "y": y if is_level else y + (0.5 if is_beside else 0.5 - TALL),
        "text": way.answer,
        "showarrow": False,
        "xanchor": "center" if is_level else "left",
        "yanchor": "bottom" if is_level else "middle",
        "xshift": 0 if is_level else 5,
        "borderpad": 0,
        "font": (_LIT if is_lit else _UNLIT).font(11),
    }


def _node(node: Node, name: str, place: Place, *, is_lit: bool) -> Part:
    """Return the outline of a node: a decision has pointed sides, an entry cut corners."""
    look = _LIT if is_lit else _UNLIT
    x, y = place
    if node.kind == DECISION:
        side, cut = HALF - POINT, TALL
        corners = [(-side, -cut), (side, -cut), (HALF, 0), (side, cut), (-side, cut), (-HALF, 0)]
    elif node.kind == ENTRY:
        side, cut = HALF - 0.03, TALL - 0.14
        top = [(-side, -TALL), (side, -TALL), (HALF, -cut)]
        corners = [*top, (HALF, cut), (side, TALL), (-side, TALL), (-HALF, cut), (-HALF, -cut)]
    else:
        corners = [(-HALF, -TALL), (HALF, -TALL), (HALF, TALL), (-HALF, TALL)]
    outline = [(x + across, y + down) for across, down in [*corners, corners[0]]]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "meta": "lit" if is_lit else "",
        "x": [across for across, _ in outline],
        "y": [down for _, down in outline],
        "fill": "toself",
        "fillcolor": look.fill,
        "line": {"color": look.line, "width": look.width},
        "hoverinfo": "skip",
    }


def _texts(
    chart: Chart, places: Mapping[str, Place], order: Mapping[str, int], *, is_lit: bool
) -> Part:
    shown = [name for name in chart.nodes if (name in order) == is_lit]
    words = ["<br>".join(textwrap.wrap(chart.nodes[name].text, LINE)) for name in shown]
    return {
        "type": "scatter",
        "mode": "text",
        "name": "texts of lit steps" if is_lit else "texts",
        "x": [places[name][0] for name in shown],
        "y": [places[name][1] for name in shown],
        "text": words,
        "textfont": (_LIT if is_lit else _UNLIT).font(12),
        "hoverinfo": "skip",
    }


def _numbers(places: Mapping[str, Place], order: Mapping[str, int]) -> Part:
    """Return the number of each step, on the corner of its node."""
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": "numbers of the steps",
        "x": [places[name][0] + HALF for name in order],
        "y": [places[name][1] - TALL for name in order],
        "text": [str(number) for number in order.values()],
        "textfont": {"size": 11, "color": colour("on-accent")},
        "marker": {"size": 17, "color": colour("accent")},
        "hoverinfo": "skip",
    }
