"""Answer whether an event of a run may occur in one of its global states, and why not."""

from typing import Any, NamedTuple

from snapshots.domain.causality.global_states import Computation, Parcel, StateGraph
from snapshots.domain.causality.occurring import (
    GlobalEvent,
    Occurrence,
    events_of,
    following,
    may_occur,
)
from snapshots.domain.causality.state_graph_report import words
from snapshots.problems import Invalid, NotFound

MOST_OFFERED = 500  # events of a list to choose from


class Tried(NamedTuple):
    """An event that was tried: in words, what came of it, and the state that follows."""

    words: str
    found: Occurrence
    next_state: int | None


def offered(graph: StateGraph) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the events of each process, as (address, words), at most MOST_OFFERED in all."""
    computation = graph.computation
    groups: dict[str, list[tuple[str, str]]] = {}
    for event in events_of(computation)[:MOST_OFFERED]:
        process = computation.processes[event.action.process]
        address = f"{event.action.process}:{event.action.index}"
        groups.setdefault(process, []).append((address, words(computation, event.action)))
    return list(groups.items())


def tried(graph: StateGraph, number: int, address: str) -> Tried:
    """Try an event in a state.

    Args:
        number: the number of the state.
        address: the event, as ``number of the process:index``.

    Raises: Invalid if the graph has no such event.
    """
    event = _event(graph.computation, address)
    found = may_occur(graph.computation, graph.states[number], event)
    return Tried(words(graph.computation, event.action), found, following(graph.states, found))


def answer(graph: StateGraph | None, number: int, process: str, index: int) -> dict[str, Any]:
    """Return what comes of trying an event of a process in a state. See OccurrenceDetail.

    Raises: NotFound if no graph is drawn or it has no such state, Invalid without such an event.
    """
    if graph is None or not 0 <= number < len(graph.states):
        raise NotFound("The graph of global states has no such state.")
    computation = graph.computation
    if process not in computation.processes:
        raise Invalid(f"There is no process {process[:60]!r}.", field="process")
    names = [str(name) for name in computation.processes]
    said, found, next_state = tried(graph, number, f"{names.index(process)}:{index}")
    return {
        "event": said,
        "may": found.may,
        "reasons": list(found.reasons),
        "processes": None
        if found.processes is None
        else dict(zip(names, found.processes, strict=True)),
        "channels": None
        if found.channels is None
        else {channel: list(map(_message, held)) for channel, held in found.channels.items()},
        "next_state": next_state,
    }


def _message(parcel: Parcel) -> dict[str, Any]:
    return {"message": parcel.id, "value": parcel.value}


def _event(computation: Computation, address: str) -> GlobalEvent:
    for event in events_of(computation):
        if f"{event.action.process}:{event.action.index}" == address:
            return event
    raise Invalid("The graph has no such event.", field="index")
