"""Find what there is to draw between two coordinates of an axis: a window.

An event's coordinate is its instant on the time axis and its step + 1 on the order axis. The event
is in the window if from <= coordinate <= to. A small window holds every event and every message
that overlaps it, including those in flight at its left edge; a larger one holds bins.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapshots.domain.model.recording import MessageId
from snapshots.domain.model.topology import JsonText
from snapshots.store.bins import Bins, event_counts, most_messages
from snapshots.store.cut import StoredCut
from snapshots.store.in_flight import Flights
from snapshots.store.layout import NONE
from snapshots.store.levels import COUNTED_ON_THE_FLY, level, span
from snapshots.store.long_texts import (
    LONGEST,
    excerpt_of_json,
    excerpt_of_text,
    has_more,
    read_shortened,
    shortened,
)
from snapshots.store.mapped import Ints, Picked, ragged
from snapshots.store.tables import AXES, TIME, Tables

_WIDTHS = 256, 4096  # bins, least and most


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one window may hold.

    Attributes:
        messages: the most messages, and the most markers, of an exact window.
        events: the most events of an exact window.
        beside_bins: the most record events, and the most markers, that a binned window also lists.
        processes: the most processes that have a row of bins.
        channels: the most channels that have a row of bins.
        counted: the most events that are counted if no level is fine enough.
        texts: the most bytes of states, of labels and of values of an exact window. In a window of
            more, those of up to ``shortened`` events and messages are shortened.
        shortened: the most events, and the most messages, of an exact window of longer texts.
    """

    messages: int = 4_000
    events: int = 20_000
    beside_bins: int = 2_000
    processes: int = 200
    channels: int = 400
    counted: int = COUNTED_ON_THE_FLY
    texts: int = 2_000_000
    shortened: int = 500


@dataclass(frozen=True, slots=True)
class WindowEvents:
    """Columns with one entry for each event, by process and index.

    Attributes:
        process: the code of the event's process.
        index: the event's index within its process, from 0.
        at: the event's instant in the recording's time unit.
        step: the event's place in one causal order of the whole recording, from 0.
        kind: the code of the event's kind.
        channel: the code of the event's channel; -1 if it has none.
        snapshot: the code of the event's snapshot; -1 if it has none.
        state: the JSON of the state after an application event, or of what a protocol event
            recorded. It is None if the event has no state.
        state_known: whether the event has a state: 0 or 1.
        label: the event's label; None if it has none.
    """

    process: Ints
    index: Ints
    at: Ints
    step: Ints
    kind: Ints
    channel: Ints
    snapshot: Ints
    state: list[JsonText | None]
    state_known: NDArray[np.bool_]
    label: list[str | None]


@dataclass(frozen=True, slots=True)
class WindowMessages:
    """Columns with one entry for each message, by channel and ordinal.

    Attributes:
        channel: the code of the message's channel.
        ordinal: the message's number on the channel in the order of sending, from 0.
        sent_index: the index of the send within the channel's source.
        received_index: the index of the receive within the channel's target; -1 while the message
            is in flight.
        sent_at: the instant of the send in the recording's time unit.
        received_at: the instant of the receive in the recording's time unit; -1 while in flight.
        sent_step: the step of the send.
        received_step: the step of the receive; -1 while the message is in flight.
        message: the message's id.
        value: the JSON of the message's value; None if it is not known.
    """

    channel: Ints
    ordinal: Ints
    sent_index: Ints
    received_index: Ints
    sent_at: Ints
    received_at: Ints
    sent_step: Ints
    received_step: Ints
    message: list[MessageId]
    value: list[JsonText | None]


@dataclass(frozen=True, slots=True)
class WindowMarkers:
    """Columns with one entry for each marker, by channel and the order of sending.

    Attributes:
        channel: the code of the marker's channel.
        snapshot: the code of the marker's snapshot.
        sent_index: the index of the send within the channel's source.
        received_index: the index of the receive within the channel's target; -1 while the marker is
            in flight.
        sent_at: the instant of the send in the recording's time unit.
        received_at: the instant of the receive in the recording's time unit; -1 while in flight.
        sent_step: the step of the send.
        received_step: the step of the receive; -1 while the marker is in flight.
    """

    channel: Ints
    snapshot: Ints
    sent_index: Ints
    received_index: Ints
    sent_at: Ints
    received_at: Ints
    sent_step: Ints
    received_step: Ints


@dataclass(frozen=True, slots=True)
class WindowStrays:
    """Columns with one entry for each receive in the window that no send in the log explains.

    Attributes:
        process: the code of the process that received.
        index: the index of the receive within its process.
    """

    process: Ints
    index: Ints


@dataclass(frozen=True, slots=True)
class WindowBins:
    """A window in bins, if it holds too much to draw each event.

    Attributes:
        edges: the coordinates of the bins' edges. The outer ones may lie outside the window. Each
            bin is counted whole.
        bin_width: the width of a bin, in steps or in the recording's time unit.
        events: the number of events of each process in ``processes``, per bin.
        depth: the most messages that each channel in ``channels`` holds at once, per bin.
        processes: the codes of the busiest processes, which have a row.
        channels: the codes of the busiest channels, which have a row.
        hidden_processes: the number of processes without a row.
        hidden_channels: the number of channels without a row.
    """

    edges: NDArray[np.float64]
    bin_width: int
    events: Ints
    depth: Ints
    processes: Ints
    channels: Ints
    hidden_processes: int
    hidden_channels: int


@dataclass(frozen=True, slots=True)
class Window:
    """The events, messages and markers between two coordinates, or how many there are.

    Attributes:
        axis: the axis of all coordinates: ``time`` or ``order``.
        from_: the left edge, which belongs to the window.
        to: the right edge, which belongs to the window.
        exact: whether all events, messages and markers are listed instead of counted in bins.
        events_total: the number of events in the window, whether or not they are listed.
        messages_total: the number of messages in the window, whether or not they are listed.
        markers_total: the number of markers in the window, whether or not they are listed.
        positions: the number of events of each process before the left edge.
        positions_to: the number of events of each process up to and at the right edge.
        states: the JSON of each process's state at ``positions``; None if it is not known.
        watermarks: each process's watermark at ``positions`` in words; None if it has none, or if
            the log has none.
        depths: the number of messages in each channel at ``positions``.
        strays_before: the number of receives before ``positions`` that no send in the log explains.
        strays: the further ones of these receives, up to ``positions_to``; none in a binned window.
        events: the events in the window; in a binned one, only the records of states, if they are
            few.
        messages: the messages that overlap the window; none in a binned one.
        markers: the markers that overlap the window; in a binned one only if they are few.
        kinds: the names of the kinds of events, in the order of their codes.
        snapshots: the ids of the snapshots, in the order of their codes.
        bins: the counts of a binned window; None if the window is exact.
    """

    axis: str
    from_: float
    to: float
    exact: bool
    events_total: int
    messages_total: int
    markers_total: int
    positions: Ints
    positions_to: Ints
    states: tuple[JsonText | None, ...]
    watermarks: tuple[str | None, ...]
    depths: Ints
    strays_before: int
    strays: WindowStrays
    events: WindowEvents
    messages: WindowMessages
    markers: WindowMarkers
    kinds: tuple[str, ...]
    snapshots: tuple[str, ...]
    bins: WindowBins | None


def window(
    tables: Tables,
    from_: float,
    to: float,
    width: int,
    axis: str = TIME,
    limits: Limits = Limits(),
) -> Window:
    """Return the window from ``from_`` to ``to``, both included.

    It is ``width`` pixels wide; a bin is at least one pixel wide.
    Raises: ValueError, with a sentence, for an unknown axis or for edges that are no window.
    """
    if axis not in AXES:
        raise ValueError(f"axis {axis!r} is none of {', '.join(AXES)}")
    if not (math.isfinite(from_) and math.isfinite(to) and from_ <= to):
        raise ValueError(f"{from_} to {to} is no window: from must be finite and not beyond to")
    return _View(tables, from_, to, axis, limits).window(width)


class _View:
    """One window, with the positions at its edges."""

    def __init__(self, tables: Tables, from_: float, to: float, axis: str, limits: Limits) -> None:
        self.limits = limits
        self.tables = tables
        self.from_, self.to, self.axis = from_, to, axis
        self.left = tables.positions_before(axis, math.ceil(from_))
        self.right = np.maximum(tables.positions_before(axis, math.floor(to) + 1), self.left)

    def window(self, width: int) -> Window:
        cut = StoredCut(self.tables, self.left)
        per_process = self.right - self.left
        per_channel = self._overlapping(self.tables.messages)
        markers_total = int(self._overlapping(self.tables.markers).sum())
        events_total, messages_total = int(per_process.sum()), int(per_channel.sum())
        flights_total = max(messages_total, markers_total)
        exact = events_total <= self.limits.events and flights_total <= self.limits.messages
        if exact and max(events_total, messages_total) > self.limits.shortened:
            exact = not self._has_long_texts()
        with_markers = exact or markers_total <= self.limits.beside_bins
        return Window(
            axis=self.axis,
            from_=self.from_,
            to=self.to,
            exact=exact,
            events_total=events_total,
            messages_total=messages_total,
            markers_total=markers_total,
            positions=self.left,
            positions_to=self.right,
            states=tuple(shortened(cut.states, self.limits.texts // 2)),
            watermarks=cut.watermarks,
            depths=cut.depths,
            strays_before=cut.stray_count,
            strays=self._strays(exact),
            events=self._events() if exact else self._record_events(),
            messages=self._messages(exact),
            markers=self._markers(with_markers),
            kinds=self.tables.manifest.kinds,
            snapshots=self.tables.manifest.snapshots,
            bins=None if exact else self._bins(width, per_process, per_channel),
        )

    def _has_long_texts(self) -> bool:
        """Tell whether states, labels or values of all events and messages are too long to send."""
        tables = self.tables
        events = tables.events, *ragged(tables.all_processes, self.left, self.right)
        messages = tables.messages.table, *self._listed(tables.messages, listed=True)
        columns = (*events, "state"), (*events, "label"), (*messages, "value")
        return any(has_more(*column, self.limits.texts) for column in columns)

    def _ends(self, flights: Flights) -> Ints:
        """Count per channel the flights that are sent up to the right edge."""
        return flights.sent(self.tables.all_channels, self.right[self.tables.source])

    def _overlapping(self, flights: Flights) -> Ints:
        """Count per channel the flights that overlap the window. Both edges are consistent cuts."""
        target = self.left[self.tables.target]
        return self._ends(flights) - flights.ended(self.tables.all_channels, target)

    def _listed(self, flights: Flights, listed: bool) -> tuple[Ints, Ints]:
        """Return (channel, ordinal) of the flights that overlap the window if they are listed."""
        if not listed:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        codes = self.tables.all_channels
        return flights.waiting(codes, self.left[self.tables.target], self._ends(flights))

    def _events(self) -> WindowEvents:
        return self._event_columns(*ragged(self.tables.all_processes, self.left, self.right))

    def _record_events(self) -> WindowEvents:
        steps, processes, indices = self.tables.record_order
        first, end = np.searchsorted(steps, [self.left.sum(), self.right.sum()])
        end = end if end - first <= self.limits.beside_bins else first
        codes, indices = processes[first:end], indices[first:end]
        order = np.lexsort((indices, codes))
        return self._event_columns(codes[order], indices[order])

    def _event_columns(self, codes: Ints, indices: Ints) -> WindowEvents:
        rows = self.tables.events.pick(codes, indices)
        names = ("at", "step", "kind", "channel", "snapshot")
        budget = self._budget(len(codes))
        of = self.tables.events, codes, indices
        states = read_shortened(*of, "state", budget, excerpt_of_json)
        return WindowEvents(
            process=codes,
            index=indices,
            **{name: rows.values(name) for name in names},
            state=states,
            state_known=np.array([state is not None for state in states], np.bool_),
            label=read_shortened(*of, "label", budget, excerpt_of_text),
        )

    def _strays(self, listed: bool) -> WindowStrays:
        process, index = self.tables.strays.places
        inside = (self.left[process] <= index) & (index < self.right[process])
        rows = np.flatnonzero(inside & listed)
        return WindowStrays(process=process[rows], index=index[rows])

    def _messages(self, listed: bool) -> WindowMessages:
        flights = self.tables.messages
        codes, ordinals = self._listed(flights, listed)
        rows = flights.table.pick(codes, ordinals)
        return WindowMessages(
            channel=codes,
            ordinal=ordinals,
            **self._ways(codes, rows),
            message=rows.ids("message"),
            value=read_shortened(
                flights.table, codes, ordinals, "value", self._budget(len(codes)), excerpt_of_json
            ),
        )

    def _budget(self, count: int) -> int:
        """Return how many bytes the texts of so many events or messages may have in a column."""
        is_short = count > self.limits.shortened  # for then the window is exact
        return self.limits.texts if is_short else LONGEST * self.limits.shortened // 2

    def _markers(self, listed: bool) -> WindowMarkers:
        flights = self.tables.markers
        codes, ordinals = self._listed(flights, listed)
        rows = flights.table.pick(codes, ordinals)
        return WindowMarkers(
            channel=codes, snapshot=rows.values("snapshot"), **self._ways(codes, rows)
        )

    def _ways(self, codes: Ints, rows: Picked) -> dict[str, Ints]:
        """Return the indices, instants and steps at which each flight is sent and received."""
        events = self.tables.events
        sent, received = rows.values("sent_index"), rows.values("received_index")
        arrived = np.flatnonzero(received != NONE)
        received_step = np.full(len(codes), NONE)
        target = self.tables.target[codes[arrived]]
        received_step[arrived] = events.values("step", target, received[arrived])
        return {
            "sent_index": sent,
            "received_index": received,
            "sent_at": rows.values("sent_at"),
            "received_at": rows.values("received_at"),
            "sent_step": events.values("step", self.tables.source[codes], sent),
            "received_step": received_step,
        }

    def _bins(self, width: int, per_process: Ints, per_channel: Ints) -> WindowBins:
        processes = _busiest(per_process, self.limits.processes)
        channels = _busiest(per_channel, self.limits.channels)
        bins, stored = self._choose_bins(width, int(per_process.sum()))
        if stored:
            events = level(self.tables, self.axis, bins, "events", processes)
            depth = level(self.tables, self.axis, bins, "depth", channels)
        else:
            events = event_counts(self.tables, self.axis, processes, bins)
            depth = most_messages(self.tables, self.axis, channels, bins)
        return WindowBins(
            edges=np.array(bins.edges(), np.float64),
            bin_width=bins.width,
            events=events,
            depth=depth,
            processes=processes,
            channels=channels,
            hidden_processes=len(per_process) - len(processes),
            hidden_channels=len(per_channel) - len(channels),
        )

    def _choose_bins(self, width: int, events: int) -> tuple[Bins, bool]:
        """Return the bins that match the pixels, and whether a level holds them.

        Bins that no level holds are counted now; if the events are too many, the nearest level is
        taken instead.
        """
        manifest = self.tables.manifest
        first, last = span(manifest.extent, self.axis)
        from_ = min(max(math.ceil(self.from_), first), last)
        to = max(min(math.floor(self.to), last), from_)
        matching = Bins.at_most(from_, to, min(max(width, _WIDTHS[0]), _WIDTHS[1]))
        stored = manifest.levels[self.axis]
        if matching.exponent in stored:
            return matching, True
        if not stored or events <= self.limits.counted:
            return matching, False
        exponent = min(max(matching.exponent, stored[0]), stored[-1])
        return Bins.covering(from_, to, exponent), True


def _busiest(loads: Ints, most: int) -> Ints:
    """Return the codes of the ``most`` largest loads, sorted."""
    if len(loads) <= most:
        return np.arange(len(loads))
    return np.sort(np.argsort(-loads, kind="stable")[:most])
