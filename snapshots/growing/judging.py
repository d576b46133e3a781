"""Judge a snapshot of an open recording as soon as all its records and markers are there.

The rules are those of ``domain.judging``. They get only what concerns the snapshot: its records and
markers, the states at its positions, and the messages around its cut.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from snapshots.domain.assembling.restores import BEFORE, restore_before
from snapshots.domain.judging.cuts import ChannelLog, has_arrived
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.snapshot_log import SnapshotLog
from snapshots.domain.judging.verdicts import judge_one
from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECORD_CHANNEL,
    RECORD_STATE,
    Event,
    Instant,
    Marker,
    Message,
    Recording,
    Restored,
    SnapshotId,
)
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId
from snapshots.growing.tables import GrowingTables
from snapshots.store.cut import StoredCut
from snapshots.store.layout import NONE
from snapshots.store.mapped import Ints, rows_of_snapshot


class SnapshotSoFar:
    """What has come of one snapshot."""

    def __init__(self, tables: GrowingTables, code: int) -> None:
        self._tables, self._code = tables, code
        self.id = SnapshotId(tables.manifest.snapshots[code])
        self._topology = tables.topology
        self._records = list(self._recorded())
        self._markers = [list(self._markers_of(code)) for code in range(len(tables.source))]

    @property
    def has_begun(self) -> bool:
        """Tell whether there is a record or a marker of it; a restore may name any snapshot."""
        return bool(self._records or any(self._markers))

    @property
    def is_cut_off(self) -> bool:
        """Tell whether every process went back behind it, so that no more of it comes."""
        if not self.has_begun or not self._tables.restores:
            return False
        befores = [
            restore_before(self._restores_of(event.process), event.index)
            for event in (*self._records, *self._marker_events())
        ]
        epoch = max(BEFORE if before is None else before.epoch for before in befores)
        scope = self._tables.scope(self._code)
        restores = [self._restores_of(process.id) for process in scope.processes]
        return all(own and own[-1].epoch > epoch for own in restores)

    def _restores_of(self, process: ProcessId) -> tuple[Restored, ...]:
        return self._tables.restores.get(self._tables.process_code(process), ())

    @property
    def is_complete(self) -> bool:
        """Tell whether every process recorded, and every channel's marker arrived.

        A channel whose contents were recorded needs no marker.
        """
        if not self.has_begun:
            return False
        log = self._log()
        scope = self._tables.scope(self._code)
        if not all(process.id in log.states for process in scope.processes):
            return False
        return all(
            any(map(has_arrived, log.markers.get(channel.id, ())))
            if log.has_markers
            else channel.id in log.channels
            for channel in scope.channels
        )

    def judged(self) -> SnapshotReport:
        """Judge the snapshot from what has come of it, and return the report."""
        log = self._log()
        return judge_one(self._recording(log), log, self._channel_logs(log))

    def _log(self) -> SnapshotLog:
        steps = [event.step for event in self._records]
        log = SnapshotLog(self.id, (min(steps, default=2**63 - 1), Instant(0)))
        for event in (*self._records, *self._marker_events()):
            log.take(event)
        for code, markers in enumerate(self._markers):
            if markers:
                log.markers[self._topology.channels[code].id] = markers
        first = min((*self._records, *self._marker_events()), key=lambda event: event.step)
        log.began = (first.step, first.at)
        log.states = {
            process.id: log.states[process.id]
            for process in self._topology.processes
            if process.id in log.states
        }
        return log

    def _recorded(self) -> Iterator[Event]:
        tables = self._tables
        rows = rows_of_snapshot(tables.records, self._code)
        for row in rows.to_pylist():
            step = tables.events.values(
                "step", np.array([row["process"]]), np.array([row["index"]])
            )
            kind = tables.manifest.kinds[row["kind"]]
            messages = row["messages"]
            yield Event(
                process=self._topology.processes[row["process"]].id,
                index=row["index"],
                kind=kind,
                at=row["at"],
                step=int(step[0]),
                line=NONE,
                channel=None
                if row["channel"] == NONE
                else self._topology.channels[row["channel"]].id,
                state=row["state"] if kind == RECORD_STATE else None,
                snapshot=self.id,
                messages=tuple(messages or ()) if kind == RECORD_CHANNEL else None,
            )

    def _markers_of(self, channel: int) -> Iterator[Marker]:
        table = self._tables.markers.table
        ordinals = np.flatnonzero(table.run("snapshot", channel) == self._code)
        codes = np.full(len(ordinals), channel)
        rows = table.pick(codes, ordinals)
        taken_back = self._tables.markers.taken(codes, rows.values("received_index")).tolist()
        names = ("sent_index", "sent_at", "received_index", "received_at")
        columns = (rows.values(name).tolist() for name in names)
        for ordinal, sent, sent_at, received, received_at, is_taken in zip(
            ordinals.tolist(), *columns, taken_back, strict=True
        ):
            end, end_at = (None, None) if received == NONE else (received, received_at)
            id_ = self._topology.channels[channel].id
            yield Marker(id_, ordinal, self.id, sent, sent_at, end, end_at, is_taken)

    def _marker_events(self) -> Iterator[Event]:
        """Yield the sends and receives of markers, process by process in their order."""
        found = []
        for code, markers in enumerate(self._markers):
            ends = int(self._tables.source[code]), int(self._tables.target[code])
            for marker in markers:
                found.append((ends[0], marker.sent_index, MARKER_SEND, marker, marker.sent_at))
                index, at = marker.received_index, marker.received_at
                if index is not None and at is not None and not marker.taken_back:
                    found.append((ends[1], index, MARKER_RECEIVE, marker, at))
        for process, index, kind, marker, at in sorted(found, key=lambda item: item[:2]):
            step = self._tables.events.values("step", np.array([process]), np.array([index]))
            yield Event(
                process=self._topology.processes[process].id,
                index=index,
                kind=kind,
                at=at,
                step=int(step[0]),
                line=NONE,
                channel=marker.channel,
                snapshot=self.id,
            )

    def _recording(self, log: SnapshotLog) -> Recording:
        """Return a recording with the one event of each process that set its state."""
        codes = self._tables.process_code
        lengths = np.zeros(len(self._topology.processes), np.int64)
        for process, event in log.states.items():
            lengths[codes(process)] = event.index
        cut = StoredCut(self._tables, lengths)
        manifest = self._tables.manifest
        events: dict[Any, tuple[Event, ...]] = {}
        for process in log.states:
            code = codes(process)
            index = int(cut.state_events[code])
            if index >= 0:
                kind = self._tables.events.values("kind", np.array([code]), np.array([index]))
                name = manifest.kinds[int(kind[0])]
                state: JsonText | None = cut.states[code]
                events[process] = (Event(process, index, name, Instant(0), 0, NONE, state=state),)
        return Recording(
            self._topology,
            events,
            {},
            {},
            name=manifest.name,
            time_unit=manifest.time_unit,
            header_extra=manifest.header_extra,
        )

    def _channel_logs(self, log: SnapshotLog) -> dict[ChannelId, ChannelLog]:
        return {
            channel.id: ChannelLog(self._messages(code, log))
            for code, channel in enumerate(self._topology.channels)
        }

    def _messages(self, code: int, log: SnapshotLog) -> tuple[Message, ...]:
        """Return the messages of a channel that the snapshot concerns, in the order of sending."""
        first, end = self._span(code, log)
        ordinals = set(range(first, end))
        record = log.channels.get(self._topology.channels[code].id)
        messages = self._read(code, sorted(ordinals))
        missing = set(record.messages or () if record else ()) - {item.id for item in messages}
        if not missing:
            return messages
        found = self._tables.messages.table.find_texts("message", code, sorted(missing))
        return self._read(code, sorted(ordinals | set(found.tolist())))

    def _span(self, code: int, log: SnapshotLog) -> tuple[int, int]:
        """Return the first ordinal that the snapshot concerns, and the end of the last.

        On a channel that keeps order, these are the messages from the earliest that may lie between
        a position and a marker up to the latest, and one more at both ends.
        """
        flights, channel = self._tables.messages, self._topology.channels[code]
        length = int(flights.table.length[code])
        codes = np.array([code])
        if not flights.is_ordered(codes)[0]:
            return 0, length
        marker = next(iter(log.markers.get(channel.id, ())), None)
        sent = _places(log, channel.source, None if marker is None else marker.sent_index)
        received = _places(log, channel.target, None if marker is None else marker.received_index)
        firsts = [flights.sent(codes, _one(min(sent)))] if sent else []
        ends = [flights.sent(codes, _one(max(sent) + 1))] if sent else []
        if received:
            firsts.append(flights.arrived(codes, _one(min(received))))
            ends.append(flights.ended(codes, _one(max(received) + 1)))
        first = min((int(each[0]) for each in firsts), default=0)
        end = max((int(each[0]) for each in ends), default=0)
        return max(first - 1, 0), min(end + 1, length)

    def _read(self, code: int, ordinals: list[int]) -> tuple[Message, ...]:
        places = np.array(ordinals, np.int64)
        return self._tables.read_messages(np.full(len(places), code), places)


def _places(log: SnapshotLog, process: Any, marker: int | None) -> list[int]:
    """Return where a process recorded and where its marker is, without what is not logged."""
    position = log.positions.get(process)
    return [each for each in (position, marker) if each is not None]


def _one(number: int) -> Ints:
    return np.array([number], np.int64)
