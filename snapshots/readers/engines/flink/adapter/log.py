"""The log of a run while it is derived: events put in order, and what later checkpoints need."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.readers.engines.derived_log import present
from snapshots.readers.engines.flink.adapter.flights import FlightReading
from snapshots.readers.engines.flink.adapter.runs import Run
from snapshots.readers.engines.flink.adapter.states import States, Subtask
from snapshots.readers.formats.fields import json_text


@dataclass
class Log:
    """Events with the instants by which they are sorted; those of one instant stay in order."""

    rows: list[tuple[int, int, dict]] = field(default_factory=list)

    def add(
        self,
        process: ProcessId,
        kind: str,
        when: int,
        extra: dict,
        *,
        timed: bool,
        **fields: object,
    ) -> None:
        """timed: whether ``when`` is an instant; else it only gives the place. extra: what is not
        known is left out."""
        event = {
            "process": process,
            "kind": kind,
            "at": when if timed else None,
            "extra": json_text({"derived": True} | present(extra)),
        }
        self.rows.append((when, len(self.rows), event | fields))

    def events(self) -> Iterator[LoggedEvent]:
        for line, (_, _, fields) in enumerate(sorted(self.rows), 2):
            yield LoggedEvent(line=line, **fields)


@dataclass
class RunLog:
    """What the checkpoints of one run have in common, as they are written one after the other.

    epoch: ms; the zero of all instants. floors: when each subtask last had to do with recording an
    earlier checkpoint. pending: message ids of what was in flight and has not been received yet,
    with the instant by which all had been sent. order: senders before receivers, if there is such
    an order. copying: until when each subtask was last copying its state, and for which snapshot.
    """

    run: Run
    log: Log
    epoch: int
    states: States
    flights: FlightReading
    with_barriers: bool
    floors: dict[Subtask, int] = field(default_factory=dict)
    pending: dict[ChannelId, tuple[tuple[str, ...], int]] = field(default_factory=dict)
    latest: int = 0
    order: tuple[Subtask, ...] = ()
    types: dict[tuple[str, str], tuple[str, str | None]] = field(default_factory=dict)
    copying: dict[Subtask, tuple[int, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        run = self.run
        ids = [vertex.id for vertex in run.graph.vertices]
        if run.dataflow is not None:
            by_name = {name: id_ for id_, name in run.names.items()}
            ids = [by_name[name] for name in run.dataflow.in_order]
        wide = run.graph.vertex_by_id
        self.order = tuple((id_, n) for id_ in ids for n in range(wide[id_].parallelism))
        self.with_barriers = self.with_barriers and run.dataflow is not None

    def floor(self, subtask: Subtask) -> int:
        return self.floors.get(subtask, 0)

    def copied(self, subtask: Subtask, until: int, snapshot: str) -> None:
        known = self.copying.get(subtask)
        if known is None or until > known[0]:
            self.copying[subtask] = until, snapshot

    def raise_floor(self, subtask: Subtask, when: int) -> None:
        self.floors[subtask] = max(self.floor(subtask), when)
        self.latest = max(self.latest, when)
