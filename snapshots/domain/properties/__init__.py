"""Evaluate stable properties on the global state that a snapshot recorded."""

from collections.abc import Iterable

from snapshots.domain.properties.answers import Answer, Property
from snapshots.domain.properties.deadlock import DEADLOCK
from snapshots.domain.properties.garbage import GARBAGE
from snapshots.domain.properties.global_state import GlobalState
from snapshots.domain.properties.phases import FIRST, PHASE, of_phase
from snapshots.domain.properties.sums import CONSERVATION, TOKEN
from snapshots.domain.properties.termination import TERMINATION

BUILT_IN: dict[str, Property] = {
    item.name: item for item in (TERMINATION, PHASE, DEADLOCK, GARBAGE, TOKEN, CONSERVATION)
}


def built_in(name: str, phase: int = FIRST) -> Property:
    """Return a built-in property by its name.

    Args:
        phase: the number of the phase, from 1, for the property about a phase.

    Raises: KeyError for a name that is not in BUILT_IN.
    """
    return of_phase(phase) if name == PHASE.name else BUILT_IN[name]


def strip(
    name: str, states: Iterable[GlobalState], start: GlobalState, phase: int = FIRST
) -> tuple[Answer, ...]:
    """Evaluate a built-in property on several recorded states.

    Args:
        name: the name of the property.
        start: the state of the whole topology at the start.
        phase: the number of the phase, from 1, for the property about a phase.

    Raises: KeyError for a name that is not in BUILT_IN.
    """
    asked = built_in(name, phase)
    return tuple(asked.evaluate(state, start) for state in states)
