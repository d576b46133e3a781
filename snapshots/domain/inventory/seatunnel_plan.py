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
from snapshots.domain.model.defects import times

_RULES = {
    "splits": "Subtask j of n takes those of the old subtasks j, j + n, j + 2n … and returns them "
    "to the enumerator, which assigns them anew.",
    "enumerator state": "The one enumerator gets it whole.",
    "commit information": "The one committer gets it whole, and commits it again.",
    "coordinator state": "The one coordinator gets it whole.",
}
_IN_TURN = "Subtask j of n gets those of the old subtasks j, j + n, j + 2n …"


def plan_action(action: OperatorInventory, parallelism: int, sizes: object) -> OperatorPlan:
    """Plan where the state of one SeaTunnel action goes with another parallelism."""
    own = [subtask for subtask in action.subtasks if subtask.index != COORDINATOR]
    by_index = {subtask.index: subtask for subtask in own}
    after = [
        _new_subtask(index, [by_index[old] for old in _olds(index, parallelism, action, by_index)])
        for index in range(parallelism)
    ]
    before = [
        OldSubtask(subtask.index, None, 0 if subtask.finished else subtask.bytes) for subtask in own
    ]
    states = [
        StateMove(state.name, state.kind, _rule(state), state.entries, state.bytes)
        for state in action.states
    ]
    return planned(action, parallelism, before, after, states, _notes(action, own, parallelism))


def _olds(
    index: int,
    parallelism: int,
    action: OperatorInventory,
    by_index: dict[int, SubtaskInventory],
) -> list[int]:
    """Return the old subtasks that have a state, as far as the action's old parallelism reaches."""
    end = max(by_index, default=-1) + 1
    if action.parallelism is not None:
        end = min(end, action.parallelism)
    turns = range(index, end, parallelism)
    return [old for old in turns if old in by_index and not by_index[old].finished]


def _new_subtask(index: int, old: list[SubtaskInventory]) -> NewSubtask:
    sizes = [subtask.bytes for subtask in old if subtask.bytes is not None]
    total = sum(sizes) if len(sizes) == len(old) else None
    return NewSubtask(index, spans([subtask.index for subtask in old]), bytes=total)


def _rule(state: StateInventory) -> str:
    return _RULES.get(state.name or "", _IN_TURN)


def _notes(
    action: OperatorInventory, subtasks: list[SubtaskInventory], parallelism: int
) -> list[str]:
    notes = []
    if closed := sum(subtask.finished for subtask in subtasks):
        notes.append(f"{closed:,} of its subtasks had closed, and have no state to give.")
    if action.parallelism is not None and parallelism > action.parallelism:
        more = times(parallelism - action.parallelism, "subtask")
        notes.append(f"It has {more} more than before, which get no state.")
    return notes
