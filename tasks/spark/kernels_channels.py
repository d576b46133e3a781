"""Judging snapshots, the channels' half: all snapshots of a channel at once.

The reference is ``snapshots.domain.verdicts``; witnesses and their sentences are built by the same
constructors. Here the facts are found by binary search of the snapshots' positions in the channel's
sorted columns, for all snapshots in one search; only the messages between the ordinals found are
looked at, and only what is wrong becomes a Python object.

Shapes: S snapshots, by their code in the manifest; M messages of one channel, by ordinal.
"""

from collections import defaultdict, deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain import witnesses as say
from snapshots.domain.findings import (
    FIFO_VIOLATION,
    MARKER_RULE,
    MOST_WITNESSES,
    ORPHAN,
    Finding,
    Findings,
    Place,
)
from snapshots.domain.recording import KINDS, RECORD_CHANNEL
from snapshots.store.layout import NONE, RECORD_COLUMNS, RECORDS, SNAPSHOT_CHANNEL_COLUMNS
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import read_batch
from snapshots.store.tables import Tables
from tasks.spark.channel_cuts import ChannelCut, Entry, SnapshotFacts
from tasks.spark.lanes import NEVER, Lane
from tasks.spark.recorded import positions_of


@dataclass(frozen=True)
class ChannelTask:
    """Half-open range of channel codes of the store in ``folder``."""

    folder: str
    first: int
    end: int


@dataclass(frozen=True)
class ChannelFacts:
    """snapshots: by code. contents: rows of SNAPSHOT_CHANNEL_COLUMNS."""

    snapshots: list[SnapshotFacts]
    contents: pa.Table


def judge_channels(task: ChannelTask) -> ChannelFacts:
    """What the task's channels say of every snapshot of the recording."""
    folder = Path(task.folder)
    manifest = Manifest.read(folder)
    tables = Tables(folder, manifest)
    records = pa.Table.from_batches([read_batch(folder / RECORDS, RECORD_COLUMNS)])
    judge = _Judge(manifest.snapshots, tables, records, task)
    for code in range(task.first, task.end):
        judge.channel(code)
    return ChannelFacts(judge.facts, judge.contents())


class _Judge:
    """The channels of one task, one after the other; facts: by snapshot code."""

    def __init__(
        self, names: tuple[str, ...], tables: Tables, records: pa.Table, task: ChannelTask
    ) -> None:
        self.names = names
        self.tables = tables
        self.codes = {process.id: code for code, process in enumerate(tables.topology.processes)}
        self.positions = positions_of(records, len(names), len(self.codes))
        self.recorded = self._recorded(records, task)
        self.facts = [SnapshotFacts() for _ in names]
        self.rows: list[pa.Table] = [SNAPSHOT_CHANNEL_COLUMNS.empty_table()]

    def channel(self, code: int) -> None:
        channel = self.tables.topology.channels[code]
        cut = ChannelCut(
            lane=Lane(channel, self.tables.messages, code),
            markers=Lane(channel, self.tables.markers, code),
            source=self.positions[:, self.codes[channel.source]],
            target=self.positions[:, self.codes[channel.target]],
            entries=self.recorded.get(code, {}),
        )
        self._orphans(cut)
        backwards = {
            snapshot: self._compare(cut, snapshot, entry) for snapshot, entry in self._unlike(cut)
        }
        snapshots = self._markers(cut)
        self._marker_rules(cut, snapshots)
        if channel.fifo:
            self._order(cut, snapshots, backwards)
        self._amounts(cut)
        self._keep(cut)

    def contents(self) -> pa.Table:
        return pa.concat_tables(self.rows)

    def _recorded(self, records: pa.Table, task: ChannelTask) -> dict[int, dict[int, Entry]]:
        """By channel and snapshot the first record_channel."""
        channel = records["channel"]
        mine = pc.and_(
            pc.equal(records["kind"], KINDS.index(RECORD_CHANNEL)),
            pc.and_(pc.greater_equal(channel, task.first), pc.less(channel, task.end)),
        )
        columns = ("channel", "snapshot", "process", "index", "at", "messages")
        chosen = records.filter(mine).select(columns)
        found: dict[int, dict[int, Entry]] = defaultdict(dict)
        processes = self.tables.topology.processes
        for code, snapshot, process, index, at, messages in zip(
            *(column.to_pylist() for column in chosen.columns), strict=True
        ):
            entry = Entry(messages, Place(processes[process].id, index, at))
            found[code].setdefault(snapshot, entry)
        return found

    # --- orphans and recorded lists ----------------------------------------------------------

    def _orphans(self, cut: ChannelCut) -> None:
        lane = cut.lane
        last = np.searchsorted(lane.floor, cut.target)
        for snapshot in np.flatnonzero(cut.both & (last > cut.sent)).tolist():
            begin, end = cut.sent[snapshot], last[snapshot]
            inside = lane.received[begin:end] < cut.target[snapshot]
            ordinals = begin + np.flatnonzero(inside)
            self._add_all(
                snapshot, ORPHAN, ordinals, lambda n: say.orphan(lane.channel, lane.message(n))
            )

    def _add_all(self, snapshot: int, verdict: str, ordinals: np.ndarray, witness) -> None:
        """Adds a witness for each ordinal: as many as are kept, the rest is counted."""
        findings = self.facts[snapshot].findings
        room = MOST_WITNESSES - len(findings.kept.get(verdict, ()))
        for ordinal in ordinals[:room].tolist():
            findings.add(witness(ordinal))
        if len(ordinals) > room:
            findings.count(verdict, len(ordinals) - max(room, 0))

    def _unlike(self, cut: ChannelCut) -> list[tuple[int, Entry]]:
        """The snapshots whose recorded list is not, id for id, what is in flight."""
        unlike = []
        entries = [item for item in cut.entries.items() if cut.both[item[0]]]
        for snapshot, entry in entries:
            ordinals = cut.flying_in(snapshot)
            same = len(ordinals) == len(entry.messages)
            if same and len(ordinals):
                same = cut.lane.texts("message", ordinals).to_pylist() == entry.messages
            if not same:
                unlike.append((snapshot, entry))
        return unlike

    def _compare(self, cut: ChannelCut, snapshot: int, entry: Entry) -> list[tuple[int, int]]:
        """Tells what is lost, duplicated or unknown; gives neighbours recorded in the wrong order
        (ordinals: recorded before, sent before)."""
        lane, findings = cut.lane, self.facts[snapshot].findings
        flying = cut.flying_in(snapshot)
        ids = lane.texts("message", flying).to_pylist() if len(flying) else []
        waiting: dict[str, deque[int]] = defaultdict(deque)
        first: dict[str, int] = {}
        for name, ordinal in zip(ids, flying.tolist(), strict=True):
            waiting[name].append(ordinal)
            first.setdefault(name, ordinal)
        matched, surplus = [], []
        for name in entry.messages:
            if waiting[name]:
                matched.append(waiting[name].popleft())
            else:
                surplus.append(name)
        for ordinal in sorted(ordinal for left in waiting.values() for ordinal in left):
            findings.add(say.lost(lane.channel, lane.message(ordinal)))
        known = dict(zip(entry.messages, cut.first_known[snapshot].tolist(), strict=True))
        for name in surplus:
            findings.add(self._surplus(cut, snapshot, name, first.get(name), known[name]))
        pairs = zip(matched, matched[1:], strict=False)
        return [(one, other) for one, other in pairs if other < one]

    def _surplus(
        self, cut: ChannelCut, snapshot: int, name: str, flying: int | None, known: int
    ) -> Finding:
        """known: the ordinal of the first message with that id, NONE where it was never sent."""
        lane = cut.lane
        if flying is not None:
            return say.recorded_twice(lane.channel, lane.message(flying))
        if known == NONE:
            return say.recorded_unsent(lane.channel, name, cut.entries[snapshot].place)
        if lane.received[known] < cut.target[snapshot]:
            return say.recorded_but_received(lane.channel, lane.message(known))
        return say.recorded_but_not_sent(lane.channel, lane.message(known))

    # --- markers -----------------------------------------------------------------------------

    def _markers(self, cut: ChannelCut) -> np.ndarray:
        """Counts the channel's markers; gives the snapshot of each, by ordinal."""
        markers = cut.markers
        snapshots = markers.numbers("snapshot").astype(np.int64)
        target = self.codes[markers.channel.target]
        silent = np.ones(len(self.names), bool)
        silent[snapshots] = False
        for snapshot in np.flatnonzero(silent & (cut.source != NONE)).tolist():
            facts = self.facts[snapshot]
            facts.unsent_total += 1
            if len(facts.unsent) < MOST_WITNESSES:
                facts.unsent.append(markers.code)
        sent_at, received_at = markers.numbers("sent_at"), markers.numbers("received_at")
        step = self._steps_of_sends(markers)
        for ordinal, snapshot in enumerate(snapshots.tolist()):
            facts = self.facts[snapshot]
            facts.markers_sent += 1
            began = (int(step[ordinal]), int(sent_at[ordinal]))
            facts.began = began if facts.began is None else min(facts.began, began)
            if markers.received[ordinal] == NEVER:
                self._unclosed(facts, markers, ordinal, snapshot)
                continue
            facts.markers_received += 1
            index, at = int(markers.received[ordinal]), int(received_at[ordinal])
            facts.first_marker[target] = min(facts.first_marker.get(target, index), index)
            facts.ended_at = at if facts.ended_at is None else max(facts.ended_at, at)
        return snapshots

    def _unclosed(self, facts: SnapshotFacts, markers: Lane, ordinal: int, snapshot: int) -> None:
        facts.unclosed_total += 1
        if len(facts.unclosed) < MOST_WITNESSES:
            marker = markers.marker(ordinal, self.names[snapshot])
            facts.unclosed.append((markers.code, marker))

    def _steps_of_sends(self, markers: Lane) -> np.ndarray:
        source = np.full(markers.length, self.codes[markers.channel.source])
        return self.tables.events.values("step", source, markers.sent)

    def _marker_rules(self, cut: ChannelCut, snapshots: np.ndarray) -> None:
        """By the first marker of each snapshot: nothing between it and a recording."""
        codes, first = np.unique(snapshots, return_index=True)
        marker_sent, marker_received = cut.markers.sent[first], cut.markers.received[first]
        lane = cut.lane
        at_marker = np.searchsorted(lane.sent, marker_sent)
        recorded = cut.source[codes] != NONE
        self._between(
            codes, recorded, cut.sent[codes], at_marker, lane.ordinals, say.sent_before_marker, lane
        )
        self._between(
            codes, recorded, at_marker, cut.sent[codes], lane.ordinals, say.sent_after_marker, lane
        )
        arrivals = lane.received[lane.arrivals]
        self._between(
            codes,
            cut.target[codes] != NONE,
            np.searchsorted(arrivals, marker_received),
            np.searchsorted(arrivals, cut.target[codes]),
            lane.arrivals,
            say.received_after_marker,
            lane,
        )

    def _between(self, codes, recorded, begin, end, ordinals, witness, lane: Lane) -> None:
        """A witness for every message at the places begin .. end of ``ordinals``, by snapshot."""
        for place in np.flatnonzero(recorded & (begin < end)).tolist():
            snapshot = int(codes[place])
            name = self.names[snapshot]
            self._add_all(
                snapshot,
                MARKER_RULE,
                ordinals[begin[place] : end[place]],
                lambda n, name=name: witness(lane.channel, lane.message(n), name),
            )

    # --- order on a FIFO channel -------------------------------------------------------------

    def _order(
        self, cut: ChannelCut, snapshots: np.ndarray, backwards: dict[int, list[tuple[int, int]]]
    ) -> None:
        lane, markers = cut.lane, cut.markers
        after = np.searchsorted(lane.sent, markers.sent)
        reach, floor = np.append(0, lane.reach), np.append(lane.floor, NEVER)
        crooked = (reach[after] > markers.received) | (floor[after] < markers.received)
        suspects = set(snapshots[crooked].tolist()) | {n for n, pairs in backwards.items() if pairs}
        if not lane.in_order:
            suspects.update(np.unique(cut.flying[0]).tolist())
        for snapshot in sorted(suspects):
            own = np.flatnonzero(snapshots == snapshot).tolist()
            self._order_in(cut, snapshot, own, backwards.get(snapshot, []))

    def _order_in(
        self, cut: ChannelCut, snapshot: int, own: list[int], backwards: list[tuple[int, int]]
    ) -> None:
        """own: ordinals of the snapshot's markers."""
        lane, findings = cut.lane, self.facts[snapshot].findings
        seen: set[tuple[int, int]] = set()
        for ordinal in own:
            self._order_of_marker(cut, snapshot, ordinal, seen)
        flying = cut.flying_in(snapshot)
        if len(flying) and not lane.in_order:
            self._order_of_messages(lane, findings, flying, seen)
        for later, earlier in backwards:
            if (int(lane.sent[earlier]), int(lane.sent[later])) not in seen:
                witness = (lane.message(earlier), lane.message(later))
                findings.add(say.recorded_out_of_order(lane.channel, *witness))

    def _order_of_marker(
        self, cut: ChannelCut, snapshot: int, ordinal: int, seen: set[tuple[int, int]]
    ) -> None:
        lane, markers, findings = cut.lane, cut.markers, self.facts[snapshot].findings
        sent, received = int(markers.sent[ordinal]), int(markers.received[ordinal])
        after = int(np.searchsorted(lane.sent, sent))
        marker = markers.marker(ordinal, self.names[snapshot])
        if after and lane.reach[after - 1] > received:
            before = int(lane.latest[after - 1])
            seen.add((int(lane.sent[before]), sent))
            findings.add(say.overtook(lane.channel, lane.message(before), marker))
        if after < lane.length and lane.floor[after] < received:
            behind = int(lane.earliest[after])
            seen.add((sent, int(lane.sent[behind])))
            findings.add(say.overtook(lane.channel, marker, lane.message(behind)))

    def _order_of_messages(
        self, lane: Lane, findings: Findings, flying: np.ndarray, seen: set[tuple[int, int]]
    ) -> None:
        """Of each message in flight: who came after it though sent before, and the reverse."""
        reach, floor = np.append(0, lane.reach), np.append(lane.floor, NEVER)
        latest, earliest = np.append(0, lane.latest), np.append(lane.earliest, 0)
        received = lane.received[flying]
        pairs = np.empty((len(flying), 2, 2), np.int64)
        pairs[:, 0] = np.stack([latest[flying], flying], axis=1)
        pairs[:, 1] = np.stack([flying, earliest[flying + 1]], axis=1)
        crooked = np.stack([reach[flying] > received, floor[flying + 1] < received], axis=1)
        chosen = pairs[crooked]
        _, first = np.unique(chosen, axis=0, return_index=True)
        for earlier, later in chosen[np.sort(first)].tolist():
            seen.add((int(lane.sent[earlier]), int(lane.sent[later])))
            if not findings.wants(FIFO_VIOLATION):
                findings.count(FIFO_VIOLATION)
                continue
            witness = (lane.message(earlier), lane.message(later))
            findings.add(say.overtook(lane.channel, *witness))

    # --- what is kept ------------------------------------------------------------------------

    def _amounts(self, cut: ChannelCut) -> None:
        for snapshot, facts in enumerate(self.facts):
            entry = cut.entries.get(snapshot)
            if facts.amount is None:
                continue
            if entry is None and not cut.both[snapshot]:
                facts.amount = None
            elif entry is None:
                facts.add_amount(_texts(cut.lane, cut.flying_in(snapshot)))
            elif entry.messages:
                ordinals = cut.first_known[snapshot]
                facts.add_amount(_texts(cut.lane, ordinals) if (ordinals >= 0).all() else [None])

    def _keep(self, cut: ChannelCut) -> None:
        """Rows for the snapshots in which the channel has something to say."""
        spoken = np.zeros(len(self.names), bool)
        spoken[list(cut.entries)] = True
        spoken[cut.flying[0]] = True
        codes = np.flatnonzero(spoken)
        if not len(codes):
            return
        entries = [cut.entries.get(code) for code in codes.tolist()]
        in_flight = [cut.flying_in(code) if cut.both[code] else None for code in codes.tolist()]
        columns = [
            codes,
            np.full(len(codes), cut.lane.code),
            [entry and entry.messages for entry in entries],
            in_flight,
        ]
        kinds = SNAPSHOT_CHANNEL_COLUMNS.types
        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        self.rows.append(pa.table(arrays, schema=SNAPSHOT_CHANNEL_COLUMNS))


def _texts(lane: Lane, ordinals: np.ndarray) -> list[str | None]:
    return lane.texts("value", ordinals).to_pylist() if len(ordinals) else []
