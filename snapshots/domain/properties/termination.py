"""Detect termination: no process is active and nothing is in flight, so nothing can happen.

Only a message can make a passive process active. Source: Chandy and Lamport 1985, section 1 and 5;
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
    """Tell whether a state is that of an active process; None if the state does not say."""
    if isinstance(value, dict):
        value = value.get("active")
        return value if isinstance(value, bool) else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value != 0
    return None


def _count_messages(values: tuple[object, ...]) -> int:
    """Count the messages that can make a process active; pieces of a snapshot cannot."""
    return sum(not is_piece(value) for value in values)


def look(state: GlobalState, start: GlobalState) -> Found:
    """Tell whether the run has terminated.

    One active process or one message is enough for false, whatever else is missing.
    """
    activity = {process: _is_active(value) for process, value in state.processes.items()}
    active = [process for process, is_active in activity.items() if is_active]
    counts = {channel: _count_messages(values) for channel, values in state.in_flight.items()}
    counts = {channel: count for channel, count in counts.items() if count}
    if active or counts:
        return _running(active, counts)
    missing = tuple(
        _activity_missing(process, state.processes[process])
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


def _running(active: list[str], counts: dict[str, int]) -> Found:
    messages = sum(counts.values())
    parts = []
    if active:
        parts.append(f"{listed(active)} {'is' if len(active) == 1 else 'are'} active")
    if messages:
        noun = "message is" if messages == 1 else "messages are"
        parts.append(f"{messages:,} {noun} in flight in {listed(list(counts))}")
    return Found(
        False,
        f"{' and '.join(parts)}.",
        {
            "active": active[:MOST_NAMED],
            "active_total": len(active),
            "in_flight": dict(list(counts.items())[:MOST_NAMED]),
            "in_flight_total": messages,
        },
    )


def _activity_missing(process: str, value: object) -> str:
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
