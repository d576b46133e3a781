"""Merges what two sources know of one checkpoint, so that nothing known is lost.

A field that one source lacks comes from the other. If both have it, the one that says more counts:
the later status, the larger number (numbers of a checkpoint under way only grow), the longer text,
and a size from the engine rather than one that was counted in files. So neither the order of the
sources nor repetition matters.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

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


def merged(first: CheckpointFacts, second: CheckpointFacts) -> CheckpointFacts:
    """Merge what two sources know of a checkpoint. Raises: NotTheSame."""
    if first.key != second.key or contradict(first.triggered_at, second.triggered_at):
        raise NotTheSame(
            f"{first.key} at {first.triggered_at}, {second.key} at {second.triggered_at}"
        )
    fields: dict[str, Any] = {
        name: _longer(getattr(first, name), getattr(second, name)) for name in _TEXTS
    }
    fields |= {name: _larger(getattr(first, name), getattr(second, name)) for name in _COUNTS}
    size, is_told = _size(first, second)
    return CheckpointFacts(
        first.number,
        first.pipeline,
        status=max(first.status, second.status, key=STATUSES.index),
        bytes=size,
        is_bytes_told=is_told,
        vertices=_united(first.vertices, second.vertices, "id", _vertex),
        **fields,
    )


def contradict(first: int | None, second: int | None) -> bool:
    """Tell whether two instants of a trigger differ, so that they are of two checkpoints."""
    return first is not None and second is not None and first != second


def _vertex(first: VertexFacts, second: VertexFacts) -> VertexFacts:
    return VertexFacts(
        first.id,
        _longer(first.name, second.name),
        _larger(first.parallelism, second.parallelism),
        _united(first.subtasks, second.subtasks, "index", _subtask),
        _larger(first.acknowledged, second.acknowledged),
    )


def _subtask(first: SubtaskFacts, second: SubtaskFacts) -> SubtaskFacts:
    values: dict[str, Any] = {
        name: _larger(getattr(first, name), getattr(second, name))
        for name in SubtaskFacts.__dataclass_fields__
    }
    return SubtaskFacts(**values)


def _united(
    first: Iterable[_Item],
    second: Iterable[_Item],
    key: str,
    join: Callable[[_Item, _Item], _Item],
) -> tuple[_Item, ...]:
    items = {getattr(item, key): item for item in first}
    for item in second:
        id_ = getattr(item, key)
        items[id_] = join(items[id_], item) if id_ in items else item
    return tuple(items[id_] for id_ in sorted(items))


def _size(first: CheckpointFacts, second: CheckpointFacts) -> tuple[int | None, bool]:
    """Return the bytes, and whether the engine gave them."""
    if first.is_bytes_told != second.is_bytes_told:
        return (first if first.is_bytes_told else second).bytes, True
    return _larger(first.bytes, second.bytes), first.is_bytes_told


def _larger(first: int | None, second: int | None) -> int | None:
    if first is None or second is None:
        return second if first is None else first
    return max(first, second)


def _longer(first: str, second: str) -> str:
    return max(first, second, key=lambda text: (len(text), text))
