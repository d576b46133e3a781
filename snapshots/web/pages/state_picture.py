"""Lay out the graph of global states as a picture: levels from left to right, one box a state."""

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from snapshots import quantities

MOST_BOXES = 48  # states whose contents fit into the picture; more are dots
MOST_NAMED_EVENTS = 24  # states up to which every edge is labelled
LONGEST_LINE = 30  # characters of a line in a box
LONGEST_WORDS = 300  # characters that describe a state in the picture
CHARACTER = 7  # pixels
MARGIN = 24


class Sizes(NamedTuple):
    """Pixels of the picture of one graph.

    Attributes:
        width, height: the size of a state.
        across, down: the distance of the middles of two states, by level and within a level.
    """

    width: float
    height: float
    across: float
    down: float


Graph = Mapping[str, Any]
"""A StateGraphDetail as JSON."""


def picture(graph: Graph, *, is_folded: bool) -> dict[str, Any]:
    """Return the places of states and edges, and the size of the picture, in pixels.

    Args:
        is_folded: whether equal states are drawn once.
    """
    fold = [state["same_as"] if is_folded else state["number"] for state in graph["states"]]
    shown = [state for state in graph["states"] if fold[state["number"]] == state["number"]]
    has_boxes = len(shown) <= MOST_BOXES
    lines = {state["number"]: _lines(state) for state in shown}
    sizes = _sizes(list(lines.values()), len(shown), has_boxes)
    places, width, height = _places(shown, sizes)
    edges = _edges(graph, fold, places, sizes, has_labels=len(shown) <= MOST_NAMED_EVENTS)
    run, reordered = set(graph["run"]), set(graph["reordered"] or ())
    same = {number: {m for m, of in enumerate(fold) if of == number} for number in lines}
    return {
        "width": _text(width),
        "height": _text(height + (sizes.height + MARGIN if any(e["back"] for e in edges) else 0)),
        "has_boxes": has_boxes,
        "box": {"width": _text(sizes.width), "height": _text(sizes.height)},
        "edges": edges,
        "states": [
            {
                "number": number,
                "x": _text(x - sizes.width / 2),
                "y": _text(y - sizes.height / 2),
                "middle": _text(x),
                "first_line": _text(y - 3),
                "second_line": _text(y + 13),
                "above": _text(y - sizes.height / 2 - 6),
                "lines": [clipped(line, LONGEST_LINE) for line in lines[number]],
                "words": clipped(f"State {number}: {'; '.join(lines[number])}", LONGEST_WORDS),
                **_marks(same[number], run, reordered, graph["recorded"]),
            }
            for number, (x, y) in places.items()
        ],
    }


def _marks(
    same: set[int], run: set[int], reordered: set[int], recorded: int | None
) -> dict[str, Any]:
    """Return which paths pass a state, or one that is equal to it, and its classes in CSS."""
    marks = {
        "on_run": bool(same & run),
        "on_reordered": bool(same & reordered),
        "is_recorded": recorded in same,
    }
    names = [name.replace("_", "-") for name, applies in marks.items() if applies]
    return {**marks, "classes": " ".join(["box", *names])}


def clipped(text: str, longest: int) -> str:
    """Return a text of at most so many characters; the panel of the state has all of it."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def state_words(state: Mapping[str, Any]) -> str:
    """Return the states of the processes on one line."""
    return " · ".join(
        f"{process} {'not known' if value is None else quantities.value(value)}"
        for process, value in state["processes"].items()
    )


def channel_words(state: Mapping[str, Any]) -> str:
    """Return the contents of the channels on one line."""
    return " · ".join(
        f"{channel}: {', '.join(map(message_words, held))}"
        for channel, held in state["channels"].items()
    )


def message_words(message: Mapping[str, Any]) -> str:
    """Return the value of a message, or its id if the value is not known."""
    value = message["value"]
    return message["message"] if value is None else quantities.value(value)


def _lines(state: Mapping[str, Any]) -> tuple[str, str]:
    return state_words(state), channel_words(state) or "channels empty"


def _sizes(lines: Sequence[tuple[str, str]], count: int, has_boxes: bool) -> Sizes:
    if has_boxes:
        longest = max(len(line) for pair in lines for line in pair)
        width = max(64, min(longest, LONGEST_LINE) * CHARACTER + 16)
        between = 112 if count <= MOST_NAMED_EVENTS else 48
        return Sizes(width, 44, width + between, 84)
    return Sizes(14, 14, 40, 30) if count <= 400 else Sizes(8, 8, 22, 14)


def _places(
    shown: Sequence[Mapping[str, Any]], sizes: Sizes
) -> tuple[dict[int, tuple[float, float]], float, float]:
    """Return the middle of each state by its number, and the size of the whole."""
    columns = [list(level) for _, level in groupby(shown, key=lambda state: state["level"])]
    tallest = max(map(len, columns))
    height = (tallest - 1) * sizes.down + sizes.height + 2 * MARGIN
    width = (len(columns) - 1) * sizes.across + sizes.width + 2 * MARGIN
    places = {}
    for column, states in enumerate(columns):
        top = height / 2 - (len(states) - 1) * sizes.down / 2
        for row, state in enumerate(states):
            x = MARGIN + sizes.width / 2 + column * sizes.across
            places[state["number"]] = (x, top + row * sizes.down)
    return places, width, height


def _edges(
    graph: Graph,
    fold: Sequence[int],
    places: Mapping[int, tuple[float, float]],
    sizes: Sizes,
    *,
    has_labels: bool,
) -> list[dict[str, Any]]:
    run = {(fold[a], fold[b]) for a, b in pairwise(graph["run"])}
    reordered = {(fold[a], fold[b]) for a, b in pairwise(graph["reordered"] or ())}
    events: dict[tuple[int, int], list[str]] = {}
    for edge in graph["edges"]:
        events.setdefault((fold[edge["source"]], fold[edge["target"]]), []).append(edge["event"])
    return [
        {
            **_drawn(places[ends[0]], places[ends[1]], sizes, label),
            "words": "; ".join(dict.fromkeys(names)),
            "label": label,
            "on_run": ends in run,
            "on_reordered": ends in reordered,
        }
        for ends, names in events.items()
        for label in (_label(names) if has_labels else "",)
    ]


def _label(names: Sequence[str]) -> str:
    short = clipped(names[0].partition(" on ")[0].partition(" from ")[0], LONGEST_LINE)
    return f"{short} …" if len(set(names)) > 1 else short


def _drawn(
    source: tuple[float, float], target: tuple[float, float], sizes: Sizes, label: str
) -> dict[str, Any]:
    """Return the path of an edge, and the place of its label above it.

    An edge that leads back passes below the states.
    """
    (x, y), (to_x, to_y) = source, target
    if to_x > x:
        x, to_x = x + sizes.width / 2, to_x - sizes.width / 2
        rise = abs(to_y - y) / (to_x - x) * len(label) * CHARACTER / 2
        middle = {"x": _text((x + to_x) / 2), "y": _text((y + to_y) / 2 - 5 - rise)}
        return {"path": f"M{x:g} {y:g}L{to_x:g} {to_y:g}", "back": False, **middle}
    y, to_y = y + sizes.height / 2, to_y + sizes.height / 2
    low = max(y, to_y) + sizes.height + MARGIN / 2
    path = f"M{x:g} {y:g}C{x:g} {low:g} {to_x:g} {low:g} {to_x:g} {to_y:g}"
    return {"path": path, "back": True, "x": _text((x + to_x) / 2), "y": _text(low - MARGIN)}


def _text(pixels: float) -> str:
    return f"{pixels:g}"
