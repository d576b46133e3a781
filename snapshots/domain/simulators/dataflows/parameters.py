"""Failures and slow subtasks, which all simulated engines can have, and their checks."""

import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

from snapshots.domain.dataflow_logs.dataflow import BROADCAST, Dataflow, DataflowRefused
from snapshots.domain.model.topology import ProcessId

MOST_EVENTS = 2_000_000


@dataclass(frozen=True, slots=True)
class FailAt:
    """The process dies at ``at`` (us); nothing happens if it is down or has finished."""

    at: int
    process: ProcessId


def check_failures(failures: Iterable[FailAt], processes: Container[str], noun: str) -> None:
    """Refuse failures of unknown processes, and before the beginning.

    Args:
        processes: those that can fail.
        noun: what a sentence calls such a process.
    """
    for index, failure in enumerate(failures):
        path = f"failures[{index}]"
        if failure.process not in processes:
            raise DataflowRefused(f"{path}.process", f"There is no {noun} {failure.process!r}.")
        if type(failure.at) is not int or failure.at < 0:
            raise DataflowRefused(f"{path}.at", f"It is 0 or more, not {failure.at!r}.")


def check_slow(slow: Mapping[str, float], dataflow: Dataflow) -> None:
    """Refuse factors of unknown subtasks, and factors that are not above 0."""
    for task, factor in slow.items():
        if task not in dataflow.subtask_by_id:
            raise DataflowRefused(f"slow.{task}", f"There is no subtask {task!r}.")
        if not math.isfinite(factor) or factor <= 0:
            raise DataflowRefused(f"slow.{task}", f"It is above 0, not {factor!r}.")


def check_no_windows(dataflow: Dataflow, engine: str) -> None:
    """Refuse windows of event time, which only the simulator of Flink fires."""
    for index, vertex in enumerate(dataflow.vertices):
        if vertex.is_window:
            raise DataflowRefused(
                f"dataflow.vertices[{index}].function",
                f"{vertex.id} makes windows of event time. They fire on watermarks, which are "
                f"simulated under Flink's protocol and not under {engine}'s.",
            )


def former_dataflow(dataflow: Dataflow, parallelism: Mapping[str, int]) -> Dataflow:
    """Return the dataflow of an earlier run, from which a run starts.

    Args:
        dataflow: of the run that starts.
        parallelism: of the vertices that had another one in the earlier run.

    Raises: DataflowRefused, with the field in ``start_from``, if the parallelism is not possible.
    """
    for name, number in parallelism.items():
        path = f"start_from.parallelism.{name}"
        if name not in dataflow.vertex_by_id:
            raise DataflowRefused(path, f"There is no vertex {name!r}.")
        copied = any(edge.exchange == BROADCAST for edge in dataflow.edges_to(name))
        if copied and number != dataflow.vertex_by_id[name].parallelism:
            raise DataflowRefused(
                path, "A broadcast leads there: with another number of copies, records differ."
            )
    former = tuple(
        replace(vertex, parallelism=parallelism.get(vertex.id, vertex.parallelism))
        for vertex in dataflow.vertices
    )
    try:
        return Dataflow(former, dataflow.edges)
    except DataflowRefused as refused:
        raise DataflowRefused("start_from.parallelism", refused.sentence) from None
