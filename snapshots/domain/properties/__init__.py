"""Evaluate stable properties on the global state that a snapshot recorded."""

from collections.abc import Iterable

from snapshots.domain.properties.answers import Answer, Property
from snapshots.domain.properties.deadlock import DEADLOCK
from snapshots.domain.properties.global_state import GlobalState
from snapshots.domain.properties.sums import CONSERVATION, TOKEN
from snapshots.domain.properties.termination import TERMINATION

BUILT_IN: dict[str, Property] = {
    built_in.name: built_in for built_in in (TERMINATION, DEADLOCK, TOKEN, CONSERVATION)
}


def strip(name: str, states: Iterable[GlobalState], start: GlobalState) -> tuple[Answer, ...]:
    """Evaluate a built-in property on several recorded states.

    Args:
        name: the name of the property.
        start: the state of the whole topology at the start.

    Raises: KeyError for a name that is not in BUILT_IN.
    """
    return tuple(BUILT_IN[name].evaluate(state, start) for state in states)
