"""Read a part of a snapshot: some processes, and some of the channels that hold messages.

Channels without messages are counted and not listed. What is listed is what ``read_snapshot`` gives
for the same process or channel.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from snapshots.domain.model.derived import is_derived, is_untimed
from snapshots.domain.model.recording import Message
from snapshots.domain.model.topology import ChannelId, Topology
from snapshots.store.layout import (
    NONE,
    SNAPSHOT_CHANNEL_COLUMNS,
    SNAPSHOT_CHANNELS,
    SNAPSHOT_STATE_COLUMNS,
    SNAPSHOT_STATES,
)
from snapshots.store.long_texts import shortened
from snapshots.store.mapped import Ints, rows_of_snapshot
from snapshots.store.stored_snapshot import (
    SnapshotChannel,
    StoredSnapshot,
    messages_at,
    read_channel,
    read_states,
)
from snapshots.store.tables import Tables

_MESSAGES_FOR_EACH = 4  # in an answer, for each item that it may list
_MOST_TEXT = 500_000  # bytes of the values of a part; twice as many of its states, on two sides


class ChannelNotInSnapshot(KeyError):
    """The only channel that is asked for does not belong to the snapshot."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of a cut or snapshot that is asked for.

    Attributes:
        limit: how many processes and how many channels are listed at most.
        first_process: how many processes are left out before.
        first_channel: how many channels with messages are left out before.
        channel: the only channel to list, with up to ``limit`` messages and without processes; None
            for several.
        first_message: how many messages of that channel are left out before.
        processes: the codes of the processes to list, ascending; None for the first ones.
        channels: the codes of the channels to list, ascending, with or without messages; None for
            the first ones with messages.
        has_outline: whether positions and numbers of messages are wanted of everything.
    """

    limit: int
    first_process: int = 0
    first_channel: int = 0
    channel: ChannelId | None = None
    first_message: int = 0
    processes: Ints | None = None
    channels: Ints | None = None
    has_outline: bool = False

    def processes_of(self, codes: Ints) -> Ints:
        """Return the processes to list of these."""
        if self.channel is not None:
            return codes[:0]
        if self.processes is not None:
            return codes[np.isin(codes, self.processes)]
        return codes[self.first_process : self.first_process + self.limit]

    def channels_of(self, places: Ints) -> Ints:
        """Return the channels to list of these, where no single one is asked for."""
        return places[self.first_channel : self.first_channel + self.limit]

    def most_messages(self, channels: int) -> int:
        """Return how many messages of each of so many channels are listed."""
        if self.channel is not None:
            return self.limit
        return max(_MESSAGES_FOR_EACH * self.limit // max(channels, 1), 1)


@dataclass(frozen=True, slots=True)
class SnapshotOutline:
    """What is short enough to be told of all processes and channels of a snapshot.

    Attributes:
        positions: the events before each process recorded; NONE if it never did: int64[P].
        channels: the codes of the channels that hold a message, recorded or recomputed.
        recorded: how many messages each of them recorded; NONE if that is not known.
        recomputed: how many messages the log has in each of them; NONE if that is not known.
        recorded_between: the first and the last instant at which a process recorded; None if no
            instant is known.
    """

    positions: Ints
    channels: Ints
    recorded: Ints
    recomputed: Ints
    recorded_between: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class SnapshotExcerpt:
    """A part of a snapshot, and how much there is in all.

    Attributes:
        snapshot: the snapshot with the listed processes and channels alone.
        processes: how many processes belong to the snapshot.
        filled: how many channels hold a message, recorded or recomputed.
        empty: how many channels are known to be empty.
        unknown: how many channels are not known.
        omitted: for each listed channel how many recomputed messages are not listed.
        omitted_recorded: for each listed channel how many recorded messages are not listed.
        outline: what is told of all processes and channels.
    """

    snapshot: StoredSnapshot
    processes: int
    filled: int
    empty: int
    unknown: int
    omitted: dict[str, int]
    omitted_recorded: dict[str, int]
    outline: SnapshotOutline


def read_excerpt(tables: Tables, summary: Mapping[str, Any], excerpt: Excerpt) -> SnapshotExcerpt:
    """Return a part of one snapshot. Raises: ChannelNotInSnapshot.

    Args:
        summary: the snapshot's entry of ``StoredRecording.snapshots``.
    """
    return _Reader(tables, summary, excerpt).read()


class _Reader:
    """Reads a part of one snapshot.

    Attributes:
        position: int64[P], the events before each process recorded; NONE if it never did.
        in_scope: bool[P], whether a process belongs to the snapshot.
        is_end_known: bool[P], whether channels between such processes are empty without a row.
        rows: the channels of the snapshot of which the store has a row.
        code: int64[rows], their channels.
        recorded, recomputed: int64[rows], how many messages each has; NONE if that is not known.
        budget: how many bytes the values of one channel may have.
    """

    def __init__(self, tables: Tables, summary: Mapping[str, Any], excerpt: Excerpt) -> None:
        self.tables, self.summary, self.excerpt = tables, summary, excerpt
        snapshot = tables.snapshot_code(summary["snapshot"])
        self.in_scope = tables.in_scope(snapshot)
        batch = tables.judged(SNAPSHOT_STATES, SNAPSHOT_STATE_COLUMNS)
        self.states = rows_of_snapshot(batch, snapshot)
        self.position = np.full(len(self.in_scope), NONE, np.int64)
        self.position[self.states.column("process").to_numpy()] = self.states.column(
            "position"
        ).to_numpy()
        self.budget = _MOST_TEXT
        self.is_derived = is_derived(tables.manifest.header_extra)
        recorded = self.position != NONE
        self.is_end_known = np.zeros_like(recorded) if self.is_derived else recorded
        batch = tables.judged(SNAPSHOT_CHANNELS, SNAPSHOT_CHANNEL_COLUMNS)
        self.rows = self._counting(rows_of_snapshot(batch, snapshot))
        self.code = self.rows.column("channel").to_numpy().astype(np.int64)
        self.recorded, self.recomputed = (
            _lengths(self.rows.column(name)) for name in ("recorded", "recomputed")
        )

    def _counting(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Drop the rows that ``read_snapshot`` does not take either."""
        source = self.tables.source[rows.column("channel").to_numpy()]
        kept = pa.array(self.in_scope[source])
        if self.is_derived:
            kept = pc.and_(kept, rows.column("recorded").is_valid())
        return rows.filter(kept)

    def read(self) -> SnapshotExcerpt:
        holding = np.flatnonzero((self.recorded > 0) | (self.recomputed > 0))
        empty, unknown = self._silent(holding)
        if self.excerpt.channels is not None:
            page, channels = self._named_channels(self.excerpt.channels)
        elif self.excerpt.channel is None:
            page = self.excerpt.channels_of(holding)
            self.budget = _MOST_TEXT // max(len(page), 1)
            most = self.excerpt.most_messages(len(page))
            channels = {self._name(row): self._channel(row, 0, most) for row in page.tolist()}
        else:
            page, channels = self._only_channel(self.excerpt.channel)
        return SnapshotExcerpt(
            snapshot=self._snapshot(channels),
            processes=int(self.in_scope.sum()),
            filled=len(holding),
            empty=empty,
            unknown=unknown,
            omitted=self._omitted(page, self.recomputed, channels, attrgetter("recomputed")),
            omitted_recorded=self._omitted(page, self.recorded, channels, attrgetter("recorded")),
            outline=SnapshotOutline(
                self.position,
                self.code[holding],
                self.recorded[holding],
                self.recomputed[holding],
                self._recorded_between(),
            ),
        )

    def _recorded_between(self) -> tuple[int, int] | None:
        """Return the first and the last instant at which a process recorded, if any is known."""
        if is_untimed(self.tables.manifest.header_extra, self.summary["snapshot"]):
            return None
        has_recorded = pc.not_equal(self.states.column("position"), NONE)
        instants = self.states.column("recorded_at").filter(has_recorded)
        span = pc.min_max(instants).as_py()
        return None if span["min"] is None else (span["min"], span["max"])

    def _omitted(
        self,
        page: Ints,
        counts: Ints,
        channels: Mapping[ChannelId, SnapshotChannel],
        listed: Callable[[SnapshotChannel], Sequence[object] | None],
    ) -> dict[str, int]:
        """Count the messages that are not listed of each channel in the rows of ``page``."""
        names = map(self._name, page.tolist())
        left: dict[str, int] = {
            name: count - len(listed(channels[name]) or ())
            for name, count in zip(names, counts[page].tolist(), strict=True)
        }
        return {name: count for name, count in left.items() if count > 0}

    def _silent(self, holding: Ints) -> tuple[int, int]:
        """Count the channels without messages that are empty, and those that are not known."""
        is_silent = np.ones(len(self.code), np.bool_)
        is_silent[holding] = False
        without_row = self.in_scope[self.tables.source]
        without_row[self.code] = False
        known = self._are_ends_known() & without_row
        empty = int((is_silent & (self.recomputed != NONE)).sum()) + int(known.sum())
        return empty, int(self.in_scope[self.tables.source].sum()) - len(holding) - empty

    def _are_ends_known(self) -> NDArray[np.bool_]:
        """Tell of each channel whether it is empty if the store has no row of it: bool[C]."""
        return self.is_end_known[self.tables.source] & self.is_end_known[self.tables.target]

    def _only_channel(self, name: ChannelId) -> tuple[Ints, dict[ChannelId, SnapshotChannel]]:
        """Return the row of a channel, if it has one, and the channel by its id."""
        code = self.tables.channel_code(name)
        if not self.in_scope[self.tables.source[code]]:
            raise ChannelNotInSnapshot(name)
        page = np.flatnonzero(self.code == code)
        for row in page.tolist():
            first, most = self.excerpt.first_message, self.excerpt.limit
            return page, {name: self._channel(row, first, most)}
        return page, {name: self._without_row(code)}

    def _named_channels(self, codes: Ints) -> tuple[Ints, dict[ChannelId, SnapshotChannel]]:
        """Return the rows of those channels that have one, and all of them by their ids."""
        codes = codes[self.in_scope[self.tables.source[codes]]]
        page = np.flatnonzero(np.isin(self.code, codes))
        row_of = dict(zip(self.code[page].tolist(), page.tolist(), strict=True))
        holding = (self.recorded[page] > 0) | (self.recomputed[page] > 0)
        most = self.excerpt.most_messages(int(holding.sum()))
        self.budget = _MOST_TEXT // max(int(holding.sum()), 1)
        names = (self.tables.topology.channels[code].id for code in codes)
        return page, {
            name: self._channel(row_of[code], 0, most)
            if code in row_of
            else self._without_row(code)
            for name, code in zip(names, codes.tolist(), strict=True)
        }

    def _without_row(self, code: int) -> SnapshotChannel:
        """Return what is known of a channel of which the store has no row."""
        ends = self.tables.source[code], self.tables.target[code]
        is_known = all(self.is_end_known[end] for end in ends)
        return SnapshotChannel(None, () if is_known else None, ())

    def _channel(self, row: int, first: int, most: int) -> SnapshotChannel:
        """Return some messages of the channel in a row, from place ``first`` on."""
        recorded, recomputed = (
            self.rows.column(name)[row].values for name in ("recorded", "recomputed")
        )
        code, part = int(self.code[row]), slice(first, first + most)
        if recorded is None:
            ordinals = None if recomputed is None else recomputed.to_numpy()[part]
            messages = (
                None if ordinals is None else messages_at(self.tables, code, ordinals, self.budget)
            )
            return SnapshotChannel(None, messages, ())
        if self._are_the_same(code, recorded, recomputed):
            messages = self._messages(code, recomputed.to_numpy()[part])
            return SnapshotChannel(tuple(item.id for item in messages), messages, messages)
        in_flight = None if recomputed is None else recomputed.to_pylist()
        whole = read_channel(self.tables, code, recorded.to_pylist(), in_flight, self.budget)
        left = None if whole.recomputed is None else whole.recomputed[part]
        return SnapshotChannel((whole.recorded or ())[part], left, whole.sent[part])

    def _messages(self, code: int, ordinals: Ints) -> tuple[Message, ...]:
        return messages_at(self.tables, code, ordinals, self.budget)

    def _are_the_same(self, code: int, recorded: pa.Array, recomputed: pa.Array | None) -> bool:
        """Tell whether the recorded ids are those of the messages in flight, in their order."""
        if recomputed is None or len(recorded) != len(recomputed) or not len(recorded):
            return False
        ordinals = recomputed.to_numpy()
        rows = self.tables.messages.table.pick(np.full(len(ordinals), code), ordinals)
        return bool(rows.array("message").equals(recorded))

    def _name(self, row: int) -> ChannelId:
        return self.tables.topology.channels[self.code[row]].id

    def _snapshot(self, channels: Mapping[ChannelId, SnapshotChannel]) -> StoredSnapshot:
        """Return the listed part as a snapshot."""
        processes = self.tables.topology.processes
        codes = self.excerpt.processes_of(np.flatnonzero(self.in_scope))
        channel_code = self.tables.channel_code
        topology = Topology(
            tuple(processes[code] for code in codes.tolist()),
            tuple(self.tables.topology.channels[channel_code(name)] for name in channels),
        )
        is_listed = np.isin(self.states.column("process").to_numpy(), codes)
        rows = self.states.filter(pa.array(is_listed)).to_pylist()
        states = read_states(
            self.tables, self.summary["snapshot"], topology, _with_short_states(rows)
        )
        return StoredSnapshot(self.summary["snapshot"], self.summary, topology, states, channels)


def _with_short_states(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with both states shortened alike, so that equal ones stay equal."""
    states = [row[side] for side in ("recorded", "recomputed") for row in rows]
    short = shortened(states, 2 * _MOST_TEXT)
    return [
        row | {"recorded": recorded, "recomputed": recomputed}
        for row, recorded, recomputed in zip(
            rows, short[: len(rows)], short[len(rows) :], strict=True
        )
    ]


def _lengths(lists: pa.Array) -> Ints:
    """Return the length of each list, or NONE for null."""
    lengths = pc.fill_null(pc.list_value_length(lists), NONE)
    return lengths.to_numpy(zero_copy_only=False).astype(np.int64)
