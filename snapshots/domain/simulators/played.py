"""A run of three banks in which a person decides what one of them does for a snapshot.

A and C follow Chandy and Lamport's rules, and A begins the snapshot. What B sends and when messages
arrive is drawn from a seed and does not depend on the decisions. Markers do: one goes out when B
says so, and arrives before what is sent behind it. At each event of B the person decides whether B
records its state first, on which channels markers go out, and whether a message that comes is noted
for its channel. The run is judged like any other log.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 3.2.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from snapshots.domain.model.recording import MARKER_RECEIVE, RECEIVE, SEND, MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId
from snapshots.domain.simulators.protocols import chandy_lamport
from snapshots.domain.simulators.protocols.effects import Effect, RecordChannel, RecordState
from snapshots.domain.simulators.script import Log, Script

ME, INITIATOR, SNAPSHOT = "B", "A", SnapshotId("s1")
NAMES = ("A", "B", "C")
BALANCE = 100
BEGINS_AT = 3_500
TRANSFERS = ("AB", "BC", "CB", "BA", "AC", "AB", "CA", "BC")
"""Who sends to whom; the seed says in which order. Three come to B, and three leave it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the person decides at one event of B, before it.

    Attributes:
        record: whether B records its state first.
        markers: the processes to which a marker goes out, after that.
        note: whether the message that comes is noted for its channel.
    """

    record: bool = False
    markers: tuple[str, ...] = ()
    note: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One event of B, and what B knows when it is about to come.

    Attributes:
        at: the time in us.
        kind: ``send``, ``receive`` or ``marker_receive``.
        other: the process to which B sends, or from which the message or marker comes.
        message: the id of the message; None for a marker.
        amount: the money; 0 for a marker.
        balance: what B holds before.
        has_recorded: whether B has recorded its state.
        marked: the processes to which B has sent a marker.
        closed: the processes from which the marker has come.
        noted: the messages that B has noted, by the process that sent them.
    """

    at: int
    kind: str
    other: str
    message: MessageId | None
    amount: int
    balance: int
    has_recorded: bool
    marked: tuple[str, ...]
    closed: tuple[str, ...]
    noted: dict[str, tuple[MessageId, ...]]


@dataclass(frozen=True)
class Played:
    """A run as far as it is decided.

    Attributes:
        steps: the events of B that are decided.
        waiting: the event that waits for a decision; None if the run has ended.
        log: the log so far.
    """

    steps: tuple[Step, ...]
    waiting: Step | None
    log: Log


def play(seed: int, decisions: Sequence[Decision]) -> Played:
    """Run until the decisions are used up, or to the end. Further decisions are ignored."""
    return _Run(seed).play(decisions)


def faults(step: Step, decision: Decision) -> list[str]:
    """Say which of the two rules a decision breaks, one sentence each; none if it breaks none."""
    found = []
    is_recorded = step.has_recorded or decision.record
    if step.kind == MARKER_RECEIVE and not is_recorded:
        found.append(
            "Marker-receiving rule: the first marker came already, and you have not recorded yet."
            if step.closed
            else "Marker-receiving rule: when the first marker comes, you record your state and "
            f"the channel from {step.other} as empty."
        )
    if decision.markers and not is_recorded:
        found.append("Marker-sending rule: a marker goes out after you have recorded, not before.")
    if again := [other for other in decision.markers if other in step.marked]:
        found.append(f"Marker-sending rule: one marker on each channel; {again[0]} had its own.")
    found += _missing_markers(step, decision)
    if step.kind == RECEIVE:
        found += _wrong_note(step, decision, is_recorded=is_recorded)
    return found


def _missing_markers(step: Step, decision: Decision) -> list[str]:
    sent = {*step.marked, *decision.markers}
    missing = [other for other in NAMES if other not in sent and other != ME]
    if decision.record and missing:
        return [
            "Marker-sending rule: when you record, a marker goes out on every outgoing channel "
            f"before any further message. None went to {' and '.join(missing)}."
        ]
    if step.has_recorded and step.kind == SEND and step.other in missing:
        return [
            f"Marker-sending rule: {step.message} goes to {step.other} after you recorded and "
            "before your marker."
        ]
    return []


def _wrong_note(step: Step, decision: Decision, *, is_recorded: bool) -> list[str]:
    rule = "Marker-receiving rule: the state of a channel is what comes after you record and "
    if decision.note and not is_recorded:
        return [f"{rule}before its marker. You have not recorded: {step.message} is in your state."]
    if decision.note and step.other in step.closed:
        return [f"{rule}before its marker. The marker from {step.other} had come already."]
    if is_recorded and not decision.note and step.other not in step.closed:
        return [f"{rule}before its marker, and {step.message} is such a message: note it."]
    return []


def by_the_rules(step: Step) -> Decision:
    """Return what the two rules ask for at an event of B; B does not begin the snapshot itself."""
    record = step.kind == MARKER_RECEIVE and not step.has_recorded
    markers = ("A", "C") if record else ()
    note = step.kind == RECEIVE and step.has_recorded and step.other not in step.closed
    return Decision(record, markers, note)


@dataclass
class _Me:
    """What B has done for the snapshot."""

    has_recorded: bool = False
    marked: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    noted: dict[str, list[MessageId]] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)


class _Run:
    """The state of a run. What is to come lies on a heap, by time and order of planning."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.script = Script(
            "be the process",
            dict.fromkeys(NAMES, BALANCE),
            [f"{a}->{b}" for a in NAMES for b in NAMES if a != b],
        )
        self.balances = dict.fromkeys(NAMES, BALANCE)
        self.me = _Me()
        self.heap: list[tuple[int, int, str, str, str, MessageId | None, int]] = []
        self.order = 0
        self.flights: dict[ChannelId, list[tuple[int, int]]] = {}
        channels = {
            name: (
                {ChannelId(f"{other}->{name}"): 0 for other in NAMES if other != name},
                {ChannelId(f"{name}->{other}"): 0 for other in NAMES if other != name},
            )
            for name in NAMES
        }
        self.recorders = {
            name: chandy_lamport.start(SNAPSHOT, *channels[name]) for name in NAMES if name != ME
        }
        self._plan_transfers()

    def _plan_transfers(self) -> None:
        order = self.rng.sample(TRANSFERS, len(TRANSFERS))
        for number, ends in enumerate(order, start=1):
            source, target = ends[0], ends[1]
            at = 1_000 * number + self.rng.randrange(400)
            flights = self.flights.setdefault(ChannelId(f"{source}->{target}"), [])
            earliest = flights[-1][1] + 200 if flights else 0
            arrives = max(at + 1_200 + self.rng.randrange(3_000), earliest)
            flights.append((at, arrives))
            amount = 10 * self.rng.randrange(1, 4)
            message = MessageId(f"m{number}")
            self._plan(at, SEND, source, target, message, amount)
            self._plan(arrives, RECEIVE, source, target, message, amount)
        self._plan(BEGINS_AT, "begin", INITIATOR, INITIATOR, None, 0)

    def _plan(
        self, at: int, kind: str, source: str, target: str, message: MessageId | None, amount: int
    ) -> None:
        self.order += 1
        heappush(self.heap, (at, self.order, kind, source, target, message, amount))

    def play(self, decisions: Sequence[Decision]) -> Played:
        steps: list[Step] = []
        while self.heap:
            at, _, kind, source, target, message, amount = self.heap[0]
            actor = source if kind in (SEND, "begin") else target
            if actor != ME:
                heappop(self.heap)
                self._of_another(at, kind, source, target, message, amount)
                continue
            other = target if kind == SEND else source
            step = self._step(at, kind, other, message, amount)
            if len(steps) == len(decisions):
                return Played(tuple(steps), step, self.script.log())
            heappop(self.heap)
            self._of_me(step, decisions[len(steps)])
            steps.append(step)
        return Played(tuple(steps), None, self.script.log())

    def _step(self, at: int, kind: str, other: str, message: MessageId | None, amount: int) -> Step:
        me = self.me
        return Step(
            at,
            kind,
            other,
            message,
            amount,
            self.balances[ME],
            me.has_recorded,
            tuple(me.marked),
            tuple(me.closed),
            {source: tuple(messages) for source, messages in me.noted.items()},
        )

    def _of_me(self, step: Step, decision: Decision) -> None:
        if step.kind == MARKER_RECEIVE:
            self.script.receive_marker(f"{step.other}->{ME}", SNAPSHOT, at=step.at)
            self.me.closed.append(step.other)
        if decision.record and not self.me.has_recorded:
            self.me.has_recorded = True
            self.script.record(ME, SNAPSHOT, at=step.at)
        for other in decision.markers:
            self._send_marker(step.at, ME, other)
            self.me.marked.append(other)
        if step.message is not None:
            if step.kind == RECEIVE and decision.note:
                self.me.noted.setdefault(step.other, []).append(step.message)
            self._transfer(step.at, step.kind, ME, step.other, step.message, step.amount)
        if self.me.has_recorded:
            for other in self.me.closed:
                if other not in self.me.told:
                    self.me.told.add(other)
                    noted = self.me.noted.get(other, [])
                    self.script.record_channel(f"{other}->{ME}", SNAPSHOT, *noted, at=step.at)

    def _transfer(
        self, at: int, kind: str, actor: str, other: str, message: MessageId, amount: int
    ) -> None:
        self.balances[actor] += amount if kind == RECEIVE else -amount
        state = self.balances[actor]
        if kind == SEND:
            self.script.send(f"{actor}->{other}", message, amount, state=state, at=at)
        else:
            self.script.receive(f"{other}->{actor}", message, state=state, at=at)

    def _of_another(
        self, at: int, kind: str, source: str, target: str, message: MessageId | None, amount: int
    ) -> None:
        actor = source if kind in (SEND, "begin") else target
        channel = ChannelId(f"{source}->{target}")
        recorder = self.recorders[actor]
        if kind == "begin":
            self._carry_out(at, actor, *chandy_lamport.begin(recorder))
        elif kind == MARKER_RECEIVE:
            self.script.receive_marker(channel, SNAPSHOT, at=at)
            self._carry_out(at, actor, *chandy_lamport.on_marker(recorder, channel))
        else:
            assert message is not None  # sends and receives have one
            other = target if kind == SEND else source
            self._transfer(at, kind, actor, other, message, amount)
            if kind == RECEIVE:
                step = chandy_lamport.on_message(recorder, channel, message)
                self._carry_out(at, actor, *step)

    def _carry_out(self, at: int, actor: str, recorder: Any, effects: tuple[Effect, ...]) -> None:
        self.recorders[actor] = recorder
        for effect in effects:
            if isinstance(effect, RecordState):
                self.script.record(actor, SNAPSHOT, at=at)
            elif isinstance(effect, RecordChannel):
                self.script.record_channel(effect.channel, SNAPSHOT, *effect.messages, at=at)
            else:
                self._send_marker(at, actor, effect.channel.partition("->")[2])

    def _send_marker(self, at: int, source: str, target: str) -> None:
        """Send a marker that arrives after what was sent before it, and before what is sent later.

        At one time, a marker goes out before a message.
        """
        channel = ChannelId(f"{source}->{target}")
        self.script.send_marker(channel, SNAPSHOT, at=at)
        flights = self.flights.setdefault(channel, [])
        before = [arrives for sent, arrives in flights if sent < at]
        behind = [arrives for sent, arrives in flights if sent >= at]
        arrives = max([at + 1_500, *(earlier + 1 for earlier in before)])
        if behind:
            arrives = min(arrives, min(behind) - 1)
        self._plan(arrives, MARKER_RECEIVE, source, target, None, 0)
