"""The recording that is derived from what an engine wrote: its header, its events, its topology.

Every event is marked ``derived``; its list ``inferred`` names what no file says of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.recording import Instant, LoggedEvent
from snapshots.domain.model.topology import Channel, ChannelId, Process, ProcessId, Topology
from snapshots.domain.model.values import canonical

MICROSECONDS = "us"
MOST_CHANNELS = 20_000
LONGEST_NAME = 200  # characters of a recording's name
TIME = "at"  # in ``inferred``: the event's time, which lies between those that are known
_LONGEST_SPAN_MS = 2**53 // 1000


def present(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields without those that are None."""
    return {name: value for name, value in fields.items() if value is not None}


def header(
    engine: str,
    name: str,
    topology: Topology,
    about: Mapping[str, object],
    time_unit: str = MICROSECONDS,
) -> Header:
    """Return the header of a derived recording.

    Args:
        engine: the word for the engine in the inventory.
        name: what the recording is called; it may be too long.
        topology: its processes and channels.
        about: what else the header says, see ``domain.model.derived``; None is left out.
        time_unit: the unit of all instants.
    """
    extra = {"engine": engine, "derived": True, **present(about)}
    return Header(name[:LONGEST_NAME], time_unit, topology, extra)


def event(
    line: int,
    process: ProcessId,
    kind: str,
    at: Instant | None,
    told: Mapping[str, object],
    inferred: Iterable[str] = (),
    **fields: object,
) -> LoggedEvent:
    """Return a derived event.

    Args:
        line: its place in the log.
        process, kind, at: as in ``LoggedEvent``.
        told: further fields, of which None is left out.
        inferred: the names of what no file says.
        fields: further arguments of ``LoggedEvent``.
    """
    extra = {"derived": True, **present(told)}
    if inferred := list(inferred):
        extra["inferred"] = inferred
    return LoggedEvent(line, process, kind, at=at, extra=canonical(extra), **fields)


def instant(at_ms: int | None, origin_ms: int | None) -> Instant | None:
    """Return microseconds since the origin, None where there is no such time."""
    if at_ms is None or origin_ms is None or not 0 <= at_ms - origin_ms <= _LONGEST_SPAN_MS:
        return None
    return Instant((at_ms - origin_ms) * 1000)


@dataclass
class Channels:
    """The channels that are drawn, at most MOST_CHANNELS.

    Args:
        inferred: the ids of those that no file settles.
        left_out: whether there were too many.
    """

    drawn: list[Channel] = field(default_factory=list)
    inferred: list[ChannelId] = field(default_factory=list)
    left_out: bool = False

    def connect(
        self, pairs: Iterable[tuple[ProcessId, ProcessId]], count: int, *, inferred: bool
    ) -> None:
        """Draw the channels of an edge, unless there would be too many.

        Args:
            pairs: source and target of each.
            count: how many pairs there are.
            inferred: whether no file settles them.
        """
        if len(self.drawn) + count > MOST_CHANNELS:
            self.left_out = True
            return
        own = [Channel(ChannelId(f"{one}->{other}"), one, other) for one, other in pairs]
        self.drawn += own
        if inferred:
            self.inferred += [channel.id for channel in own]

    def about_inferred(self) -> dict[ChannelId, object] | None:
        """Return what a header says of inferred channels."""
        return {id: {"inferred": True} for id in self.inferred} or None

    def topology(self, processes: Iterable[tuple[ProcessId, str | None]]) -> Topology:
        """Return the topology of these channels and of processes, each with its scope."""
        own = tuple(Process(name, scope=scope) for name, scope in processes)
        return Topology(own, tuple(self.drawn))


def dataflow(
    vertices: Iterable[tuple[str, str, int]], edges: Iterable[tuple[str, str, str]]
) -> dict[str, object]:
    """Return a dataflow as JSON, without what only a simulation needs.

    Args:
        vertices: id, kind and parallelism of each.
        edges: the ids of source and target, and the exchange.
    """
    return {
        "vertices": [
            {"id": id, "kind": kind, "parallelism": width, "max_parallelism": max(width, 1)}
            for id, kind, width in vertices
        ],
        "edges": [
            {"source": source, "target": target, "exchange": exchange}
            for source, target, exchange in edges
        ],
    }
