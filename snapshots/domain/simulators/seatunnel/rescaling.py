"""How the states of a savepoint are shared among another number of subtasks.

Source: SeaTunnel's Zeta engine, CheckpointCoordinator.restoreTaskState. The j-th of P' subtasks
gets the old states j, j + P', j + 2P' … Splits go through the enumerator instead. SeaTunnel's own
transforms keep no state; state by key, which other engines have, goes by key group here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.domain.model.key_groups import key_group, owning_subtask
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.functions import State, is_keyed, start_state
from snapshots.domain.simulators.dataflows.recovery import Saved
from snapshots.domain.simulators.seatunnel.tasks import OPERATOR, WRITER, SeaTunnelTask


def rescaled(
    dataflow: Dataflow,
    before: Dataflow,
    tasks: Iterable[SeaTunnelTask],
    saved: Mapping[ProcessId, Saved],
) -> dict[ProcessId, Saved]:
    """Return what each task starts with; nothing is pending after a savepoint.

    Args:
        dataflow: of the new run.
        before: the dataflow of the run that was stopped.
        tasks: of the new run.
        saved: what the savepoint holds.
    """
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


def _share(task: SeaTunnelTask, states: list[State], parallelism: int) -> State:
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
