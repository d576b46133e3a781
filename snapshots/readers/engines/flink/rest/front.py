"""Read how far a checkpoint in progress has come from answers of Flink's REST API.

Flink reports a subtask when it acknowledges. One metric says a little more: the gauge
``checkpointStartDelayNanos`` of a subtask changes when the first barrier of a checkpoint reaches
it. It is compared with the start delays that the subtask had before; where these do not settle
whose value it is, nothing follows from it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from snapshots.domain.front.model import Load, Poll, PolledEdge, PolledVertex
from snapshots.domain.front.order import from_the_sources
from snapshots.readers.engines.flink.rest.fields import items, mapping, number, text
from snapshots.readers.engines.flink.rest.job_graph import JobGraph
from snapshots.readers.engines.flink.rest.load import SubtaskLoad, VertexLoad

IN_PROGRESS = "IN_PROGRESS"
GAUGE = "checkpointStartDelayNanos"
ALL_TO_ALL = frozenset({"HASH", "REBALANCE", "SHUFFLE", "BROADCAST", "GLOBAL", "CUSTOM"})
_SAVEPOINTS = frozenset({"SAVEPOINT", "SYNC_SAVEPOINT"})
_UNALIGNED = "UNALIGNED_CHECKPOINT"
_NANOSECONDS = 1_000_000  # in a millisecond
_LEAST_TELLING = 1_000  # ms; two shorter start delays may well be the same by chance
_LONGEST_NAME = 200

Delays = Mapping[tuple[str, int], list[int | None]]
"""The start delays (ms) that a subtask had in the checkpoints before, the newest first."""


@dataclass(frozen=True)
class Told:
    """Flink's answers about one checkpoint in progress.

    Attributes:
        at: when they were asked for, by Flink's clock, in epoch ms.
        details: the answer about the checkpoint.
        subtasks: the answers about the subtasks of a vertex, by its id.
        loads: how busy the vertices were.
        gauges: the answers about the gauge of the subtasks of a vertex, by its id.
        config: the answer about the configuration of the job's checkpoints.
        lacking: what Flink did not answer, in sentences.
    """

    at: int
    details: Mapping[str, Any]
    subtasks: Mapping[str, Mapping[str, Any]]
    loads: Iterable[VertexLoad] = ()
    gauges: Mapping[str, Any] | None = None
    config: Mapping[str, Any] | None = None
    lacking: tuple[str, ...] = ()


def poll_of(told: Told, graph: JobGraph, before: Delays) -> Poll | None:
    """Make a poll of Flink's answers; None if they are not about a checkpoint in progress."""
    details = dict(told.details)
    checkpoint = number(details, "id")
    if checkpoint is None or text(details, "status") != IN_PROGRESS:
        return None
    triggered_at = number(details, "trigger_timestamp")
    age = None if triggered_at is None else told.at - triggered_at
    loads = {load.vertex: load for load in told.loads}
    gauges = told.gauges or {}
    vertices = []
    for vertex in graph.vertices:
        totals = mapping(details, "tasks", vertex.id)
        pending = _pending(totals, mapping(told.subtasks.get(vertex.id)))
        begun, untouched = _barriers(vertex.id, pending, gauges.get(vertex.id), before, age)
        vertices.append(
            PolledVertex(
                vertex.id,
                vertex.name[:_LONGEST_NAME],
                number(totals, "num_subtasks") or vertex.parallelism,
                number(totals, "num_acknowledged_subtasks"),
                pending,
                begun,
                untouched,
                _load(loads.get(vertex.id)),
            )
        )
    edges = tuple(
        PolledEdge(edge.source, vertex.id, edge.ship, edge.ship in ALL_TO_ALL)
        for vertex, edge in graph.edges()
    )
    is_unaligned = _may_overtake(text(details, "checkpoint_type"), mapping(told.config))
    ordered = from_the_sources(vertices, edges)
    return Poll(checkpoint, told.at, triggered_at, is_unaligned, ordered, edges, told.lacking)


def _may_overtake(kind: str | None, config: Mapping[str, Any]) -> bool | None:
    """Tell whether barriers may overtake records; None if Flink does not say.

    Flink calls a checkpoint in progress unaligned only after an unaligned subtask has acknowledged.
    Until then the configuration tells.
    """
    if kind == _UNALIGNED:
        return True
    if kind in _SAVEPOINTS or config.get("mode") == "at_least_once":
        return False
    is_asked_for = config.get("unaligned_checkpoints")
    return is_asked_for if isinstance(is_asked_for, bool) else None


def incomplete(details: object) -> list[str]:
    """Return the vertices of which some subtasks, but not all, have acknowledged."""
    tasks = mapping(details, "tasks")
    found = []
    for vertex in tasks:
        acknowledged = number(mapping(tasks, vertex), "num_acknowledged_subtasks") or 0
        if 0 < acknowledged < (number(mapping(tasks, vertex), "num_subtasks") or 0):
            found.append(vertex)
    return found


def late(details: object) -> list[tuple[str, int]]:
    """Return the vertices that have not acknowledged wholly, with the number of their subtasks."""
    tasks = mapping(details, "tasks")
    counts = {
        vertex: (number(each, "num_subtasks") or 0, number(each, "num_acknowledged_subtasks") or 0)
        for vertex in tasks
        if (each := mapping(tasks, vertex))
    }
    return [(vertex, all_) for vertex, (all_, done) in counts.items() if done < all_]


def _pending(totals: dict[str, Any], answer: dict[str, Any]) -> tuple[int, ...] | None:
    """Return the subtasks that have not acknowledged, None if it is not known which."""
    width, done = number(totals, "num_subtasks"), number(totals, "num_acknowledged_subtasks")
    if width is not None and done is not None:
        if done >= width:
            return ()
        if done == 0:
            return tuple(range(width))
    listed = items(answer, "subtasks")
    if width is None or len(listed) != width:
        return None
    found = [
        index
        for subtask in listed
        if text(subtask, "status") == "pending_or_failed"
        and (index := number(subtask, "index")) is not None
    ]
    is_same_moment = done is not None and len(found) == width - done
    return tuple(sorted(found)) if is_same_moment else None


def _barriers(
    vertex: str, pending: tuple[int, ...] | None, answer: Any, before: Delays, age: int | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the pending subtasks that a barrier has reached, and those that none had reached."""
    begun, untouched = [], []
    values = _gauge_values(answer)
    for index in pending or ():
        delay, known = values.get(index), before.get((vertex, index), [])
        if delay is None or age is None or not known:
            continue
        if delay == known[0] and delay >= _LEAST_TELLING:
            untouched.append(index)
        elif None not in known and delay not in known and 0 < delay <= age:
            begun.append(index)
    return tuple(begun), tuple(untouched)


def _gauge_values(answer: Any) -> dict[int, int]:
    """Return the milliseconds that the gauge of each subtask shows, by the subtask's number."""
    found = {}
    for metric in answer if isinstance(answer, list) else ():
        name, value = text(mapping(metric), "id") or "", text(mapping(metric), "value") or ""
        index, _, gauge = name.partition(".")
        if gauge == GAUGE and _is_whole(index) and _is_whole(value):
            found[int(index)] = int(value) // _NANOSECONDS
    return found


def _is_whole(written: str) -> bool:
    return written.isascii() and written.isdigit() and len(written) < 19


def _load(load: VertexLoad | None) -> Load:
    if load is None or not load.is_measured:
        return Load()
    subtasks = list(load.subtasks.values())
    return Load(_most(subtasks, "busy"), _most(subtasks, "back_pressured"))


def _most(subtasks: Iterable[SubtaskLoad], name: str) -> float | None:
    known = [getattr(subtask, name) for subtask in subtasks]
    return max((share for share in known if share is not None), default=None)
