"""A workload in phases: a process goes on when all that send to it have ended the phase."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId, Topology
from snapshots.domain.model.values import canonical, parsed
from snapshots.domain.simulators.acting import Action

PHASES = 4
WORK = 3


@dataclass(frozen=True, slots=True)
class Part:
    """How far one process is.

    phase: the phase on which it works, from 1.
    work: how many pieces of work every phase has.
    left: the pieces that are left of this one.
    untold: the channels on which it has not yet said that it has ended the phase.
    heard: how many of the ``senders`` channels said so, by phase; also of phases to come.
    """

    phase: int
    work: int
    left: int
    untold: tuple[ChannelId, ...]
    senders: int
    heard: Mapping[int, int] = field(default_factory=dict)

    @property
    def is_active(self) -> bool:
        return self.left > 0 or bool(self.untold)

    @property
    def may_go_on(self) -> bool:
        """Tell whether the phase has ended at all that send to the process, and at itself."""
        return (
            not self.is_active
            and self.phase < PHASES
            and self.heard.get(self.phase, 0) == self.senders
        )


class Phases:
    """A computation in PHASES phases, as an iterative method has them.

    In each phase a process works off its pieces, then says so on every outgoing channel, and waits.
    It begins the next phase when it has heard the same on every incoming channel. The end of a
    phase is nowhere seen: a process may be in the next one while others have not heard all of
    this one. State: {"phase", "left", "active"}; values: {"phase"}. A process has as many pieces
    as the topology's state says (a whole number from 1), else WORK and one more at every second.

    Source: Chandy and Lamport, ACM TOCS 3(1), 1985, section 1; the waiting is synchronizer alpha of
    Awerbuch, "Complexity of Network Synchronization", JACM 32(4), 1985.
    """

    NAME, TITLE = "phases", "A computation in phases"
    SENTENCE = "Every process waits until its neighbours have ended the phase: has the k-th ended?"

    def start(self, topology: Topology) -> dict[ProcessId, Part]:
        parts = {}
        for number, process in enumerate(topology.processes):
            given = parsed(process.state)
            work = given if _is_count(given) else WORK + number % 2
            leaving = tuple(channel.id for channel in topology.outgoing[process.id])
            senders = len(topology.incoming[process.id])
            parts[process.id] = Part(1, work, work, leaving, senders)
        return parts

    def text(self, state: Part) -> JsonText:
        return canonical({"active": state.is_active, "left": state.left, "phase": state.phase})

    def wants(self, state: Part, outgoing: Sequence[ChannelId]) -> bool:
        return state.is_active or state.may_go_on

    def act(self, state: Part, outgoing: Sequence[ChannelId], rng: random.Random) -> Action:
        if state.left:
            return Action(replace(state, left=state.left - 1), label="works")
        if state.untold:
            told, *untold = state.untold
            value = canonical({"phase": state.phase})
            return Action(replace(state, untold=tuple(untold)), told, value)
        phase = state.phase + 1
        begun = replace(state, phase=phase, left=state.work, untold=tuple(outgoing))
        return Action(begun, label=f"begins phase {phase}")

    def receive(self, state: Part, value: JsonText) -> Part:
        message = parsed(value)
        assert isinstance(message, dict)  # ``act`` sends objects
        phase = message["phase"]
        return replace(state, heard={**state.heard, phase: state.heard.get(phase, 0) + 1})


def _is_count(given: object) -> TypeGuard[int]:
    return isinstance(given, int) and not isinstance(given, bool) and given >= 1
