"""The barrier front: how far the barriers of a checkpoint have come, and for whom all others wait.

An engine reports a subtask when it acknowledges, and says little of the barriers on their way. The
rest follows from the protocol:

1. A subtask acknowledges after it has received a barrier from every subtask that sends to it, and
   it sends barriers on before it acknowledges. So if a subtask has acknowledged, all that send to
   it have *passed* barriers on, although they may still copy their state.
2. Unless barriers may overtake records, a subtask passes barriers on only after it has received all
   of its own. So what is before a vertex that has passed them on has passed them on, too. If
   barriers may overtake records, this follows only where a vertex has a single input.
3. A vertex *holds* barriers back, as far as is known, if a subtask of it has neither acknowledged
   nor is known to have passed them on.
4. A vertex that has not acknowledged is at the *front* if no vertex before it holds barriers back.
   All others that have not acknowledged *wait behind* one at the front. Whether they are slow
   themselves is not known before that one has acknowledged, apart from rule 6.
5. The edges of the front are those into these vertices. One that has passed barriers on waits for
   none: it still copies its state, and has no such edge. One without inputs has no edge either.
6. A vertex at the front is a *culprit*: nothing before it explains why it is late. Unless it is
   *held up*: it has not passed its barriers on, and was back-pressured for most of its time, as
   the engine measured, and no subtask of it was busy for most of its time. Then the culprits are
   the busy vertices behind it to which its back pressure leads over vertices that are held up. If
   no vertex there is busy, who holds it up is not known.
7. A vertex is *not reached* if no subtask of it had received a barrier when the engine last
   measured, or if all its inputs come from vertices that are not reached.

No clock is read, and no vertex is blamed only for being busy.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from snapshots.domain.front.model import Poll, PolledEdge, PolledVertex
from snapshots.domain.model.listing import listed
from snapshots.quantities import counted, percent

ACKNOWLEDGED, STARTED, NOT_REACHED, NOT_KNOWN = (
    "acknowledged",
    "started",
    "not reached",
    "not known",
)
CULPRIT, HELD_UP, WAITING = "culprit", "held up", "waits behind"
MOST_NAMED = 3  # vertices or subtasks in a sentence


@dataclass(frozen=True, slots=True)
class VertexState:
    """How far a checkpoint has come at one vertex.

    Attributes:
        vertex: the id of the vertex.
        status: ``acknowledged``, ``started``, ``not reached`` or ``not known``. A vertex has
            started if a subtask of it has received a barrier.
        role: ``culprit``, ``held up`` or ``waits behind``; empty if it has acknowledged.
        reason: why this is so, in a sentence.
    """

    vertex: str
    status: str
    role: str
    reason: str


@dataclass(frozen=True, slots=True)
class Front:
    """The vertices and edges that the barriers of a checkpoint have reached.

    Attributes:
        states: the state of each vertex, in the order of the poll.
        edges: the edges that barriers have not crossed, as pairs of ids. All else waits behind.
        sentence: the same in words.
    """

    states: tuple[VertexState, ...]
    edges: tuple[tuple[str, str], ...]
    sentence: str

    @property
    def culprits(self) -> tuple[str, ...]:
        """Return the ids of the vertices for which all others wait, as far as is known."""
        return tuple(state.vertex for state in self.states if state.role == CULPRIT)


def front_of(poll: Poll) -> Front:
    """Return where the barriers of a checkpoint are at a poll."""
    flow = _Flow(poll)
    states = tuple(_state(flow, vertex) for vertex in poll.vertices)
    edges = tuple(
        dict.fromkeys(
            (edge.source, edge.target)
            for edge in flow.edges
            if edge.target in flow.front and edge.target not in flow.wholly_passed
        )
    )
    return Front(states, edges, _sentence(flow))


class _Flow:
    """What follows from a poll; sets hold ids of vertices."""

    def __init__(self, poll: Poll) -> None:
        self.poll = poll
        self.vertices: Mapping[str, PolledVertex] = {each.id: each for each in poll.vertices}
        self.edges = [
            edge
            for edge in poll.edges
            if edge.source in self.vertices and edge.target in self.vertices
        ]
        self.is_aligned = poll.is_unaligned is False
        self._inputs: dict[str, list[PolledEdge]] = {id_: [] for id_ in self.vertices}
        for edge in self.edges:
            self._inputs[edge.target].append(edge)

    def inputs(self, vertex: str) -> list[str]:
        """Return the vertices that send to this one."""
        return list(dict.fromkeys(edge.source for edge in self._inputs[vertex]))

    @cached_property
    def passed(self) -> set[str]:
        """Return the vertices of which a subtask has passed barriers on (rules 1 and 2)."""
        begun = {each.id for each in self.vertices.values() if each.begun}
        first = {edge.source for edge in self.edges if self._has_acknowledged(edge.target)}
        first |= {edge.source for id_ in begun for edge in self._single_input(id_)}
        return self._with_those_before(first)

    @cached_property
    def wholly_passed(self) -> set[str]:
        """Return the vertices of which every subtask has passed barriers on (rules 1 and 2)."""
        first = {edge.source for edge in self.edges if self._is_heard_from_all(edge)}
        return self._with_those_before(first) if self.is_aligned else first

    @cached_property
    def pending(self) -> set[str]:
        """Return the vertices that are not known to have acknowledged."""
        return {id_ for id_, each in self.vertices.items() if not each.is_done}

    @cached_property
    def holding(self) -> set[str]:
        """Return the vertices that hold barriers back, as far as is known (rule 3)."""
        return self.pending - self.wholly_passed

    @cached_property
    def front(self) -> set[str]:
        """Return the vertices at the front (rule 4)."""
        return {id_ for id_ in self.pending if not (self.before(id_) - {id_}) & self.holding}

    @cached_property
    def slow_behind(self) -> dict[str, set[str]]:
        """Return for each vertex that is held up at the front the busy ones behind (rule 6)."""
        held_up = {id_ for id_ in self.front & self.holding if self._is_held_up(id_)}
        return {id_: self._busy_behind(id_) for id_ in held_up}

    @cached_property
    def culprits(self) -> set[str]:
        """Return the vertices for which all others wait, as far as is known (rule 6)."""
        return self.front.difference(self.slow_behind).union(*self.slow_behind.values())

    @cached_property
    def not_reached(self) -> set[str]:
        """Return the vertices that no barrier had reached when the engine measured (rule 7)."""
        found = {id_ for id_ in self.pending if self.vertices[id_].is_untouched} - self.passed
        left = list(found)
        while left:
            vertex = left.pop()
            for target in self._outputs(vertex):
                is_cut_off = target not in found and set(self.inputs(target)) <= found
                if is_cut_off and not self.vertices[target].has_acknowledged:
                    found.add(target)
                    left.append(target)
        return found

    def before(self, vertex: str) -> set[str]:
        """Return the vertices from which a path leads to this one."""
        found: set[str] = set()
        left = [vertex]
        while left:
            for source in self.inputs(left.pop()):
                if source not in found:
                    found.add(source)
                    left.append(source)
        return found

    def _is_held_up(self, vertex: str) -> bool:
        return self.vertices[vertex].load.is_held_up

    def _busy_behind(self, vertex: str) -> set[str]:
        seen, left = {vertex}, [vertex]
        while left:
            for target in self._outputs(left.pop()):
                if target not in seen:
                    seen.add(target)
                    left += [target] if self._is_held_up(target) else []
        return {id_ for id_ in seen if self.vertices[id_].load.is_busy}

    def _outputs(self, vertex: str) -> list[str]:
        return [edge.target for edge in self.edges if edge.source == vertex]

    def _has_acknowledged(self, vertex: str) -> bool:
        return self.vertices[vertex].has_acknowledged

    def _is_heard_from_all(self, edge: PolledEdge) -> bool:
        """Tell whether the target has acknowledged so far that all of the source passed on."""
        is_enough = edge.is_all_to_all and self._has_acknowledged(edge.target)
        return is_enough or self.vertices[edge.target].is_done

    def _single_input(self, vertex: str) -> list[PolledEdge]:
        edges = self._inputs[vertex]
        return edges if len(edges) == 1 else []

    def _with_those_before(self, first: Iterable[str]) -> set[str]:
        found = set(first)
        left = list(found)
        while left:
            vertex = left.pop()
            edges = self._inputs[vertex] if self.is_aligned else self._single_input(vertex)
            for edge in edges:
                if edge.source not in found:
                    found.add(edge.source)
                    left.append(edge.source)
        return found


def _state(flow: _Flow, vertex: PolledVertex) -> VertexState:
    status, reason = _status(flow, vertex)
    if vertex.is_done:
        return VertexState(vertex.id, status, "", reason)
    return VertexState(vertex.id, status, _role(flow, vertex), f"{reason} {_place(flow, vertex)}")


def _role(flow: _Flow, vertex: PolledVertex) -> str:
    if vertex.id in flow.culprits:
        return CULPRIT
    return HELD_UP if vertex.id in flow.slow_behind else WAITING


def _status(flow: _Flow, vertex: PolledVertex) -> tuple[str, str]:
    if vertex.is_done:
        return ACKNOWLEDGED, "All its subtasks have acknowledged."
    if vertex.has_acknowledged:
        return STARTED, f"{_counts(vertex)}."
    if vertex.id in flow.passed:
        return STARTED, "It has passed a barrier on, for a subtask behind it has received one."
    if vertex.begun:
        return STARTED, "Its own measurements show that it has received a barrier."
    if vertex.id in flow.not_reached:
        return NOT_REACHED, "No barrier had reached it when the engine last measured."
    if vertex.acknowledged is None:
        return NOT_KNOWN, "The engine did not say how many of its subtasks have acknowledged."
    return NOT_KNOWN, (
        "None of its subtasks has acknowledged, and the engine does not say whether a barrier has "
        "reached it."
    )


def _counts(vertex: PolledVertex) -> str:
    of = "an unknown number of" if vertex.parallelism is None else f"{vertex.parallelism:,}"
    count = vertex.acknowledged or 0
    return f"{count:,} of {of} subtasks {'has' if count == 1 else 'have'} acknowledged"


def _place(flow: _Flow, vertex: PolledVertex) -> str:
    if vertex.id not in flow.front:
        return _behind(flow, vertex)
    if vertex.id in flow.wholly_passed:
        return f"It has passed its barriers on, so it {_copies(flow)}."
    is_source = not flow.inputs(vertex.id)
    before = "It is a source." if is_source else "All before it have passed their barriers on."
    held_up = _held_up(flow, vertex)
    return f"{before} It {held_up}" if held_up else before


def _behind(flow: _Flow, vertex: PolledVertex) -> str:
    names = _names(flow, flow.before(vertex.id) & flow.front & flow.holding)
    if not names:
        return "Vertices wait for each other in a cycle."
    held_up = {id_ for id_, slow in flow.slow_behind.items() if vertex.id in slow}
    if not held_up:
        return f"It waits behind {names}."
    return (
        f"It waits behind {names}. It was busy for most of the time, and holds up "
        f"{_names(flow, held_up)}."
    )


def _held_up(flow: _Flow, vertex: PolledVertex) -> str:
    """Say who holds up a vertex at the front, without the subject; empty if it is not held up."""
    slow = flow.slow_behind.get(vertex.id)
    if slow is None:
        return ""
    share = percent(vertex.load.back_pressured or 0)
    pressed = f"is held up: it was back-pressured {share} of the time"
    if not slow:
        return f"{pressed}. Which vertex behind it is slow is not known."
    was = "was" if len(slow) == 1 else "were"
    return f"{pressed}, and {_names(flow, slow)} behind it {was} busy for most of the time."


def _copies(flow: _Flow) -> str:
    """Say what a vertex does that has passed its barriers on and has not acknowledged."""
    in_flight = "" if flow.is_aligned else " or the records in flight to it"
    return f"still copies its state{in_flight}"


def _names(flow: _Flow, ids: Iterable[str]) -> str:
    chosen = set(ids)
    return listed([each.called for each in flow.poll.vertices if each.id in chosen], MOST_NAMED)


def _sentence(flow: _Flow) -> str:
    if not flow.vertices:
        return "Where its barriers are is not known: the engine named no vertex."
    if not flow.pending:
        return "All subtasks have acknowledged."
    if not flow.front:
        return (
            f"Who holds the barriers back is not known: {_names(flow, flow.pending)} wait for each "
            "other in a cycle."
        )
    front = _most_telling_first(flow)
    parts = [_at_front(flow, each) for each in front[:MOST_NAMED]]
    if len(front) > MOST_NAMED:
        more = len(front) - MOST_NAMED
        verb = "is" if more == 1 else "are"
        parts.append(f"{counted(more, 'more vertex', 'more vertices')} {verb} at the front.")
    if behind := flow.pending - flow.culprits - flow.front:
        verb = "waits" if len(behind) == 1 else "wait"
        parts.append(f"{_names(flow, behind)} {verb} behind.")
    return " ".join(parts)


def _most_telling_first(flow: _Flow) -> list[PolledVertex]:
    """Return the vertices at the front: culprits, then those of which it is known who is slow."""

    def told(vertex: PolledVertex) -> int:
        if vertex.id in flow.culprits:
            return 0
        return 1 if flow.slow_behind[vertex.id] else 2

    return sorted((each for each in flow.poll.vertices if each.id in flow.front), key=told)


def _at_front(flow: _Flow, vertex: PolledVertex) -> str:
    """Say where a vertex at the front is, and what holds it up, in sentences."""
    name, missing = vertex.called, _missing(vertex)
    if vertex.id in flow.wholly_passed:
        return f"{name} has passed its barriers on and {_copies(flow)}: {missing}."
    sources = flow.inputs(vertex.id)
    edge = "edge" if len(sources) == 1 else "edges"
    place = f"the {edge} from {_names(flow, sources)} to" if sources else "the source"
    sentence = f"The front is at {place} {name}: {missing}."
    held_up = _held_up(flow, vertex)
    return f"{sentence} {name} {held_up}" if held_up else sentence


def _missing(vertex: PolledVertex) -> str:
    if vertex.acknowledged is None:
        return "how many of its subtasks have acknowledged is not known"
    counts = _counts(vertex)
    if not vertex.pending or not vertex.acknowledged:
        return counts
    return f"{counts}, not {listed([f'[{index}]' for index in vertex.pending], MOST_NAMED)}"
