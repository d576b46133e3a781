"""Answer at which state of a series a condition holds for the first time, and what changed."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from snapshots.answers.bisect_series import NotKnown, Series
from snapshots.answers.properties import phase_of, property_or_expression
from snapshots.domain import properties
from snapshots.domain.bisecting import wording
from snapshots.domain.bisecting.search import Bisection, Limits, bisect
from snapshots.domain.bisecting.wording import DECLARED, NONE, THEORY
from snapshots.domain.conditions.expressions import (
    ALL,
    Expression,
    ExpressionError,
    Outcome,
    Question,
)
from snapshots.domain.model.as_json import as_json
from snapshots.domain.properties import own
from snapshots.domain.properties.answers import OWN, Answer, Conclusions, concluded, unknown
from snapshots.domain.properties.global_state import GlobalState
from snapshots.domain.properties.phases import PHASE
from snapshots.problems import Invalid, Refused
from snapshots.sandbox import evaluation

MOST_EVALUATED = 1_000  # states
SECONDS = 15.0  # after which no further states are evaluated

State = GlobalState | NotKnown


def first_state(series: Series, question: Mapping[str, Any]) -> dict[str, Any]:
    """Find the first state of a series at which a condition holds: a BisectAnswer.

    Args:
        question: has exactly one of ``property`` and ``expression``; may have ``phase``, and
            ``stable`` if the person says that the condition stays true once it holds.

    Raises: Invalid, Refused.
    """
    name, text = property_or_expression(question)
    phase = phase_of(question, name)
    condition: _Condition = _BuiltIn(series, name, phase) if name else _Own(series, text)
    basis, why_not_stable = _basis(series, condition, is_declared=_is_declared(question))
    evaluating = _Evaluating(series, condition)
    limits = Limits(MOST_EVALUATED, evaluating.may_go_on)
    result = bisect(len(series), evaluating.holds, limits, is_stable=basis != NONE)
    return {
        "series": series.kind,
        "order": series.order,
        "total": result.total,
        "property": name or None,
        "phase": phase if name == PHASE.name else None,
        "expression": text or None,
        "outcome": wording.outcome(result),
        "sentences": list(sentences(series, result, basis)),
        "basis": basis,
        "why_not_stable": why_not_stable,
        "stability": result.stability,
        "searched": result.is_searched,
        "evaluated": len(result.answers),
        "stopped": evaluating.why_stopped if result.is_cut_short else None,
        "first": None if result.first is None else series.item(result.first),
        "before": None if result.before is None else series.item(result.before),
        "earliest": result.earliest,
        "items": [
            series.item(place) | {"answer": as_json(evaluating.answers[place])}
            for place in result.answers
        ],
        "difference": _difference(series, result, condition.named),
    }


class _Condition(Protocol):
    """A condition on states.

    Attributes:
        is_stable: whether theory says that it stays true in all states that can be reached.
        stable_if: what a run must do for the theory to say so; empty if that makes no difference.
        named: the processes and channels that it names; None if it is about all.
    """

    is_stable: bool
    stable_if: str
    named: Mapping[str, set[str]] | None

    def evaluate(self, states: Sequence[State]) -> list[Answer]:
        """Return the answer for each state."""


class _BuiltIn:
    """A built-in property."""

    named: Mapping[str, set[str]] | None = None

    def __init__(self, series: Series, name: str, phase: int) -> None:
        self._property = properties.built_in(name, phase)
        self._start = series.start
        self.is_stable = self._property.is_stable
        self.stable_if = self._property.stable_if

    def evaluate(self, states: Sequence[State]) -> list[Answer]:
        asked = self._property
        return [
            _not_known(asked.name, state, asked.conclusions)
            if isinstance(state, NotKnown)
            else asked.evaluate(state, self._start)
            for state in states
        ]


class _Own:
    """An expression that a person wrote. Raises: Refused."""

    is_stable = False
    stable_if = ""
    named: Mapping[str, set[str]] | None

    def __init__(self, series: Series, text: str) -> None:
        try:
            self._expression = Expression(text, series.processes)
        except ExpressionError as error:
            raise Refused.of_expression(error) from None
        self.named = _named(self._expression)
        self._deadline = time.monotonic() + SECONDS

    def evaluate(self, states: Sequence[State]) -> list[Answer]:
        expression = self._expression
        known = [state for state in states if isinstance(state, GlobalState)]
        try:
            left = iter(self._outcomes(known))
        except ExpressionError as error:
            raise Refused.of_expression(error) from None
        return [
            _not_known(expression.text, state, OWN)
            if isinstance(state, NotKnown)
            else own.answer(expression, state, next(left))
            for state in states
        ]

    def _outcomes(self, states: Sequence[GlobalState]) -> list[Outcome]:
        """Evaluate all states, in two parts if they are too much at once. Raises: TooMuch."""
        question = Question(self._expression, map(own.variables, states), explain=True)
        try:
            (outcomes,) = evaluation.evaluate([question])
        except evaluation.TooMuch:
            if len(states) < 2 or time.monotonic() > self._deadline:
                raise
            middle = len(states) // 2
            return self._outcomes(states[:middle]) + self._outcomes(states[middle:])
        return outcomes


def _named(expression: Expression) -> dict[str, set[str]] | None:
    """Return the processes and channels that an expression names; None if it is about all."""
    uses = [use for use in expression.uses if use.kind != "snapshot"]
    if not uses or any(use.name == ALL for use in uses):
        return None
    named: dict[str, set[str]] = {}
    for use in uses:
        named.setdefault(use.kind, set()).add(use.name)
    return named


def _not_known(name: str, state: NotKnown, conclusions: Conclusions) -> Answer:
    empty = GlobalState(state.name, {}, {}, {}, is_derived=True)
    return concluded(name, empty, unknown(state.reason, ()), conclusions)


class _Evaluating:
    """The answers so far, and the time that is left."""

    def __init__(self, series: Series, condition: _Condition) -> None:
        self.answers: dict[int, Answer] = {}
        self._series = series
        self._condition = condition
        self._deadline = time.monotonic() + SECONDS
        self._is_late = False

    def may_go_on(self) -> bool:
        """Tell whether there is time for another round."""
        self._is_late = time.monotonic() > self._deadline
        return not self._is_late

    def holds(self, places: Sequence[int]) -> list[bool | None]:
        """Evaluate the condition at some places of the series."""
        answers = self._condition.evaluate([self._series.state(place) for place in places])
        self.answers.update(zip(places, answers, strict=True))
        return [answer.holds for answer in answers]

    @property
    def why_stopped(self) -> str:
        """The limit that ended the search, as a sentence."""
        if self._is_late:
            return f"The search was stopped after {SECONDS:g} seconds."
        return f"At most {MOST_EVALUATED:,} {self._series.words.nouns} are evaluated at once."


def _is_declared(question: Mapping[str, Any]) -> bool:
    value = question.get("stable")
    if value is not None and not isinstance(value, bool):
        raise Invalid("stable must be true or false.", field="stable")
    return bool(value)


def _basis(series: Series, condition: _Condition, *, is_declared: bool) -> tuple[str, str | None]:
    """Return why the condition is taken to be stable, and why its theory does not apply."""
    reason = _why_not_stable(series, condition)
    if condition.is_stable and reason is None:
        return THEORY, None
    return (DECLARED if is_declared else NONE), reason


def _why_not_stable(series: Series, condition: _Condition) -> str | None:
    """Return why theory does not call the condition stable here; None if it does, or never does."""
    if not condition.is_stable and not condition.stable_if:
        return None
    if series.why_not_stable is not None or condition.is_stable:
        return series.why_not_stable
    return (
        f"The property is stable only if {condition.stable_if}; whether that is so in this run is "
        "not known."
    )


def sentences(series: Series, result: Bisection, basis: str) -> Iterator[str]:
    """Yield the answer in sentences: the first state, what the series lacks, effort, stability."""
    words = series.words
    yield from wording.answer_sentences(result, words)
    if not result.total:
        return
    gaps = series.gaps(*_undecided(result))
    if gaps is not None:
        yield gaps
    yield wording.effort_sentence(result, words)
    yield wording.stability_sentence(result, words, basis)


def _undecided(result: Bisection) -> tuple[int, int]:
    """Return the places between which a state that the series lacks may be the first.

    A state in which a stable condition does not hold decides all before it.
    """
    begin = result.before if result.is_searched and result.before is not None else 0
    return begin, result.total - 1 if result.first is None else result.first


def _difference(
    series: Series, result: Bisection, named: Mapping[str, set[str]] | None
) -> dict[str, Any] | None:
    """Return what changed up to the first state at which it holds; None if there is no pair."""
    if result.first is None or result.before is None:
        return None
    return series.difference(result.before, result.first, named)
