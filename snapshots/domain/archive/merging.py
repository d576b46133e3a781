"""Merges what two sources know of one checkpoint, so that nothing known is lost.

A field that one source lacks comes from the other. If both have it, the one that says more counts:
the later status, the larger number (numbers of a checkpoint under way only grow), the longer text,
and a size from the engine rather than one that was counted in files. So neither the order of the
sources nor repetition matters.
"""

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import TypeVar

from snapshots.domain.archive.model import STATUSES, CheckpointFacts, SubtaskFacts, VertexFacts

_TEXTS = ("kind", "failure", "phase", "path")
_COUNTS = (
    "triggered_at",
    "ended_at",
    "duration",
    "uploaded",
    "in_flight",
    "subtasks",
    "acknowledged",
)
_Item = TypeVar("_Item", VertexFacts, SubtaskFacts)


class NotTheSame(ValueError):
    """The checkpoints are two, because their numbers, or the instants of their triggers, differ."""


def merged(one: CheckpointFacts, other: CheckpointFacts) -> CheckpointFacts:
    """Merge what two sources know of a checkpoint. Raises: NotTheSame."""
    if one.key != other.key or contradict(one.triggered_at, other.triggered_at):
        raise NotTheSame(f"{one.key} at {one.triggered_at}, {other.key} at {other.triggered_at}")
    texts = {name: _longer(getattr(one, name), getattr(other, name)) for name in _TEXTS}
    counts = {name: _larger(getattr(one, name), getattr(other, name)) for name in _COUNTS}
    size, is_told = _size(one, other)
    return CheckpointFacts(
        one.number,
        one.pipeline,
        status=max(one.status, other.status, key=STATUSES.index),
        bytes=size,
        is_bytes_told=is_told,
        vertices=_united(one.vertices, other.vertices, "id", _vertex),
        **texts,
        **counts,
    )


def contradict(one: int | None, other: int | None) -> bool:
    """Tell whether two instants of a trigger differ, so that they are of two checkpoints."""
    return one is not None and other is not None and one != other


def _vertex(one: VertexFacts, other: VertexFacts) -> VertexFacts:
    return VertexFacts(
        one.id,
        _longer(one.name, other.name),
        _larger(one.parallelism, other.parallelism),
        _united(one.subtasks, other.subtasks, "index", _subtask),
    )


def _subtask(one: SubtaskFacts, other: SubtaskFacts) -> SubtaskFacts:
    names = [field.name for field in fields(SubtaskFacts)]
    known = {name: _larger(getattr(one, name), getattr(other, name)) for name in names}
    return replace(one, **known)


def _united(
    one: Iterable[_Item],
    other: Iterable[_Item],
    key: str,
    join: Callable[[_Item, _Item], _Item],
) -> tuple[_Item, ...]:
    items = {getattr(item, key): item for item in one}
    for item in other:
        id_ = getattr(item, key)
        items[id_] = join(items[id_], item) if id_ in items else item
    return tuple(items[id_] for id_ in sorted(items))


def _size(one: CheckpointFacts, other: CheckpointFacts) -> tuple[int | None, bool]:
    """Return the bytes, and whether the engine gave them."""
    if one.is_bytes_told != other.is_bytes_told:
        return (one if one.is_bytes_told else other).bytes, True
    return _larger(one.bytes, other.bytes), one.is_bytes_told


def _larger(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)


def _longer(one: str, other: str) -> str:
    return max(one, other, key=lambda text: (len(text), text))
