"""Tell what the records and the stray receives of a recording say about each snapshot."""

from bisect import bisect_right
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pyarrow as pa

from snapshots.domain.model.recording import (
    KINDS,
    RECEIVE,
    Event,
    Instant,
    Message,
    Restored,
    SnapshotId,
)
from snapshots.domain.model.topology import Channel, JsonText
from snapshots.store.layout import RECORD_COLUMNS, RECORDS
from snapshots.store.mapped import read_batch
from snapshots.store.tables import Tables
from tasks.spark.ingest.schemas import runs
from tasks.spark.judge.lanes import Lane

Order = TypeVar("Order", Instant, tuple[int, int])
Position = Callable[[SnapshotId, int], int | None]
"""Returns the position of a snapshot at a process, None if it did not record it."""


class Log:
    """The facts in the recording's records and strays, by snapshot code.

    Args:
        began: (step, at) of the first record or stray marker, None if there is none.
        ended_at: the last instant of them, None if there is none.
        strays: kind, process and index of all stray receives, by line.
        first_marker, markers_received: of stray markers.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        count = len(tables.manifest.snapshots)
        records = read_batch(tables.folder / RECORDS, RECORD_COLUMNS)
        strays = self.tables.strays.batch
        self.strays = pa.Table.from_batches([strays])
        self.process = strays.column("process").to_numpy().astype(np.int64)
        self.index = strays.column("index").to_numpy()
        self.kind = self.tables.events.values("kind", self.process, self.index)
        self.is_message = self.kind == KINDS.index(RECEIVE)
        self.messages = np.flatnonzero(self.is_message)
        self.began: list[tuple[int, int] | None] = [None] * count
        self.ended_at: list[Instant | None] = [None] * count
        self.markers_received = [0] * count
        self.first_marker: list[dict[int, int]] = [{} for _ in range(count)]
        self._lanes: dict[int, tuple[Lane, dict[str, tuple[list[int], list[int]]]]] = {}
        self._take(records)
        self._take(strays.filter(pa.array(~self.is_message)))
        for row in np.flatnonzero(~self.is_message).tolist():
            self._take_marker(row)

    def _take(self, rows: pa.RecordBatch) -> None:
        snapshot, at = rows.column("snapshot").to_numpy(), rows.column("at").to_numpy()
        process = rows.column("process").to_numpy().astype(np.int64)
        step = self.tables.events.values("step", process, rows.column("index").to_numpy())
        order = np.argsort(snapshot, kind="stable")
        for code, begin, end in runs(snapshot[order]):
            own = order[begin:end]
            first = own[np.argmin(step[own])]
            self.began[code] = least(self.began[code], (int(step[first]), int(at[first])))
            self.ended_at[code] = most(self.ended_at[code], Instant(int(at[own].max())))

    def _take_marker(self, row: int) -> None:
        code, process = self.strays["snapshot"][row].as_py(), int(self.process[row])
        self.markers_received[code] += 1
        first = self.first_marker[code]
        first[process] = min(first.get(process, int(self.index[row])), int(self.index[row]))

    def undone(
        self, row: int, restored: Restored, position_of: Position
    ) -> tuple[Channel, Message] | None:
        """Return the message that a stray takes behind a restore, if that undid its send."""
        code = self.strays["channel"][row].as_py()
        lane, groups = self._ended(code)
        ordinals, ends = groups.get(self.strays["message"][row].as_py(), ([], []))
        count = bisect_right(ends, restored.row)
        if not count:
            return None
        sent = ordinals[count - 1]
        if restored.snapshot is not None:
            source = int(self.tables.source[code])
            position = position_of(restored.snapshot, source)
            if position is None or lane.sent[sent] < position:
                return None
        return lane.channel, lane.message(sent)

    def _ended(self, code: int) -> tuple[Lane, dict[str, tuple[list[int], list[int]]]]:
        """Return a channel, and the messages on it with the ids of its strays."""
        if code not in self._lanes:
            lane = Lane(self.tables.topology.channels[code], self.tables.messages, code)
            rows = self.messages[self.strays["channel"].to_numpy()[self.messages] == code]
            ids = set(self.strays["message"].take(pa.array(rows)).to_pylist())
            self._lanes[code] = lane, lane.ended_of(ids)
        return self._lanes[code]

    def stray(self, row: int) -> Event:
        """Return the stray receive of a message as an event."""
        row_values = self.strays.slice(row, 1).to_pylist()[0]
        lane = np.array([row_values["process"]]), np.array([row_values["index"]])
        picked = self.tables.events.pick(*lane)
        value, topology = picked.texts("value")[0], self.tables.topology
        return Event(
            process=topology.processes[row_values["process"]].id,
            index=row_values["index"],
            kind=RECEIVE,
            at=row_values["at"],
            step=int(picked.values("step")[0]),
            line=row_values["line"],
            channel=topology.channels[row_values["channel"]].id,
            message=row_values["message"],
            value=None if value is None else JsonText(value),
        )


def least(one: Order | None, other: Order | None) -> Order | None:
    """Return the lesser of two, of which either may be unknown."""
    return one if other is None else other if one is None else min(one, other)


def most(one: Order | None, other: Order | None) -> Order | None:
    """Return the greater of two, of which either may be unknown."""
    return one if other is None else other if one is None else max(one, other)
