"""The log of a run while it is derived: events put in order, and what later checkpoints need."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from snapshots.domain.model.recording import Instant, LoggedEvent, MessageId
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.readers.engines import derived_log
from snapshots.readers.engines.flink.adapter.in_flight import FlightReading
from snapshots.readers.engines.flink.adapter.runs import Run, Subtask
from snapshots.readers.engines.flink.adapter.states import States


@dataclass
class Log:
    """Events with the instants by which they are sorted; those of one instant stay in order."""

    rows: list[tuple[int, LoggedEvent]] = field(default_factory=list)

    def add(
        self,
        process: ProcessId,
        kind: str,
        when: int,
        about: Mapping[str, object],
        *,
        timed: bool,
        **fields: Any,
    ) -> None:
        """Add an event.

        Args:
            when: its place in the order.
            about: what else the event says; None is left out.
            timed: whether ``when`` is its instant, too.
            fields: further arguments of ``LoggedEvent``.
        """
        at = Instant(when) if timed else None
        self.rows.append((when, derived_log.event(process, kind, at, about, **fields)))

    def events(self) -> Iterator[LoggedEvent]:
        """Yield the events in order."""
        ordered = sorted(self.rows, key=itemgetter(0))
        return derived_log.numbered(event for _, event in ordered)


@dataclass
class RunLog:
    """What the checkpoints of one run have in common, as they are written one after the other.

    Attributes:
        epoch: the instant 0, in epoch milliseconds.
        floors: when each subtask was last busy with recording an earlier checkpoint.
        pending: the ids of messages that were in flight and are not yet received, with the instant
            by which all had been sent.
        latest: the latest of ``floors``.
        order: the subtasks, senders before receivers if there is such an order.
        types: the type of the records of each edge and by what it is inferred, by names of
            vertices.
        copying: until when each subtask copied its state, and for which snapshot.
    """

    run: Run
    log: Log
    epoch: int
    states: States
    flights: FlightReading
    with_barriers: bool
    floors: dict[Subtask, int] = field(default_factory=dict)
    pending: dict[ChannelId, tuple[tuple[MessageId, ...], int]] = field(default_factory=dict)
    latest: int = 0
    order: tuple[Subtask, ...] = ()
    types: dict[tuple[str, str], tuple[str, str | None]] = field(default_factory=dict)
    copying: dict[Subtask, tuple[int, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        run = self.run
        ids = list(run.widths)
        if run.dataflow is not None:
            by_name = {name: id_ for id_, name in run.names.items()}
            ids = [by_name[name] for name in run.dataflow.in_order]
        self.order = tuple((id_, number) for id_ in ids for number in range(run.widths[id_]))
        self.with_barriers = self.with_barriers and run.dataflow is not None

    def floor(self, subtask: Subtask) -> int:
        """Return the instant before which a subtask does nothing more."""
        return self.floors.get(subtask, 0)

    def copied(self, subtask: Subtask, until: int, snapshot: str) -> None:
        """Note until when a subtask copied its state."""
        known = self.copying.get(subtask)
        if known is None or until > known[0]:
            self.copying[subtask] = until, snapshot

    def raise_floor(self, subtask: Subtask, when: int) -> None:
        """Note that a subtask was busy at an instant."""
        self.floors[subtask] = max(self.floor(subtask), when)
        self.latest = max(self.latest, when)
