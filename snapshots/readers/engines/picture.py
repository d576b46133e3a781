"""How a derived recording draws an upload: processes, channels and the dataflow that they run."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, count, product

from snapshots.domain.dataflow_logs.dataflow import FORWARD
from snapshots.domain.model.topology import Channel, ChannelId, Process, ProcessId, Topology

MOST_CHANNELS = 20_000


@dataclass(frozen=True, slots=True)
class Vertex:
    """A vertex of the dataflow.

    Attributes:
        id: its name, unique in the upload.
        kind: ``source``, ``operator`` or ``sink``.
        width: how many processes it is drawn as.
    """

    id: str
    kind: str
    width: int

    def process(self, index: int) -> ProcessId:
        """Return the process that a subtask is drawn as; one process may stand for all."""
        return ProcessId(f"{self.id}[{index if index < self.width else 0}]")

    @property
    def processes(self) -> list[ProcessId]:
        """The processes that it is drawn as."""
        return [self.process(index) for index in range(self.width)]


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge of the dataflow.

    Attributes:
        exchange: how records choose their channel, as ``forward`` or ``hash``.
        inferred: whether no file says which subtasks it connects.
    """

    source: Vertex
    target: Vertex
    exchange: str
    inferred: bool

    @property
    def pairs(self) -> Iterable[tuple[ProcessId, ProcessId]]:
        """The sender and the receiver of every channel."""
        ends = self.source.processes, self.target.processes
        return zip(*ends, strict=True) if self.exchange == FORWARD else product(*ends)

    @property
    def width(self) -> int:
        """How many channels it has."""
        return self.source.width * (1 if self.exchange == FORWARD else self.target.width)


@dataclass(frozen=True)
class Picture:
    """The drawn upload.

    Attributes:
        inferred: what the header says of channels that no file settles; None without such.
        left_out: whether edges have no channels because these would be too many.
    """

    topology: Topology
    inferred: dict[ChannelId, object] | None
    left_out: bool


def draw(processes: Iterable[tuple[ProcessId, str | None]], edges: Iterable[Edge]) -> Picture:
    """Draw processes, each with its scope, and the channels of edges up to MOST_CHANNELS."""
    channels: list[Channel] = []
    inferred: dict[ChannelId, object] = {}
    left_out = False
    for edge in edges:
        if len(channels) + edge.width > MOST_CHANNELS:
            left_out = True
            continue
        for source, target in edge.pairs:
            channels.append(Channel(ChannelId(f"{source}->{target}"), source, target))
            if edge.inferred:
                inferred[channels[-1].id] = {"inferred": True}
    drawn = tuple(Process(name, scope=scope) for name, scope in processes)
    return Picture(Topology(drawn, tuple(channels)), inferred or None, left_out)


def dataflow(vertices: Iterable[Vertex], edges: Iterable[Edge]) -> dict[str, object]:
    """Return a dataflow as JSON, without what only a simulation needs."""
    return {
        "vertices": [
            {
                "id": vertex.id,
                "kind": vertex.kind,
                "parallelism": vertex.width,
                "max_parallelism": max(vertex.width, 1),
            }
            for vertex in vertices
        ],
        "edges": [
            {"source": edge.source.id, "target": edge.target.id, "exchange": edge.exchange}
            for edge in edges
        ],
    }


def coordinator(number: int, jobs: int) -> ProcessId:
    """Name the coordinator of a job by its number, from 1, where there are several jobs."""
    return ProcessId("coordinator" if jobs == 1 else f"coordinator {number}")


def unique(name: str, taken: set[str], suffix: str = " ({})") -> str:
    """Return a name that is not taken, numbered from 2 if need be, and add it to ``taken``."""
    numbered = (name + suffix.format(number) for number in count(2))
    free = next(candidate for candidate in chain([name], numbered) if candidate not in taken)
    taken.add(free)
    return free
