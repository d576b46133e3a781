"""How a snapshot spreads, by the rules of ``domain.judging.spreading``, in a stored recording."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from snapshots.domain.judging.channel_counts import NO_SEND, RESTORED, CountsSoFar
from snapshots.domain.judging.spreading import MOST_NAMED, Progress, Some, marker_tells
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import RECORD_CHANNEL, SnapshotId
from snapshots.domain.model.topology import Channel, Process
from snapshots.store.channel_counts import channels_with_strays
from snapshots.store.events import snapshot_positions
from snapshots.store.layout import IN_FLIGHT, NONE
from snapshots.store.mapped import Ints, rows_of_snapshot
from snapshots.store.tables import COORDINATES, Tables

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Spreading:
    """A spreading says where each process records for a snapshot, and where each channel is locked.

    IN_FLIGHT stands for an index that is never reached.
    """

    tables: Tables
    snapshot: SnapshotId

    @cached_property
    def code(self) -> int:
        """The code of the snapshot. Raises: KeyError."""
        return self.tables.snapshot_code(self.snapshot)

    @cached_property
    def processes(self) -> Mask:
        """Which processes belong to the snapshot: bool[P]."""
        return self.tables.in_scope(self.code)

    @cached_property
    def records(self) -> Ints:
        """The index at which each process records: int64[P]."""
        positions = snapshot_positions(self.tables, self.code)
        return np.where((positions == NONE) | ~self.processes, IN_FLIGHT, positions)

    @cached_property
    def ends(self) -> Ints:
        """The index at the target at which each channel is locked: int64[C]."""
        ends = np.full(len(self.tables.all_channels), IN_FLIGHT)
        ends[self._told[0]] = self._told[1]
        codes, indices = self._markers
        arrived = indices != NONE
        ends[codes[arrived]] = indices[arrived]
        return ends

    @cached_property
    def channels(self) -> Mask:
        """Which channels are noted once their target has recorded: bool[C]."""
        if is_derived(self.tables.manifest.header_extra):
            return np.zeros(len(self.tables.all_channels), np.bool_)
        inside = self.processes[self.tables.source] & self.processes[self.tables.target]
        told = np.zeros(len(inside), np.bool_)
        told[self._told[0]] = True
        found: Mask = inside & (told | self.has_markers)
        return found

    @cached_property
    def has_markers(self) -> bool:
        """Tell whether the log has a marker of the snapshot."""
        strays = self.tables.stray_markers.column("snapshot").to_numpy()
        return bool(len(self._markers[0])) or bool((strays == self.code).any())

    @cached_property
    def latest_send(self) -> Ints:
        """The index at the source from which on messages are not noted: int64[C]."""
        if self.has_markers:
            return np.full(len(self.tables.all_channels), IN_FLIGHT)
        return self.records[self.tables.source]

    @cached_property
    def _markers(self) -> tuple[Ints, Ints]:
        """The channels on which a marker was sent, and where the first one arrived, or NONE."""
        found = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        for part in self.tables.markers.table.parts:
            rows = np.flatnonzero(part.numbers("snapshot", slice(0, part.num_rows)) == self.code)
            found.append((part.numbers("channel", rows), part.numbers("received_index", rows)))
        codes, indices = (np.concatenate(column) for column in zip(*found, strict=True))
        channels, first = np.unique(codes, return_index=True)
        ends = indices[first]
        ends[self.tables.markers.taken(channels, ends)] = NONE
        return channels, ends

    @cached_property
    def _told(self) -> tuple[Ints, Ints]:
        """The channels that the log has a ``record_channel`` of, and the index of the first."""
        rows = rows_of_snapshot(self.tables.records, self.code)
        kinds, channels, indices = (
            rows.column(name).to_numpy() for name in ("kind", "channel", "index")
        )
        chosen = np.isin(kinds, self.tables.kind_codes({RECORD_CHANNEL}))
        codes, first = np.unique(channels[chosen], return_index=True)
        return codes, indices[chosen][first]

    def has_recorded(self, positions: Ints) -> Mask:
        """Tell which processes have recorded at these positions [P]: bool[P]."""
        return self.records < positions

    def opened(self, positions: Ints) -> Mask:
        """Tell which channels have been noted at these positions [P], locked or not: bool[C]."""
        return self.channels & self.has_recorded(positions)[self.tables.target]

    def locked(self, positions: Ints) -> Mask:
        """Tell which channels are locked at these positions [P]: bool[C]."""
        return self.opened(positions) & (self.ends < positions[self.tables.target])

    def progress(self, recorded: Mask, unlocked: Mask) -> Progress:
        """Return how far it has come where these have recorded [P], and these are open [C]."""
        topology = self.tables.topology
        return Progress(
            int(np.count_nonzero(self.processes)),
            int(np.count_nonzero(self.channels)),
            _some(topology.processes, self.processes & ~recorded),
            _some(topology.channels, unlocked),
            self.has_markers,
        )

    @cached_property
    def done(self) -> Ints:
        """The index at which each process has recorded and all its channels are locked: int64[P].

        IN_FLIGHT if it never does.
        """
        done = self.records.copy()
        codes = np.flatnonzero(self.channels)
        np.maximum.at(done, self.tables.target[codes], self.ends[codes])
        return done

    def is_done(self, positions: Ints) -> Mask:
        """Tell which processes take no further part at these positions [P]: bool[P]."""
        return self.done < positions

    def bounds(self, axis: str) -> tuple[int | None, int | None]:
        """Return where it begins to spread on an axis, and where it is complete; None if never."""
        codes = np.flatnonzero(self.processes)
        begun = codes[self.records[codes] != IN_FLIGHT]
        begins = self._places(axis, begun, self.records[begun]).min() if len(begun) else None
        is_complete = len(codes) and (self.done[codes] != IN_FLIGHT).all()
        completes = self._places(axis, codes, self.done[codes]).max() if is_complete else None
        return None if begins is None else int(begins), None if completes is None else int(
            completes
        )

    def _places(self, axis: str, processes: Ints, indices: Ints) -> Ints:
        column, shift = COORDINATES[axis]
        return self.tables.events.values(column, processes, indices) + shift

    @cached_property
    def not_told(self) -> tuple[Ints, Ints, list[str]]:
        """The channels of which the log does not tell what is noted, and why.

        That is their codes, the place of the reason of each, and the reasons.
        """
        channels = self.tables.topology.channels
        is_out_of_order = np.array([not marker_tells(channel) for channel in channels], np.bool_)
        codes = np.flatnonzero(~self.channels | (is_out_of_order & self.has_markers))
        inside = self.processes[self.tables.source[codes]]
        inside &= self.processes[self.tables.target[codes]]
        reasons = [
            f"The channel is no part of {self.snapshot}.",
            "The engine keeps no log of when a message was received."
            if is_derived(self.tables.manifest.header_extra)
            else f"The log has no marker of {self.snapshot}, and no record of this channel.",
            "Markers or messages overtake others there, so a marker does not say what is noted.",
        ]
        return codes, inside.astype(np.int64) + self.channels[codes], reasons

    @cached_property
    def marker_sends(self) -> Ints:
        """The index at the source at which the marker of each channel is sent: int64[C]."""
        sends = np.full(len(self.tables.all_channels), IN_FLIGHT)
        for part in reversed(self.tables.markers.table.parts):
            rows = np.flatnonzero(part.numbers("snapshot", slice(0, part.num_rows)) == self.code)
            codes, first = np.unique(part.numbers("channel", rows), return_index=True)
            sends[codes] = part.numbers("sent_index", rows)[first]
        return sends

    def counts(self, codes: Ints, source: Ints, target: Ints) -> list[str]:
        """Say the counts of section 3.1 of channels [N], whose ends have these positions [N]."""
        ends = self.tables.source[codes], self.tables.target[codes]
        sent, records = self.tables.messages.sent, self.records
        received = self.tables.messages.ended
        before = np.minimum(records[ends[1]], self.ends[codes])
        columns = (
            sent(codes, np.minimum(source, records[ends[0]])),
            sent(codes, np.minimum(source, self.marker_sends[codes])),
            received(codes, np.minimum(target, records[ends[1]])),
            received(codes, np.minimum(target, before)),
        )
        reasons = self._why_not_counted
        return [
            reasons.get(code)
            or CountsSoFar(
                n, last if self.has_markers else None, m, first if self.has_markers else None
            ).said()
            for code, n, last, m, first in zip(
                codes.tolist(), *(column.tolist() for column in columns), strict=True
            )
        ]

    @cached_property
    def _why_not_counted(self) -> dict[int, str]:
        codes, which, why = self.not_told
        not_told = zip(codes.tolist(), which.tolist(), strict=True)
        back = np.flatnonzero(np.isin(self.tables.target, list(self.tables.restores)))
        return (
            {code: f"Not known: {why[place]}" for code, place in not_told}
            | dict.fromkeys(back.tolist(), RESTORED)
            | dict.fromkeys(channels_with_strays(self.tables), NO_SEND)
        )

    def notes(self, codes: Ints, sent: Ints, received: Ints) -> Mask:
        """Tell which messages are noted, of those that leave a channel.

        Args:
            codes: the channel of each message: int64[N].
            sent: the index of its send.
            received: the index at which it leaves the channel.
        """
        first = self.records[self.tables.target[codes]]
        noted = (first < received) & (received < self.ends[codes]) & self.channels[codes]
        noted &= sent < self.latest_send[codes]
        found: Mask = noted & ~self.tables.messages.taken(codes, received)
        return found

    def noted(self, positions: Ints) -> tuple[Ints, Ints]:
        """Return the channel and the ordinal of each message noted at these positions [P].

        They are in the order of the channels, then in that of noting.
        """
        flights, target = self.tables.messages, self.tables.target
        codes = np.flatnonzero(self.opened(positions))
        limit = np.minimum(self.ends[codes], positions[target[codes]])
        first = self.records[target[codes]]
        codes, limit = codes[first < limit], limit[first < limit]
        # What was in the channel when its target recorded, or was sent since, and left it before.
        sent = flights.end_of_received(codes, limit)
        codes, ordinals = flights.waiting(codes, self.records[target[codes]], sent)
        received = flights.received_index(codes, ordinals)
        rows = flights.table.pick(codes, ordinals)
        kept = (received != NONE) & (received < positions[target[codes]])
        kept &= self.notes(codes, rows.values("sent_index"), received)
        order = np.lexsort((received[kept], codes[kept]))
        return codes[kept][order], ordinals[kept][order]


def _some(items: Sequence[Process] | Sequence[Channel], mask: Mask) -> Some:
    codes = np.flatnonzero(mask)
    return Some(len(codes), [items[code].id for code in codes[:MOST_NAMED].tolist()])
