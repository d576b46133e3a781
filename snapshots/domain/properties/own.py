"""A property of one's own: an expression over the recorded state.

What is not known is left out of the variables. An expression that names its processes and channels
then has a value iff what is known decides it; one that speaks of all of them needs all of them.
A message without a value is null.
"""

from collections.abc import Iterator

from snapshots.domain.conditions.expressions import ALL, Expression, Outcome
from snapshots.domain.properties.answers import (
    MOST_NAMED,
    OWN,
    Answer,
    Found,
    concluded,
    contents_missing,
    state_missing,
    unknown,
)
from snapshots.domain.properties.global_state import GlobalState


def variables(state: GlobalState) -> dict[str, object]:
    """What the expression sees, as JSON."""
    return {
        "snapshot": state.snapshot,
        "processes": {
            process: value for process, value in state.processes.items() if value is not None
        },
        "channels": {
            channel: list(values)
            for channel, values in state.channels.items()
            if values is not None
        },
    }


def answer(expression: Expression, state: GlobalState, outcome: Outcome) -> Answer:
    """outcome: of the expression over ``variables(state)``."""
    return concluded(expression.text, state, _found(expression, state, outcome), OWN)


def _found(expression: Expression, state: GlobalState, outcome: Outcome) -> Found:
    of_all = tuple(dict.fromkeys(_missing(expression, state, everything=True)))
    if of_all:
        return unknown("The expression speaks of all of them, and not all are known.", of_all)
    if outcome.error is None:
        said = "true" if outcome.value else "false"
        sides = "; ".join(f"{one.left} {one.sign} {one.right}" for one in outcome.compared)
        sentence = f"The expression is {said} in the recorded state{sides and f': {sides}'}."
        return Found(outcome.value, sentence, _witness(expression, state))
    missing = tuple(dict.fromkeys(_missing(expression, state, everything=False)))
    if missing:
        return unknown("What is known does not decide the expression.", missing)
    error = outcome.error
    if outcome.came_to is not None:
        sentence = f"The expression comes to {outcome.came_to}, which is neither true nor false."
        return Found(None, sentence, {"error": error.to_json()}, came_to=outcome.came_to)
    sentence = f"The expression has no value here: column {error.column}: {error.sentence}"
    return Found(None, sentence, {"error": error.to_json()})


def _missing(expression: Expression, state: GlobalState, *, everything: bool) -> Iterator[str]:
    """What the expression needs and is not known, where it speaks of everything or by name."""
    for use in expression.uses:
        if (use.name == ALL) != everything:
            continue
        if use.kind == "processes":
            unknowns = state.unknown_processes
            yield from (state_missing(item) for item in unknowns if use.name in (ALL, item))
        elif use.kind == "channels":
            unknowns = state.unknown_channels
            yield from (contents_missing(item) for item in unknowns if use.name in (ALL, item))


def _witness(expression: Expression, state: GlobalState) -> dict[str, object]:
    """What the expression names, as it was recorded."""
    values = variables(state)
    named: dict[str, dict[str, object]] = {}
    for use in expression.uses:
        if use.name in values.get(use.kind, {}) and use.kind != "snapshot":
            named.setdefault(use.kind, {})[use.name] = values[use.kind][use.name]
    return {kind: dict(list(items.items())[:MOST_NAMED]) for kind, items in named.items()}
