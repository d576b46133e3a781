"""Lay out the drawing of a dataflow: its layers, its pipelines, its lines. Lengths are in pixels.

Layers follow each other along the drawing, from left to right, or down if it is narrow. The
vertices of one layer lie across it. A dataflow that is still wrong has a layout, too.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from snapshots.domain.model import layers
from snapshots.domain.model.layers import Item, Link
from snapshots.web.drawings.svg import Point

GAP_ACROSS = 104
GAP_DOWN = 64
GAP_IN_LAYER = 22
PIPELINE_PAD = 16
PIPELINE_LABEL = 22
PIPELINE_GAP = 20
MARGIN = 12
PASSAGE = 18  # room for an edge that passes a layer
TALL = 600  # from here on layers start at the same height, for nobody sees their middle
LEAST_REACH = 24  # of the handles of a curve


class Box(NamedTuple):
    """A box in a drawing: its top left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    def moved(self, x: float, y: float) -> "Box":
        """Return the box at another place."""
        return self._replace(x=self.x + x, y=self.y + y)


BOX = Box(0, 0, 148, 56)
"""The size of a vertex that is not unfolded."""


@dataclass(frozen=True)
class Layout:
    """The layout of a drawing: the place of each box and of each bend of an edge.

    Attributes:
        boxes: of the vertices, by key.
        bends: for each edge that passes layers, by key, where it goes straight through each: the
            height of such a box is 0, in a drawing that goes down its width.
        pipelines: the boxes around them.
        down: whether layers follow each other downwards.
    """

    width: float
    height: float
    boxes: dict[str, Box]
    bends: dict[str, list[Box]]
    pipelines: list[Box]
    down: bool

    def path(
        self, start: Box, end: Box, link: Link, shares: tuple[float, float], arrow: float = 0
    ) -> tuple[str, Point]:
        """Return the path of an edge between two boxes, and the middle of its first part.

        Args:
            start: box that it leaves.
            end: box that it enters.
            link: the edge.
            shares: at which of the boxes' sides, 0 to 1, it begins and ends.
            arrow: length that is left for the arrow head.
        """
        out, into = shares
        if self.down:
            at = (start.x + start.width * out, start.y + start.height)
            goal = (end.x + end.width * into, end.y - arrow)
        else:
            at = (start.x + start.width, start.y + start.height * out)
            goal = (end.x - arrow, end.y + end.height * into)
        spots = [at]
        for bend in self.bends.get(link.key, []):
            spots += [(bend.x, bend.y), (bend.x + bend.width, bend.y + bend.height)]
        spots.append(goal)
        parts = [
            f"L{_point(to)}" if number % 2 else self._curve(one, to)
            for number, (one, to) in enumerate(pairwise(spots))
        ]
        middle = ((at[0] + spots[1][0]) / 2, (at[1] + spots[1][1]) / 2)
        return f"M{_point(at)}{''.join(parts)}", middle

    def ports(self, links: Sequence[Link]) -> dict[str, tuple[float, float]]:
        """Return for each edge, by key, at which shares of its boxes' sides it begins and ends."""
        outs = self._shares(links, "source", "target", 0)
        intos = self._shares(links, "target", "source", -1)
        return {link.key: (outs[link.key], intos[link.key]) for link in links}

    def _shares(self, links: Sequence[Link], near: str, far: str, bend: int) -> dict[str, float]:
        at_vertex: dict[str, list[Link]] = defaultdict(list)
        for link in links:
            at_vertex[getattr(link, near)].append(link)
        shares = {}
        for own in at_vertex.values():
            own.sort(key=lambda link: self._across(link, getattr(link, far), bend))
            for order, link in enumerate(own, 1):
                shares[link.key] = order / (len(own) + 1)
        return shares

    def _across(self, link: Link, far: str, bend: int) -> float:
        """Return where the next thing along an edge lies, across the layers."""
        bends = self.bends.get(link.key)
        box = bends[bend] if bends else self.boxes[far]
        return box.x + box.width / 2 if self.down else box.y + box.height / 2

    def _curve(self, start: Point, end: Point) -> str:
        (x, y), (to_x, to_y) = start, end
        if self.down:
            reach = max(LEAST_REACH, (to_y - y) / 2)
            handles = [(x, y + reach), (to_x, to_y - reach)]
        else:
            reach = max(LEAST_REACH, (to_x - x) / 2)
            handles = [(x + reach, y), (to_x - reach, to_y)]
        return f"C{_point(handles[0])} {_point(handles[1])} {_point(end)}"


def place(sizes: Mapping[str, Box], links: Sequence[Link], *, down: bool = False) -> Layout:
    """Lay out a dataflow.

    Args:
        sizes: of the vertices, by key, in their order.
        links: its edges; those that lead nowhere are not drawn.
        down: whether layers follow each other downwards.
    """
    keys = list(sizes)
    depth = layers.depths(keys, links)
    groups = layers.pipelines(keys, links)
    pad, label = (PIPELINE_PAD, PIPELINE_LABEL) if len(groups) > 1 else (0, 0)
    boxes: dict[str, Box] = {}
    bends: dict[str, list[Box]] = defaultdict(list)
    areas: list[Box] = []
    y: float = MARGIN
    for group in groups:
        block = _Block(sizes, down)
        width, height = block.placed(layers.passages(group, links, depth))
        for key, box in block.boxes.items():
            boxes[key] = box.moved(MARGIN + pad, y + pad + label)
        for key, spots in block.bends.items():
            bends[key] = [spot.moved(MARGIN + pad, y + pad + label) for spot in spots]
        areas.append(Box(MARGIN, y, width + 2 * pad, height + 2 * pad + label))
        y += areas[-1].height + PIPELINE_GAP
    whole = max((area.x + area.width for area in areas), default=0) + MARGIN
    return Layout(whole, y - PIPELINE_GAP + MARGIN, boxes, dict(bends), areas, down)


class _Block:
    """One pipeline, whose top left corner is at 0, 0."""

    def __init__(self, sizes: Mapping[str, Box], down: bool) -> None:
        self._sizes = sizes
        self._down = down
        self.boxes: dict[str, Box] = {}
        self.bends: dict[str, list[Box]] = defaultdict(list)

    def placed(self, rows: list[list[Item]]) -> Point:
        """Place all layers, and return width and height of them all."""
        spans = [
            sum(self._across(item) for item in row) + GAP_IN_LAYER * (len(row) - 1) for row in rows
        ]
        span, gap = max(spans), GAP_DOWN if self._down else GAP_ACROSS
        at = 0.0
        for row, own in zip(rows, spans, strict=True):
            length = max((self._along(item) for item in row), default=0)
            side = 0 if span > TALL else (span - own) / 2
            for item in row:
                if item.is_passage:
                    self.bends[item.key].append(self._box(at, side + PASSAGE / 2, length, 0))
                else:
                    size = (self._along(item), self._across(item))
                    self.boxes[item.key] = self._box(at + (length - size[0]) / 2, side, *size)
                side += self._across(item) + GAP_IN_LAYER
            at += length + gap
        return (span, at - gap) if self._down else (at - gap, span)

    def _along(self, item: Item) -> float:
        if item.is_passage:
            return 0
        box = self._sizes[item.key]
        return box.height if self._down else box.width

    def _across(self, item: Item) -> float:
        if item.is_passage:
            return PASSAGE
        box = self._sizes[item.key]
        return box.width if self._down else box.height

    def _box(self, main: float, cross: float, length: float, breadth: float) -> Box:
        if self._down:
            return Box(cross, main, breadth, length)
        return Box(main, cross, length, breadth)


def _point(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"
