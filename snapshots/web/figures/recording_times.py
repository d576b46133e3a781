"""When each process recorded its state for a snapshot: a row for each process."""

from collections.abc import Mapping, Sequence

from snapshots import quantities
from snapshots.web.figures.look import (
    Part,
    colour,
    escaped,
    layout,
    lined_axis,
    row_axis,
    shortened,
    vertical_line,
)

MOST_NAMED = 21  # rows whose names fit the height of the figure in pages.css
LONGEST_NAME = 24  # characters
BESIDE = 0.04  # share of the axis before the first instant and after the last


def recording_times(
    recorded: Mapping[str, int],
    initiators: Sequence[str],
    ends: Sequence[int],
    unit: str,
) -> Part:
    """Return the figure, in which the initiators have marks of their own.

    Args:
        recorded: when each process recorded, in the order of the rows.
        initiators: the processes that began the snapshot.
        ends: when the snapshot began and ended, as far as it did.
        unit: of the instants.
    """
    names = [escaped(shortened(name, LONGEST_NAME)) for name in recorded]
    label, size = quantities.scale_for(max([*recorded.values(), *ends]), unit)
    rows = [(row, name, at) for row, (name, at) in enumerate(recorded.items())]
    own = [row for row in rows if row[1] in initiators]
    others = [row for row in rows if row[1] not in initiators]
    data = [
        {
            "name": name,
            "type": "scatter",
            "mode": "markers",
            "x": [at / size for _, _, at in chosen],
            "y": [row for row, _, _ in chosen],
            "text": [f"{escaped(who)}<br>{quantities.instant(at, unit)}" for _, who, at in chosen],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {"symbol": symbol, "size": 10, "color": colour(shade)},
        }
        for name, chosen, shade, symbol in (
            ("initiator", own, "marker", "diamond"),
            ("recorded", others, "recorded", "circle"),
        )
        if chosen
    ]
    drawn = [at / size for at in [*recorded.values(), *ends]]
    beside = (max(drawn) - min(drawn)) * BESIDE or 0.5
    title = {"text": f"time since the start, {label}", "standoff": 4}
    across = lined_axis(range=[min(drawn) - beside, max(drawn) + beside], title=title)
    down = row_axis(names)
    if len(names) > MOST_NAMED:
        down |= {"tickvals": [], "ticktext": []}
    line = {"color": colour("cut"), "width": 1, "dash": "dot"}
    return {
        "data": data,
        "layout": layout(
            margin={"l": 16, "r": 16, "t": 28, "b": 44},
            showlegend=True,
            legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
            xaxis=across,
            yaxis=down | {"showgrid": True},
            shapes=[vertical_line(at / size, **line) for at in ends],
        ),
    }
