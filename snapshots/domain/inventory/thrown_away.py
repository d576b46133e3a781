"""What a restore throws away if the restored job lacks an operator of the checkpoint."""

from snapshots.domain.inventory.model import CheckpointInventory, OperatorInventory, StateInventory
from snapshots.domain.inventory.restore_answer import ThrownAway
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

_OF_COORDINATOR = "coordinator"  # as a kind of state
MOST_NAMED = 20


def thrown_away(checkpoint: CheckpointInventory, without: frozenset[str]) -> tuple[ThrownAway, ...]:
    """Return the state of each of these operators that has some."""
    return tuple(
        _of_operator(operator)
        for operator in checkpoint.operators
        if operator.id in without and has_state(operator)
    )


def has_state(operator: OperatorInventory) -> bool:
    """Tell whether the engine counts the operator as one with state, even if it takes no bytes."""
    return any(
        subtask.parts or subtask.bytes for subtask in operator.subtasks if not subtask.finished
    )


def _of_operator(operator: OperatorInventory) -> ThrownAway:
    states = [state for state in operator.states if _holds_something(state)]
    counts = [state.entries for state in states]
    known = [count for count in counts if count is not None]
    entries = sum(known) if len(known) == len(counts) else None
    names = tuple(state.name or "a state without a name" for state in states)
    return ThrownAway(
        operator=operator.id,
        name=operator.name,
        states=names,
        entries=entries,
        bytes=operator.bytes,
        sentence=_sentence(operator, names, entries),
    )


def _holds_something(state: StateInventory) -> bool:
    return state.kind != _OF_COORDINATOR and (state.entries != 0 or not state.complete)


def _sentence(operator: OperatorInventory, states: tuple[str, ...], entries: int | None) -> str:
    name = operator.name or operator.id
    size = "" if operator.bytes is None else f" of {times(operator.bytes, 'byte')}"
    if not states:
        return f"The state of {name}{size} is thrown away. Which states that are is not known."
    count = "" if entries is None else f", {times(entries, 'entry', 'entries')}"
    return f"The state of {name}{size} is thrown away: {listed(states, MOST_NAMED)}{count}."
