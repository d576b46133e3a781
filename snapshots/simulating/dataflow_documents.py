"""Documents of dataflows: ``{"vertices": [...], "edges": [...]}``, as in the JSON of a Dataflow.

Refused beyond what ``Dataflow`` refuses is what could not be drawn, stored or run here. The counts
come first: it takes long to find out what is wrong with something very large.
"""

from collections.abc import Mapping
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import FORWARD, SOURCE, Dataflow, DataflowRefused
from snapshots.domain.model.topology import Topology
from snapshots.problems import Refused

MAX_VERTICES = 500
MAX_EDGES = 2_000
MAX_KEYS = 1_000_000  # of all splits together: each has a table of how frequent its keys are
MAX_SKEW = 20


def checked_dataflow(document: Any, *, most_processes: int, most_channels: int) -> Dataflow:
    """Raises: Refused, with the field, as in ``dataflow.vertices[0].parallelism``."""
    try:
        _check_counts(document, most_processes)
        dataflow = Dataflow.from_json(document)
        _check_channels(dataflow, most_channels)
        _check_keys(dataflow)
    except DataflowRefused as refused:
        raise refusal(refused, "dataflow") from None
    return dataflow


def refusal(refused: DataflowRefused, of: str = "") -> Refused:
    """of: what the field is a part of."""
    outer = of and refused.field != of
    field = f"{of}.{refused.field}" if outer else refused.field
    return Refused(refused.sentence, code="invalid-field", field=field[:200])


def expanded(dataflow: Dataflow) -> Topology:
    """With one coordinator, as Flink has."""
    return dataflow.expand(one_coordinator=True)


def _check_counts(document: Any, most_processes: int) -> None:
    """A subtask each, and the coordinator, are processes."""
    if not isinstance(document, Mapping):
        return
    for name, most in (("vertices", MAX_VERTICES), ("edges", MAX_EDGES)):
        items = document.get(name)
        if isinstance(items, list) and len(items) > most:
            raise DataflowRefused(
                name, f"A dataflow has at most {most:,} {name}; this one has {len(items):,}."
            )
    subtasks = 0
    for place, vertex in enumerate(_listed(document.get("vertices"))):
        parallelism = vertex.get("parallelism", 1) if isinstance(vertex, Mapping) else 1
        subtasks += parallelism if isinstance(parallelism, int) else 1
        if subtasks >= most_processes:
            raise DataflowRefused(
                f"vertices[{place}].parallelism",
                f"With these the dataflow has {subtasks:,} subtasks; at most "
                f"{most_processes - 1:,} are run here.",
            )


def _listed(items: Any) -> list[Any]:
    return items if isinstance(items, list) else []


def _check_channels(dataflow: Dataflow, most: int) -> None:
    wide = {vertex.id: vertex.parallelism for vertex in dataflow.vertices}
    channels = 0
    for place, edge in enumerate(dataflow.edges):
        channels += wide[edge.source] * (1 if edge.exchange == FORWARD else wide[edge.target])
        if channels > most:
            raise DataflowRefused(
                f"edges[{place}].exchange",
                f"With this edge the dataflow has {channels:,} channels; at most {most:,} are "
                "run here. Give its vertices a lower parallelism.",
            )


def _check_keys(dataflow: Dataflow) -> None:
    keys = 0
    for place, vertex in enumerate(dataflow.vertices):
        if vertex.kind != SOURCE:
            continue
        keys += vertex.keys * vertex.parallelism
        if keys > MAX_KEYS:
            raise DataflowRefused(
                f"vertices[{place}].keys",
                f"With these the splits of the dataflow have {keys:,} keys; at most "
                f"{MAX_KEYS:,} are simulated here.",
            )
        if vertex.skew > MAX_SKEW:
            raise DataflowRefused(
                f"vertices[{place}].skew", f"It is at most {MAX_SKEW}: nearly all have one key."
            )
