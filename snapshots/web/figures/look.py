"""What the figures of all pages look like: the colours of tokens.css, layouts, axes and lines."""

from typing import Any

from webapp import direction

Part = dict[str, Any]
"""A part of a figure as Plotly takes it."""


def colour(name: str, opacity: float | None = None) -> str:
    """Return the sign for a colour of the page, which the browser replaces by what it is there.

    Args:
        name: of the token, such as ``series-1`` for ``--color-series-1``.
        opacity: 0 to 1; None for a colour that hides what is below it.
    """
    sign = f"var(--color-{name})"
    return sign if opacity is None else f"{sign} {opacity}"


def layout(**more: Any) -> Part:
    """Return a layout with the base of all figures, and more."""
    font = {"family": "system-ui, sans-serif", "size": 12, "color": colour("text")}
    return {
        "autosize": True,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "font": font,
        **more,
    }


def quiet_axis(**more: Any) -> Part:
    """Return an axis in quiet colours, without a line and ticks, and more."""
    return {
        "color": colour("text-soft"),
        "gridcolor": colour("line"),
        "zeroline": False,
        "ticks": "",
        "automargin": True,
        "tickfont": {"color": colour("text-soft")},
        **more,
    }


def lined_axis(**more: Any) -> Part:
    """Return a horizontal axis with a line and ticks, and more."""
    line = {"linecolor": colour("line"), "tickcolor": colour("line")}
    return quiet_axis(**line, ticks="outside", ticklen=4, **more)


def row_axis(names: list[str], **more: Any) -> Part:
    """Return a vertical axis with a row for each name, the first one on top."""
    rows = list(range(len(names)))
    return quiet_axis(
        fixedrange=True,
        showgrid=False,
        ticklabelstandoff=6,
        range=[len(names) - 0.4, -0.6],
        tickvals=rows,
        ticktext=names,
        **more,
    )


def vertical_line(x: float, **line: Any) -> Part:
    """Return a shape: a line across the whole height of the figure."""
    return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": x, "x1": x, "line": line}


def escaped(text: str) -> str:
    """Return a text that Plotly, which reads some of HTML, shows as it is."""
    shown = direction.in_text(text)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shortened(text: str, most: int) -> str:
    """Return a text without its middle if it has more than so many characters."""
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[: most - end - 1]}…{text[-end:]}"
