"""Find what snapshots have wrong on channels that are not as they should be, channel by channel.

A channel is searched for all its snapshots at once; only what is wrong becomes a Python object.
Shapes: S snapshots, by their code in the manifest; M messages of one channel, by ordinal.
"""

import itertools
from collections import defaultdict, deque

import numpy as np

from snapshots.domain.judging import witnesses as say
from snapshots.domain.judging.findings import (
    FIFO_VIOLATION,
    MOST_WITNESSES,
    Finding,
    Findings,
)
from snapshots.domain.model.recording import MessageId, SnapshotId
from snapshots.store.layout import NONE
from tasks.spark.judge.channel_cuts import ChannelCut, Entry, SnapshotFacts
from tasks.spark.judge.lanes import NEVER, Lane


class SuspectJudge:
    """Finds what is wrong on one channel at a time and adds it to the facts of the snapshots."""

    def __init__(self, names: tuple[SnapshotId, ...], facts: list[SnapshotFacts]) -> None:
        """Take the name and the facts of each snapshot, by code."""
        self.names = names
        self.facts = facts

    def judge(self, cut: ChannelCut) -> None:
        """Add all findings of the channel."""
        self._orphans(cut)
        backwards = {
            snapshot: self._compare(cut, snapshot, entry) for snapshot, entry in self._unlike(cut)
        }
        snapshots = cut.markers.numbers("snapshot").astype(np.int64)
        self._marker_rules(cut, snapshots)
        if cut.lane.channel.fifo:
            self._order(cut, snapshots, backwards)

    # --- orphans and recorded lists ----------------------------------------------------------

    def _orphans(self, cut: ChannelCut) -> None:
        lane = cut.lane
        last = np.searchsorted(lane.floor, cut.target)
        for snapshot in np.flatnonzero(cut.both & (last > cut.sent)).tolist():
            begin, end = cut.sent[snapshot], last[snapshot]
            inside = lane.received[begin:end] < cut.target[snapshot]
            inside &= ~lane.taken[begin:end]
            self._add_all(snapshot, say.orphan, lane, begin + np.flatnonzero(inside))

    def _add_all(
        self, snapshot: int, witness: say.MessageWitness, lane: Lane, ordinals: np.ndarray
    ) -> None:
        """Add a witness for each message; those beyond MOST_WITNESSES are only counted."""
        findings, name = self.facts[snapshot].findings, self.names[snapshot]
        room = MOST_WITNESSES - len(findings.kept.get(witness.verdict, ()))
        for ordinal in ordinals[:room].tolist():
            findings.add(witness(lane.channel, lane.message(ordinal), name))
        if len(ordinals) > room:
            findings.count(witness.verdict, len(ordinals) - max(room, 0))

    def _unlike(self, cut: ChannelCut) -> list[tuple[int, Entry]]:
        """Return the snapshots whose recorded list is not, id for id, what is in flight."""
        unlike = []
        for snapshot, entry in cut.entries.items():
            if cut.both[snapshot]:
                ordinals = cut.flying_in(snapshot)
                ids = cut.lane.ids(ordinals)
                if ids != entry.messages:
                    unlike.append((snapshot, entry))
        return unlike

    def _compare(self, cut: ChannelCut, snapshot: int, entry: Entry) -> list[tuple[int, int]]:
        """Add what is lost, duplicated or unknown, and return neighbours in the wrong order.

        Each is a pair of ordinals: of the message recorded first, and of the message sent first.
        """
        lane, findings = cut.lane, self.facts[snapshot].findings
        flying = cut.flying_in(snapshot)
        ids = lane.ids(flying)
        waiting: dict[MessageId, deque[int]] = defaultdict(deque)
        first: dict[MessageId, int] = {}
        for name, ordinal in zip(ids, flying.tolist(), strict=True):
            waiting[name].append(ordinal)
            first.setdefault(name, ordinal)
        matched: list[int] = []
        surplus: list[MessageId] = []
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
        pairs = itertools.pairwise(matched)
        return [(one, other) for one, other in pairs if other < one]

    def _surplus(
        self, cut: ChannelCut, snapshot: int, name: MessageId, flying: int | None, known: int
    ) -> Finding:
        """Return the finding for a recorded message that is not in flight.

        Args:
            flying: the ordinal of the first message with that id in flight; None if all were
                recorded.
            known: the ordinal of the first message with that id; NONE if none was sent.
        """
        lane = cut.lane
        if flying is not None:
            return say.recorded_twice(lane.channel, lane.message(flying))
        if known == NONE:
            return say.recorded_unsent(lane.channel, name, cut.entries[snapshot].place)
        if lane.received[known] < cut.target[snapshot] and lane.taken[known]:
            return say.recorded_but_taken_back(lane.channel, lane.message(known))
        if lane.received[known] < cut.target[snapshot]:
            return say.recorded_but_received(lane.channel, lane.message(known))
        return say.recorded_but_not_sent(lane.channel, lane.message(known))

    def _marker_rules(self, cut: ChannelCut, snapshots: np.ndarray) -> None:
        """Add the messages between a recording and the snapshot's first marker on the channel."""
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

    def _between(
        self,
        codes: np.ndarray,
        recorded: np.ndarray,
        begin: np.ndarray,
        end: np.ndarray,
        ordinals: np.ndarray,
        witness: say.MessageWitness,
        lane: Lane,
    ) -> None:
        """Add a witness for every message in ``ordinals[begin:end]`` of each snapshot.

        Args:
            codes, recorded, begin, end: for each of some snapshots, its code, whether it recorded
                at this end of the channel, and its range.
            ordinals: all messages, in the order of that end.
        """
        for place in np.flatnonzero(recorded & (begin < end)).tolist():
            chosen = ordinals[begin[place] : end[place]]
            self._add_all(int(codes[place]), witness, lane, chosen)

    # --- order on a FIFO channel -------------------------------------------------------------

    def _order(
        self, cut: ChannelCut, snapshots: np.ndarray, backwards: dict[int, list[tuple[int, int]]]
    ) -> None:
        lane, markers = cut.lane, cut.markers
        after = np.searchsorted(lane.sent, markers.sent)
        reach, floor = np.append(0, lane.reach), np.append(lane.floor, NEVER)
        crooked = floor[after] < markers.received
        if not lane.channel.overtaking:
            crooked |= reach[after] > markers.received
        suspects = set(snapshots[crooked].tolist()) | {n for n, pairs in backwards.items() if pairs}
        if not lane.in_order:
            suspects.update(np.unique(cut.flying[0]).tolist())
        for snapshot in sorted(suspects):
            own = np.flatnonzero(snapshots == snapshot).tolist()
            self._order_in(cut, snapshot, own, backwards.get(snapshot, []))

    def _order_in(
        self, cut: ChannelCut, snapshot: int, own: list[int], backwards: list[tuple[int, int]]
    ) -> None:
        """Add what overtook in one snapshot; ``own`` holds the ordinals of its markers."""
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
        if not lane.channel.overtaking and after and lane.reach[after - 1] > received:
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
        """Add, for each message in flight, one that overtook it and one that it overtook."""
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
