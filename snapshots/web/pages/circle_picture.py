"""Lay out the processes of a small topology on a circle, with their channels as arcs."""

from collections.abc import Mapping
from math import cos, hypot, pi, sin
from typing import Any

from snapshots.domain.model.topology import Topology

MOST_PROCESSES = 12
RADIUS = 24  # of a process
BEND = 0.16  # how far an arc leaves the straight line, as a part of its length
SIZE = 380


def circle_picture(topology: Topology) -> dict[str, Any] | None:
    """Return the places of processes and channels in pixels; None if there are too many to draw."""
    names = [process.id for process in topology.processes]
    if len(names) > MOST_PROCESSES:
        return None
    places = {name: place(number, len(names)) for number, name in enumerate(names)}
    return {
        "size": SIZE,
        "radius": RADIUS,
        "processes": [
            {"id": name, "x": f"{x:.1f}", "y": f"{y:.1f}", "text_y": f"{y + 5:.1f}"}
            for name, (x, y) in places.items()
        ],
        "channels": [
            {"id": channel.id, **arc(places, channel.source, channel.target)}
            for channel in topology.channels
        ],
    }


def place(number: int, count: int) -> tuple[float, float]:
    """Return the middle of one of several circles that lie on a large one."""
    if count == 1:
        return SIZE / 2, SIZE / 2
    angle = 2 * pi * number / count - pi / 2
    radius = SIZE / 2 - RADIUS - 36
    return SIZE / 2 + radius * cos(angle), SIZE / 2 + radius * sin(angle)


def arc(
    places: Mapping[Any, tuple[float, float]], source: object, target: object
) -> dict[str, str]:
    """Return the path from one place to another, bent to one side, and the place of its name."""
    (x, y), (to_x, to_y) = places[source], places[target]
    length = hypot(to_x - x, to_y - y)
    if not length:  # from a circle to itself
        loop = f"M{x - 12:.1f} {y - RADIUS:.1f}C{x - 44:.1f} {y - 84:.1f}"
        path = f"{loop} {x + 44:.1f} {y - 84:.1f} {x + 12:.1f} {y - RADIUS:.1f}"
        return {"path": path, "x": f"{x:.1f}", "y": f"{y - 74:.1f}"}
    side_x, side_y = (y - to_y) * BEND, (to_x - x) * BEND
    mid_x, mid_y = (x + to_x) / 2 + side_x, (y + to_y) / 2 + side_y
    start = _towards((x, y), (mid_x, mid_y), RADIUS + 2)
    end = _towards((to_x, to_y), (mid_x, mid_y), RADIUS + 6)
    return {
        "path": f"M{start[0]:.1f} {start[1]:.1f}Q{mid_x:.1f} {mid_y:.1f} {end[0]:.1f} {end[1]:.1f}",
        "x": f"{(x + to_x) / 2 + side_x * 0.75:.1f}",
        "y": f"{(y + to_y) / 2 + side_y * 0.75 + 4:.1f}",
    }


def _towards(
    place: tuple[float, float], goal: tuple[float, float], distance: float
) -> tuple[float, float]:
    (x, y), (to_x, to_y) = place, goal
    share = distance / hypot(to_x - x, to_y - y)
    return x + (to_x - x) * share, y + (to_y - y) * share
