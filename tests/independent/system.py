"""Run a small system that takes snapshots, by protocols that are right or that have faults.

Nothing here comes from the product. The run is a list of events in an order in which they could
have happened; `recordings.py` writes it down.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.independent.log import Event

FAULTS = (
    "a marker is lost",
    "a marker is never sent",
    "a marker is sent twice",
    "markers are sent late",
    "markers are sent early",
    "a process records late",
    "a process never records",
    "a process records twice",
    "messages overtake",
    "messages are lost",
    "messages arrive twice",
    "a message comes from nowhere",
    "a marker comes from nowhere",
    "a recorded state is wrong",
    "a recorded state is missing",
    "states are missing",
    "a recorded list is too short",
    "a recorded list is too long",
    "a recorded list has another order",
    "a recorded list has a strange message",
    "a recorded list is missing",
    "a list is recorded twice",
    "other events",
)
LARGE = 2**63 - 1


@dataclass
class Item:
    """A message or marker on its way, and the snapshots that its sender had recorded."""

    name: str | int
    is_marker: bool
    value: Any = None
    red: frozenset[str] = frozenset()


@dataclass
class System:
    """A run under way.

    Attributes:
        marked: the snapshots that are taken with markers; the others are taken by the clock.
        transit: the items on each channel, in the order in which they were sent.
        recorded: the snapshots that each process has recorded.
        collected: by snapshot and channel, what the receiver stores.
        closed: snapshots and channels whose marker has arrived.
        later: what is to be done after so many further steps.
    """

    random: Random
    processes: list[dict]
    channels: list[dict]
    faults: set[str]
    amounts: Callable[[], Any]
    repeated_ids: bool
    events: list[Event] = field(default_factory=list)
    states: dict[str, Any] = field(default_factory=dict)
    transit: dict[str, list[Item]] = field(default_factory=dict)
    marked: set[str] = field(default_factory=set)
    recorded: dict[str, set[str]] = field(default_factory=dict)
    collected: dict[tuple[str, str], list[str | int]] = field(default_factory=dict)
    closed: set[tuple[str, str]] = field(default_factory=set)
    later: list[tuple[int, Callable[[], None]]] = field(default_factory=list)
    count: int = 0

    def __post_init__(self) -> None:
        self.states = {entry["id"]: entry.get("state") for entry in self.processes}
        self.recorded = {entry["id"]: set() for entry in self.processes}
        self.transit = {entry["id"]: [] for entry in self.channels}

    def fails(self, fault: str, chance: float = 0.4) -> bool:
        """Decide whether a fault of this recording happens here."""
        return fault in self.faults and self.random.random() < chance

    def log(self, kind: str, process: str, **fields: Any) -> None:
        """Write an event down."""
        self.events.append({"kind": kind, "process": process, **fields})

    def leading(self, end: str, process: str) -> list[dict]:
        """Return the channels of which this process is the ``end``."""
        return [entry for entry in self.channels if entry[end] == process]

    def step(self) -> None:
        """Let one thing happen."""
        due = [action for left, action in self.later if left <= 0]
        self.later = [(left - 1, action) for left, action in self.later if left > 0]
        for action in due:
            action()
        waiting = [entry for entry in self.channels if self.transit[entry["id"]]]
        if waiting and self.random.random() < 0.5:
            self.deliver(self.random.choice(waiting))
        elif self.channels and self.random.random() < 0.8:
            self.send(self.random.choice(self.channels))
        else:
            self.work(self.random.choice(self.processes)["id"])

    def work(self, process: str) -> None:
        """Let a process change its state by itself, or do something that changes none."""
        if self.fails("other events", 0.8):
            kind = self.random.choice(["crash", "restore", "heartbeat", "gc"])
            named = {"snapshot": "s1"} if kind == "restore" else {}
            self.log(kind, process, **named)
            return
        self.change(process, None, 1)
        self.log("internal", process, label="works", **self.state(process))

    def change(self, process: str, value: Any, sign: int) -> None:
        """Take a value out of a state or into it, if both are numbers; else write another state."""
        state = self.states[process]
        if _is_number(state) and (value is None or _is_number(value)):
            changed = state + sign * (value or 0)
            self.states[process] = round(changed, 2) if isinstance(changed, float) else changed
            if abs(changed) > LARGE:
                self.states[process] = self.random.choice([LARGE, -LARGE, 0])
        else:
            self.count += 1
            self.states[process] = self.random.choice(
                [{"n": self.count, "of": process}, f"state {self.count}", [self.count, None], True]
            )

    def state(self, process: str) -> dict:
        """Return the field that an event has; sometimes none."""
        return {} if self.fails("states are missing", 0.3) else {"state": self.states[process]}

    def send(self, channel: dict) -> None:
        """Send a message."""
        self.count += 1
        name = self.random.choice(["m", 7, "7", "n"]) if self.repeated_ids else f"m{self.count}"
        source, value = channel["source"], self.amounts()
        self.change(source, value, -1)
        self.log(
            "send",
            source,
            channel=channel["id"],
            message=name,
            value=value,
            **self.state(source),
        )
        if not self.fails("messages are lost", 0.15):
            item = Item(name, False, value, frozenset(self.recorded[source]))
            self.transit[channel["id"]].append(item)

    def deliver(self, channel: dict) -> None:
        """Let one item of a channel arrive."""
        items = self.transit[channel["id"]]
        places = [0]
        if not channel.get("fifo", True) or self.fails("messages overtake"):
            places = list(range(len(items)))
        elif channel.get("overtaking"):
            places += [place for place, item in enumerate(items) if item.is_marker]
        item = items.pop(self.random.choice(places))
        if item.is_marker:
            self.receive_marker(channel, str(item.name))
        else:
            self.receive(channel, item)
            if self.fails("messages arrive twice", 0.3):
                self.receive(channel, item)

    def receive(self, channel: dict, item: Item) -> None:
        """Receive a message; Lai and Yang: a red one is received after recording."""
        target = channel["target"]
        if not self.keeps_order(channel):
            for snapshot in sorted(item.red & self.marked):
                self.meet(target, snapshot)
        for snapshot in self.recorded[target]:
            place = (snapshot, channel["id"])
            if place not in self.closed and snapshot not in item.red:
                self.collected.setdefault(place, []).append(item.name)
        self.change(target, item.value, 1)
        name = "lost in thought" if self.fails("a message comes from nowhere", 0.2) else item.name
        self.log(
            "receive",
            target,
            channel=channel["id"],
            message=name,
            value=item.value,
            **self.state(target),
        )

    def keeps_order(self, channel: dict) -> bool:
        """Return whether a marker separates what was sent before it from what was sent after."""
        return channel.get("fifo", True) and not channel.get("overtaking", False)

    def receive_marker(self, channel: dict, snapshot: str) -> None:
        """Marker-receiving rule: the first records the state, and each closes its channel."""
        target = channel["target"]
        self.log("marker_receive", target, channel=channel["id"], snapshot=snapshot)
        if self.fails("a marker comes from nowhere", 0.2):
            self.log("marker_receive", target, channel=channel["id"], snapshot=snapshot)
        self.meet(target, snapshot)
        place = (snapshot, channel["id"])
        if self.keeps_order(channel) and place not in self.closed:
            self.closed.add(place)
            self.record_channel(channel, snapshot)

    def meet(self, process: str, snapshot: str) -> None:
        """Record for a snapshot that a process hears of, unless it already has."""
        if snapshot in self.recorded[process] or self.fails("a process never records", 0.3):
            return
        if self.fails("a process records late"):
            steps = self.random.randint(0, 12)
            self.later.append((steps, lambda: self.record(process, snapshot)))
        else:
            self.record(process, snapshot)

    def record(self, process: str, snapshot: str) -> None:
        """Marker-sending rule: record the state, and send a marker on each channel at once."""
        if snapshot in self.recorded[process]:
            return
        if self.fails("markers are sent early"):
            self.send_markers(process, snapshot)
            for channel in self.leading("source", process):
                self.send(channel)
        self.recorded[process].add(snapshot)
        self.log("record_state", process, snapshot=snapshot, **self.recorded_state(process))
        if self.fails("a process records twice"):
            again = {"snapshot": snapshot, "state": "again"}
            steps = self.random.randint(0, 9)
            self.later.append((steps, lambda: self.log("record_state", process, **again)))
        if self.fails("markers are sent late"):
            for channel in self.leading("source", process):
                self.send(channel)
            steps = self.random.randint(0, 12)
            self.later.append((steps, lambda: self.send_markers(process, snapshot)))
        else:
            self.send_markers(process, snapshot)

    def recorded_state(self, process: str) -> dict:
        """Return the state as the protocol stores it."""
        if self.fails("a recorded state is missing"):
            return {}
        state = self.states[process]
        if self.fails("a recorded state is wrong"):
            return {"state": state + 1 if _is_number(state) and state < LARGE else "wrong"}
        return {"state": state}

    def send_markers(self, process: str, snapshot: str) -> None:
        """Send a marker on every channel that leaves the process, once."""
        if snapshot not in self.marked:
            return
        for channel in self.leading("source", process):
            if (snapshot, channel["id"], "sent") in self.closed:
                continue
            self.closed.add((snapshot, channel["id"], "sent"))
            if self.fails("a marker is never sent"):
                continue
            for _ in range(2 if self.fails("a marker is sent twice") else 1):
                self.log("marker_send", process, channel=channel["id"], snapshot=snapshot)
                if not self.fails("a marker is lost"):
                    self.transit[channel["id"]].append(Item(snapshot, True))

    def record_channel(self, channel: dict, snapshot: str) -> None:
        """Store what was collected of a channel."""
        entries = list(self.collected.get((snapshot, channel["id"]), ()))
        if self.fails("a recorded list is missing"):
            return
        if entries and self.fails("a recorded list is too short"):
            del entries[self.random.randrange(len(entries))]
        sent = [
            event["message"]
            for event in self.events
            if event["kind"] == "send" and event["channel"] == channel["id"]
        ]
        if sent and self.fails("a recorded list is too long"):
            entries.insert(self.random.randint(0, len(entries)), self.random.choice(sent))
        if self.fails("a recorded list has another order", 0.7):
            self.random.shuffle(entries)
        if self.fails("a recorded list has a strange message"):
            entries.append("never sent")
        fields = {"snapshot": snapshot, "channel": channel["id"]}
        self.log("record_channel", channel["target"], **fields, messages=entries)
        if self.fails("a list is recorded twice"):
            self.log("record_channel", channel["target"], **fields, messages=["again"])

    def end(self, *, drains: bool) -> None:
        """Let what is on its way arrive, if the run drains, and store what was not closed."""
        while drains and (self.later or any(self.transit.values())):
            for _, action in self.later[:1]:
                action()
            del self.later[:1]
            for channel in self.channels:
                if self.transit[channel["id"]]:
                    self.deliver(channel)
        for channel in self.channels:
            for snapshot in sorted(self.recorded[channel["target"]]):
                if snapshot not in self.marked or not self.keeps_order(channel):
                    self.close(channel, snapshot)

    def close(self, channel: dict, snapshot: str) -> None:
        """Store a channel at the end; white messages that never arrived lie in it too."""
        collected = self.collected.setdefault((snapshot, channel["id"]), [])
        for item in self.transit[channel["id"]]:
            if not item.is_marker and snapshot not in item.red:
                collected.append(item.name)
        if snapshot in self.recorded[channel["source"]]:
            self.record_channel(channel, snapshot)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
