"""Compute a cut through a stored recording by binary searches, and its contents on demand."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from snapshots.domain.dataflow_logs.kinds import RESTART, WATERMARK
from snapshots.domain.model.recording import (
    APPLICATION_KINDS,
    INTERNAL,
    RESTORE,
    Message,
    Restored,
)
from snapshots.domain.model.topology import Channel, ChannelId, JsonText, ProcessId
from snapshots.domain.model.values import number
from snapshots.store.mapped import Ints, ragged
from snapshots.store.objects.together import together
from snapshots.store.strays import Stray
from snapshots.store.tables import Tables

_LOOK_BACK = 64  # events in the second block that is searched for the event that sets the state

WATERMARK_KINDS = frozenset({WATERMARK, RESTORE, RESTART})
"""The events whose label says where the watermark of their process stands; none is no watermark."""


@dataclass(frozen=True)
class StoredCut:
    """A cut through a stored recording. "Inside" means before the process's position.

    Attributes:
        positions: how many events of each process lie inside: int64[P].
    """

    tables: Tables
    positions: Ints

    @cached_property
    def sent(self) -> Ints:
        """Count the messages sent inside: int64[C]."""
        tables = self.tables
        return tables.messages.sent(tables.all_channels, self._source)

    @cached_property
    def ended(self) -> Ints:
        """Count the messages received or taken back inside, also those sent outside: int64[C]."""
        tables = self.tables
        return tables.messages.ended(tables.all_channels, self._target)

    @cached_property
    def _ended_unsent(self) -> Ints:
        """Count the messages received or taken back inside and sent outside: int64[C]."""
        tables = self.tables
        ended, sent = together([lambda: self.ended, lambda: self.sent])
        counts = np.maximum(ended - sent, 0)
        unordered = np.flatnonzero(~tables.messages.is_ordered(tables.all_channels))
        if len(unordered):
            codes, _ = tables.messages.ended_unsent(
                unordered, self._target[unordered], self.sent[unordered]
            )
            counts[unordered] = np.bincount(codes, minlength=len(counts))[unordered]
        return counts

    @cached_property
    def orphan_counts(self) -> Ints:
        """Count the messages received inside and sent outside: int64[C]."""
        messages = self.tables.messages
        if messages.taken_back is None:
            return self._ended_unsent
        found = np.flatnonzero(self._ended_unsent)
        codes, _ = messages.orphans(found, self._target[found], self.sent[found])
        return np.bincount(codes, minlength=len(self._ended_unsent))

    @cached_property
    def depths(self) -> Ints:
        """Count the messages sent inside, and not received or taken back inside: int64[C]."""
        return self.sent - self.ended + self._ended_unsent

    @property
    def consistent(self) -> bool:
        """Tell whether no message is received inside and sent outside."""
        return not self.orphan_counts.any()

    @cached_property
    def at(self) -> int | None:
        """Return the latest instant inside, in the recording's time unit; None if there is none."""
        begun = np.flatnonzero(self.positions)
        instants = self.tables.events.values("at", begun, self.positions[begun] - 1)
        return int(instants.max()) if len(begun) else None

    def orphans(self, most: int | None = None, budget: int | None = None) -> tuple[Message, ...]:
        """Return the first ``most`` orphans (or all), by channel, then in the order of sending.

        Their values are shortened to ``budget`` bytes in all; None leaves them whole.
        """
        messages = self.tables.messages
        channels = np.flatnonzero(self.orphan_counts)
        codes, ordinals = messages.orphans(channels, self._target[channels], self.sent[channels])
        return self.tables.read_messages(codes[:most], ordinals[:most], budget)

    def contents(self, channel: ChannelId, most: int | None = None) -> tuple[Message, ...]:
        """Return the first ``most`` messages (or all) in one channel. Raises: KeyError."""
        return self._waiting(np.array([self.tables.channel_code(channel)]), most)[channel]

    @cached_property
    def filled(self) -> Ints:
        """Return the codes of the channels that hold messages."""
        return np.flatnonzero(self.depths)

    def contents_of(
        self, codes: Ints, most: int, first: int = 0, budget: int | None = None
    ) -> dict[ChannelId, tuple[Message, ...]]:
        """Return at most ``most`` messages of each of these channels, from place ``first`` on.

        Their values are shortened to ``budget`` bytes in all; None leaves them whole.
        """
        return self._waiting(codes, most, first, budget)

    def all_contents(self, most: int | None = None) -> dict[ChannelId, tuple[Message, ...]]:
        """Return the messages in every channel, at most ``most`` of each; ``depths`` counts all."""
        filled = self._waiting(self.filled, most)
        return {channel.id: filled.get(channel.id, ()) for channel in self._channels}

    def _waiting(
        self, codes: Ints, most: int | None, first: int = 0, budget: int | None = None
    ) -> dict[ChannelId, tuple[Message, ...]]:
        flights = self.tables.messages
        repeated, ordinals = flights.waiting(codes, self._target[codes], self.sent[codes])
        ends = np.searchsorted(repeated, codes, side="right")
        begins = np.minimum(np.searchsorted(repeated, codes) + first, ends)
        ends = ends if most is None else np.minimum(ends, begins + most)
        _, rows = ragged(codes, begins, ends)
        messages = self.tables.read_messages(repeated[rows], ordinals[rows], budget)
        limits = np.cumsum(ends - begins)
        firsts = limits - (ends - begins)
        return {
            self._channels[code].id: messages[begin:limit]
            for code, begin, limit in zip(codes, firsts, limits, strict=True)
        }

    @cached_property
    def state_events(self) -> Ints:
        """Return the index of the event that set each process's state, or -1: int64[P]."""
        return self._last_event(APPLICATION_KINDS)

    @cached_property
    def states(self) -> tuple[JsonText | None, ...]:
        """Return every process's state after its last event inside; None if it is not known."""
        last = self.state_events
        begun = np.flatnonzero(last >= 0)
        states = [process.state for process in self.tables.topology.processes]
        texts = self.tables.events.pick(begun, last[begun]).json("state")
        for code, text in zip(begun.tolist(), texts, strict=True):
            states[code] = text
        return tuple(states)

    @cached_property
    def watermarks(self) -> tuple[str | None, ...]:
        """Return every process's watermark in words; None if it has none or the log has none."""
        found: list[str | None] = [None] * len(self.positions)
        if self.tables.manifest.header_extra.get("watermarks") is not True:
            return tuple(found)
        last = self._last_event(WATERMARK_KINDS)
        begun = np.flatnonzero(last >= 0)
        labels = self.tables.events.pick(begun, last[begun]).texts("label")
        for code, label in zip(begun.tolist(), labels, strict=True):
            found[code] = label
        return tuple(found)

    def _last_event(self, kinds: Collection[str]) -> Ints:
        """Return the index of each process's last event of these kinds inside, or -1.

        It searches backwards in blocks that double in size, and finds most events in the first.
        """
        events = self.tables.events
        wanted = self.tables.kind_codes(kinds)
        last = np.full(len(self.positions), -1)
        end = self.positions.copy()
        block = 1
        while len(open_ := np.flatnonzero(end > 0)):
            first = np.maximum(end[open_] - block, 0)
            codes, indices = ragged(open_, first, end[open_])
            matches = np.isin(events.values("kind", codes, indices), wanted)
            np.maximum.at(last, codes[matches], indices[matches])
            end[open_] = np.where(last[open_] >= 0, 0, first)
            block = max(_LOOK_BACK, block * 2)
        return last

    @cached_property
    def stray_count(self) -> int:
        """Count the receives inside that have no send in the log."""
        return len(self._stray_rows)

    def strays(self, most: int | None = None) -> tuple[Stray, ...]:
        """Return the first ``most`` receives inside (or all) without a send in the log, by line."""
        return self.tables.strays.read(self._stray_rows[:most])

    @cached_property
    def _stray_rows(self) -> Ints:
        process, index = self.tables.strays.places
        return np.flatnonzero(index < self.positions[process])

    @cached_property
    def nearest(self) -> Ints:
        """Return the nearest consistent cut: int64[P].

        It is the largest one inside this cut or the smallest one around it, whichever moves fewer
        events; the one inside if both move as many. Each needs at most as many rounds of binary
        searches as there are processes. A round asks the channels that may have an orphan now: at
        first those that have one, then those next to a process that was moved.
        """
        inside, around = self._shrunk(), self._grown()
        moved_back = (self.positions - inside).sum()
        return inside if moved_back <= (around - self.positions).sum() else around

    def _shrunk(self) -> Ints:
        tables = self.tables
        positions = self.positions
        codes = np.flatnonzero(self._ended_unsent)
        sent = self.sent[codes]
        while len(codes):
            before, positions = positions, positions.copy()
            target = tables.target[codes]
            first = tables.messages.first_orphan(codes, positions[target], sent)
            np.minimum.at(positions, target, first)
            codes = np.flatnonzero((positions < before)[tables.source])
            sent = tables.messages.sent(codes, positions[tables.source[codes]])
        return positions

    def _grown(self) -> Ints:
        tables = self.tables
        positions = self.positions
        codes = np.flatnonzero(self._ended_unsent)
        while len(codes):
            before, positions = positions, positions.copy()
            ends = tables.messages.end_of_received(codes, positions[tables.target[codes]])
            codes, ends = codes[ends > 0], ends[ends > 0]
            needed = tables.messages.table.values("sent_index", codes, ends - 1) + 1
            np.maximum.at(positions, tables.source[codes], needed)
            codes = np.flatnonzero((positions > before)[tables.target])
        return positions

    def total(self, most: int = 100_000) -> int | float | None:
        """Return the sum of all states and all messages in flight, if each carries one number.

        It is None if one does not, or if more than ``most`` messages are in flight.
        """
        amounts = self.in_processes, self.in_channels(most)
        return None if amounts[0] is None or amounts[1] is None else amounts[0] + amounts[1]

    @cached_property
    def in_processes(self) -> int | float | None:
        """Return the sum of all states; None if one does not carry one number."""
        return _sum(self.states)

    def in_channels(self, most: int = 100_000) -> int | float | None:
        """Return the sum of all messages in flight; None if one does not carry one number.

        It is also None if more than ``most`` messages are in flight.
        """
        if self.depths.sum() > most:
            return None
        codes, messages = self.filled, self.tables.messages
        codes, ordinals = messages.waiting(codes, self._target[codes], self.sent[codes])
        return _sum(messages.table.pick(codes, ordinals).json("value"))

    @cached_property
    def _source(self) -> Ints:
        return self.positions[self.tables.source]

    @cached_property
    def _target(self) -> Ints:
        return self.positions[self.tables.target]

    @property
    def _channels(self) -> tuple[Channel, ...]:
        return self.tables.topology.channels


def state_after(tables: Tables, process: ProcessId, restored: Restored) -> JsonText | None:
    """Return the state of a process right after a restore; ``domain.judging.cuts`` says which."""
    code, position = tables.process_code(process), restored.row + 1
    if position < tables.events.length[code]:
        kind = tables.events.values("kind", np.array([code]), np.array([position]))[0]
        position += int(tables.manifest.kinds[kind] == INTERNAL)
    positions = np.zeros(len(tables.all_processes), np.int64)
    positions[code] = position
    return StoredCut(tables, positions).states[code]


def _sum(texts: Sequence[JsonText | None]) -> int | float | None:
    """Return the sum of values that carry one number each; None if one does not."""
    numbers = {text: number(text) for text in set(texts)}
    amounts = [amount for text in texts if (amount := numbers[text]) is not None]
    return sum(amounts) if len(amounts) == len(texts) else None
