"""Draw a barrier front: a job's vertices with how far a checkpoint has come, and their edges."""

from typing import Any

from django.utils.safestring import SafeString

from snapshots.domain.model.layers import Link
from snapshots.quantities import percent
from snapshots.web.drawings.flow_layout import BOX, Box, place
from snapshots.web.drawings.svg import arrow_head, element, text, title
from snapshots.web.figures.look import shortened

MOST_DRAWN = 100  # vertices
LETTER = 7.7  # pixels of a bold letter
GAUGE_HEIGHT = 4
ARROW = 8


def drawing(poll: dict[str, Any], *, down: bool) -> SafeString | None:
    """Return the drawing of a poll of ``front_payloads``; None without vertices, or with too many.

    Of several edges between two vertices one is drawn.
    """
    vertices = poll["vertices"]
    if not 0 < len(vertices) <= MOST_DRAWN:
        return None
    edges = {f"{edge['source']} {edge['target']}": edge for edge in poll["edges"]}
    links = [Link(key, edge["source"], edge["target"]) for key, edge in edges.items()]
    layout = place({vertex["id"]: BOX for vertex in vertices}, links, down=down)
    sides = layout.ports(links)
    lines = []
    for link in links:
        ends = layout.boxes[link.source], layout.boxes[link.target]
        path, _ = layout.path(*ends, link, sides[link.key], ARROW)
        edge = edges[link.key]
        look = "front-edge is-front" if edge["is_front"] else "front-edge"
        line = element("path", {"class": look, "d": path, "marker-end": "url(#arrow)"})
        lines.append(element("g", {}, line, title(edge["ship"])))
    return element(
        "svg",
        {
            "viewBox": f"0 0 {layout.width:.1f} {layout.height:.1f}",
            "width": layout.width,
            "height": layout.height,
            "aria-hidden": "true",
        },
        arrow_head("arrow"),
        *lines,
        *(_vertex(vertex, layout.boxes[vertex["id"]]) for vertex in vertices),
    )


def words(vertex: dict[str, Any]) -> str:
    """Return how many subtasks of a vertex have acknowledged, and its state."""
    acknowledged, parallelism = (
        "?" if vertex[name] is None else vertex[name] for name in ("acknowledged", "parallelism")
    )
    return f"{acknowledged}/{parallelism} {vertex['status']}"


def _vertex(vertex: dict[str, Any], box: Box) -> SafeString:
    x, y = box.x, box.y
    name, status, busy, pressed = (
        vertex[part] for part in ("name", "status", "busy", "back_pressured")
    )
    loads = f"Busy: {_share(busy)}; back-pressured: {_share(pressed)}."
    state = {"x": x + 1, "y": y + 1, "width": 6, "height": box.height - 2}
    short = shortened(name, int((box.width - 22) / LETTER))
    return element(
        "g",
        {"class": "front-vertex", "data-status": status, "data-role": vertex["role"]},
        element("rect", {"class": "front-box", **box._asdict(), "rx": 4}),
        element("rect", {"class": "front-state", **state}),
        text(short, (x + 14, y + 18), "front-name", "start"),
        text(words(vertex), (x + 14, y + 34), "front-words", "start"),
        *_gauge(busy, "front-busy", x + 14, y + 40),
        *_gauge(pressed, "front-pressed", x + 14, y + 47),
        title(f"{name}: {status}. {vertex['reason']} {loads}"),
    )


def _gauge(share: float | None, look: str, x: float, y: float) -> list[SafeString]:
    if share is None:
        return []
    whole = Box(x, y, BOX.width - 28, GAUGE_HEIGHT)
    part = whole._replace(width=whole.width * min(1, share))
    boxes = {"front-gauge": whole, look: part}
    return [element("rect", {"class": name, **box._asdict()}) for name, box in boxes.items()]


def _share(share: float | None) -> str:
    return "not known" if share is None else percent(share)
