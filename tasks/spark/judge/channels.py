"""Judge snapshots by their channels: all snapshots of all channels of a range at once.

The reference is ``snapshots.domain.judging.verdicts``; the same constructors build witnesses and
their sentences. Here whole columns are compared. A *lane* is one channel cut by one snapshot; lanes
are numbered channel by channel. On an ordered channel (see ``store.flights``) two binary searches
count the messages of a lane that were sent inside and those that were received inside; those
between are in flight. A channel on which anything is wrong is a *suspect* and is judged by itself
(suspects.py); a correct recording has none.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.judging.entries import messages_of
from snapshots.domain.judging.findings import MOST_WITNESSES, Place
from snapshots.domain.model.recording import (
    KINDS,
    RECORD_CHANNEL,
    RESTORE,
    Instant,
    MessageId,
    SnapshotId,
)
from snapshots.store.layout import NONE, RECORD_COLUMNS, RECORDS, SNAPSHOT_CHANNEL_COLUMNS
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import ragged, read_batch
from snapshots.store.objects.paths import path_of
from snapshots.store.tables import Tables
from tasks.spark.judge.amounts import add_amounts
from tasks.spark.judge.channel_cuts import ChannelCut, Entry, SnapshotFacts
from tasks.spark.judge.lanes import NEVER, Lane
from tasks.spark.judge.recorded import positions_of
from tasks.spark.judge.suspects import SuspectJudge
from tasks.spark.task_tables import TaskTables


@dataclass(frozen=True)
class ChannelTask:
    """A half-open range of channel codes of the store in ``folder``."""

    folder: str
    first: int
    end: int


@dataclass(frozen=True)
class ChannelFacts:
    """The facts of some channels: one entry per snapshot code, and SNAPSHOT_CHANNEL_COLUMNS."""

    snapshots: list[SnapshotFacts]
    contents: pa.Table


def judge_channels(task: ChannelTask) -> ChannelFacts:
    """Return the facts that the task's channels add to every snapshot of the recording."""
    judge = _Judge(task)
    if not judge.count:
        return ChannelFacts(judge.facts, SNAPSHOT_CHANNEL_COLUMNS.empty_table())
    suspects = [judge.disordered, judge.with_orphans(), judge.with_other_lists()]
    if judge.markers.length:
        suspects.append(judge.with_odd_markers())
        judge.count_markers()
    judge.note_missing_markers()
    judge.judge_suspects(np.unique(np.concatenate(suspects)))
    judge.sum_amounts()
    return ChannelFacts(judge.facts, judge.contents())


class _Markers:
    """All markers of the range as int64 columns, sorted by (channel, ordinal).

    Args:
        place: the channel's index in the range.
        received: the index of the receive, or of the restore that took it back; NEVER in flight.
        arrived: whether it was received.
    """

    def __init__(self, tables: Tables, codes: np.ndarray) -> None:
        table = tables.markers.table
        lengths = table.length[codes]
        self.place, self.ordinal = ragged(
            np.arange(len(codes)), np.zeros(len(codes), np.int64), lengths
        )
        self.code = codes[self.place]
        self.length = len(self.code)
        picked = table.pick(self.code, self.ordinal)
        self.snapshot = picked.values("snapshot").astype(np.int64)
        self.sent, self.sent_at = picked.values("sent_index"), picked.values("sent_at")
        received = picked.values("received_index")
        self.received = np.where(received == NONE, NEVER, received)
        self.arrived = received != NONE
        ended = np.flatnonzero(self.arrived)
        kinds = tables.events.values("kind", tables.target[self.code[ended]], received[ended])
        self.arrived[ended] = kinds != KINDS.index(RESTORE)  # which took it back
        self.received_at = picked.values("received_at")


class _Judge:
    """Judges one task; its C channels (``codes``) and S snapshots (``count``) make C * S lanes."""

    def __init__(self, task: ChannelTask) -> None:
        folder = path_of(task.folder)
        manifest = Manifest.read(folder)
        self.tables = TaskTables(folder, manifest)
        self.names = tuple(map(SnapshotId, manifest.snapshots))
        self.count = len(self.names)
        self.facts = [SnapshotFacts() for _ in self.names]
        self.codes = np.arange(task.first, task.end)
        self.records = pa.Table.from_batches([read_batch(folder / RECORDS, RECORD_COLUMNS)])
        positions = positions_of(self.records, self.count, len(self.tables.all_processes))
        self.code = np.repeat(self.codes, self.count)
        self.snapshot = np.tile(np.arange(self.count), len(self.codes))
        self.source = positions[:, self.tables.source[self.codes]].T.ravel()
        self.target = positions[:, self.tables.target[self.codes]].T.ravel()
        self.both = (self.source != NONE) & (self.target != NONE)
        scopes = self.tables.scopes[self.tables.source[self.codes]]
        self.in_scope = self.tables.snapshot_scopes[:, scopes].T.ravel()
        self.markers = _Markers(self.tables, self.codes)
        self.cuts: dict[int, ChannelCut] = {}

    # --- the messages in the channels ---------------------------------------------------------

    @cached_property
    def sent(self) -> np.ndarray:
        """Return how many messages each lane's source sent inside."""
        return self._before("sent_index", self.code, self.source)

    @cached_property
    def received(self) -> np.ndarray:
        """Return how many messages each ordered lane's target received inside."""
        return self._before("received_reach", self.code, self.target)

    @cached_property
    def disordered(self) -> np.ndarray:
        """Return the codes of the channels on which messages overtook or were lost."""
        return self.codes[~self.tables.messages.is_ordered(self.codes)]

    @cached_property
    def flying(self) -> tuple[np.ndarray, np.ndarray]:
        """Return lane and ordinal of every message in flight, sorted."""
        ordered = np.flatnonzero(self.both & ~np.isin(self.code, self.disordered))
        columns_of = [ragged(ordered, self.received[ordered], self.sent[ordered])]
        for code in self.disordered.tolist():
            snapshot, ordinal = self._cut(code).flying
            columns_of.append((self._lane(code) + snapshot, ordinal))
        lane, ordinal = (np.concatenate(columns) for columns in zip(*columns_of, strict=True))
        order = np.argsort(lane, kind="stable")
        return lane[order], ordinal[order]

    @cached_property
    def flying_counts(self) -> np.ndarray:
        return np.bincount(self.flying[0], minlength=len(self.code))

    @cached_property
    def entries(self) -> tuple[np.ndarray, pa.Table]:
        """Return each lane's row in the table of recorded lists, or NONE, and that table."""
        channel = self.records["channel"].to_numpy()
        own = (channel >= self.codes[0]) & (channel <= self.codes[-1])
        own &= self.records["kind"].to_numpy() == KINDS.index(RECORD_CHANNEL)
        rows = self.records.filter(pa.array(own)).combine_chunks()
        lane = self._lane(rows["channel"].to_numpy()) + rows["snapshot"].to_numpy()
        row_of_lane = np.full(len(self.code), NONE, np.int64)
        lanes, first = np.unique(lane, return_index=True)  # sorted by index: the first counts
        row_of_lane[lanes] = first
        return row_of_lane, rows

    @cached_property
    def recorded(self) -> tuple[np.ndarray, pa.Array]:
        """Return lane and id of every recorded message, sorted by lane, in recorded order."""
        row, rows = self.entries
        lanes = np.flatnonzero(row != NONE)
        lists = _one(rows["messages"]).take(pa.array(row[lanes]))
        return lanes[pc.list_parent_indices(lists).to_numpy()], pc.list_flatten(lists)

    def _before(self, column: str, codes: np.ndarray, targets: np.ndarray) -> np.ndarray:
        return self.tables.messages.table.bisect_in(column, codes, targets)

    def _lane(self, code):
        """Return the first lane of a channel."""
        return (code - self.codes[0]) * self.count

    # --- suspect channels ---------------------------------------------------------------------

    def with_orphans(self) -> np.ndarray:
        """Return ordered channels on which more messages were received inside than sent inside."""
        return self.code[self.both & (self.received > self.sent)]

    def with_other_lists(self) -> np.ndarray:
        """Return channels with a recorded list that differs from the messages in flight."""
        row, _ = self.entries
        compared = (row != NONE) & self.both
        lane, ids = self.recorded
        lengths = np.bincount(lane, minlength=len(self.code))
        unlike = compared & (lengths != self.flying_counts)
        alike = compared & ~unlike
        flying = alike[self.flying[0]]
        in_flight = self._texts("message", self.flying[0][flying], self.flying[1][flying])
        same = pc.equal(ids.filter(pa.array(alike[lane])), pa.array(in_flight, pa.large_string()))
        unlike[lane[alike[lane]][~same.to_numpy(zero_copy_only=False)]] = True
        return self.code[unlike]

    def with_odd_markers(self) -> np.ndarray:
        """Return channels where a message lies between marker and record, or passed a marker."""
        markers = self.markers
        _, first = np.unique(markers.place * self.count + markers.snapshot, return_index=True)
        lane = (markers.place * self.count + markers.snapshot)[first]
        sent = self._before("sent_index", markers.code, markers.sent)
        received = self._before("received_reach", markers.code, markers.received)
        odd = (self.source[lane] != NONE) & (sent[first] != self.sent[lane])
        odd |= (self.target[lane] != NONE) & (received[first] < self.received[lane])
        passed = (received > sent) | (markers.arrived & (sent > received))
        return np.concatenate([self.code[lane[odd]], markers.code[passed]])

    def judge_suspects(self, suspects: np.ndarray) -> None:
        """Add the findings of the suspects, channel by channel."""
        judge = SuspectJudge(self.names, self.facts)
        for code in suspects.tolist():
            judge.judge(self._cut(code))

    def _cut(self, code: int) -> ChannelCut:
        if code not in self.cuts:
            channel = self.tables.topology.channels[code]
            lanes = slice(self._lane(code), self._lane(code) + self.count)
            self.cuts[code] = ChannelCut(
                lane=Lane(channel, self.tables.messages, code),
                markers=Lane(channel, self.tables.markers, code),
                source=self.source[lanes],
                target=self.target[lanes],
                entries=self._entries_of(lanes),
            )
        return self.cuts[code]

    def _entries_of(self, lanes: slice) -> dict[int, Entry]:
        row, rows = self.entries
        entries = {}
        for snapshot in np.flatnonzero(row[lanes] != NONE).tolist():
            record = rows.slice(int(row[lanes][snapshot]), 1).to_pylist()[0]
            process = self.tables.topology.processes[record["process"]].id
            place = Place(process, record["index"], record["at"])
            entries[snapshot] = Entry(record["messages"], place)
        return entries

    # --- markers -----------------------------------------------------------------------------

    def count_markers(self) -> None:
        """Count the markers, and note the first and the last instant of each snapshot."""
        markers = self.markers
        source = self.tables.source[markers.code]
        step = self.tables.events.values("step", source, markers.sent)
        order = np.lexsort((step, markers.snapshot))
        snapshots, first = np.unique(markers.snapshot[order], return_index=True)
        for snapshot, row in zip(snapshots.tolist(), order[first].tolist(), strict=True):
            self.facts[snapshot].began = int(step[row]), int(markers.sent_at[row])
        arrived = np.flatnonzero(markers.arrived)
        last = np.full(self.count, NONE, np.int64)
        np.maximum.at(last, markers.snapshot[arrived], markers.received_at[arrived])
        sent = np.bincount(markers.snapshot, minlength=self.count).tolist()
        received = np.bincount(markers.snapshot[arrived], minlength=self.count).tolist()
        for snapshot, facts in enumerate(self.facts):
            facts.markers_sent, facts.markers_received = sent[snapshot], received[snapshot]
            facts.ended_at = Instant(int(last[snapshot])) if received[snapshot] else None
        self._note_first_markers(arrived)

    def _note_first_markers(self, arrived: np.ndarray) -> None:
        markers = self.markers
        columns = (
            markers.snapshot[arrived],
            self.tables.target[markers.code[arrived]],
            markers.received[arrived],
        )
        order = np.lexsort(columns[::-1])
        snapshot, process, index = (column[order] for column in columns)
        first = np.ones(len(order), bool)
        first[1:] = (snapshot[1:] != snapshot[:-1]) | (process[1:] != process[:-1])
        earliest = zip(
            *(column[first].tolist() for column in (snapshot, process, index)), strict=True
        )
        for number, code, position in earliest:
            self.facts[number].first_marker[code] = position

    def note_missing_markers(self) -> None:
        """Note markers that a recording source never sent, and markers that never arrived.

        A marker takes its channel into the scope of its snapshot, so that none lies outside.
        """
        markers = self.markers
        unmarked = np.ones(len(self.code), bool)
        unmarked[markers.place * self.count + markers.snapshot] = False
        unsent = np.flatnonzero(unmarked & (self.source != NONE))
        for snapshot, lanes in _by_snapshot(self.snapshot[unsent], unsent):
            facts = self.facts[snapshot]
            facts.unsent_total = len(lanes)
            facts.unsent = self.code[lanes[:MOST_WITNESSES]].tolist()
        lost = np.flatnonzero(~markers.arrived)
        for snapshot, rows in _by_snapshot(markers.snapshot[lost], lost):
            facts = self.facts[snapshot]
            facts.unclosed_total = len(rows)
            for row in rows[:MOST_WITNESSES].tolist():
                code = int(markers.code[row])
                marker = self._cut(code).markers.marker(
                    int(markers.ordinal[row]), self.names[snapshot]
                )
                facts.unclosed.append((code, marker))

    # --- sums and rows ------------------------------------------------------------------------

    def sum_amounts(self) -> None:
        """Add up the recorded values, or those in flight if a channel has no recorded list."""
        row, _ = self.entries
        unlisted = row == NONE
        unknown = np.unique(self.snapshot[unlisted & ~self.both & self.in_scope]).tolist()
        lane, ids = self.recorded
        ordinals = self._recorded_ordinals(lane, ids)
        flying = unlisted[self.flying[0]]
        lanes = np.concatenate([lane[ordinals != NONE], self.flying[0][flying]])
        ordinals_known = np.concatenate([ordinals[ordinals != NONE], self.flying[1][flying]])
        unknown += np.unique(self.snapshot[lane[ordinals == NONE]]).tolist()
        order = np.argsort(lanes, kind="stable")
        lanes, ordinals_known = lanes[order], ordinals_known[order]
        values = self._texts("value", lanes, ordinals_known)
        add_amounts(self.facts, self.snapshot[lanes], values)
        for snapshot in unknown:
            self.facts[snapshot].amount = None

    def _recorded_ordinals(self, lane: np.ndarray, ids: pa.Array) -> np.ndarray:
        """Return the ordinal of the message for which each recorded id stands, or NONE.

        Only where a channel uses an id several times does it differ from the id's first message;
        these few are looked at one by one.
        """
        ordinals, is_repeated = self._first_ordinals(lane, ids)
        for own in np.unique(lane[is_repeated]).tolist():
            rows = np.flatnonzero(lane == own)
            names = ids.take(pa.array(rows)).to_pylist()
            flying = self.flying[1][self.flying[0] == own]
            in_flight = self._texts("message", np.full(len(flying), own), flying)
            waiting = [
                (MessageId(name), ordinal)
                for name, ordinal in zip(in_flight, flying.tolist(), strict=True)
                if name is not None
            ]
            first = dict(zip(names, ordinals[rows].tolist(), strict=True))
            ordinals[rows] = [
                NONE if ordinal is None else ordinal
                for ordinal in messages_of(names, waiting, first)
            ]
        return ordinals

    def _first_ordinals(self, lane: np.ndarray, ids: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each recorded id, its channel's first message with it, and whether it has
        several."""
        names = ids.unique()
        wanted = self.code[lane] * (len(names) + 1) + pc.index_in(ids, names).to_numpy()
        keys, ordinals = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for code, ordinal, name in self._sent_ids(np.unique(self.code[lane]), names):
            keys.append(code * (len(names) + 1) + name)
            ordinals.append(ordinal)
        key, ordinal = np.concatenate(keys), np.concatenate(ordinals)
        order = np.lexsort((ordinal, key))
        keys_present, first, counts = np.unique(key[order], return_index=True, return_counts=True)
        if not len(keys_present):
            return np.full(len(wanted), NONE, np.int64), np.zeros(len(wanted), bool)
        index = np.minimum(np.searchsorted(keys_present, wanted), len(keys_present) - 1)
        is_sent = keys_present[index] == wanted
        first_ordinals = np.where(is_sent, ordinal[order][first][index], NONE)
        return first_ordinals, is_sent & (counts[index] > 1)

    def _sent_ids(self, codes: np.ndarray, names: pa.Array) -> Iterable[tuple[np.ndarray, ...]]:
        """Yield (code, ordinal, index in ``names``) of the messages with one of these ids."""
        table = self.tables.messages.table
        codes = codes[table.length[codes] > 0]
        for part in np.unique(table.part[codes]).tolist():
            own = codes[table.part[codes] == part]
            own = own[np.argsort(table.begin[own])]
            begin, end = int(table.begin[own[0]]), int(table.end[own].max())
            name = table.pick_rows(part, begin, end).find("message", names)
            rows = np.flatnonzero(name != NONE)
            owner = np.searchsorted(table.begin[own], begin + rows, side="right") - 1
            code = own[owner]
            inside = begin + rows < table.end[code]
            ordinal = begin + rows - table.begin[code]
            yield code[inside], ordinal[inside], name[rows[inside]]

    def _texts(self, column: str, lanes: np.ndarray, ordinals: np.ndarray) -> list[str | None]:
        return self.tables.messages.table.pick(self.code[lanes], ordinals).texts(column)

    def contents(self) -> pa.Table:
        """Return the rows of the lanes that recorded messages or have some in flight."""
        row, rows = self.entries
        lanes = np.flatnonzero((row != NONE) | (self.flying_counts > 0))
        recorded = _one(rows["messages"]).take(pa.array(row[lanes], mask=row[lanes] == NONE))
        ends = np.cumsum(self.flying_counts[lanes])
        offsets = pa.array(
            np.concatenate([[0], ends]).astype(np.int32),
            mask=np.append(~self.both[lanes], False),
        )
        columns = [
            pa.array(self.snapshot[lanes], pa.int32()),
            pa.array(self.code[lanes], pa.int32()),
            recorded,
            pa.ListArray.from_arrays(offsets, pa.array(self.flying[1], pa.int64())),
        ]
        return pa.table(columns, SNAPSHOT_CHANNEL_COLUMNS.names).cast(SNAPSHOT_CHANNEL_COLUMNS)


def _by_snapshot(snapshots: np.ndarray, rows: np.ndarray) -> Iterable[tuple[int, np.ndarray]]:
    """Yield each snapshot with its rows, in order."""
    if not len(rows):
        return
    order = np.argsort(snapshots, kind="stable")
    codes, first = np.unique(snapshots[order], return_index=True)
    ends = np.append(first[1:], len(rows))
    for snapshot, begin, end in zip(codes.tolist(), first, ends, strict=True):
        yield snapshot, rows[order[begin:end]]


def _one(column: pa.ChunkedArray) -> pa.Array:
    """Return a column of at most one chunk as an array."""
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)
