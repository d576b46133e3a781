"""The states of a savepoint, dealt out to another number of subtasks.

Source: SeaTunnel's Zeta engine, CheckpointCoordinator.restoreTaskState: of P' subtasks the j-th
gets the old states j, j + P', j + 2P' … Splits take another way: through the enumerator.
SeaTunnel's transforms keep nothing; state by key, as other engines have, goes by key group here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.domain.model.key_groups import key_group, owning_subtask
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.functions import is_keyed, start_state
from snapshots.domain.simulators.flink.snapshots import Saved
from snapshots.domain.simulators.seatunnel.tasks import OPERATOR, WRITER, SeaTunnelTask


def rescaled(
    dataflow: Dataflow,
    before: Dataflow,
    tasks: Iterable[SeaTunnelTask],
    saved: Mapping[ProcessId, Saved],
) -> dict[ProcessId, Saved]:
    """Of each task the state that it starts with; nothing is pending after a savepoint."""
    states = {}
    for task in tasks:
        name = task.vertex.id
        if task.role in (OPERATOR, WRITER):
            old = range(before.vertex_by_id[name].parallelism)
            former = [saved[ProcessId(f"{name}[{index}]")].state for index in old]
            states[task.id] = Saved(_share(task, former, dataflow.vertex_by_id[name].parallelism))
        else:
            states[task.id] = saved.get(task.id, Saved(task.state))
    return states


def _share(task: SeaTunnelTask, states: list[dict], parallelism: int) -> dict:
    if not is_keyed(task.vertex):
        sums = Counter(start_state(task.vertex))
        for state in states[task.index :: parallelism]:
            sums.update(state)
        return dict(sums)
    groups = task.vertex.max_parallelism
    return {
        key: value
        for state in states
        for key, value in state.items()
        if owning_subtask(key_group(key, groups), parallelism, groups) == task.index
    }
