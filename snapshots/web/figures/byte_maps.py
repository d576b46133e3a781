"""Make the maps of a checkpoint's bytes, what is stored and the entries, as treemaps."""

from typing import Any

from snapshots.quantities import file_size
from snapshots.web.figures.look import colour, escaped, layout

COLOURS = {
    "group": "surface-raised",
    "new": "map-new",
    "old": "map-old",
    "grew": "map-new",
    "same": "map-same",
    "shrank": "map-old",
    "unknown": "map-unknown",
}
"""The name of the colour of each kind of sector."""
WORDS = {
    "part": "some of it was taken over",
    "new": "new with this checkpoint",
    "old": "taken over from earlier",
    "unknown": "it is not known what of it is new",
}


def figure(sectors: dict[str, Any], root: str) -> dict[str, Any]:
    """Return the figure of a map.

    Args:
        sectors: columns of ``inventory_bytes.sectors``. Every sector has its own size; that of an
            operator or state is the sum of its sectors wherever they are known.
        root: id of the whole, which has no sector of its own.
    """
    values, parents = sectors["values"], sectors["parents"]
    total = sum(value for value, parent in zip(values, parents, strict=True) if parent == root)
    places = range(len(values))
    fills = [colour(COLOURS[kind_of(sectors, place)]) for place in places]
    text = {"color": colour("text")}
    trace = {
        "type": "treemap",
        "branchvalues": "total",
        "ids": [root, *sectors["ids"]],
        "labels": ["all", *map(escaped, sectors["labels"])],
        "parents": ["", *parents],
        "values": [total, *values],
        "text": [file_size(total), *map(file_size, values)],
        "customdata": ["", *(escaped(remark(sectors, place)) for place in places)],
        "textinfo": "label+text",
        "hovertemplate": "%{label}<br>%{text}<br>%{customdata}<extra></extra>",
        "sort": True,
        "marker": {
            "colors": [colour("surface"), *fills],
            "line": {"color": colour("surface"), "width": 1},
            "pad": {"t": 20, "l": 3, "r": 3, "b": 3},
        },
        "textfont": text,
        "pathbar": {"visible": True, "thickness": 22, "textfont": text},
        "tiling": {"pad": 2},
        "level": root,
    }
    margin = {"l": 8, "r": 8, "t": 26, "b": 8}
    return {"data": [trace], "layout": layout(margin=margin), "config": {"displayModeBar": False}}


def levels(sectors: dict[str, Any], root: str) -> list[tuple[str, str]]:
    """Return what can be opened in a map, as id and as its name behind those around it."""
    ids, labels, parents = sectors["ids"], sectors["labels"], sectors["parents"]
    names: dict[str, str] = {}
    for id_, label, parent in zip(ids, labels, parents, strict=True):  # the outer ones come first
        names[id_] = f"{names[parent]} › {label}" if parent in names else label
    outer = set(parents)
    return [(root, "all"), *((id_, names[id_]) for id_ in ids if id_ in outer)]


def kind_of(sectors: dict[str, Any], place: int) -> str:
    """Return what decides the colour of a sector; one with others inside is quiet."""
    kind, before = sectors["kinds"][place], sectors["before"][place]
    if kind in ("new", "old", "unknown"):
        return kind
    if sectors["ids"][place] in sectors["parents"]:
        return "group"
    if before is None:
        return "unknown"
    change = sectors["values"][place] - before
    return "grew" if change > 0 else "shrank" if change < 0 else "same"


def remark(sectors: dict[str, Any], place: int) -> str:
    """Return in words what the colour of a sector says."""
    kind, before = sectors["kinds"][place], sectors["before"][place]
    if kind in WORDS:
        return WORDS[kind]
    if before is None:
        return "it is not known how much was there before"
    change = sectors["values"][place] - before
    if not change:
        return "as before"
    sign = "+" if change > 0 else "−"
    return f"{sign}{file_size(abs(change))} since the checkpoint before"
