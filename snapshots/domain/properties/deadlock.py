"""Detect deadlock: processes that wait for each other in a circle, so that none can continue.

The state of a waiting process names the processes that it waits for. It needs all of them, and
grants nothing until they have granted. P waits for Q iff P's state names Q and no grant is on its
way from Q to P. A request that is still on its way from P makes no difference, because Q does not
answer while it waits itself. Such a circle stays for ever.

Source: Chandy and Misra, "A Distributed Algorithm for Detecting Resource Deadlocks in Distributed
Systems", PODC 1982. There, waits are grey edges (the request is on its way), black edges (the
request was received) and white edges (the grant is on its way); a circle of grey and black edges is
a deadlock.
"""

import itertools
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
    """The wait-for graph, by waiting process.

    Attributes:
        certain: the waits that are known.
        possible: the waits that are known, and those that may exist because something is not known.
        missing: what is not known about the waits of a process, one phrase each.
    """

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
            granted, doubts = _granted(state, channels.get((other, process), []))
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
    """Return the processes that a state names, or None and what is missing."""
    if value is None:
        return None, state_missing(process)
    named = value.get("waits_for") if isinstance(value, dict) else None
    if not isinstance(named, list) or not all(isinstance(item, str) for item in named):
        return None, f'"waits_for", a list of processes, in the state of {process}'
    strangers = [item for item in named if item not in state.processes]
    if strangers:
        return None, f"whom {process} waits for: {strangers[0]!r} is not a process"
    return list(dict.fromkeys(named)), ""


def _granted(state: GlobalState, channels: list[str]) -> tuple[bool, list[str]]:
    """Return whether a grant is in one of the channels, and what is missing to decide that."""
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
    """Return processes of which each waits for the next and the last for the first, or None.

    The search is depth first; an edge that leads back onto the path closes a circle.
    """
    done: set[str] = set()
    for first, followers in edges.items():
        if first in done:
            continue
        path, depth = [first], {first: 0}
        unread = [iter(followers)]
        while path:
            following = next(unread[-1], None)
            if following is None:
                done.add(path[-1])
                del depth[path.pop()]
                unread.pop()
            elif following in depth:
                return path[depth[following] :]
            elif following not in done:
                depth[following] = len(path)
                path.append(following)
                unread.append(iter(edges[following]))
    return None


def look(state: GlobalState, start: GlobalState) -> Found:
    """Look for a circle of processes that wait for each other."""
    graph = wait_for(state)
    certain = circle(graph.certain)
    if certain is not None:
        return _deadlocked(state, certain)
    if circle(graph.possible) is not None:
        missing = dict.fromkeys(itertools.chain.from_iterable(graph.missing.values()))
        return unknown("The known waits form no circle, but there could be one.", tuple(missing))
    waits = sum(map(len, graph.certain.values()))
    sentence = (
        f"{waits:,} {'wait' if waits == 1 else 'waits'}, and no circle of them."
        if waits
        else "No process waits for another."
    )
    return Found(False, sentence, {"waits": waits})


def _deadlocked(state: GlobalState, cycle: list[str]) -> Found:
    """Return the result for a circle, with the place of the request of each wait."""
    channels = _channels_between(state)
    waits = [
        {
            "process": process,
            "waits_for": other,
            "request": _request(state, channels.get((process, other), [])),
        }
        for process, other in zip(cycle, [*cycle[1:], cycle[0]], strict=True)
    ]
    if len(cycle) == 1:
        sentence = f"{cycle[0]} waits for itself."
    else:
        names = " -> ".join([*cycle, cycle[0]]) if len(cycle) <= 8 else listed(cycle)
        sentence = f"{len(cycle):,} processes wait for each other: {names}."
    return Found(True, sentence, {"cycle": cycle, "waits": waits})


def _request(state: GlobalState, channels: list[str]) -> str:
    """Return where the request of a wait is: under way, received or unknown."""
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
    'its sender, {"request": …} asks for it. A waiting process needs all that it names, and '
    "grants nothing until then.",
    look=look,
)
