"""Evaluate a property that a person wrote: an expression over the recorded state.

What is not known is left out of the variables. An expression that names its processes and channels
then has a value iff what is known decides it. An expression about all of them needs all of them. A
message without a value is null.
"""

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
    """Return the variables of expressions for a state, as JSON values."""
    return {"snapshot": state.snapshot, **_known(state)}


def _known(state: GlobalState) -> dict[str, dict[str, object]]:
    processes, channels = state.processes.items(), state.channels.items()
    return {
        "processes": {process: value for process, value in processes if value is not None},
        "channels": {channel: list(values) for channel, values in channels if values is not None},
    }


def answer(expression: Expression, state: GlobalState, outcome: Outcome) -> Answer:
    """Return the answer for the outcome of an expression over ``variables(state)``."""
    return concluded(expression.text, state, _found(expression, state, outcome), OWN)


def _found(expression: Expression, state: GlobalState, outcome: Outcome) -> Found:
    missing_of_all = _missing(expression, state, about_all=True)
    if missing_of_all:
        return unknown(
            "The expression is about all of them, and not all are known.", missing_of_all
        )
    error = outcome.error
    if error is None:
        value = "true" if outcome.value else "false"
        sides = "; ".join(f"{item.left} {item.sign} {item.right}" for item in outcome.compared)
        sentence = f"The expression is {value} in the recorded state{sides and f': {sides}'}."
        return Found(outcome.value, sentence, _witness(expression, state))
    missing = _missing(expression, state, about_all=False)
    if missing:
        return unknown("What is known does not decide the expression.", missing)
    if outcome.came_to is None:
        sentence = f"The expression has no value here: column {error.column}: {error.sentence}"
    else:
        sentence = f"The expression comes to {outcome.came_to}, which is neither true nor false."
    return Found(None, sentence, {"error": error.to_json()}, came_to=outcome.came_to)


def _missing(expression: Expression, state: GlobalState, *, about_all: bool) -> tuple[str, ...]:
    """Return what the expression needs and is not known.

    Args:
        about_all: consider the variables about all processes or channels, not those about one.
    """
    missing: dict[str, None] = {}
    for use in expression.uses:
        if (use.name == ALL) != about_all or use.kind == "snapshot":
            continue
        is_process = use.kind == "processes"
        phrase = state_missing if is_process else contents_missing
        unknowns = state.unknown_processes if is_process else state.unknown_channels
        missing.update((phrase(item), None) for item in unknowns if use.name in (ALL, item))
    return tuple(missing)


def _witness(expression: Expression, state: GlobalState) -> dict[str, object]:
    """Return the values of the processes and channels that the expression names."""
    known = _known(state)
    named: dict[str, dict[str, object]] = {}
    for use in expression.uses:
        if use.name in known.get(use.kind, {}):
            named.setdefault(use.kind, {})[use.name] = known[use.kind][use.name]
    return {kind: dict(list(items.items())[:MOST_NAMED]) for kind, items in named.items()}
