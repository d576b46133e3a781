"""Checks documents of dataflows: ``{"vertices": [...], "edges": [...]}``, as in a Dataflow's JSON.

Beyond what ``Dataflow`` refuses, this refuses what could not be drawn, stored or run here. The
counts come first: a very large document takes long to check.
"""

from collections.abc import Mapping
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import FORWARD, SOURCE, Dataflow, DataflowRefused
from snapshots.domain.model.topology import Topology
from snapshots.problems import Refused

MAX_VERTICES = 500
MAX_EDGES = 2_000
MAX_KEYS = 1_000_000
"""How many keys all splits may have together; each has a table of how frequent its keys are."""
MAX_SKEW = 20


def checked_dataflow(document: Any, *, most_processes: int, most_channels: int) -> Dataflow:
    """Return the dataflow of a document.

    Raises: Refused, with the field, such as ``dataflow.vertices[0].parallelism``.
    """
    try:
        _check_counts(document, most_processes)
        dataflow = Dataflow.from_json(document)
        _check_channels(dataflow, most_channels)
        _check_keys(dataflow)
    except DataflowRefused as refused:
        raise refusal(refused, "dataflow") from None
    return dataflow


def refusal(refused: DataflowRefused, parent: str = "") -> Refused:
    """Return the refusal of a request. ``parent``: the object that the field is a part of."""
    is_part = parent and refused.field != parent
    field = f"{parent}.{refused.field}" if is_part else refused.field
    return Refused(refused.sentence, code="invalid-field", field=field[:200])


def expanded(dataflow: Dataflow) -> Topology:
    """Return the topology of subtasks with one coordinator, as in Flink."""
    return dataflow.expand(one_coordinator=True)


def _check_counts(document: Any, most_processes: int) -> None:
    """Refuse too many parts. Each subtask is a process, and so is the coordinator."""
    if not isinstance(document, Mapping):
        return
    for name, most in (("vertices", MAX_VERTICES), ("edges", MAX_EDGES)):
        items = document.get(name)
        if isinstance(items, list) and len(items) > most:
            raise DataflowRefused(
                name, f"A dataflow has at most {most:,} {name}; this one has {len(items):,}."
            )
    subtasks = 0
    for index, vertex in enumerate(_listed(document.get("vertices"))):
        parallelism = vertex.get("parallelism", 1) if isinstance(vertex, Mapping) else 1
        subtasks += parallelism if isinstance(parallelism, int) else 1
        if subtasks >= most_processes:
            raise DataflowRefused(
                f"vertices[{index}].parallelism",
                f"With this vertex the dataflow has {subtasks:,} subtasks; at most "
                f"{most_processes - 1:,} are run here.",
            )


def _listed(items: Any) -> list[Any]:
    return items if isinstance(items, list) else []


def _check_channels(dataflow: Dataflow, most: int) -> None:
    width = {vertex.id: vertex.parallelism for vertex in dataflow.vertices}
    channels = 0
    for index, edge in enumerate(dataflow.edges):
        channels += width[edge.source] * (1 if edge.exchange == FORWARD else width[edge.target])
        if channels > most:
            raise DataflowRefused(
                f"edges[{index}].exchange",
                f"With this edge the dataflow has {channels:,} channels; at most {most:,} are "
                "run here. Give its vertices a lower parallelism.",
            )


def _check_keys(dataflow: Dataflow) -> None:
    keys = 0
    for index, vertex in enumerate(dataflow.vertices):
        if vertex.kind != SOURCE:
            continue
        keys += vertex.keys * vertex.parallelism
        if keys > MAX_KEYS:
            raise DataflowRefused(
                f"vertices[{index}].keys",
                f"With this vertex the splits of the dataflow have {keys:,} keys; at most "
                f"{MAX_KEYS:,} are simulated here.",
            )
        if vertex.skew > MAX_SKEW:
            raise DataflowRefused(
                f"vertices[{index}].skew", f"It is at most {MAX_SKEW}: nearly all have one key."
            )
