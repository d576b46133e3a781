"""Read the strays of a recording: receives of messages and markers without a send in the log."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from snapshots.domain.model.recording import MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId, ProcessId, Topology
from snapshots.store.layout import NONE, STRAY_COLUMNS, STRAYS
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import Ints, read_batch


@dataclass(frozen=True, slots=True)
class Stray:
    """A receive without a send in the log.

    Attributes:
        message: the id of the message; None for a marker.
        snapshot: the snapshot to which the marker belongs; None for a message.
    """

    process: ProcessId
    index: int
    at: int
    line: int
    channel: ChannelId | None
    message: MessageId | None
    snapshot: SnapshotId | None


class Strays:
    """All strays of a stored recording, in the order of their lines. Raises: StoreDamaged."""

    def __init__(self, folder: Path, manifest: Manifest, topology: Topology) -> None:
        """Map STRAY_COLUMNS as ``batch``."""
        self.batch = read_batch(folder / STRAYS, STRAY_COLUMNS)
        self._manifest = manifest
        self._topology = topology

    @cached_property
    def places(self) -> tuple[Ints, Ints]:
        """Return the process code [N] and the index [N] of every stray."""
        return self.batch.column("process").to_numpy(), self.batch.column("index").to_numpy()

    def read(self, rows: Ints) -> tuple[Stray, ...]:
        """Return the strays in these rows."""
        taken = self.batch.take(pa.array(rows, pa.int64())).to_pylist()
        return tuple(self._stray(**row) for row in taken)

    def _stray(self, process: int, channel: int, snapshot: int, **fields: Any) -> Stray:
        return Stray(
            process=self._topology.processes[process].id,
            channel=None if channel == NONE else self._topology.channels[channel].id,
            snapshot=None if snapshot == NONE else SnapshotId(self._manifest.snapshots[snapshot]),
            **fields,
        )
