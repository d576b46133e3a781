"""A subtask of a simulated continuous query, and the dataflows that such a query can be."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

from snapshots.domain.dataflow_logs.dataflow import (
    FORWARD,
    OPERATOR,
    SOURCE,
    Dataflow,
    DataflowRefused,
)
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.aligning import AligningTask
from snapshots.domain.simulators.dataflows.functions import Split, start_state
from snapshots.domain.simulators.dataflows.machine import StreamMachine
from snapshots.domain.simulators.dataflows.tasks import subtasks_in_order, task_fields

STATELESS = ("map", "filter", "flatmap")


class Marker(NamedTuple):
    """The marker at the end of an epoch; ``cid`` is the number of the epoch."""

    cid: int


@dataclass(eq=False, kw_only=True)
class ContinuousTask(AligningTask):
    """A subtask that runs as long as the query does.

    Attributes:
        split: what a source reads. None at all other tasks.
        epoch: the epoch that a source works on.
    """

    split: Split | None = None
    epoch: int = 0

    @property
    def own_split(self) -> Split:
        """The split that the task reads; it must be a source."""
        assert self.split is not None
        return self.split


ContinuousMachine = StreamMachine[ContinuousTask]


def tasks_of(
    dataflow: Dataflow, steps: ModuleType, slow: Mapping[str, float]
) -> dict[ProcessId, ContinuousTask]:
    """Return all subtasks without their channels, those of each vertex after those before it.

    Args:
        dataflow: the query.
        steps: the step functions by which the tasks follow markers.
        slow: how many times longer than others a task takes for a record.
    """
    return {
        id_: ContinuousTask(
            **task_fields(dataflow, vertex, index, id_, slow),
            state=start_state(vertex),
            steps=steps,
            split=Split(vertex, id_) if vertex.kind == SOURCE else None,
        )
        for vertex, index, id_ in subtasks_in_order(dataflow)
    }


def check_query(dataflow: Dataflow) -> None:
    """Refuse what Spark refuses in continuous mode. Raises: DataflowRefused, with the field."""
    for index, vertex in enumerate(dataflow.vertices):
        if vertex.kind == OPERATOR and vertex.function not in STATELESS:
            raise DataflowRefused(
                f"dataflow.vertices[{index}].function",
                f"Continuous mode keeps no state: an operator is one of {', '.join(STATELESS)}, "
                f"not {vertex.function}.",
            )
        before, behind = dataflow.edges_to(vertex.id), dataflow.edges_from(vertex.id)
        is_second_source = vertex.kind == SOURCE and vertex is not _first_source(dataflow)
        if len(before) > 1 or len(behind) > 1 or is_second_source:
            raise DataflowRefused(
                f"dataflow.vertices[{index}]",
                "A query in continuous mode is one chain from one source to one sink.",
            )
    for index, edge in enumerate(dataflow.edges):
        if edge.exchange != FORWARD and dataflow.vertex_by_id[edge.target].parallelism > 1:
            raise DataflowRefused(
                f"dataflow.edges[{index}].exchange",
                "Continuous mode has no shuffle: an edge is forward, unless its target has one "
                "subtask, which gathers all partitions.",
            )


def _first_source(dataflow: Dataflow) -> object:
    return next(vertex for vertex in dataflow.vertices if vertex.kind == SOURCE)
