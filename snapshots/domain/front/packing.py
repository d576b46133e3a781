"""Packs a poll as bytes: JSON without what is not known, compressed."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from snapshots.domain.front.model import Load, Poll, PolledEdge, PolledVertex


def pack(poll: Poll) -> bytes:
    """Return a poll as bytes, a few hundred for a small job."""
    return zlib.compress(json.dumps(_lean(asdict(poll)), separators=(",", ":")).encode(), 9)


def unpack(data: bytes) -> Poll:
    """Return the poll that ``pack`` made bytes of."""
    found = json.loads(zlib.decompress(data))
    vertices = tuple(map(_vertex, found.pop("vertices", ())))
    edges = tuple(PolledEdge(**edge) for edge in found.pop("edges", ()))
    lacking = tuple(found.pop("lacking", ()))
    return Poll(**found, vertices=vertices, edges=edges, lacking=lacking)


def _lean(value: Any) -> Any:
    """Leave out what is empty or not known; a field that is left out has its default."""
    if isinstance(value, Mapping):
        leaned = {name: _lean(item) for name, item in value.items()}
        return {name: item for name, item in leaned.items() if _tells(name, item)}
    return [_lean(item) for item in value] if isinstance(value, list | tuple) else value


_KEPT_IF_EMPTY = frozenset({"pending"})  # none pending differs from not known who is


def _tells(name: str, item: Any) -> bool:
    if item is None or (item is False and name != "is_unaligned"):
        return False
    return name in _KEPT_IF_EMPTY or item not in ("", [], {})


def _vertex(found: dict[str, Any]) -> PolledVertex:
    load = Load(**found.pop("load", {}))
    for name in ("pending", "begun", "untouched"):
        if name in found:
            found[name] = tuple(found[name])
    return PolledVertex(**found, load=load)
