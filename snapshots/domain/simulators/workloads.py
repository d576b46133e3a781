"""What simulated processes do: of their own accord, and when a message comes."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from snapshots.domain.model.topology import ChannelId, JsonText, Process, ProcessId, Topology
from snapshots.domain.model.values import canonical, number, parsed
from snapshots.domain.simulators.acting import Action, any_of
from snapshots.domain.simulators.phased import Phases
from snapshots.domain.simulators.references import References

DEFAULT_BALANCE = 1000
MOST_TRANSFERRED = 100
DEFAULT_WORK = 24
FAULTY_PASS = 5
ASKING = 0.3


class Workload(Protocol):
    """What the processes do between snapshots. ``text`` gives a state as canonical JSON.

    ``NAME`` is its name in the API; pages show ``TITLE`` and ``SENTENCE``.
    """

    NAME: str
    TITLE: str
    SENTENCE: str

    def start(self, topology: Topology) -> dict[ProcessId, Any]:
        """Return the start state of every process, from the topology where that makes sense."""

    def text(self, state: Any) -> JsonText: ...

    def wants(self, state: Any, outgoing: Sequence[ChannelId]) -> bool:
        """Tell whether the process will act of its own accord after a while."""

    def act(self, state: Any, outgoing: Sequence[ChannelId], rng: random.Random) -> Action: ...

    def receive(self, state: Any, value: JsonText) -> Any: ...


class Tokens:
    """Tokens are held for a while, then passed on over one of the outgoing channels.

    State and values: the number of tokens, 0 or more. If no process starts with one, the first
    process of the topology holds one. On a ring this is the paper's single-token system.
    """

    NAME, TITLE = "token-ring", "Token ring"
    SENTENCE = "Tokens are held for a while, then passed on."

    def start(self, topology: Topology) -> dict[ProcessId, int]:
        tokens = {process.id: _whole(process, 0) for process in topology.processes}
        if not any(tokens.values()):
            tokens[topology.processes[0].id] = 1
        return tokens

    def text(self, state: int) -> JsonText:
        return JsonText(str(state))

    def wants(self, state: int, outgoing: Sequence[ChannelId]) -> bool:
        return state > 0 and bool(outgoing)

    def act(self, state: int, outgoing: Sequence[ChannelId], rng: random.Random) -> Action:
        return Action(state - 1, any_of(outgoing, rng), JsonText("1"))

    def receive(self, state: int, value: JsonText) -> int:
        return state + int(value)


class Bank:
    """Every process holds money and sends some of it to a neighbour now and then.

    State: the balance, 0 or more; DEFAULT_BALANCE if the topology does not say. Values: 1 to
    MOST_TRANSFERRED, never more than the balance.
    """

    NAME, TITLE = "bank", "Bank transfers"
    SENTENCE = "Every process holds money and sends some of it on, at random."

    def start(self, topology: Topology) -> dict[ProcessId, int]:
        return {process.id: _whole(process, DEFAULT_BALANCE) for process in topology.processes}

    def text(self, state: int) -> JsonText:
        return JsonText(str(state))

    def wants(self, state: int, outgoing: Sequence[ChannelId]) -> bool:
        return state > 0 and bool(outgoing)

    def act(self, state: int, outgoing: Sequence[ChannelId], rng: random.Random) -> Action:
        amount = 1 + int(rng.random() * min(state, MOST_TRANSFERRED))
        return Action(state - amount, any_of(outgoing, rng), JsonText(str(amount)))

    def receive(self, state: int, value: JsonText) -> int:
        return state + int(value)


class RandomTraffic:
    """Sends numbers to random neighbours, and works on its own in one action out of ten.

    State: how many messages the process has sent and received. Values: 0 to 999.
    """

    NAME, TITLE = "random", "Random traffic"
    SENTENCE = "Every process sends at random and counts what comes."

    def start(self, topology: Topology) -> dict[ProcessId, tuple[int, int]]:
        return {process.id: (0, 0) for process in topology.processes}

    def text(self, state: tuple[int, int]) -> JsonText:
        return JsonText(f'{{"received":{state[1]},"sent":{state[0]}}}')

    def wants(self, state: tuple[int, int], outgoing: Sequence[ChannelId]) -> bool:
        return True

    def act(
        self, state: tuple[int, int], outgoing: Sequence[ChannelId], rng: random.Random
    ) -> Action:
        if not outgoing or rng.random() < 0.1:
            return Action(state, label="work")
        value = JsonText(str(int(rng.random() * 1000)))
        return Action((state[0] + 1, state[1]), any_of(outgoing, rng), value)

    def receive(self, state: tuple[int, int], value: JsonText) -> tuple[int, int]:
        return state[0], state[1] + 1


class LosesToken:
    """Tokens of which one is lost: the first process that holds any drops one, once.

    It does so instead of passing it on for the FAULTY_PASS-th time. State: (tokens, passes until
    the fault; 0 for never).
    """

    NAME, TITLE = "token-lost", "A token gets lost"
    SENTENCE = "A token ring in which one token vanishes."

    label = "loses a token"
    change = -1
    _tokens = Tokens()

    def start(self, topology: Topology) -> dict[ProcessId, tuple[int, int]]:
        tokens = self._tokens.start(topology)
        faulty = next(process for process, held in tokens.items() if held)
        return {
            process: (held, FAULTY_PASS if process == faulty else 0)
            for process, held in tokens.items()
        }

    def text(self, state: tuple[int, int]) -> JsonText:
        return self._tokens.text(state[0])

    def wants(self, state: tuple[int, int], outgoing: Sequence[ChannelId]) -> bool:
        return self._tokens.wants(state[0], outgoing)

    def act(
        self, state: tuple[int, int], outgoing: Sequence[ChannelId], rng: random.Random
    ) -> Action:
        tokens, left = state
        if left == 1:
            return Action((tokens + self.change, 0), label=self.label)
        passed = self._tokens.act(tokens, outgoing, rng)
        return passed._replace(state=(passed.state, max(0, left - 1)))

    def receive(self, state: tuple[int, int], value: JsonText) -> tuple[int, int]:
        return self._tokens.receive(state[0], value), state[1]


class CopiesToken(LosesToken):
    """Tokens of which one is copied: a process has one more of it from then on."""

    NAME, TITLE = "token-copied", "A token is copied"
    SENTENCE = "A token ring in which a token is doubled."

    label = "copies a token"
    change = 1


class Diffusing:
    """A computation that one process starts, that spreads by messages, and that ends.

    State: (work left, work done); a process is active as long as it has work left. An active
    process does one piece or sends half of them to a neighbour, and only a message makes a passive
    one active again. If the topology gives no process work (a whole number), the first one has
    DEFAULT_WORK pieces. Source: Dijkstra and Scholten, IPL 11(1), 1980.
    """

    NAME, TITLE = "diffusing", "A computation that ends"
    SENTENCE = "Work is handed on until none is left: does a snapshot see that it has ended?"

    def start(self, topology: Topology) -> dict[ProcessId, tuple[int, int]]:
        work = {process.id: _whole(process, 0) for process in topology.processes}
        if not any(work.values()):
            work[topology.processes[0].id] = DEFAULT_WORK
        return {process: (left, 0) for process, left in work.items()}

    def text(self, state: tuple[int, int]) -> JsonText:
        left, done = state
        active = "true" if left else "false"
        return JsonText(f'{{"active":{active},"done":{done},"left":{left}}}')

    def wants(self, state: tuple[int, int], outgoing: Sequence[ChannelId]) -> bool:
        return state[0] > 0

    def act(
        self, state: tuple[int, int], outgoing: Sequence[ChannelId], rng: random.Random
    ) -> Action:
        left, done = state
        if left > 1 and outgoing and rng.random() < 0.5:
            sent = left // 2
            return Action(
                (left - sent, done), any_of(outgoing, rng), JsonText(f'{{"work":{sent}}}')
            )
        return Action((left - 1, done + 1), label="works")

    def receive(self, state: tuple[int, int], value: JsonText) -> tuple[int, int]:
        work = number(value)
        assert isinstance(work, int)  # ``act`` sends whole numbers
        return state[0] + work, state[1]


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds one resource, its own.

    neighbours: the channel to each process from which a channel comes back.
    asks: the neighbours that it asks.
    waits_for: the neighbours whose resources it waits for.
    asked: the processes that wait for the resource, in the order of the requests.
    """

    me: ProcessId
    neighbours: Mapping[ProcessId, ChannelId]
    asks: tuple[ProcessId, ...]
    waits_for: tuple[ProcessId, ...] = ()
    asked: tuple[ProcessId, ...] = ()


class Resources:
    """Processes ask neighbours for what they hold, and wait; a circle of waits is a deadlock.

    A process that does not wait grants the oldest request it has; without one it works, or, with
    the probability ASKING, asks a neighbour. One that waits does nothing. Only neighbours with
    channels in both directions are asked; if the topology's state is {"asks": [processes]}, only
    these. Values: {"request": the asker} and {"grant": the granter}.

    Source: Chandy and Misra, PODC 1982.
    """

    NAME, TITLE = "resources", "Requests and grants"
    SENTENCE = "Processes ask each other for what they hold, and may end in a deadlock."

    def start(self, topology: Topology) -> dict[ProcessId, Holder]:
        links = {(channel.source, channel.target): channel.id for channel in topology.channels}
        states = {}
        for process in topology.processes:
            neighbours = {
                target: channel
                for (source, target), channel in links.items()
                if source == process.id != target and (target, source) in links
            }
            named = _named(process, "asks")
            asks = tuple(other for other in neighbours if named is None or other in named)
            states[process.id] = Holder(process.id, neighbours, asks)
        return states

    def text(self, state: Holder) -> JsonText:
        return canonical({"asked": state.asked, "waits_for": state.waits_for})

    def wants(self, state: Holder, outgoing: Sequence[ChannelId]) -> bool:
        return bool(state.asks or state.asked) and not state.waits_for

    def act(self, state: Holder, outgoing: Sequence[ChannelId], rng: random.Random) -> Action:
        if state.asked:
            asker, *others = state.asked
            granted = replace(state, asked=tuple(others))
            return Action(granted, state.neighbours[asker], canonical({"grant": state.me}))
        if rng.random() >= ASKING:
            return Action(state, label="works")
        other = any_of(state.asks, rng)
        waiting = replace(state, waits_for=(other,))
        return Action(waiting, state.neighbours[other], canonical({"request": state.me}))

    def receive(self, state: Holder, value: JsonText) -> Holder:
        message = parsed(value)
        assert isinstance(message, dict)  # ``act`` sends objects
        if "request" in message:
            return replace(state, asked=(*state.asked, message["request"]))
        left = tuple(process for process in state.waits_for if process != message["grant"])
        return replace(state, waits_for=left)


class Idle:
    """Processes that do nothing, so that only snapshots happen. State: 0."""

    NAME, TITLE = "idle", "Nothing"
    SENTENCE = "Only the snapshots happen."

    def start(self, topology: Topology) -> dict[ProcessId, int]:
        return {process.id: 0 for process in topology.processes}

    def text(self, state: int) -> JsonText:
        return JsonText(str(state))

    def wants(self, state: int, outgoing: Sequence[ChannelId]) -> bool:
        return False

    def act(self, state: int, outgoing: Sequence[ChannelId], rng: random.Random) -> Action:
        return Action(state)

    def receive(self, state: int, value: JsonText) -> int:
        return state


_WORKLOADS: tuple[type[Workload], ...] = (
    Bank,
    Tokens,
    RandomTraffic,
    Diffusing,
    Resources,
    Phases,
    References,
    LosesToken,
    CopiesToken,
    Idle,
)
WORKLOADS = {workload.NAME: workload for workload in _WORKLOADS}
"""The workloads by name, in the order in which pages list them."""


def _whole(process: Process, otherwise: int) -> int:
    """Return the topology's start state if it is a whole number, 0 or more, else ``otherwise``."""
    state = number(process.state)
    return state if isinstance(state, int) and state >= 0 else otherwise


def _named(process: Process, field: str) -> list[Any] | None:
    """Return the list that the topology's state has under ``field``, or None."""
    state = parsed(process.state)
    names = state.get(field) if isinstance(state, dict) else None
    return names if isinstance(names, list) else None
