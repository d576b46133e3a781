"""How SeaTunnel gives an action's states to another number of subtasks.

Source: SeaTunnel, CheckpointCoordinator.restoreTaskState and SourceSeaTunnelTask.restoreState.
"""

from snapshots.domain.inventory.model import (
    COORDINATOR,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
)
from snapshots.domain.inventory.operator_plan import (
    NewSubtask,
    OldSubtask,
    OperatorPlan,
    StateMove,
    planned,
    spans,
)

_RULES = {
    "splits": "Subtask j takes those of the old subtasks j, j + n, j + 2n … of n subtasks, and "
    "hands them back to the enumerator, which gives them out anew.",
    "enumerator state": "The one enumerator gets it whole.",
    "commit information": "The one committer gets it whole, and commits it again.",
    "coordinator state": "The one coordinator gets it whole.",
}
_IN_TURN = "Subtask j gets those of the old subtasks j, j + n, j + 2n … of n subtasks."


def plan_action(action: OperatorInventory, parallelism: int, sizes: object) -> OperatorPlan:
    """Plan where the state of one SeaTunnel action goes with another parallelism."""
    own = [one for one in action.subtasks if one.index != COORDINATOR]
    by_index = {one.index: one for one in own}
    after = [
        _new_subtask(index, [by_index[old] for old in _olds(index, parallelism, action, by_index)])
        for index in range(parallelism)
    ]
    before = [OldSubtask(one.index, None, 0 if one.finished else one.bytes) for one in own]
    states = [
        StateMove(one.name, one.kind, _rule(one), one.entries, one.bytes) for one in action.states
    ]
    return planned(action, parallelism, before, after, states, _notes(action, own, parallelism))


def _olds(
    index: int,
    parallelism: int,
    action: OperatorInventory,
    by_index: dict[int, SubtaskInventory],
) -> list[int]:
    """Those that have a state, as far as the action's old parallelism reaches."""
    end = max(by_index, default=-1) + 1
    if action.parallelism is not None:
        end = min(end, action.parallelism)
    turns = range(index, end, parallelism)
    return [old for old in turns if old in by_index and not by_index[old].finished]


def _new_subtask(index: int, given: list[SubtaskInventory]) -> NewSubtask:
    bytes_ = [one.bytes for one in given]
    total = None if None in bytes_ else sum(bytes_)
    return NewSubtask(index, spans([one.index for one in given]), bytes=total)


def _rule(state: StateInventory) -> str:
    return _RULES.get(state.name or "", _IN_TURN)


def _notes(action: OperatorInventory, own: list[SubtaskInventory], parallelism: int) -> list[str]:
    found = []
    if closed := sum(one.finished for one in own):
        found.append(f"{closed:,} of its subtasks had closed, and have no state to give.")
    if action.parallelism is not None and parallelism > action.parallelism:
        found.append(
            f"The {parallelism - action.parallelism:,} subtasks that are more than before get "
            "nothing."
        )
    return found
