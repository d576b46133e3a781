"""Generated dataflows through which barriers run, and what an engine would report of them.

The runs know the truth of each subtask; polls hold only what Flink's REST API says. So a test can
compare what follows from a poll with what has happened.
"""

import random
from dataclasses import dataclass, field

from snapshots.domain.front.model import Poll, PolledEdge, PolledVertex

Subtask = tuple[str, int]


@dataclass
class Run:
    """Barriers of one checkpoint that run through a job.

    Attributes:
        widths: the number of subtasks of each vertex.
        edges: the edges of the job.
        is_unaligned: whether a subtask passes barriers on when the first has come.
        finished: subtasks that ended before the trigger; they count as acknowledged.
        received: for each subtask those from which a barrier has come.
    """

    widths: dict[str, int]
    edges: list[PolledEdge]
    is_unaligned: bool
    finished: set[Subtask] = field(default_factory=set)
    triggered: set[Subtask] = field(default_factory=set)
    received: dict[Subtask, set[Subtask]] = field(default_factory=dict)
    acknowledged: set[Subtask] = field(default_factory=set)

    def subtasks(self) -> list[Subtask]:
        return [(name, index) for name, width in self.widths.items() for index in range(width)]

    def senders(self, subtask: Subtask) -> set[Subtask]:
        """Return the subtasks that send to this one and have not ended."""
        name, index = subtask
        found = set()
        for edge in self.edges:
            if edge.target == name:
                width = self.widths[edge.source]
                indices = range(width) if edge.is_all_to_all else [index % width]
                found |= {(edge.source, each) for each in indices}
        return found - self.finished

    def is_source(self, subtask: Subtask) -> bool:
        return not self.senders(subtask)

    def has_begun(self, subtask: Subtask) -> bool:
        if self.is_source(subtask):
            return subtask in self.triggered
        return bool(self.received.get(subtask))

    def has_all(self, subtask: Subtask) -> bool:
        if self.is_source(subtask):
            return subtask in self.triggered
        return self.received.get(subtask, set()) >= self.senders(subtask)

    def has_passed(self, subtask: Subtask) -> bool:
        return self.has_begun(subtask) if self.is_unaligned else self.has_all(subtask)

    def steps(self, stuck: set[Subtask]) -> list[tuple[str, Subtask, Subtask | None]]:
        """Return what can happen next; no barrier gets into a subtask that is stuck."""
        found: list[tuple[str, Subtask, Subtask | None]] = []
        for subtask in self.subtasks():
            if subtask in self.finished or subtask in self.acknowledged:
                continue
            if self.has_all(subtask):
                found.append(("acknowledge", subtask, None))
            if subtask in stuck:
                continue
            if self.is_source(subtask) and subtask not in self.triggered:
                found.append(("trigger", subtask, None))
            came = self.received.get(subtask, set())
            found += [
                ("receive", subtask, sender)
                for sender in sorted(self.senders(subtask) - came)
                if self.has_passed(sender)
            ]
        return found

    def take(self, step: tuple[str, Subtask, Subtask | None]) -> None:
        kind, subtask, sender = step
        if kind == "acknowledge":
            self.acknowledged.add(subtask)
        elif kind == "trigger":
            self.triggered.add(subtask)
        else:
            self.received.setdefault(subtask, set()).add(sender)

    def poll(self, *, tells_begun: bool = False) -> Poll:
        """Return what an engine reports now."""
        return Poll(
            7,
            at=5_000,
            triggered_at=1_000,
            is_unaligned=self.is_unaligned,
            vertices=tuple(self._vertex(name, tells_begun) for name in self.widths),
            edges=tuple(self.edges),
        )

    def _vertex(self, name: str, tells_begun: bool) -> PolledVertex:
        own = [(name, index) for index in range(self.widths[name])]
        pending = [each for each in own if each not in self.acknowledged | self.finished]
        begun = [each for each in pending if tells_begun and self.has_begun(each)]
        untouched = [each for each in pending if tells_begun and not self.has_begun(each)]
        return PolledVertex(
            name,
            name,
            len(own),
            len(own) - len(pending),
            tuple(index for _, index in pending),
            tuple(index for _, index in begun),
            tuple(index for _, index in untouched),
        )


def a_run(seed: int) -> Run:
    """Return a job with one to three sources, joins and branches, before the trigger."""
    luck = random.Random(seed)
    names = [f"v{place}" for place in range(luck.randint(1, 7))]
    sources = luck.randint(1, min(3, len(names)))
    widths = {name: luck.randint(1, 3) for name in names}
    edges = []
    for place in range(sources, len(names)):
        for source in sorted(luck.sample(range(place), luck.randint(1, min(3, place)))):
            edges.append(_edge(luck, widths, names[source], names[place]))
    run = Run(widths, edges, luck.random() < 0.5)
    run.finished = _finished(luck, run)
    return run


def _edge(luck: random.Random, widths: dict[str, int], source: str, target: str) -> PolledEdge:
    if luck.random() < 0.4:
        widths[target] = max(widths[target], widths[source])
        return PolledEdge(source, target, "FORWARD", is_all_to_all=False)
    return PolledEdge(source, target, "HASH", is_all_to_all=True)


def _finished(luck: random.Random, run: Run) -> set[Subtask]:
    """Return subtasks that ended: some sources, and those of which all that send have ended."""
    ended: set[Subtask] = set()
    for subtask in run.subtasks():
        run.finished = set()
        senders = run.senders(subtask)
        if senders <= ended and luck.random() < 0.2:
            ended.add(subtask)
    return ended


def played(run: Run, seed: int, *, most: int, stuck: set[Subtask] = frozenset()) -> Run:
    """Let at most this many things happen, in any order."""
    luck = random.Random(seed)
    for _ in range(most):
        steps = run.steps(stuck)
        if not steps:
            break
        run.take(luck.choice(steps))
    return run
