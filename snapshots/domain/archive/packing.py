"""Packs the per-subtask numbers of a checkpoint as bytes: JSON in columns, compressed."""

import json
import zlib
from dataclasses import fields
from typing import Any

from snapshots.domain.archive.model import SubtaskFacts, VertexFacts

_COLUMNS = tuple(field.name for field in fields(SubtaskFacts))


def pack(vertices: tuple[VertexFacts, ...]) -> bytes:
    """Return the vertices as bytes; no bytes for no vertices."""
    if not vertices:
        return b""
    return zlib.compress(json.dumps([_packed(vertex) for vertex in vertices]).encode())


def unpack(data: bytes) -> tuple[VertexFacts, ...]:
    """Return the vertices that ``pack`` made bytes of."""
    return tuple(map(_unpacked, json.loads(zlib.decompress(data)))) if data else ()


def _packed(vertex: VertexFacts) -> dict[str, object]:
    columns = {name: [getattr(subtask, name) for subtask in vertex.subtasks] for name in _COLUMNS}
    known = {
        name: column for name, column in columns.items() if any(item is not None for item in column)
    }
    packed: dict[str, object] = {
        "id": vertex.id,
        "name": vertex.name,
        "parallelism": vertex.parallelism,
        "subtasks": known,
    }
    if vertex.acknowledged is not None:
        packed["acknowledged"] = vertex.acknowledged
    return packed


def _unpacked(packed: dict[str, Any]) -> VertexFacts:
    columns = packed["subtasks"]
    names = list(columns)
    subtasks = tuple(
        SubtaskFacts(**dict(zip(names, row, strict=True)))
        for row in zip(*columns.values(), strict=True)
    )
    return VertexFacts(
        packed["id"], packed["name"], packed["parallelism"], subtasks, packed.get("acknowledged")
    )
