"""What came of a simulated dataflow at its sinks, and the run as a whole."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.dataflow_logs.dataflow import IDEMPOTENT, SINK, TWO_PHASE, Dataflow
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.topology import JsonText, ProcessId, Topology
from snapshots.domain.simulators.dataflows.counting import Counted, surplus
from snapshots.domain.simulators.dataflows.functions import Record, Rid, State, expected_rids
from snapshots.domain.simulators.dataflows.machine import Machine
from snapshots.domain.simulators.dataflows.tasks import Task, text_of
from snapshots.domain.simulators.script import Log

TIME_UNIT = "us"


class DataflowRun(NamedTuple):
    """The whole log of a run, and what was counted in it."""

    log: Log
    counted: Counted


def run_to_end(run: Machine[Any, Any], header: Header) -> DataflowRun:
    """Run a simulation that has not begun, and count its results."""
    events = tuple(run.events())
    return DataflowRun(Log(header, events), run.count())


def header_of(
    name: str,
    engine: str,
    dataflow: Dataflow,
    topology: Topology,
    states: Mapping[ProcessId, State],
) -> Header:
    """Return what stands before the events: the topology with start states, and the dataflow.

    Args:
        name: of the recording.
        states: the start states of the tasks; the other processes are coordinators.
    """
    processes = tuple(
        replace(process, state=JsonText(text_of(states.get(process.id, {"completed": 0}))))
        for process in topology.processes
    )
    extra = {"engine": engine, "dataflow": as_json(dataflow)}
    return Header(name, TIME_UNIT, replace(topology, processes=processes), extra)


def count_results(
    dataflow: Dataflow,
    tasks: Mapping[ProcessId, Task[Any]],
    counted: Counted,
    *,
    expected: Mapping[str, set[Rid]] | None = None,
    earlier: Mapping[str, list[Record]] | None = None,
    delivered: Mapping[str, list[Record]] | None = None,
) -> None:
    """Fill in what is certain only at the end of a run.

    Args:
        expected: what should be visible at each sink; None is all that the sources hold.
        earlier: what an earlier run has committed at two-phase sinks.
        delivered: what the other sinks show; a sink that is not listed shows every write.
    """
    counted.states = {task.id: task.state for task in tasks.values()}
    expected = expected_rids(dataflow) if expected is None else expected
    for vertex in dataflow.vertices:
        if vertex.kind != SINK:
            continue
        name = vertex.id
        written = counted.written.setdefault(name, [])
        visible = (delivered or {}).get(name, written)
        if vertex.sink == TWO_PHASE:
            stores = [task.tx for task in tasks.values() if task.vertex is vertex]
            committed = (record for tx in stores if tx is not None for record in tx.committed())
            visible = [*(earlier or {}).get(name, ()), *committed]
        overwrites = vertex.sink == IDEMPOTENT
        counted.visible[name] = visible
        counted.duplicates[name] = 0 if overwrites and visible is written else surplus(visible)
        counted.rewritten[name] = surplus(written) if overwrites else 0
        counted.lost[name] = len(expected[name] - {record.rid for record in visible})
