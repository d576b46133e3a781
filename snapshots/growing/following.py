"""Follow a journal: put its events into one causal order, match messages, and fill the tables.

A process goes on as far as its events have come without a gap. A receive waits for its send. So
what has come is ordered as in a closed recording, but for what still waits; only a process that
waits, and what depends on it, is held back.
"""

import heapq
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from snapshots.domain.assembling.restores import epoch_of
from snapshots.domain.model.recording import (
    KINDS,
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_CHANNEL,
    RECORD_STATE,
    RESTORE,
    SEND,
    Restored,
    SnapshotId,
)
from snapshots.growing.bodies import parse
from snapshots.growing.columns import GrowingTable
from snapshots.growing.epochs import Epochs
from snapshots.growing.flights import GrowingFlights
from snapshots.growing.journal import Journal
from snapshots.growing.tables import GrowingTables, ViewedPart, ViewedTable
from snapshots.readers.logs.columns import RAW, Row
from snapshots.store.layout import (
    EVENT_COLUMNS,
    EVENTS,
    MARKER_DISORDER,
    MARKERS,
    MESSAGE_DISORDER,
    MESSAGES,
    NONE,
)
from snapshots.store.manifest import Extent, Manifest
from snapshots.store.mapped import Ends

_NUMBERS = ("process", "kind", "at", "step", "line", "channel", "snapshot", "logged_at")
_TEXTS = ("message", "value", "state", "label", "extra")
_AT_ONCE = 500  # events of a process that are taken at a time, if a body has no more
_AT = RAW.names.index("at")
_NO_LEVELS: dict[str, tuple[int, ...]] = {"time": (), "order": ()}


@dataclass(frozen=True, slots=True)
class Wait:
    """A process whose next event has come and waits for the send that it receives.

    Attributes:
        events: how many events of the process have come and are not shown.
        channel: the channel on which the send has not come.
        what: the id of the message, or of the snapshot of a marker.
    """

    process: str
    events: int
    channel: str
    what: str


class Following:
    """What is made of a journal so far. It is used by one thread at a time."""

    def __init__(self, journal: Journal, folder: Path) -> None:
        """Begin at the first event. Columns lie in files without a name in ``folder``."""
        self.journal = journal
        self.header = journal.header
        topology = self.header.topology
        processes, channels = len(topology.processes), len(topology.channels)
        source, target = self.header.channel_ends.astype(np.int64)
        self._ends = source, target
        self._events = GrowingTable(folder, _NUMBERS, _TEXTS, processes)
        self._messages = GrowingFlights(folder, channels)
        self._markers = GrowingFlights(folder, channels, ("sent_at", "received_at", "snapshot"))
        self._fresh: dict[int, tuple[dict[str, list[int]], dict[str, list[str | None]]]] = {}
        self._came: list[deque[Row]] = [deque() for _ in range(processes)]
        self._read = [0] * processes  # events of each process that were taken from the journal
        self._placed = [0] * processes
        self._latest = [0] * processes
        self._asleep: dict[tuple[bool, int, object], int] = {}
        self._kinds = {kind: code for code, kind in enumerate(KINDS)}
        self._snapshots: dict[str, int] = {}
        self._epochs = Epochs(target.tolist())
        self._records: list[tuple[object, ...]] = []
        self.changed: set[int] = set()  # snapshots of which something has come
        self._step = 0
        self._extent = (0, 0)
        self._flight_count = {SEND: 0, MARKER_SEND: 0}

    @property
    def steps(self) -> int:
        """Return how many events are in the tables."""
        return self._step

    def go_on(self) -> bool:
        """Take what has come meanwhile; return whether the tables have more. Raises: OSError."""
        self.journal.read_on()
        before = self._step
        while fresh := [process for process in range(len(self._came)) if self._take_some(process)]:
            self._place_all(fresh)
            self._commit()
        return self._step > before

    def waits(self) -> list[Wait]:
        """Return which processes wait for a send."""
        processes, channels = self.header.topology.processes, self.header.topology.channels
        return [
            Wait(processes[process].id, len(self._came[process]), channels[channel].id, str(key))
            for (_, channel, key), process in self._asleep.items()
        ]

    def view(self, name: str) -> GrowingTables:
        """Return the tables as they are now, of a recording with this name."""
        source, target = self._ends
        names = [each for each in EVENT_COLUMNS.names if each in (*_NUMBERS, *_TEXTS)]
        events = ViewedTable(EVENTS, ViewedPart.of(self._events, names))
        heads = events.length[target]
        ends = Ends(events, source, target)
        restores = self._epochs.restores()
        rows = {code: np.array([item.row for item in own]) for code, own in restores.items()}
        flights = (
            self._messages.view(MESSAGES, MESSAGE_DISORDER, heads, (target, rows), ends),
            self._markers.view(MARKERS, MARKER_DISORDER, heads, (target, rows)),
        )
        topology = self.header.topology
        tables = GrowingTables(
            self._manifest(name), topology, self._ends, events, flights, self._records[:]
        )
        tables.restores = restores
        return tables

    def _manifest(self, name: str) -> Manifest:
        topology = self.header.topology
        return Manifest(
            name=name,
            time_unit=self.header.time_unit,
            source_format="native",
            kinds=tuple(self._kinds),
            snapshots=tuple(self._snapshots),
            counts={
                "events": self._step,
                "messages": self._flight_count[SEND],
                "markers": self._flight_count[MARKER_SEND],
                "processes": len(topology.processes),
                "channels": len(topology.channels),
                "snapshots": len(self._snapshots),
                "defects": 0,
            },
            extent=Extent(*self._extent, self._step),
            levels=_NO_LEVELS,
            header_extra=self.header.extra,
        )

    def _take_some(self, process: int) -> bool:
        """Take events of a process from the journal; return whether there were any.

        As few are taken at a time as give the processes their turns; those that wait are not
        counted, for what they wait for may be among the next.
        """
        first, end = self._read[process], self.journal.runs[process].unbroken
        for stretch in self.journal.runs[process].overlapping(first, end):
            text = self.journal.read(stretch.begin, stretch.size)
            batch, _ = parse(text, self.header)
            columns = (column.to_pylist() for column in batch.columns)
            self._came[process].extend(zip(*columns, strict=True))
            self._read[process] = stretch.first + stretch.count
            if self._read[process] - first >= _AT_ONCE:
                break
        return self._read[process] > first

    def _place_all(self, fresh: list[int]) -> None:
        """Place all that waits for nothing, the earliest first.

        ``fresh`` are the processes of which more has come.
        """
        asleep = set(self._asleep.values())
        awake = [self._turn(process) for process in fresh if process not in asleep]
        heapq.heapify(awake)
        while awake:
            _, process = heapq.heappop(awake)
            woken = self._place(process, self._came[process][0])
            if woken is None:
                continue
            self._came[process].popleft()
            for each in (process, *woken):
                if self._came[each]:
                    heapq.heappush(awake, self._turn(each))

    def _turn(self, process: int) -> tuple[int, int]:
        """Return when the turn of a process is, by the time of its next event."""
        given: Any = self._came[process][0][_AT]
        return self._latest[process] if given is None else given, process

    def _place(self, process: int, row: Row) -> list[int] | None:
        """Place an event; return the processes that waited for it, or None if it must wait."""
        _, _, kind, _, given, channel, message, value, state, snapshot, messages, label, extra = row
        is_marker = kind in (MARKER_SEND, MARKER_RECEIVE)
        flights, key = (self._markers, snapshot) if is_marker else (self._messages, message)
        at = self._latest[process] if given is None else max(given, self._latest[process])
        index, epoch = self._placed[process], self._epochs.of(process)
        sent = None
        if kind in (RECEIVE, MARKER_RECEIVE) and not (
            kind == RECEIVE and self._epochs.comes_again(channel, process, message, index)
        ):
            sent = flights.awaited(channel, key, epoch)
            if sent is None:
                self._asleep[is_marker, channel, key] = process
                return None
            at = max(at, sent.at)
        code = self._snapshot_code(snapshot)
        numbers, texts = self._fresh.setdefault(process, _empty())
        for name, number in zip(
            _NUMBERS,
            (process, self._kind_code(kind), at, self._step, NONE, channel, code,
             NONE if given in (None, at) else given),
            strict=True,
        ):  # fmt: skip
            numbers[name].append(number)
        for name, text in zip(_TEXTS, (message, value, state, label, extra), strict=True):
            texts[name].append(text)
        woken: list[int] = []
        if kind in (SEND, MARKER_SEND):
            self._flight_count[kind] += 1
            more = {"snapshot": code} if is_marker else {}
            flights.send(channel, key, index, at, epoch, **more)
            self._take_back(flights, channel, [(key, epoch)])
            if (waiting := self._asleep.pop((is_marker, channel, key), None)) is not None:
                woken = [waiting]
        elif sent is not None:
            flights.end(channel, key, epoch, index, at)
        elif kind == RESTORE and (began := epoch_of(extra)) is not None:
            named = None if snapshot is None else SnapshotId(snapshot)
            for each in self._epochs.go_back(process, Restored(index, began, named, NONE, at)):
                for some in (self._messages, self._markers):
                    self._take_back(some, each, some.under_way(each))
        elif kind in (RECORD_STATE, RECORD_CHANNEL):
            if kind == RECORD_CHANNEL:
                self._epochs.record(channel, snapshot, tuple(messages or ()))
            kind_code = self._kind_code(kind)
            self._records.append(
                (code, process, index, at, kind_code, channel, state, messages, NONE)
            )
        self._note_place(process, at)
        return woken

    def _take_back(
        self, flights: GrowingFlights, channel: int, sent: list[tuple[Any, int]]
    ) -> None:
        """End those flights under way that a restore of their receiver took back."""
        target = int(self._ends[1][channel])
        for key, epoch in sent:
            restored = self._epochs.takes_back(target, epoch)
            if restored is not None:
                flights.end(channel, key, epoch, restored.row, restored.at)

    def _note_place(self, process: int, at: int) -> None:
        began, ended = self._extent
        self._extent = (min(began, at) if self._step else at, max(ended, at))
        self._latest[process] = at
        self._placed[process] += 1
        self._step += 1

    def _kind_code(self, kind: str) -> int:
        return self._kinds.setdefault(kind, len(self._kinds))

    def _snapshot_code(self, snapshot: str | None) -> int:
        if snapshot is None:
            return NONE
        code = self._snapshots.setdefault(snapshot, len(self._snapshots))
        self.changed.add(code)
        return code

    def _commit(self) -> None:
        for process, (numbers, texts) in self._fresh.items():
            self._events.append(process, numbers, texts)
        self._fresh = {}
        self._messages.commit()
        self._markers.commit()


def _empty() -> tuple[dict[str, list[int]], dict[str, list[str | None]]]:
    return {name: [] for name in _NUMBERS}, {name: [] for name in _TEXTS}
