"""Draw a dataflow while it is edited: its vertices in layers, or unfolded to subtasks.

The editor sends what it holds, which may still be wrong: every field is a text, and the ends of
edges are keys of vertices, or none.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.utils.safestring import SafeString

from snapshots.domain.dataflow_logs.dataflow import FORWARD, OPERATOR, SINK
from snapshots.domain.model import layers
from snapshots.domain.model.layers import Link
from snapshots.problems import Refused
from snapshots.quantities import counted, thousands
from snapshots.web.drawings.flow_layout import BOX, Box, Layout, place
from snapshots.web.drawings.svg import Point, arrow_head, element, text, title

MOST_VERTICES = 200
MOST_SUBTASKS = 200
MOST_CHANNELS = 1000
MOST_CHOICES = 500  # names of subtasks that the form offers
CHIP_WIDTH, CHIP_HEIGHT, CHIP_GAP = 46, 22, 6
HEAD_ACROSS, HEAD_DOWN = 46, 132  # room for the name: above the subtasks, or beside them
ARROW = 8
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,15})?(e-?\d{1,2})?", re.IGNORECASE)


@dataclass(frozen=True)
class Vertex:
    """A vertex as it was typed; ``width`` is its number of subtasks, 1 if that is no number."""

    key: str
    id: str
    kind: str
    role: str
    width: int


@dataclass(frozen=True)
class Draft:
    """A dataflow as the editor holds it."""

    vertices: tuple[Vertex, ...]
    links: tuple[Link, ...]
    exchanges: dict[str, str]

    @cached_property
    def drawn(self) -> list[Link]:
        """Return the edges that join two different vertices."""
        keys = {vertex.key for vertex in self.vertices}
        return [
            link
            for link in self.links
            if link.source in keys and link.target in keys and link.source != link.target
        ]


def read(document: Any) -> Draft:
    """Return what the editor sent. Raises: Refused, if it is not of that shape."""
    try:
        vertices = tuple(_vertex(one) for one in document["vertices"])
        links = tuple(
            Link(str(one["key"]), str(one["source"]), str(one["target"]))
            for one in document["edges"]
        )
        exchanges = {str(one["key"]): str(one["exchange"]) for one in document["edges"]}
    except (KeyError, TypeError):
        raise Refused("The dataflow came damaged. Reload the page.", code="wrong-type") from None
    return Draft(vertices, links, exchanges)


def of_document(dataflow: Any) -> Draft:
    """Return a dataflow of a document, with the keys that the editor gives it."""
    vertices = [_mapping(one) for one in dataflow.get("vertices", [])]
    keys: dict[str, str] = {}
    for number, one in enumerate(vertices):
        keys.setdefault(str(one.get("id", "")), f"v{number}")
    edges = [
        {
            "key": f"e{number}",
            "source": keys.get(str(one.get("source")), ""),
            "target": keys.get(str(one.get("target")), ""),
            "exchange": one.get("exchange", FORWARD),
        }
        for number, one in enumerate(map(_mapping, dataflow.get("edges", [])))
    ]
    plain = {"id": "", "kind": OPERATOR, "function": "map", "sink": "plain", "parallelism": 1}
    named = [plain | one | {"key": f"v{number}"} for number, one in enumerate(vertices)]
    return read({"vertices": named, "edges": edges})


def _mapping(one: Any) -> dict[str, Any]:
    return one if isinstance(one, dict) else {}


def _vertex(one: Any) -> Vertex:
    kind = str(one["kind"])
    does = {SINK: one["sink"], OPERATOR: one["function"]}.get(kind)
    role = f"{kind}: {does}" if does else kind
    return Vertex(str(one["key"]), str(one["id"]), kind, role, _width(str(one["parallelism"])))


def _width(typed: str) -> int:
    typed = typed.strip()
    number = float(typed) if _NUMBER.fullmatch(typed) else 1.0
    return int(number) if number.is_integer() and number >= 1 else 1


class Unfolded:
    """The subtasks and channels that are drawn, and how many there are in all.

    If there are too many, each vertex shows as many of its first subtasks as the others, or all
    that it has.
    """

    def __init__(self, draft: Draft, most_subtasks: int = MOST_SUBTASKS) -> None:
        limit = fair_share([vertex.width for vertex in draft.vertices], most_subtasks)
        self.widths = {vertex.key: vertex.width for vertex in draft.vertices}
        self.shown = {key: min(width, limit) for key, width in self.widths.items()}
        self.channels: list[tuple[Link, int, int]] = []
        self.channel_total = 0
        for link in draft.links:
            if link.source in self.widths and link.target in self.widths:
                self._add(link, is_straight=draft.exchanges[link.key] == FORWARD)

    def _add(self, link: Link, *, is_straight: bool) -> None:
        sources, targets = self.widths[link.source], self.widths[link.target]
        self.channel_total += min(sources, targets) if is_straight else sources * targets
        shown = self.shown[link.target]
        for source in range(self.shown[link.source]):
            for target in range(source, min(source + 1, shown)) if is_straight else range(shown):
                if len(self.channels) == MOST_CHANNELS:
                    return
                self.channels.append((link, source, target))


def fair_share(wanted: Iterable[int], most: int) -> int:
    """Return the largest number, at least 1, at which all are cut off so that their sum fits."""
    rising = sorted(wanted)
    left = most
    for place_, amount in enumerate(rising):
        share = left // (len(rising) - place_)
        if amount > share:
            return max(1, share)
        left -= amount
    return max(rising, default=1)


def subtask_names(draft: Draft) -> list[str]:
    """Return names of subtasks for the form to offer, of each vertex as many as of the others."""
    limit = fair_share([vertex.width for vertex in draft.vertices], MOST_CHOICES)
    return [
        f"{vertex.id}[{index}]"
        for vertex in draft.vertices[:MOST_CHOICES]
        for index in range(min(vertex.width, limit))
    ]


def drawing(
    draft: Draft, *, unfolds: bool = False, down: bool = False, selected: str = ""
) -> dict[str, Any]:
    """Return the drawing as ``svg``, None if it is too large, and the ``words`` below it.

    Args:
        draft: the dataflow.
        unfolds: whether its subtasks and channels are drawn.
        down: whether layers follow each other downwards, for a narrow page.
        selected: key of the selected vertex or edge, empty for none.
    """
    count = len(draft.vertices)
    if count > MOST_VERTICES:
        sentence = f"{thousands(count)} vertices are too many to draw"
        return {"words": f"{sentence} (the most is {MOST_VERTICES}): read them in the tables."}
    unfolded = Unfolded(draft)
    sizes = {key: _frame(unfolded, key, down) if unfolds else BOX for key in unfolded.widths}
    layout = place(sizes, draft.links, down=down)
    scene = _Scene(draft, layout, unfolded if unfolds else None, selected)
    return {"svg": scene.svg(), "words": _summary(draft, layout, unfolded, unfolds=unfolds)}


def _frame(unfolded: Unfolded, key: str, down: bool) -> Box:
    """Return the size of the frame around the drawn subtasks and the number of hidden ones."""
    shown = unfolded.shown[key]
    parts = shown + (shown < unfolded.widths[key])
    if down:
        return Box(0, 0, HEAD_DOWN + parts * (CHIP_WIDTH + CHIP_GAP) + CHIP_GAP, CHIP_HEIGHT + 26)
    return Box(0, 0, BOX.width, HEAD_ACROSS + parts * (CHIP_HEIGHT + CHIP_GAP) + CHIP_GAP)


def _summary(draft: Draft, layout: Layout, unfolded: Unfolded, *, unfolds: bool) -> str:
    """Say in words what the drawing shows, and what it leaves out."""
    if not draft.vertices:
        return "No vertex yet: add one in the table below."
    depth = layers.depths(list(unfolded.widths), draft.links)
    subtasks = sum(unfolded.widths.values())
    words = [
        counted(len(layers.layers(depth)), "layer"),
        counted(len(layout.pipelines), "pipeline"),
        counted(subtasks, "subtask"),
        counted(unfolded.channel_total, "channel"),
    ]
    whole = f"{', '.join(words)}."
    hidden = subtasks - sum(unfolded.shown.values())
    hidden_channels = unfolded.channel_total - len(unfolded.channels)
    if not unfolds or not (hidden or hidden_channels):
        return whole
    parts = f"{counted(hidden, 'subtask')} and {counted(hidden_channels, 'channel')}"
    return f"{whole} {parts} are not drawn."


class _Scene:
    def __init__(
        self, draft: Draft, layout: Layout, unfolded: Unfolded | None, selected: str
    ) -> None:
        self._draft = draft
        self._layout = layout
        self._unfolded = unfolded
        self._selected = selected

    def svg(self) -> SafeString:
        layout, vertices = self._layout, self._draft.vertices
        apart = layout.pipelines if len(layout.pipelines) > 1 else []
        attributes = {
            "width": layout.width,
            "height": layout.height,
            "class": "flow is-apart" if apart else "flow",
            "role": "group",
            "aria-label": "Dataflow",
            "viewBox": f"0 0 {layout.width:.1f} {layout.height:.1f}",
        }
        return element(
            "svg",
            attributes,
            arrow_head("arrow"),
            arrow_head("arrow-selected"),
            *(_pipeline(area, number) for number, area in enumerate(apart, 1)),
            *(self._vertex(vertex) for vertex in vertices),
            *(self._channels() if self._unfolded else []),
            *(self._chips(vertex, self._unfolded) for vertex in vertices if self._unfolded),
            *self._edges(),
        )

    def _vertex(self, vertex: Vertex) -> SafeString:
        x, y, width, height = self._layout.boxes[vertex.key]
        subtasks = counted(vertex.width, "subtask")
        count = f"×{thousands(vertex.width)}"
        head = HEAD_DOWN if self._unfolded and self._layout.down else width
        room = int((head - 32 - 9 * len(count)) / 8.6)
        attributes = {
            "class": "flow-vertex",
            "data-key": vertex.key,
            "data-kind": vertex.kind,
            "aria-pressed": str(self._selected == vertex.key).lower(),
            "tabindex": "0",
            "role": "button",
            "aria-label": f"{vertex.id or 'without id'}, {vertex.role}, {subtasks}",
        }
        return element(
            "g",
            attributes,
            _rect("flow-box", Box(x, y, width, height), 4),
            _rect("flow-kind", Box(x + 1, y + 1, 4, height - 2)),
            text(_shortened(vertex.id, room), (x + 14, y + 22), "flow-id", "start"),
            text(count, (x + head - 10, y + 22), "flow-count", "end"),
            text(vertex.role, (x + 14, y + 39), "flow-role", "start"),
            title(f"{vertex.id}: {vertex.role}, {subtasks}"),
        )

    def _chip(self, key: str, index: int) -> Box:
        """Return the box of a subtask in the frame of its vertex."""
        box = self._layout.boxes[key]
        if self._layout.down:
            x = box.x + HEAD_DOWN + index * (CHIP_WIDTH + CHIP_GAP)
            return Box(x, box.y + 13, CHIP_WIDTH, CHIP_HEIGHT)
        x = box.x + (box.width - CHIP_WIDTH) / 2
        return Box(
            x, box.y + HEAD_ACROSS + index * (CHIP_HEIGHT + CHIP_GAP), CHIP_WIDTH, CHIP_HEIGHT
        )

    def _chips(self, vertex: Vertex, unfolded: Unfolded) -> SafeString:
        """Draw the subtasks of a vertex, over the lines of their channels."""
        shown = unfolded.shown[vertex.key]
        parts = []
        for index in range(shown):
            box = self._chip(vertex.key, index)
            name = text(f"[{index}]", _middle(box), "flow-name")
            whole = title(f"{vertex.id}[{index}]")
            parts.append(element("g", {"class": "flow-chip"}, _rect(None, box, 3), name, whole))
        if shown < vertex.width:
            more = f"+{thousands(vertex.width - shown)}"
            parts.append(text(more, _middle(self._chip(vertex.key, shown)), "flow-more"))
        return element("g", {"class": "flow-chips", "data-key": vertex.key}, *parts)

    def _channels(self) -> list[SafeString]:
        lines = []
        for link, source, target in self._unfolded.channels if self._unfolded else []:
            ends = self._chip(link.source, source), self._chip(link.target, target)
            path, _ = self._layout.path(*ends, link, (0.5, 0.5))
            lines.append(
                element("path", {"class": "flow-channel", "data-edge": link.key, "d": path})
            )
        return lines

    def _edges(self) -> list[SafeString]:
        """Draw each edge with its exchange. Unfolded, the channels stand for the edge's line."""
        layout, boxes = self._layout, self._layout.boxes
        sides = layout.ports(self._draft.drawn)
        groups = []
        for link in self._draft.drawn:
            ends = boxes[link.source], boxes[link.target]
            path, (x, y) = layout.path(*ends, link, sides[link.key], ARROW)
            is_selected = self._selected == link.key
            arrow = f"url(#arrow{'-selected' if is_selected else ''})"
            line = [] if self._unfolded else [element("path", {"d": path, "marker-end": arrow})]
            spot, anchor = (x, y + (4 if layout.down else -6)), "middle"
            if self._unfolded:
                spot, anchor = self._beside_channels(link)
            look = "flow-edge is-selected" if is_selected else "flow-edge"
            exchange = text(self._draft.exchanges[link.key], spot, "flow-exchange", anchor)
            groups.append(element("g", {"class": look, "data-key": link.key}, *line, exchange))
        return groups

    def _beside_channels(self, link: Link) -> tuple[Point, str]:
        """Return where the exchange stands: above its first channels, or below its source."""
        box = self._layout.boxes[link.source]
        if self._layout.down:
            return (box.x + 14, box.y + box.height + 22), "start"
        first = self._chip(link.source, 0)
        goal = self._layout.bends.get(link.key, [self._chip(link.target, 0)])[0]
        return ((first.x + goal.x + first.width) / 2, (first.y + goal.y) / 2), "middle"


def _pipeline(area: Box, number: int) -> SafeString:
    name = text(f"pipeline {number}", (area.x + 12, area.y + 20), "flow-name", "start")
    return element("g", {"class": "flow-pipeline"}, _rect(None, area, 6), name)


def _rect(look: str | None, box: Box, rounding: int | None = None) -> SafeString:
    return element("rect", {"class": look, **box._asdict(), "rx": rounding})


def _middle(chip: Box) -> Point:
    return chip.x + chip.width / 2, chip.y + 15


def _shortened(name: str, most: int) -> str:
    return f"{name[: most - 1]}…" if len(name) > most else name
