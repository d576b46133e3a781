"""Parse and evaluate conjunctions of local conditions, each on the state of one process.

An example is ``A.balance < 5000 && processes["B"].open``. A local condition is any expression over
one process; it may contain "or". An expression that joins several processes, or uses channels or
the snapshot, is not local and is refused with the reason.
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
    """The expression is not a conjunction of local conditions; the sentence says why."""

    def __init__(self, reason: str, text: str, offset: int) -> None:
        super().__init__(f"{reason} {_ADVICE}", text, offset)


@dataclass(frozen=True)
class Condition:
    """A local condition.

    Attributes:
        offset: the place at which its text begins in the whole expression, in characters from 0.
    """

    process: ProcessId
    text: str
    offset: int
    expression: Expression


@dataclass(frozen=True)
class States:
    """The states of a process at all positions.

    Attributes:
        texts: the distinct states that are known, in the order of their first occurrence.
        codes: int[events + 1]: for each position the place in ``texts``; -1 if the state is not
            known.
    """

    texts: Sequence[JsonText]
    codes: np.ndarray


@dataclass(frozen=True)
class Truth:
    """The positions at which the conditions on one process hold.

    Attributes:
        surely: the positions at which all conditions hold.
        perhaps: the positions at which no condition is known to fail.
        missing: what is not known or has no value, if the two differ.
    """

    surely: Spans
    perhaps: Spans
    missing: tuple[str, ...]


def conjunction(text: str, processes: AbstractSet[str]) -> tuple[Condition, ...]:
    """Return the local conditions of an expression, in the order of the text.

    Args:
        processes: the ids in the topology.

    Raises: ExpressionError, and NotLocal, which is one.
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
    """Return the operands of the outermost ``&&``, and the offset of each of these signs."""
    if not node.is_call(AND):
        return [node], []
    (left, left_signs), (right, right_signs) = map(_flattened, node.children)
    return left + right, [*left_signs, node.offset, *right_signs]


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
    raise NotLocal("This part cannot be separated from the rest.", whole.text, begin)


def _without_brackets(text: str, begin: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield (offset, text) of a part, then without opening and without closing brackets.

    The other halves of these brackets can be outside of the part.
    """
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
        raise NotLocal("This condition is about no process.", whole.text, offset)
    if len(named) > 1:
        names = f"{named[0]} and {named[1]}"
        if node.is_call(OR):
            reason = f"This || joins conditions on {names}."
            raise NotLocal(reason, whole.text, node.offset)
        other = next(use for use in uses if use.name == named[1])
        raise NotLocal(f"This condition is about {names} at once.", whole.text, other.offset)
    return ProcessId(named[0])


def _reason(use: Use, processes: AbstractSet[str]) -> str | None:
    """Return why a variable cannot be part of a local condition; None if it can."""
    if use.kind == "channels":
        return "The contents of a channel depend on the two processes at its ends."
    if use.kind == "snapshot":
        return "A cut is not a snapshot and has no id."
    if use.name == ALL:
        return "This is about all processes at once."
    return None if use.name in processes else f"There is no process {use.name}."


def plainly(questions: Sequence[Question]) -> list[list[Outcome]]:
    """Evaluate in this process and without limits, for expressions that are trusted."""
    return [
        [question.expression.outcome(variables) for variables in question.variables]
        for question in questions
    ]


def local_truth(
    states: Mapping[ProcessId, States],
    conditions: Sequence[Condition],
    evaluate: Evaluate = plainly,
) -> dict[ProcessId, Truth]:
    """Evaluate every condition once for each distinct state of its process.

    Args:
        states: the states of each process with a condition.
        evaluate: returns an outcome for each state of each question.

    Raises: what ``evaluate`` raises.
    """
    questions = [_question(item, states[item.process]) for item in conditions]
    values: dict[ProcessId, np.ndarray] = {}
    missing: dict[ProcessId, dict[str, None]] = {}
    for condition, outcomes in zip(conditions, evaluate(questions), strict=True):
        process, codes = condition.process, states[condition.process].codes
        truth = np.array([*map(_truth, outcomes), UNKNOWN], np.int8)[codes]
        values[process] = _both(values[process], truth) if process in values else truth
        missing.setdefault(process, {}).update(dict.fromkeys(_missing(condition, codes, outcomes)))
    return {
        process: Truth(Spans.of(truth == TRUE), Spans.of(truth != FALSE), (*missing[process],))
        for process, truth in values.items()
    }


def _question(condition: Condition, states: States) -> Question:
    variables = ({"processes": {condition.process: parsed(text)}} for text in states.texts)
    return Question(condition.expression, variables)


def processes_of(conditions: Iterable[Condition]) -> tuple[ProcessId, ...]:
    """Return the processes of the conditions, each once, in the order of the conditions."""
    return tuple(dict.fromkeys(condition.process for condition in conditions))


def states_of(recording: Recording, process: ProcessId) -> States:
    """Return the states of a process at all positions."""
    code_of: dict[JsonText | None, int] = {None: -1}
    at_start = recording.topology.process_by_id[process].state
    codes = [code_of.setdefault(at_start, len(code_of) - 1)]
    for event in recording.events.get(process, ()):
        changes = event.kind in APPLICATION_KINDS
        codes.append(code_of.setdefault(event.state, len(code_of) - 1) if changes else codes[-1])
    return States([text for text in code_of if text is not None], np.array(codes))


def _truth(outcome: Outcome) -> int:
    return UNKNOWN if outcome.value is None else int(outcome.value)


def _both(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the conjunction: false if one is false, else unknown if one is unknown."""
    is_false = (one == FALSE) | (other == FALSE)
    return np.where(is_false, FALSE, np.maximum(one, other)).astype(np.int8)


def _missing(condition: Condition, codes: np.ndarray, outcomes: list[Outcome]) -> Iterator[str]:
    unknown_states = int((codes == -1).sum())
    if unknown_states:
        noun = "state" if unknown_states == 1 else "states"
        yield f"{unknown_states:,} {noun} of {condition.process}"
    errors = [outcome.error.sentence for outcome in outcomes if outcome.error is not None]
    if errors:
        yield f"{condition.text} in {len(errors):,} of {len(outcomes):,} states: {errors[0]}"
