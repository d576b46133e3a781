"""A small system of processes that send each other money by the rules, in a random order.

It logs itself in the native format, so that Cutline's own judge says whether its snapshots are
consistent.
"""

import json
import random
from itertools import count

from snapshots.domain.model import shapes
from snapshots.domain.model.topology import Topology
from snapshots.recorder import AnyOrderRules, FifoRules, RecordChannel, RecordState, SendMarker
from tests.recorder.judged import reports_of

START = 1000
RULES = {"fifo": FifoRules, "any order": AnyOrderRules}


class System:
    """Processes, their channels with what is in them, and the lines that they logged."""

    def __init__(self, order: str, size: int, seed: int, topology: Topology | None = None) -> None:
        """Make a strongly connected system of a size, or one with the topology that is given."""
        self.random = random.Random(seed)
        self.keeps_order = order == "fifo"
        topology = topology or shapes.random_connected(size, min(2, size - 1), seed)
        self.ends = {str(c.id): (str(c.source), str(c.target)) for c in topology.channels}
        self.balance = {str(p.id): START for p in topology.processes}
        self.rules = {
            name: RULES[order](
                [c for c, (_, target) in self.ends.items() if target == name],
                [c for c, (source, _) in self.ends.items() if source == name],
            )
            for name in self.balance
        }
        self.channels = {channel: [] for channel in self.ends}
        self.gone = set()
        self.complete = {}
        self.lines = [self.header()]
        self.numbers = count(1)

    def header(self):
        return {
            **{"kind": "header", "format": "cutline", "version": 1, "name": "a system"},
            "processes": [{"id": name, "state": START} for name in self.balance],
            "channels": [
                {"id": channel, "source": source, "target": target, "fifo": self.keeps_order}
                for channel, (source, target) in self.ends.items()
            ],
        }

    def log(self, process, kind, **fields):
        self.lines.append({"kind": kind, "process": process, **fields})

    def run(self, steps: int, snapshots) -> None:
        """Do random steps; before step n the processes named for n begin their snapshots."""
        for step in range(steps):
            for process, snapshot in snapshots.get(step, ()):
                self.begin(process, snapshot)
            self.random.choice((self.send, self.deliver, self.deliver))()

    def drain(self) -> None:
        while self.deliver():
            pass

    def begin(self, process, snapshot):
        if process not in self.gone:
            self.carry_out(process, self.rules[process].begin_snapshot(snapshot))

    def send(self):
        if not self.ends:
            return
        channel, (process, _) = self.random.choice(list(self.ends.items()))
        if process in self.gone or not self.balance[process]:
            return
        value = self.random.randint(1, self.balance[process])
        message = f"m{next(self.numbers)}"
        self.balance[process] -= value
        colour = self.rules[process].on_send(channel)
        self.channels[channel].append(("message", message, value, colour))
        fields = {"message": message, "value": value, "state": self.balance[process]}
        self.log(process, "send", channel=channel, **fields)

    def deliver(self) -> bool:
        """Deliver something; tell whether there was something for a process that is not gone."""
        full = [c for c, what in self.channels.items() if what and self.ends[c][1] not in self.gone]
        if not full:
            return False
        channel = self.random.choice(full)
        waiting = self.channels[channel]
        place = 0 if self.keeps_order else self.random.randrange(len(waiting))
        kind, *rest = waiting.pop(place)
        {"message": self.receive, "marker": self.receive_marker}[kind](channel, *rest)
        return True

    def receive(self, channel, message, value, colour):
        process = self.ends[channel][1]
        self.carry_out(process, self.rules[process].on_receive(channel, message, colour))
        self.balance[process] += value
        fields = {"message": message, "value": value, "state": self.balance[process]}
        self.log(process, "receive", channel=channel, **fields)

    def receive_marker(self, channel, snapshot, number):
        process = self.ends[channel][1]
        self.log(process, "marker_receive", channel=channel, snapshot=snapshot)
        self.carry_out(process, self.rules[process].on_marker(channel, snapshot, number))

    def carry_out(self, process, effects):
        for effect in effects:
            name = effect.snapshot
            if isinstance(effect, RecordState):
                self.log(process, "record_state", snapshot=name, state=self.balance[process])
            elif isinstance(effect, SendMarker):
                self.channels[effect.channel].append(("marker", name, effect.count))
                self.log(process, "marker_send", channel=effect.channel, snapshot=name)
            elif isinstance(effect, RecordChannel):
                fields = {"channel": effect.channel, "messages": list(effect.messages)}
                self.log(process, "record_channel", snapshot=name, **fields)
            else:
                self.note_complete(name, process)

    def note_complete(self, snapshot, process):
        self.complete.setdefault(snapshot, set()).add(process)
        if self.complete[snapshot] == set(self.rules):
            for rules in self.rules.values():
                rules.forget(snapshot)

    def fail(self, process):
        """Let a process do nothing any more."""
        self.gone.add(process)

    def give_up(self, snapshot, steps=0):
        """Let the processes give a snapshot up, with so many random steps in between."""
        for rules in self.rules.values():
            rules.give_up(snapshot)
            self.run(steps, {})
        for rules in self.rules.values():
            rules.forget(snapshot)

    def text(self):
        return b"\n".join(json.dumps(line).encode() for line in self.lines)

    def reports(self):
        return reports_of(self.text())
