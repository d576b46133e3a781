"""How a snapshot spreads, by the rules of ``domain.judging.spreading``, in a stored recording."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from snapshots.domain.judging.spreading import phase_of
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import RECORD_CHANNEL, SnapshotId
from snapshots.store.events import snapshot_positions
from snapshots.store.layout import IN_FLIGHT, NONE
from snapshots.store.mapped import Ints, rows_of_snapshot
from snapshots.store.tables import Tables

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

    def phase(self, recorded: int, unlocked: int) -> str:
        """Return the phase; ``phase_of`` says what it gets."""
        return phase_of(recorded, int(np.count_nonzero(self.processes)), unlocked)

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
