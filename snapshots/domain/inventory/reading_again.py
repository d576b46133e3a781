"""What a restore reads and writes a second time: whose offsets stand where, what each sink does.

No file says which operators are sources and sinks, nor what a sink guarantees: it is told by the
ends of the dataflow, by names, and by the states that Flink's and SeaTunnel's own classes keep.
"""

from collections.abc import Set
from dataclasses import dataclass

from snapshots.domain.inventory.model import (
    COORDINATOR,
    LISTED,
    UNION,
    CheckpointInventory,
    OperatorInventory,
    StateInventory,
)

# The states of Flink's CommitterOperator, of its best known sinks, and of SeaTunnel's committers.
_TRANSACTIONS = {
    "streaming_committer_raw_states": "a sink with a committer",
    "global_streaming_committer_raw_states": "a sink with a committer",
    "next-transactional-id-hint-v2": "the transactional Kafka producer",
    "bucket-states": "a file sink",
    "commit information": "a committer",
}
_READERS = {"SourceReaderState": "the reader of a source"}
_HOLDING = (LISTED, UNION, "per subtask", "of the coordinator")  # kinds of state
_SOURCE_NAME, _SINK_NAME = "Source", "Sink"  # how Flink and SeaTunnel begin their names


@dataclass(frozen=True, slots=True)
class SourceAgain:
    """A source, which a restore sets back to the offsets of the checkpoint.

    Attributes:
        states: the states whose values are, or hold, the offsets.
        inferred: how it is known to be a source.
        coordinated: whether it has a coordinator, or enumerator, that keeps splits.
        rule: what it reads again, as a sentence.
    """

    operator: str
    name: str | None
    states: tuple[str, ...]
    inferred: str
    coordinated: bool
    rule: str


@dataclass(frozen=True, slots=True)
class SinkAgain:
    """A sink, which a restore may make write a second time.

    Attributes:
        transactional: whether its states are those of transactions; None where it has no state that
            tells.
        inferred: how it is known to be a sink.
        rule: what it writes again, as a sentence.
    """

    operator: str
    name: str | None
    transactional: bool | None
    inferred: str
    rule: str


def sources_of(checkpoint: CheckpointInventory, ends: Set[str]) -> tuple[SourceAgain, ...]:
    """ends: the vertices into which no edge leads, as far as the edges are known."""
    found = []
    for operator in checkpoint.operators:
        states = tuple(
            state.name
            for state in operator.states
            if state.name is not None and state.kind in _HOLDING
        )
        why = _why_source(operator, ends)
        coordinated = any(one.index == COORDINATOR for one in operator.subtasks)
        if why is not None and (states or coordinated) and not operator.finished:
            found.append(SourceAgain(operator.id, operator.name, states, why, coordinated, _AGAIN))
    return tuple(found)


def sinks_of(checkpoint: CheckpointInventory, ends: Set[str]) -> tuple[SinkAgain, ...]:
    """ends: the vertices out of which no edge leads, as far as the edges are known."""
    found = []
    for operator in checkpoint.operators:
        names = [state.name for state in operator.states if _is_of_transactions(state)]
        why = _why_sink(operator, ends)
        if operator.finished or (why is None and not names):
            continue
        if names:
            why = f"It has the state {names[0]} of {_TRANSACTIONS[names[0]]}."
        rule = _COMMITTED if names else _NOT_TOLD
        found.append(SinkAgain(operator.id, operator.name, True if names else None, why, rule))
    return tuple(found)


def _is_of_transactions(state: StateInventory) -> bool:
    return state.name in _TRANSACTIONS and bool(state.entries or not state.complete)


def _why_source(operator: OperatorInventory, ends: Set[str]) -> str | None:
    for state in operator.states:
        if state.name in _READERS:
            return f"It has the state {state.name} of {_READERS[state.name]}."
    if (operator.name or "").startswith(_SOURCE_NAME):
        return "Its name begins so."
    is_first = operator.vertex is None or operator.vertex.startswith(operator.name or "\0")
    return "No edge leads to it." if is_first and _vertex(operator) in ends else None


def _why_sink(operator: OperatorInventory, ends: Set[str]) -> str | None:
    if (operator.name or "").startswith(_SINK_NAME):
        return "Its name begins so."
    name = operator.name or "\0"
    is_last = operator.vertex is None or operator.vertex.partition(" (run ")[0].endswith(name)
    return "No edge leads out of it." if is_last and _vertex(operator) in ends else None


def _vertex(operator: OperatorInventory) -> str | None:
    return operator.vertex or operator.name


_AGAIN = "Goes back to these positions: what it read later is read again."
_COMMITTED = (
    "What it has prepared for this checkpoint is committed (once more), what came later is "
    "dropped: nothing is seen twice."
)
_NOT_TOLD = (
    "Its state tells of no transactions: what was written after this checkpoint is written a "
    "second time, and seen twice unless it is written over the same keys."
)
