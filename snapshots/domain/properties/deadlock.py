"""Deadlock: processes that wait for each other in a circle, so that none of them can ever go on.

A process that waits names those it waits for, needs all of them, and grants nothing until it
has got them. P waits for Q iff P's state names Q and no grant is on its way from Q to P; a
request on its way from P changes nothing, because Q will not answer while it waits itself. Such
a circle stays for ever.

Source: Chandy and Misra, "A Distributed Algorithm for Detecting Resource Deadlocks in Distributed
Systems", PODC 1982 (there the waits are grey, black and white edges: request under way, request
received, grant under way; a circle of grey and black ones is a deadlock).
"""

from dataclasses import dataclass, field

from snapshots.domain.properties.answers import (
    Found,
    Property,
    contents_missing,
    listed,
    state_missing,
    unknown,
)
from snapshots.domain.properties.global_state import GlobalState

REQUEST = "request"
GRANT = "grant"


@dataclass
class WaitFor:
    """The wait-for graph. certain: the waits that are known; possible: these, and those that what
    is missing could add; missing: what that is, by process from which the possible edges leave."""

    certain: dict[str, list[str]] = field(default_factory=dict)
    possible: dict[str, list[str]] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)


def wait_for(state: GlobalState) -> WaitFor:
    """Build the graph of who waits for whom in a recorded state."""
    graph = WaitFor()
    channels = _channels_between(state)
    everyone = list(state.processes)
    for process, value in state.processes.items():
        awaited, reason = _awaited(state, process, value)
        if awaited is None:
            graph.certain[process] = []
            graph.possible[process] = [other for other in everyone if other != process]
            graph.missing[process] = [reason]
            continue
        graph.certain[process], graph.possible[process] = [], []
        for other in awaited:
            granted, doubts = _granted(state, channels.get((other, process), ()))
            if granted:
                continue
            graph.possible[process].append(other)
            if doubts:
                graph.missing.setdefault(process, []).extend(doubts)
            else:
                graph.certain[process].append(other)
    return graph


def _channels_between(state: GlobalState) -> dict[tuple[str, str], list[str]]:
    between: dict[tuple[str, str], list[str]] = {}
    for channel, ends in state.ends.items():
        between.setdefault(ends, []).append(channel)
    return between


def _awaited(state: GlobalState, process: str, value: object) -> tuple[list[str] | None, str]:
    """Whom the state names, or None and why it cannot be told."""
    if value is None:
        return None, state_missing(process)
    named = value.get("waits_for") if isinstance(value, dict) else None
    if not isinstance(named, list) or not all(isinstance(item, str) for item in named):
        return None, f'"waits_for", a list of processes, in the state of {process}'
    strangers = [item for item in named if item not in state.processes]
    if strangers:
        return None, f"whom {process} waits for: {strangers[0]!r} is no process"
    return list(dict.fromkeys(named)), ""


def _granted(state: GlobalState, channels: list[str]) -> tuple[bool, list[str]]:
    """Whether a grant is in one of the channels, and what is missing to tell."""
    doubts = []
    for channel in channels:
        values = state.channels[channel]
        if values is None:
            doubts.append(contents_missing(channel))
            continue
        if any(isinstance(value, dict) and GRANT in value for value in values):
            return True, []
        if None in values:
            doubts.append(f"a value in {channel}")
    return False, doubts


def circle(edges: dict[str, list[str]]) -> list[str] | None:
    """Processes of which each waits for the next and the last for the first; None without one.

    Depth first; a circle is found where an edge leads back onto the path.
    """
    done: set[str] = set()
    for first, followers in edges.items():
        if first in done:
            continue
        path, place = [first], {first: 0}
        unread = [iter(followers)]
        while path:
            following = next(unread[-1], None)
            if following is None:
                done.add(path[-1])
                del place[path.pop()]
                unread.pop()
            elif following in place:
                return path[place[following] :]
            elif following not in done:
                place[following] = len(path)
                path.append(following)
                unread.append(iter(edges[following]))
    return None


def look(state: GlobalState, start: GlobalState) -> Found:
    """Look for a circle of processes that wait for each other."""
    graph = wait_for(state)
    found = circle(graph.certain)
    if found is not None:
        return _deadlocked(state, found)
    doubtful = circle(graph.possible)
    if doubtful is not None:
        missing = dict.fromkeys(item for who in graph.missing for item in graph.missing[who])
        return unknown(
            "No circle of waits among what is known, but there could be one.", tuple(missing)
        )
    waits = sum(map(len, graph.certain.values()))
    sentence = (
        f"{waits:,} {'wait' if waits == 1 else 'waits'}, and no circle of them."
        if waits
        else "No process waits for another."
    )
    return Found(False, sentence, {"waits": waits})


def _deadlocked(state: GlobalState, found: list[str]) -> Found:
    """The circle, and of each wait whether its request has arrived."""
    channels = _channels_between(state)
    waits = [
        {
            "process": one,
            "waits_for": other,
            "request": _request(state, channels.get((one, other), ())),
        }
        for one, other in zip(found, [*found[1:], found[0]], strict=True)
    ]
    if len(found) == 1:
        sentence = f"{found[0]} waits for itself."
    else:
        names = " -> ".join([*found, found[0]]) if len(found) <= 8 else listed(found)
        sentence = f"{len(found):,} processes wait for each other: {names}."
    return Found(True, sentence, {"cycle": found, "waits": waits})


def _request(state: GlobalState, channels: list[str]) -> str:
    """Where the request is, as far as the channels tell."""
    contents = [state.channels[channel] for channel in channels]
    if any(
        isinstance(value, dict) and REQUEST in value for held in contents for value in held or ()
    ):
        return "under way"
    return "unknown" if None in contents else "received"


DEADLOCK = Property(
    name="deadlock",
    title="Deadlock",
    definition="Some processes wait for each other in a circle, and no grant is on its way to "
    "break it.",
    shape='Every state is {"waits_for": [processes], …}; a message {"grant": …} ends the wait for '
    'its sender, {"request": …} asks for it. Who waits needs all it names, and grants nothing '
    "until then.",
    look=look,
)
