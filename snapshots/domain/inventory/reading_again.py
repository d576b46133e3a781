"""What a restore reads and writes a second time: whose offsets stand where, what each sink does.

No file says which operators are sources and sinks, nor what a sink guarantees: this is inferred
from the ends of the dataflow, from names, and from the states of Flink's and SeaTunnel's own
classes.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from types import MappingProxyType

from snapshots.domain.inventory.model import (
    COORDINATOR,
    LISTED,
    UNION,
    CheckpointInventory,
    OperatorInventory,
)
from snapshots.domain.inventory.positions import Position, SourceSplits

Positions = Mapping[str, SourceSplits]
"""The splits of each source whose positions are known, by the operator's id."""

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
_WRITER, _COMMITTERS = ": Writer", (": Committer", ": Global Committer")  # ends of Flink's names
_NO_POSITIONS: Positions = MappingProxyType({})
_NO_SPLITS = SourceSplits()


@dataclass(frozen=True, slots=True)
class SourceAgain:
    """A source, which a restore sets back to the offsets of the checkpoint.

    Attributes:
        operator: the engine's id of the operator.
        name: the name of the operator. None if it is not known.
        states: the states whose values are, or hold, the offsets.
        inferred: how it is known to be a source, as a sentence.
        coordinated: whether it has a coordinator, or enumerator, that keeps splits.
        rule: what the source reads again, as a sentence.
        splits: where each split goes on, as far as the form of its position is known.
        waiting: how many of these splits the coordinator keeps, because no reader has them yet.
            None if that is not known.
        unknown: how many further splits have a form that is not known.
    """

    operator: str
    name: str | None
    states: tuple[str, ...]
    inferred: str
    coordinated: bool
    rule: str
    splits: tuple[Position, ...] = ()
    waiting: int | None = None
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class SinkAgain:
    """A sink, which a restore may make write a second time.

    Attributes:
        operator: the engine's id of the operator.
        name: the name of the operator. None if it is not known.
        transactional: whether its states are those of transactions. None if no state tells.
        inferred: how it is known to be a sink, as a sentence.
        rule: what the sink writes again, as a sentence.
    """

    operator: str
    name: str | None
    transactional: bool | None
    inferred: str
    rule: str


def sources_of(
    checkpoint: CheckpointInventory, ends: Set[str], positions: Positions = _NO_POSITIONS
) -> tuple[SourceAgain, ...]:
    """Return the sources.

    ``ends``: the vertices into which no edge leads, as far as edges are known.
    """
    sources = []
    for operator in checkpoint.operators:
        states = tuple(
            state.name
            for state in operator.states
            if state.name is not None and state.kind in _HOLDING
        )
        reason = _why_source(operator, ends)
        coordinated = any(subtask.index == COORDINATOR for subtask in operator.subtasks)
        if reason is not None and (states or coordinated) and not operator.finished:
            own = positions.get(operator.id, _NO_SPLITS)
            source = SourceAgain(operator.id, operator.name, states, reason, coordinated, _AGAIN)
            sources.append(
                replace(source, splits=own.splits, waiting=own.waiting, unknown=own.unknown)
            )
    return tuple(sources)


def sinks_of(checkpoint: CheckpointInventory, ends: Set[str]) -> tuple[SinkAgain, ...]:
    """Return the sinks.

    ``ends``: the vertices out of which no edge leads, as far as edges are known.
    """
    committing = {
        name.removesuffix(part)
        for name in (operator.name or "" for operator in checkpoint.operators)
        for part in _COMMITTERS
        if name.endswith(part)
    }
    sinks = []
    for operator in checkpoint.operators:
        is_writer_of_committer = (operator.name or "").removesuffix(_WRITER) in committing
        if not operator.finished and not is_writer_of_committer:
            sinks.append(_sink(operator, ends, has_files=checkpoint.path is not None))
    return tuple(sink for sink in sinks if sink is not None)


def _sink(operator: OperatorInventory, ends: Set[str], *, has_files: bool) -> SinkAgain | None:
    """Return what a sink writes again; None if nothing says that the operator is one."""
    names = [
        state.name
        for state in operator.states
        if state.name in _TRANSACTIONS and (state.entries or not state.complete)
    ]
    reason = _why_sink(operator, ends)
    if names:
        reason = f"It has the state {names[0]} of {_TRANSACTIONS[names[0]]}."
    if reason is None:
        return None
    commits = bool(names) or (operator.name or "").endswith(_COMMITTERS)
    rule = _COMMITTED if commits else _NOT_TRANSACTIONAL if has_files else _STATE_NOT_KNOWN
    return SinkAgain(operator.id, operator.name, True if commits else None, reason, rule)


def _why_source(operator: OperatorInventory, ends: Set[str]) -> str | None:
    for state in operator.states:
        if state.name in _READERS:
            return f"It has the state {state.name} of {_READERS[state.name]}."
    if (operator.name or "").startswith(_SOURCE_NAME):
        return f'Its name begins with "{_SOURCE_NAME}".'
    is_first = operator.vertex is None or operator.vertex.startswith(operator.name or "\0")
    return "No edge leads to it." if is_first and _vertex(operator) in ends else None


def _why_sink(operator: OperatorInventory, ends: Set[str]) -> str | None:
    if (operator.name or "").startswith(_SINK_NAME):
        return f'Its name begins with "{_SINK_NAME}".'
    name = operator.name or "\0"
    if part := next((part for part in (_WRITER, *_COMMITTERS) if name.endswith(part)), None):
        return f'Its name ends with "{part}", as that of a part of a sink does.'
    is_last = operator.vertex is None or operator.vertex.partition(" (run ")[0].endswith(name)
    return "No edge leads out of it." if is_last and _vertex(operator) in ends else None


def _vertex(operator: OperatorInventory) -> str | None:
    return operator.vertex or operator.name


_AGAIN = "It goes back to these positions: what it read later is read again."
_COMMITTED = (
    "What it has prepared for this checkpoint is committed (once more). What came later is "
    "dropped: nothing is seen twice."
)
_NOT_TRANSACTIONAL = (
    "Its state has no transactions: what was written after this checkpoint is written a second "
    "time, and seen twice unless it is written over the same keys."
)
_STATE_NOT_KNOWN = (
    "Its state is not known, as the upload has no files of this checkpoint, so neither is whether "
    "it writes a second time."
)
