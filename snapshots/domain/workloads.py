"""What simulated processes do: of their own accord, and when a message comes."""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from snapshots.domain.topology import ChannelId, JsonText, Process, ProcessId, Topology
from snapshots.domain.values import number

DEFAULT_BALANCE = 1000
MOST_TRANSFERRED = 100


class Action(NamedTuple):
    """What a process does: a send where ``channel`` is given, else an internal event."""

    state: Any
    channel: ChannelId | None = None
    value: JsonText | None = None
    label: str | None = None


class Workload(Protocol):
    """States are the workload's own; ``text`` gives their canonical JSON."""

    def start(self, topology: Topology) -> dict[ProcessId, Any]:
        """The state of every process at the start, from the topology's where that makes sense."""

    def text(self, state: Any) -> JsonText: ...

    def wants(self, state: Any, outgoing: Sequence[ChannelId]) -> bool:
        """Whether the process will act of its own accord after a while."""

    def act(self, state: Any, outgoing: Sequence[ChannelId], rng: random.Random) -> Action: ...

    def receive(self, state: Any, value: JsonText) -> Any: ...


class Tokens:
    """Tokens are held for a while, then passed on over one of the outgoing channels.

    State and values: the number of tokens, 0 or more. Where no process starts with one, the first
    process of the topology holds one. On a ring this is the paper's single-token system.
    """

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
        return Action(state - 1, _any(outgoing, rng), JsonText("1"))

    def receive(self, state: int, value: JsonText) -> int:
        return state + int(value)


class Bank:
    """Every process holds money and sends some of it to a neighbour now and then.

    State: the balance, 0 or more, DEFAULT_BALANCE where the topology does not say. Values: 1 to
    MOST_TRANSFERRED, never more than the balance.
    """

    def start(self, topology: Topology) -> dict[ProcessId, int]:
        return {process.id: _whole(process, DEFAULT_BALANCE) for process in topology.processes}

    def text(self, state: int) -> JsonText:
        return JsonText(str(state))

    def wants(self, state: int, outgoing: Sequence[ChannelId]) -> bool:
        return state > 0 and bool(outgoing)

    def act(self, state: int, outgoing: Sequence[ChannelId], rng: random.Random) -> Action:
        amount = 1 + int(rng.random() * min(state, MOST_TRANSFERRED))
        return Action(state - amount, _any(outgoing, rng), JsonText(str(amount)))

    def receive(self, state: int, value: JsonText) -> int:
        return state + int(value)


class RandomTraffic:
    """Sends numbers to random neighbours, and works on its own in one action out of ten.

    State: how many messages the process has sent and received. Values: 0 to 999.
    """

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
        return Action((state[0] + 1, state[1]), _any(outgoing, rng), value)

    def receive(self, state: tuple[int, int], value: JsonText) -> tuple[int, int]:
        return state[0], state[1] + 1


class Idle:
    """Nothing happens but what a snapshot does. State: 0."""

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


WORKLOADS: dict[str, type[Workload]] = {
    "token-ring": Tokens,
    "bank": Bank,
    "random": RandomTraffic,
    "idle": Idle,
}
"""The names by which pages and the API ask for them."""


def _whole(process: Process, otherwise: int) -> int:
    """The start state that the topology gives, where it is a whole number, 0 or more."""
    given = number(process.state)
    return given if isinstance(given, int) and given >= 0 else otherwise


def _any(channels: Sequence[ChannelId], rng: random.Random) -> ChannelId:
    return channels[int(rng.random() * len(channels))]
