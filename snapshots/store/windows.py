"""A window of a stored recording: what there is to draw between two coordinates of an axis.

On the time axis an event stands at its instant, on the order axis at its step + 1; it is in the
window if from <= coordinate <= to. A window small enough holds every event and every message that
overlaps it, those included that are on their way at its left edge; a larger one holds bins.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapshots.domain.model.topology import JsonText
from snapshots.store.bins import Bins, event_counts, most_messages
from snapshots.store.cut import StoredCut
from snapshots.store.in_flight import Flights
from snapshots.store.layout import NONE
from snapshots.store.levels import COUNTED_ON_THE_FLY, level, span
from snapshots.store.mapped import Ints, Picked, ragged
from snapshots.store.tables import AXES, TIME, Tables

_WIDTHS = 256, 4096  # bins, least and most


@dataclass(frozen=True, slots=True)
class Limits:
    """What one window may hold.

    An exact window: so many messages (and as many markers) and events. A binned one: so many record
    events, and so many markers, beside its bins; rows of so many processes and channels; so many
    events counted where no level is fine enough.
    """

    messages: int = 4_000
    events: int = 20_000
    beside_bins: int = 2_000
    processes: int = 200
    channels: int = 400
    counted: int = COUNTED_ON_THE_FLY


@dataclass(frozen=True, slots=True)
class WindowEvents:
    """Columns with one entry for each event, by process and index.

    Attributes:
        channel, snapshot: the code; -1 where there is none.
        state: the JSON text that the event has; where it is no application event, what the protocol
            recorded.
        state_known: 0 where the event has no state.
    """

    process: Ints
    index: Ints
    at: Ints
    step: Ints
    kind: NDArray[np.uint16]
    channel: Ints
    snapshot: Ints
    state: list[JsonText | None]
    state_known: NDArray[np.bool_]
    label: list[str | None]


@dataclass(frozen=True, slots=True)
class WindowMessages:
    """Columns with one entry for each message, by channel and ordinal.

    Attributes:
        ordinal: its number on the channel, in the order of sending.
        received_index, received_at, received_step: -1 while the message is in flight.
    """

    channel: Ints
    ordinal: Ints
    sent_index: Ints
    received_index: Ints
    sent_at: Ints
    received_at: Ints
    sent_step: Ints
    received_step: Ints
    message: list[str]
    value: list[JsonText | None]


@dataclass(frozen=True, slots=True)
class WindowMarkers:
    """Columns with one entry for each marker, by channel and the order of sending.

    Attributes:
        received_index, received_at, received_step: -1 while the marker is in flight.
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
class WindowBins:
    """A window in bins, where it holds too much to draw each event.

    Attributes:
        edges: the edges of the bins. The outer ones may lie outside the window; each bin is counted
            whole.
        events: how many events each of the ``processes`` has in each bin.
        depth: the most messages that each of the ``channels`` has at once in each bin.
        processes, channels: the codes of the busiest ones, which have a row.
        hidden_processes: how many processes have no row.
        hidden_channels: how many channels have no row.
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
    """What there is to draw between two coordinates.

    Attributes:
        exact: whether all events, messages and markers are listed, rather than counted in bins.
        events_total, messages_total, markers_total: how many the window holds, drawn or not.
        positions: how many events of each process lie left of the window.
        positions_to: how many events of each process lie left of its right edge.
        states: the state of each process at ``positions``.
        depths: how many messages each channel holds at ``positions``.
        kinds, snapshots: names in the order of the codes in the columns.
        bins: None where the window is exact.
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
    depths: Ints
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
    """The window ``from_`` .. ``to``; width: pixels, of which a bin takes at least one.

    Raises: ValueError, with a sentence, for an unknown axis or edges that are no window.
    """
    if axis not in AXES:
        raise ValueError(f"axis {axis!r} is none of {', '.join(AXES)}")
    if not (math.isfinite(from_) and math.isfinite(to) and from_ <= to):
        raise ValueError(f"{from_} to {to} is no window: from must be finite and not beyond to")
    return _View(tables, from_, to, axis, limits).window(width)


class _View:
    """The edges of one window, and what lies between them."""

    def __init__(self, tables: Tables, from_: float, to: float, axis: str, limits: Limits) -> None:
        self.limits = limits
        self.tables = tables
        self.from_, self.to, self.axis = from_, to, axis
        self.left = self.tables.positions_before(axis, math.ceil(from_))
        self.right = self.tables.positions_before(axis, math.floor(to) + 1)
        self.right = np.maximum(self.right, self.left)

    def window(self, width: int) -> Window:
        cut = StoredCut(self.tables, self.left)
        per_process = self.right - self.left
        per_channel = self._overlapping(self.tables.messages)
        markers_total = int(self._overlapping(self.tables.markers).sum())
        events_total, messages_total = int(per_process.sum()), int(per_channel.sum())
        flights_total = max(messages_total, markers_total)
        exact = events_total <= self.limits.events and flights_total <= self.limits.messages
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
            states=cut.states,
            depths=cut.depths,
            events=self._events() if exact else self._record_events(),
            messages=self._messages(exact),
            markers=self._markers(with_markers),
            kinds=self.tables.manifest.kinds,
            snapshots=self.tables.manifest.snapshots,
            bins=None if exact else self._bins(width, per_process, per_channel),
        )

    def _ends(self, flights: Flights) -> Ints:
        """Per channel, how many flights are sent up to the right edge."""
        return flights.sent(self.tables.all_channels, self.right[self.tables.source])

    def _overlapping(self, flights: Flights) -> Ints:
        """Per channel, how many flights overlap the window. Both edges are consistent cuts."""
        target = self.left[self.tables.target]
        return self._ends(flights) - flights.received(self.tables.all_channels, target)

    def _drawn(self, flights: Flights, drawn: bool) -> tuple[Ints, Ints]:
        """(channel, ordinal) of the flights that overlap the window, or of none."""
        if not drawn:
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
        states = rows.texts("state")
        return WindowEvents(
            process=codes,
            index=indices,
            **{name: rows.values(name) for name in names},
            state=states,
            state_known=np.array([state is not None for state in states], np.bool_),
            label=rows.texts("label"),
        )

    def _messages(self, drawn: bool) -> WindowMessages:
        flights = self.tables.messages
        codes, ordinals = self._drawn(flights, drawn)
        rows = flights.table.pick(codes, ordinals)
        return WindowMessages(
            channel=codes,
            ordinal=ordinals,
            **self._ways(codes, rows),
            message=rows.texts("message"),
            value=rows.texts("value"),
        )

    def _markers(self, drawn: bool) -> WindowMarkers:
        flights = self.tables.markers
        codes, ordinals = self._drawn(flights, drawn)
        rows = flights.table.pick(codes, ordinals)
        return WindowMarkers(
            channel=codes, snapshot=rows.values("snapshot"), **self._ways(codes, rows)
        )

    def _ways(self, codes: Ints, rows: Picked) -> dict[str, Ints]:
        """Where each flight begins and ends: indices, instants and steps."""
        events = self.tables.events
        sent, received = rows.values("sent_index"), rows.nullable("received_index")
        arrived = np.flatnonzero(received != NONE)
        received_step = np.full(len(codes), NONE)
        target = self.tables.target[codes[arrived]]
        received_step[arrived] = events.values("step", target, received[arrived])
        return {
            "sent_index": sent,
            "received_index": received,
            "sent_at": rows.values("sent_at"),
            "received_at": rows.nullable("received_at"),
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
        """The bins that match the pixels, and whether a level holds them.

        What no level holds is counted now; if that is too much, the finest level must do.
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
    """The codes of the ``most`` largest loads, as sorted codes; all if there are not more."""
    if len(loads) <= most:
        return np.arange(len(loads))
    return np.sort(np.argsort(-loads, kind="stable")[:most])
