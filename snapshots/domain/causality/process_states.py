"""Find the state-transition diagram of each process in a log, as the paper draws processes.

The states are the distinct states that a process had in the run, in the order in which it had
them. A transition is an event, from the state before it to the state after it. Events that send or
receive the same value on the same channel, or have the same label, are one transition. What another
run could do is not in it.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 2, figures 3, 5
and 6.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from snapshots.domain.causality.global_states import Action, Computation
from snapshots.domain.causality.occurring import GlobalEvent, events_of
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.domain.model.topology import JsonText, ProcessId

MOST_STATES = 12  # of a process whose diagram is drawn


@dataclass(frozen=True)
class Transition:
    """One way from a state to a state.

    Attributes:
        source, target: the numbers of the states.
        event: the event in words.
        count: how often it happened.
        count_before: how often it happened up to the chosen moment.
        is_last: whether it was the last event of the process up to that moment.
    """

    source: int
    target: int
    event: str
    count: int
    count_before: int
    is_last: bool


@dataclass(frozen=True)
class Diagram:
    """The states and transitions of one process.

    Attributes:
        process: the id of the process.
        states: its distinct states; empty if one is not known or there are too many.
        states_total: how many there are; None if one is not known.
        transitions: the transitions, in the order in which they happened first.
        current: the number of the state at the chosen moment; None if nothing is drawn.
        reason: why nothing is drawn; empty otherwise.
    """

    process: ProcessId
    states: tuple[JsonText, ...]
    states_total: int | None
    transitions: tuple[Transition, ...]
    current: int | None
    reason: str


def diagrams(computation: Computation, counts: Sequence[int]) -> tuple[Diagram, ...]:
    """Return the diagram of each process.

    Args:
        counts: how many events of each process lie before the chosen moment.
    """
    by_process: list[list[GlobalEvent]] = [[] for _ in computation.processes]
    for event in events_of(computation):
        by_process[event.action.process].append(event)
    return tuple(
        _diagram(process, state, events, count)
        for process, state, events, count in zip(
            computation.processes, computation.states, by_process, counts, strict=True
        )
    )


def words(action: Action) -> str:
    """Return an event as a transition names it, such as "send 5 on c"."""
    if action.kind not in (SEND, RECEIVE):
        return action.label or action.kind
    parcel = action.parcel
    what = "a message" if parcel is None else parcel.value or parcel.id
    return f"{action.kind} {what} {'on' if action.kind == SEND else 'from'} {action.channel}"


def _diagram(
    process: ProcessId, first: JsonText | None, events: list[GlobalEvent], count: int
) -> Diagram:
    visited = [first, *(event.action.state for event in events)]
    if None in visited:
        return Diagram(process, (), None, (), None, "The log does not hold all of its states.")
    states = list(dict.fromkeys(state for state in visited if state is not None))
    if len(states) > MOST_STATES:
        reason = f"It had {len(states):,} states; up to {MOST_STATES} are drawn."
        return Diagram(process, (), len(states), (), None, reason)
    numbers = [states.index(state) for state in visited if state is not None]
    return Diagram(
        process,
        tuple(states),
        len(states),
        tuple(_transitions(numbers, events, count)),
        numbers[count],
        "",
    )


def _transitions(numbers: list[int], events: list[GlobalEvent], count: int) -> Iterable[Transition]:
    places: dict[tuple[int, int, str], list[int]] = {}
    for place, event in enumerate(events):
        key = numbers[place], numbers[place + 1], words(event.action)
        places.setdefault(key, []).append(place)
    for (source, target, said), happened in places.items():
        before = sum(place < count for place in happened)
        yield Transition(source, target, said, len(happened), before, count - 1 in happened)
