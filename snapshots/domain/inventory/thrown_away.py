"""What a restore throws away if the restored job lacks an operator of the checkpoint."""

from snapshots.domain.inventory.model import CheckpointInventory, OperatorInventory, StateInventory
from snapshots.domain.inventory.restore_answer import ThrownAway
from snapshots.domain.inventory.upgrade.upgrade import has_state
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

_OF_COORDINATOR = "coordinator"  # as a kind of state
_IN_FLIGHT = "in flight"  # how parts of a subtask's bytes begin that are no state
MOST_NAMED = 20


def thrown_away(checkpoint: CheckpointInventory, without: frozenset[str]) -> tuple[ThrownAway, ...]:
    """Return the state of each of these operators that has some."""
    return tuple(
        _of_operator(operator)
        for operator in checkpoint.operators
        if operator.id in without and has_state(operator)
    )


def _of_operator(operator: OperatorInventory) -> ThrownAway:
    states = [state for state in operator.states if _holds_something(state)]
    counts = [state.entries for state in states]
    known = [count for count in counts if count is not None]
    entries = sum(known) if len(known) == len(counts) else None
    names = tuple(state.name or "a state without a name" for state in states)
    in_flight = _in_flight(operator)
    size = None if operator.bytes is None else operator.bytes - in_flight
    sentence = _sentence(operator.name or operator.id, names, entries, size)
    if in_flight:
        sentence += f" With it go {times(in_flight, 'byte')} that were in flight."
    return ThrownAway(operator.id, operator.name, names, entries, size, sentence)


def _holds_something(state: StateInventory) -> bool:
    return state.kind != _OF_COORDINATOR and (state.entries != 0 or not state.complete)


def _in_flight(operator: OperatorInventory) -> int:
    """Return the bytes of data in flight that Flink keeps with the operator's own state."""
    return sum(
        size
        for subtask in operator.subtasks
        for part, size in subtask.parts.items()
        if part.startswith(_IN_FLIGHT)
    )


def _sentence(name: str, states: tuple[str, ...], entries: int | None, size: int | None) -> str:
    bytes_ = "" if size is None else f" of {times(size, 'byte')}"
    if not states:
        return f"The state of {name}{bytes_} is thrown away. No named state holds anything."
    count = "" if entries is None else f", {times(entries, 'entry', 'entries')}"
    return f"The state of {name}{bytes_} is thrown away: {listed(states, MOST_NAMED)}{count}."
