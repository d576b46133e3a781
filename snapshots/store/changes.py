"""Find what changes between two cuts of which one contains the other, event by event.

Each change names its event by the *place* of the event among all events between the two cuts, in
the order of the axis, and of their steps where they stand at the same place of it. Taking the
changes of the first k events over into the cut at the left gives the cut that also has these k
events, as ``cut.py`` answers it.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from snapshots.domain.model.recording import APPLICATION_KINDS, RECEIVE, SEND, MessageId
from snapshots.domain.model.topology import JsonText
from snapshots.store.control import Control
from snapshots.store.cut import WATERMARK_KINDS
from snapshots.store.in_flight import Flights
from snapshots.store.layout import IN_FLIGHT, NONE
from snapshots.store.long_texts import excerpt_of_text, excerpt_with_digest, read_shortened
from snapshots.store.mapped import Ints, ragged
from snapshots.store.spreading import Spreading
from snapshots.store.tables import COORDINATES, Tables

MOST_COUNTED = 200  # channels of a recording whose counts are told
Test = Callable[[Ints], NDArray[np.bool_]]
Coded = tuple[Ints, Ints]  # the places of events, and a code for each


@dataclass(frozen=True, slots=True)
class Happened:
    """The events in their order; columns [N].

    Attributes:
        process: the code of the process, whose position is then ``index`` + 1.
        index: the place of the event within its process, from 0.
        x: where the event stands on the axis.
        kind: the code of its kind.
        channel: the code of its channel; -1 if it has none.
    """

    process: Ints
    index: Ints
    x: Ints
    kind: Ints
    channel: Ints


@dataclass(frozen=True, slots=True)
class Put:
    """What enters a channel.

    Attributes:
        event: the place of the event that sends it.
        channel: the code of the channel.
        ordinal: the number of the message on the channel, from 0.
        message: the id of the message.
        value: its value; null if it is not known.
    """

    event: Ints
    channel: Ints
    ordinal: Ints
    message: list[MessageId]
    value: list[JsonText | None]


@dataclass(frozen=True, slots=True)
class Taken:
    """What leaves a channel, because it is received or a restore takes it back.

    Attributes:
        event: the place of the event at which it leaves.
        channel: the code of the channel.
        ordinal: the number of the message on the channel, from 0.
    """

    event: Ints
    channel: Ints
    ordinal: Ints


@dataclass(frozen=True, slots=True)
class MarkersPut:
    """Markers that are sent.

    Attributes:
        event: the place of the event that sends it.
        channel: the code of the channel.
        ordinal: the number of the marker on the channel, from 0.
        snapshot: the code of its snapshot.
    """

    event: Ints
    channel: Ints
    ordinal: Ints
    snapshot: Ints


@dataclass(frozen=True, slots=True)
class StatesSet:
    """Processes that get another state.

    Attributes:
        event: the place of the event that sets it.
        process: the code of the process.
        known: whether the state is known from then on.
        state: the state; null if it is not known.
    """

    event: Ints
    process: Ints
    known: NDArray[np.bool_]
    state: list[JsonText | None]


@dataclass(frozen=True, slots=True)
class WatermarksSet:
    """Processes that get another watermark.

    Attributes:
        event: the place of the event that sets it.
        process: the code of the process.
        watermark: the watermark in words; null if there is none.
    """

    event: Ints
    process: Ints
    watermark: list[str | None]


@dataclass(frozen=True, slots=True)
class SaidOn:
    """What is said from an event on beside the lane of a coordinator.

    Attributes:
        event: the place of the event.
        coordinator: the code of the coordinator.
        order: the number of what is said among all of the log; the greatest is the newest.
        words: how far the checkpoints have come.
    """

    event: Ints
    coordinator: Ints
    order: Ints
    words: list[str]


@dataclass(frozen=True, slots=True)
class SpreadOn:
    """What the chosen snapshot does.

    Attributes:
        recorded_event: the places of the events at which processes record.
        recorded: the codes of these processes.
        opened_event: the places of the events from which on channels are noted.
        opened: the codes of these channels.
        locked_event: the places of the events at which channels are locked.
        locked: the codes of these channels.
        noted_event: the places of the events whose message is noted.
        noted: the codes of the channels of these messages.
        noted_ordinal: their numbers on their channels.
        noted_message: their ids.
        noted_value: their values; null where one is not known.
        done_event: the places of the events after which processes take no further part.
        done: the codes of these processes.
        phase_event: the places of the events after which the phase may be another.
        phase: the phase after each of them.
        phase_said: how far it has come then, as a sentence.
        counted_event: the places of the sends and receives on channels whose counts are told.
        counted: the codes of these channels.
        counted_said: the counts n, n', m and m' of the channel then, as a sentence.
    """

    recorded_event: Ints
    recorded: Ints
    opened_event: Ints
    opened: Ints
    locked_event: Ints
    locked: Ints
    noted_event: Ints
    noted: Ints
    noted_ordinal: Ints
    noted_message: list[MessageId]
    noted_value: list[JsonText | None]
    done_event: Ints
    done: Ints
    phase_event: Ints
    phase: list[str]
    phase_said: list[str]
    counted_event: Ints
    counted: Ints
    counted_said: list[str]


class Changes:
    """All that changes from the cut ``left`` to the cut ``right``, which contains it.

    Args:
        tables: those of the recording.
        left: the positions of the one cut: int64[P].
        right: those of the other.
        axis: the axis of ``Happened.x``.
        budget: the most bytes of the states, and of the values, in all; longer ones are shortened.
    """

    def __init__(self, tables: Tables, left: Ints, right: Ints, axis: str, budget: int) -> None:
        self.tables, self.left, self.right, self.budget = tables, left, right, budget
        self._column, self._shift = COORDINATES[axis]

    @cached_property
    def happened(self) -> Happened:
        """The events between the cuts."""
        rows = self.tables.events.pick(*self._events)
        names = (self._column, "kind", "channel")
        x, kind, channel = (rows.values(name) for name in names)
        return Happened(*self._events, x + self._shift, kind, channel)

    @cached_property
    def put(self) -> Put:
        """The messages that enter a channel."""
        codes, ordinals, event = self._sent(self.tables.messages)
        ids, values = self._texts(codes, ordinals)
        return Put(event, codes, ordinals, ids, values)

    @cached_property
    def taken(self) -> Taken:
        """The messages that leave a channel."""
        codes, ordinals, _, event = self._left(self.tables.messages)
        return Taken(event, codes, ordinals)

    @cached_property
    def markers_put(self) -> MarkersPut:
        """The markers that enter a channel."""
        codes, ordinals, event = self._sent(self.tables.markers)
        snapshots = self.tables.markers.table.values("snapshot", codes, ordinals)
        return MarkersPut(event, codes, ordinals, snapshots)

    @cached_property
    def markers_taken(self) -> Taken:
        """The markers that leave a channel."""
        codes, ordinals, _, event = self._left(self.tables.markers)
        return Taken(event, codes, ordinals)

    @cached_property
    def states(self) -> StatesSet:
        """The states that are set."""
        event = self._of_kinds(APPLICATION_KINDS)
        codes, indices = self._events[0][event], self._events[1][event]
        texts = read_shortened(
            self.tables.events, codes, indices, "state", self.budget, excerpt_with_digest
        )
        known = np.array([text is not None for text in texts], np.bool_)
        return StatesSet(event, codes, known, texts)

    @cached_property
    def watermarks(self) -> WatermarksSet:
        """The watermarks that are set; none in a log without watermarks."""
        has_any = self.tables.manifest.header_extra.get("watermarks") is True
        event = self._of_kinds(WATERMARK_KINDS if has_any else ())
        codes, indices = self._events[0][event], self._events[1][event]
        labels = read_shortened(
            self.tables.events, codes, indices, "label", self.budget, excerpt_of_text
        )
        return WatermarksSet(event, codes, labels)

    @cached_property
    def strays(self) -> Ints:
        """The places of the receives that no send in the log explains."""
        process, index = self.tables.strays.places
        inside = (self.left[process] <= index) & (index < self.right[process])
        return np.sort(self._place(process[inside].astype(np.int64), index[inside]))

    def said(self, control: Control) -> SaidOn:
        """Return what is said of checkpoints between the cuts."""
        said = control.said
        inside = (self.left[said.process] <= said.index) & (said.index < self.right[said.process])
        rows = np.flatnonzero(inside)
        event = self._place(said.process[rows], said.index[rows])
        words = [said.words[row] for row in rows.tolist()]
        return SaidOn(event, said.coordinator[rows], rows, words)

    def spread(self, spreading: Spreading) -> SpreadOn:
        """Return what a snapshot does between the cuts."""
        codes, ordinals, received, event = self._left(self.tables.messages)
        sent = self.tables.messages.table.values("sent_index", codes, ordinals)
        kept = spreading.notes(codes, sent, received)
        order = np.argsort(event[kept], kind="stable")
        codes, ordinals = codes[kept][order], ordinals[kept][order]
        ids, values = self._texts(codes, ordinals)
        processes, done = self._fresh(spreading.has_recorded), self._fresh(spreading.is_done)
        opened, locked = self._fresh(spreading.opened), self._fresh(spreading.locked)
        recorded_at = self._place(processes, spreading.records[processes])
        target = self.tables.target
        opened_at = self._place(target[opened], spreading.records[target[opened]])
        last = np.maximum(spreading.ends[locked], spreading.records[target[locked]])
        locked_at = self._place(target[locked], last)
        phases = self._phases(
            spreading, (recorded_at, processes), (opened_at, opened), (locked_at, locked)
        )
        return SpreadOn(
            recorded_at, processes, opened_at, opened, locked_at, locked,
            event[kept][order], codes, ordinals, ids, values,
            self._place(done, spreading.done[done]), done, *phases, *self._counts(spreading),
        )  # fmt: skip

    def _fresh(self, test: Test) -> Ints:
        """Return the codes of which something holds at the right cut and not at the left one."""
        return np.flatnonzero(test(self.right) & ~test(self.left))

    def _counts(self, spreading: Spreading) -> tuple[Ints, Ints, list[str]]:
        """Return the places of sends and receives, their channels, and the counts then."""
        is_message = np.isin(self.happened.kind, self.tables.kind_codes({SEND, RECEIVE}))
        if len(self.tables.all_channels) > MOST_COUNTED:
            is_message[:] = False
        event = np.flatnonzero(is_message & (self.happened.channel != NONE))
        codes, positions = self.happened.channel[event].astype(np.int64), self.left.copy()
        wanted, ends = dict(zip(event.tolist(), codes.tolist(), strict=True)), []
        for place, process in enumerate(self._events[0].tolist()):
            positions[process] += 1
            if place in wanted:
                code = wanted[place]
                ends.append(positions[[self.tables.source[code], self.tables.target[code]]])
        source, target = np.array(ends, np.int64).reshape(-1, 2).T
        return event, codes, spreading.counts(codes, source, target)

    def _phases(
        self, spreading: Spreading, recorded: Coded, opened: Coded, locked: Coded
    ) -> tuple[Ints, list[str], list[str]]:
        """Return the places after which the phase may be another, and phase and words there."""
        has_recorded = spreading.has_recorded(self.left)
        unlocked = spreading.opened(self.left) & ~spreading.locked(self.left)
        places = np.unique(np.concatenate([event for event, _ in (recorded, opened, locked)]))
        phases, said = [], []
        for place in places.tolist():
            for (event, codes), mask, value in (
                (recorded, has_recorded, True), (opened, unlocked, True), (locked, unlocked, False)
            ):  # fmt: skip
                mask[codes[event == place]] = value
            progress = spreading.progress(has_recorded, unlocked)
            phases.append(progress.phase())
            said.append(progress.said())
        return places, phases, said

    @cached_property
    def _ranked(self) -> tuple[Ints, Ints, Ints]:
        """The process and index of the events in order, and the place of each by process."""
        codes, indices = ragged(self.tables.all_processes, self.left, self.right)
        order = np.lexsort(self._when(codes, indices))
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        return codes[order], indices[order], places

    @property
    def _events(self) -> tuple[Ints, Ints]:
        return self._ranked[0], self._ranked[1]

    @cached_property
    def _begin(self) -> Ints:
        """How many events of other processes stand before those of each process: int64[P]."""
        counts = self.right - self.left
        return np.cumsum(counts) - counts

    def _place(self, processes: Ints, indices: Ints) -> Ints:
        """Return the places of events between the cuts, by process and index [N]."""
        return self._ranked[2][self._begin[processes] + indices - self.left[processes]]

    def _of_kinds(self, kinds: Collection[str]) -> Ints:
        """Return the places of the events of some kinds."""
        return np.flatnonzero(np.isin(self.happened.kind, self.tables.kind_codes(kinds)))

    def _channels_at(self, ends: Ints) -> Ints:
        """Return the channels of the events at the processes ``ends`` [C]: source or target."""
        used = self.happened.channel != NONE
        codes, processes = self.happened.channel[used], self.happened.process[used]
        return np.unique(codes[ends[codes] == processes])

    def _when(self, processes: Ints, indices: Ints) -> tuple[Ints, Ints]:
        """Return steps and places on the axis of events [N]; IN_FLIGHT where the index is NONE."""
        known = np.flatnonzero(indices != NONE)
        rows = self.tables.events.pick(processes[known], indices[known])
        steps, places = (np.full(len(processes), IN_FLIGHT) for _ in range(2))
        steps[known], places[known] = rows.values("step"), rows.values(self._column)
        return steps, places

    def _ends_later(self, codes: Ints, sent: Ints, ended: Ints) -> NDArray[np.bool_]:
        """Tell which flights end after they are sent, by the indices of both events.

        What a restore took back before it was sent never enters its channel.
        """
        step, place = self._when(self.tables.source[codes], sent)
        end_step, end_place = self._when(self.tables.target[codes], ended)
        later: NDArray[np.bool_] = (place < end_place) | ((place == end_place) & (step < end_step))
        return later

    def _sent(self, flights: Flights) -> tuple[Ints, Ints, Ints]:
        """Return channel, ordinal and place of what enters a channel."""
        source = self.tables.source
        codes = self._channels_at(source)
        first = flights.sent(codes, self.left[source[codes]])
        end = flights.sent(codes, self.right[source[codes]])
        codes, ordinals = ragged(codes, first, end)
        rows = flights.table.pick(codes, ordinals)
        sent, ended = rows.values("sent_index"), rows.values("received_index")
        enters = self._ends_later(codes, sent, ended)
        codes, ordinals, sent = codes[enters], ordinals[enters], sent[enters]
        return codes, ordinals, self._place(source[codes], sent)

    def _left(self, flights: Flights) -> tuple[Ints, Ints, Ints, Ints]:
        """Return channel, ordinal, index of the end and place of what leaves a channel."""
        source, target = self.tables.source, self.tables.target
        codes = np.union1d(self._channels_at(target), self._restored)
        left, right = self.left[target[codes]], self.right[target[codes]]
        limit = flights.arrived(codes, right)
        unordered = np.flatnonzero(~flights.is_ordered(codes))
        limit[unordered] = flights.sent(codes[unordered], self.right[source[codes[unordered]]])
        codes, ordinals = flights.waiting(codes, left, limit)
        rows = flights.table.pick(codes, ordinals)
        sent, ended = rows.values("sent_index"), rows.values("received_index")
        leaves = (ended != NONE) & (ended < self.right[target[codes]])
        leaves &= self._ends_later(codes, sent, ended)
        codes, ordinals, ended = codes[leaves], ordinals[leaves], ended[leaves]
        return codes, ordinals, ended, self._place(target[codes], ended)

    @cached_property
    def _restored(self) -> Ints:
        """The channels to processes that went back between the cuts."""
        back = [
            process
            for process, restores in self.tables.restores.items()
            if any(self.left[process] <= each.row < self.right[process] for each in restores)
        ]
        return np.flatnonzero(np.isin(self.tables.target, back))

    def _texts(self, codes: Ints, ordinals: Ints) -> tuple[list[MessageId], list[JsonText | None]]:
        """Return the ids and the values of messages."""
        table = self.tables.messages.table
        values = read_shortened(table, codes, ordinals, "value", self.budget, excerpt_with_digest)
        return table.pick(codes, ordinals).ids("message"), values
