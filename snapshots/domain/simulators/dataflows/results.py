"""What came of a simulated dataflow at its sinks."""

from collections.abc import Mapping

from snapshots.domain.dataflow_logs.dataflow import IDEMPOTENT, SINK, TWO_PHASE, Dataflow
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.counting import Counted, surplus
from snapshots.domain.simulators.dataflows.functions import Record, Rid, expected_rids
from snapshots.domain.simulators.dataflows.tasks import SimTask


def count_results(
    dataflow: Dataflow,
    tasks: dict[ProcessId, SimTask],
    counted: Counted,
    expected: Mapping[str, set[Rid]] | None = None,
    earlier: Mapping[str, list[Record]] | None = None,
) -> None:
    """Fills in what can be told at the end only. expected: what should be visible at each sink,
    None: all that the sources hold. earlier: what an earlier run has committed there."""
    counted.states = {task.id: task.state for task in tasks.values()}
    expected = expected_rids(dataflow) if expected is None else expected
    for vertex in dataflow.vertices:
        if vertex.kind != SINK:
            continue
        written = counted.written.setdefault(vertex.id, [])
        visible = written
        if vertex.sink == TWO_PHASE:
            own = (task for task in tasks.values() if task.vertex is vertex and task.tx)
            committed = (record for task in own for record in task.tx.committed())
            visible = [*(earlier or {}).get(vertex.id, ()), *committed]
        counted.visible[vertex.id] = visible
        again = surplus(visible)
        idempotent = vertex.sink == IDEMPOTENT
        counted.duplicates[vertex.id] = 0 if idempotent else again
        counted.rewritten[vertex.id] = again if idempotent else 0
        seen = {record.rid for record in visible}
        counted.lost[vertex.id] = len(expected[vertex.id] - seen)
