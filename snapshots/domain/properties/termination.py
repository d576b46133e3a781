"""Termination: no process is active and nothing is in flight, so nothing can happen any more.

Only a message makes a passive process active. Source: Chandy and Lamport 1985, section 1 and 5;
Dijkstra and Scholten, "Termination Detection for Diffusing Computations", IPL 11(1), 1980.
"""

from snapshots.domain.properties.answers import (
    MOST_NAMED,
    Found,
    Property,
    contents_missing,
    listed,
    state_missing,
    unknown,
)
from snapshots.domain.properties.global_state import GlobalState
from snapshots.domain.simulators.protocols.flooding import is_piece


def _is_active(value: object) -> bool | None:
    """None where the state does not tell."""
    if isinstance(value, dict):
        value = value.get("active")
        return value if isinstance(value, bool) else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value != 0
    return None


def _of_computation(values: tuple[object, ...]) -> int:
    """How many of the messages can make a process active: pieces of a snapshot cannot."""
    return sum(not is_piece(value) for value in values)


def look(state: GlobalState, start: GlobalState) -> Found:
    """One active process or one message is enough for false, whatever else is missing."""
    activity = {process: _is_active(value) for process, value in state.processes.items()}
    active = [process for process, is_active in activity.items() if is_active]
    filled = {channel: _of_computation(values) for channel, values in state.in_flight.items()}
    filled = {channel: count for channel, count in filled.items() if count}
    if active or filled:
        return _running(active, filled)
    missing = tuple(
        _why_not(process, state.processes[process])
        for process, is_active in activity.items()
        if is_active is None
    ) + tuple(map(contents_missing, state.unknown_channels))
    if missing:
        return unknown("Nothing that is known is active or in flight.", missing)
    return Found(
        True,
        "No process is active and no message is in flight.",
        {"passive": len(activity), "empty": len(state.channels)},
    )


def _running(active: list[str], filled: dict[str, int]) -> Found:
    messages = sum(filled.values())
    parts = []
    if active:
        parts.append(f"{listed(active)} {'is' if len(active) == 1 else 'are'} active")
    if messages:
        noun = "message is" if messages == 1 else "messages are"
        parts.append(f"{messages:,} {noun} in flight in {listed(list(filled))}")
    return Found(
        False,
        f"{' and '.join(parts)}.",
        {
            "active": active[:MOST_NAMED],
            "active_total": len(active),
            "in_flight": dict(list(filled.items())[:MOST_NAMED]),
            "in_flight_total": messages,
        },
    )


def _why_not(process: str, value: object) -> str:
    if value is None:
        return state_missing(process)
    return f'"active", true or false, in the state of {process}'


TERMINATION = Property(
    name="termination",
    title="Termination",
    definition="No process is active and no message is in flight.",
    shape='Every state is {"active": true or false, …}, or a number, of which 0 is passive.',
    look=look,
)
