"""Read how busy subtasks were, from Flink's answers about vertices and their back pressure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from snapshots.readers.engines.flink.rest.answers import BACK_PRESSURE, VERTEX, Answer
from snapshots.readers.engines.flink.rest.fields import items, mapping, number, text

_MEASURED = "ok"  # the status of an answer that has values; else they are old or not there yet

_MOST_MS = 2**53


@dataclass(frozen=True, slots=True)
class SubtaskLoad:
    """How one subtask spent its time.

    Shares are 0 to 1, durations milliseconds. None means that Flink did not say.
    """

    busy: float | None = None
    back_pressured: float | None = None
    idle: float | None = None
    busy_ms: int | None = None
    back_pressured_ms: int | None = None
    running_ms: int | None = None


@dataclass(frozen=True, slots=True)
class VertexLoad:
    """The subtasks of one vertex by number.

    Attributes:
        measured_at: when back pressure was measured, in epoch ms; None if it was not.
        is_measured: whether the answer has the shares.
    """

    vertex: str
    measured_at: int | None
    is_measured: bool
    subtasks: dict[int, SubtaskLoad]


def loads_of(answers: Iterable[Answer]) -> tuple[VertexLoad, ...]:
    """Return the load of every vertex that answers are about; of several answers the newest."""
    answers = list(answers)
    shares = _newest(answers, BACK_PRESSURE, "end-timestamp")
    amounts = _newest(answers, VERTEX, "now")
    vertices = dict.fromkeys((*shares, *amounts))
    return tuple(_vertex(id, shares.get(id, {}), amounts.get(id, {})) for id in vertices)


def _newest(answers: Iterable[Answer], kind: str, clock: str) -> dict[str, dict[str, Any]]:
    """Return the answer of one kind about each vertex that was given last."""
    newest: dict[str, dict[str, Any]] = {}
    for answer in answers:
        if answer.kind == kind and answer.vertex is not None:
            value, former = mapping(answer.value), newest.get(answer.vertex, {})
            if (number(former, clock) or 0) <= (number(value, clock) or 0):
                newest[answer.vertex] = value
    return newest


def _vertex(vertex: str, shares: dict[str, Any], amounts: dict[str, Any]) -> VertexLoad:
    is_measured = text(shares, "status") == _MEASURED
    measured = _by_number(shares) if is_measured else {}
    counted = _by_number(amounts)
    return VertexLoad(
        vertex,
        number(shares, "end-timestamp") if is_measured else None,
        is_measured and bool(measured),
        {
            index: _subtask(measured.get(index, {}), counted.get(index, {}))
            for index in sorted({*measured, *counted})
        },
    )


def _by_number(answer: dict[str, Any]) -> dict[int, dict[str, Any]]:
    return {
        index: item
        for item in items(answer, "subtasks")
        if (index := number(item, "subtask")) is not None
    }


def _subtask(shares: dict[str, Any], amounts: dict[str, Any]) -> SubtaskLoad:
    metrics = mapping(amounts, "metrics")
    return SubtaskLoad(
        _share(shares, "busyRatio"),
        _share(shares, "ratio"),
        _share(shares, "idleRatio"),
        _milliseconds(metrics, "accumulated-busy-time"),
        _milliseconds(metrics, "accumulated-backpressured-time"),
        number(mapping(amounts, "status-duration"), "RUNNING"),
    )


def _share(value: dict[str, Any], key: str) -> float | None:
    """Return a share; Flink writes "NaN" where it measures none, as at sources of the old API."""
    share = _amount(value, key)
    return share if share is not None and share <= 1 else None


def _milliseconds(value: dict[str, Any], key: str) -> int | None:
    """Return a duration, which Flink writes as a fraction for busy time."""
    amount = _amount(value, key)
    return int(amount) if amount is not None and amount < _MOST_MS else None


def _amount(value: dict[str, Any], key: str) -> float | None:
    amount = value.get(key)
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return None
    return float(amount) if 0 <= amount < _MOST_MS else None
