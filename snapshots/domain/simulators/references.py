"""A workload of objects and references, in which objects become garbage."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId, Topology
from snapshots.domain.model.values import canonical, parsed
from snapshots.domain.simulators.acting import Action, any_of

MOST_OBJECTS = 3
CREATING, COPYING = 0.3, 0.65


@dataclass(frozen=True, slots=True)
class Heap:
    """What one process holds.

    objects: the objects that it has created; it frees none.
    refers_to: the objects, its own or others', to which it holds a reference.
    """

    me: ProcessId
    objects: tuple[str, ...] = ()
    refers_to: tuple[str, ...] = ()


class References:
    """Processes create objects, send copies of references to them, and drop references.

    A process that refers to something creates an object with the probability CREATING, as long as
    it has fewer than MOST_OBJECTS. If not, it copies one reference to a neighbour with the
    probability COPYING, else drops one. Nobody can make a reference out of nothing, so what nobody
    and no message refers to stays so. State: {"objects", "refers_to"}; values: {"refers_to"}.

    Source: Chandy and Lamport, ACM TOCS 3(1), 1985, section 1, which names garbage as a stable
    property.
    """

    NAME, TITLE = "references", "Objects and references"
    SENTENCE = "References are copied by message and dropped: which objects are garbage?"

    def start(self, topology: Topology) -> dict[ProcessId, Heap]:
        return {process.id: Heap(process.id) for process in topology.processes}

    def text(self, state: Heap) -> JsonText:
        return canonical({"objects": state.objects, "refers_to": state.refers_to})

    def wants(self, state: Heap, outgoing: Sequence[ChannelId]) -> bool:
        return bool(state.refers_to) or len(state.objects) < MOST_OBJECTS

    def act(self, state: Heap, outgoing: Sequence[ChannelId], rng: random.Random) -> Action:
        can_create = len(state.objects) < MOST_OBJECTS
        if can_create and (not state.refers_to or rng.random() < CREATING):
            created = f"{state.me}.{len(state.objects) + 1}"
            larger = replace(
                state,
                objects=(*state.objects, created),
                refers_to=(*state.refers_to, created),
            )
            return Action(larger, label=f"creates {created}")
        named = any_of(state.refers_to, rng)
        if outgoing and rng.random() < COPYING:
            return Action(state, any_of(outgoing, rng), canonical({"refers_to": [named]}))
        others = tuple(other for other in state.refers_to if other != named)
        return Action(replace(state, refers_to=others), label=f"drops {named}")

    def receive(self, state: Heap, value: JsonText) -> Heap:
        message = parsed(value)
        assert isinstance(message, dict)  # ``act`` sends objects
        known = dict.fromkeys((*state.refers_to, *message["refers_to"]))
        return replace(state, refers_to=tuple(known))
