"""Open the tables of a recording in a task, with the topology that an earlier task has made.

A Python worker runs many tasks of one job after another, and a topology of 100,000 channels takes
half a second. Only the topology is kept. Kept tables would hold the disk space of deleted files.
"""

from functools import cached_property
from pathlib import Path

from snapshots.domain.model.topology import Topology
from snapshots.store.layout import CHANNELS, PROCESSES
from snapshots.store.tables import Tables

_kept: dict[tuple, Topology] = {}  # one at most, by the files from which it was made


class TaskTables(Tables):
    """The tables of a recording, for a task."""

    @cached_property
    def topology(self) -> Topology:
        key = _identity(self.folder / PROCESSES), _identity(self.folder / CHANNELS)
        made = _kept.get(key)
        if made is None:
            made = self.read_topology()
            _kept.clear()
            _kept[key] = made
        return made


def _identity(path: Path) -> tuple[str, int, int, int]:
    status = path.stat()
    return str(path), status.st_ino, status.st_mtime_ns, status.st_size
