"""Conjunctions of local conditions: each speaks of the state of one process.

Written as an expression: ``A.balance < 5000 && processes["B"].open``. A local condition may be any
expression over one process, an "or" too; what joins processes, channels or a snapshot is no local
condition and is refused with the reason.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from snapshots.domain.conditions.expression_tree import Node
from snapshots.domain.conditions.expressions import (
    ALL,
    Expression,
    ExpressionError,
    Outcome,
    Question,
    Use,
    uses_in,
)
from snapshots.domain.conditions.spans import Spans
from snapshots.domain.model.recording import APPLICATION_KINDS, Recording
from snapshots.domain.model.topology import JsonText, ProcessId
from snapshots.domain.model.values import parsed

AND, OR = "_&&_", "_||_"
FALSE, TRUE, UNKNOWN = 0, 1, 2
Evaluate = Callable[[Sequence[Question]], list[list[Outcome]]]
_ADVICE = (
    "Possibly and definitely are answered for conditions on one process each, joined by &&; "
    "anything else can be evaluated on the recorded snapshots."
)


class NotLocal(ExpressionError):
    """The expression is no conjunction of local conditions; the sentence says why."""

    def __init__(self, reason: str, text: str, offset: int) -> None:
        super().__init__(f"{reason} {_ADVICE}", text, offset)


@dataclass(frozen=True)
class Condition:
    """offset: where its text begins in the whole expression."""

    process: ProcessId
    text: str
    offset: int
    expression: Expression


@dataclass(frozen=True)
class States:
    """The states that a process went through.

    texts: the distinct ones that are known, as first met. codes: int[events + 1], by position the
    place in ``texts``, -1 where the state is not known.
    """

    texts: Sequence[JsonText]
    codes: np.ndarray


@dataclass(frozen=True)
class Truth:
    """Where the conditions on one process hold.

    surely: all do. perhaps: as far as is known none fails. missing: why the two differ.
    """

    surely: Spans
    perhaps: Spans
    missing: tuple[str, ...]


def conjunction(text: str, processes: AbstractSet[str]) -> tuple[Condition, ...]:
    """The local conditions, in the order of the text. processes: those of the topology.

    Raises: ExpressionError, NotLocal among them.
    """
    whole = Expression(text, frozenset(processes))
    conjuncts, ands = _flattened(whole.tree)
    edges = [0, *(offset + len("&&") for offset in ands)]
    ends = [*ands, len(text)]
    return tuple(
        _condition(whole, node, begin, end, processes)
        for node, begin, end in zip(conjuncts, edges, ends, strict=True)
    )


def _flattened(node: Node) -> tuple[list[Node], list[int]]:
    """The operands of the outermost ``&&``s and the offsets of these signs, as in the text."""
    if not node.is_call(AND):
        return [node], []
    left, right = map(_flattened, node.children)
    return left[0] + right[0], [*left[1], node.offset, *right[1]]


def _condition(
    whole: Expression, node: Node, begin: int, end: int, processes: AbstractSet[str]
) -> Condition:
    process = _only_process(whole, node, begin, processes)
    for offset, text in _without_brackets(whole.text, begin, end):
        try:
            expression = Expression(text, frozenset({process}))
        except ExpressionError:
            continue
        return Condition(process, text, offset, expression)
    raise NotLocal("This part cannot be told apart from the rest.", whole.text, begin)


def _without_brackets(text: str, begin: int, end: int) -> Iterator[tuple[int, str]]:
    """(offset, text) of the part, then without its first or its last brackets: those whose other
    halves stand in the rest."""
    part = text[begin:end]
    offset = begin + len(part) - len(part.lstrip())
    part = part.strip()
    yield offset, part
    opened = part
    while opened.startswith("("):
        opened = opened[1:].lstrip()
        yield offset + len(part) - len(opened), opened
    closed = part
    while closed.endswith(")"):
        closed = closed[:-1].rstrip()
        yield offset, closed


def _only_process(
    whole: Expression, node: Node, begin: int, processes: AbstractSet[str]
) -> ProcessId:
    uses = sorted(uses_in(node, whole.names), key=lambda use: use.offset)
    for use in uses:
        if reason := _reason(use, processes):
            raise NotLocal(reason, whole.text, use.offset)
    named = list(dict.fromkeys(use.name for use in uses))
    if not named:
        offset = begin + len(whole.text[begin:]) - len(whole.text[begin:].lstrip())
        raise NotLocal("This condition speaks of no process.", whole.text, offset)
    if len(named) > 1:
        names = f"{named[0]} and {named[1]}"
        if node.is_call(OR):
            reason = f"This || joins conditions on {names}."
            raise NotLocal(reason, whole.text, node.offset)
        other = next(use for use in uses if use.name == named[1])
        raise NotLocal(f"This condition speaks of {names} at once.", whole.text, other.offset)
    return ProcessId(named[0])


def _reason(use: Use, processes: AbstractSet[str]) -> str | None:
    """Why this variable cannot be part of a local condition."""
    if use.kind == "channels":
        return "What is in a channel depends on the two processes at its ends."
    if use.kind == "snapshot":
        return "A cut is not a snapshot and has no id."
    if use.name == ALL:
        return "This speaks of all processes at once."
    return None if use.name in processes else f"There is no process {use.name}."


def plainly(questions: Sequence[Question]) -> list[list[Outcome]]:
    """Evaluates here and now, without limits; for expressions from a trusted hand."""
    return [
        [question.expression.outcome(variables) for variables in question.variables]
        for question in questions
    ]


def local_truth(
    states: Mapping[ProcessId, States],
    conditions: Sequence[Condition],
    evaluate: Evaluate = plainly,
) -> dict[ProcessId, Truth]:
    """Every condition evaluated once for each distinct state of its process.

    Raises: what ``evaluate`` raises.
    """
    outcomes = evaluate([_question(one, states[one.process]) for one in conditions])
    values: dict[ProcessId, np.ndarray] = {}
    missing: dict[ProcessId, dict[str, None]] = {}
    for condition, found in zip(conditions, outcomes, strict=True):
        process, codes = condition.process, states[condition.process].codes
        truth = np.array([*map(_truth, found), UNKNOWN], np.int8)[codes]
        values[process] = _both(values[process], truth) if process in values else truth
        told = dict.fromkeys(_missing(condition, codes, found))
        missing[process] = missing.get(process, {}) | told
    return {
        process: Truth(Spans.of(truth == TRUE), Spans.of(truth != FALSE), (*missing[process],))
        for process, truth in values.items()
    }


def _question(condition: Condition, states: States) -> Question:
    variables = ({"processes": {condition.process: parsed(text)}} for text in states.texts)
    return Question(condition.expression, variables)


def processes_of(conditions: Iterable[Condition]) -> tuple[ProcessId, ...]:
    """Each once, in the order of the conditions."""
    return tuple(dict.fromkeys(condition.process for condition in conditions))


def states_of(recording: Recording, process: ProcessId) -> States:
    """Return the states that a process passes through, one for each position."""
    codes: dict[JsonText | None, int] = {None: -1}
    at_start = recording.topology.process_by_id[process].state
    current = codes.setdefault(at_start, len(codes) - 1)
    at_position = [current]
    for event in recording.events.get(process, ()):
        if event.kind in APPLICATION_KINDS:
            current = codes.setdefault(event.state, len(codes) - 1)
        at_position.append(current)
    return States([text for text in codes if text is not None], np.array(at_position))


def _truth(outcome: Outcome) -> int:
    return UNKNOWN if outcome.value is None else int(outcome.value)


def _both(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """And: false if one is false, else unknown if one is unknown."""
    return np.where((one == FALSE) | (other == FALSE), FALSE, np.maximum(one, other)).astype(
        np.int8
    )


def _missing(condition: Condition, codes: np.ndarray, found: list[Outcome]) -> Iterator[str]:
    unknown_states = int((codes == -1).sum())
    if unknown_states:
        noun = "state" if unknown_states == 1 else "states"
        yield f"{unknown_states:,} {noun} of {condition.process}"
    errors = [outcome.error.sentence for outcome in found if outcome.error is not None]
    if errors:
        yield f"{condition.text} in {len(errors):,} of {len(found):,} states: {errors[0]}"
