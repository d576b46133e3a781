"""A stored recording, opened: maps its files and answers; reads no whole column."""

import json
import threading
from collections import OrderedDict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from snapshots.domain.dataflow_logs.failovers.report import Failovers
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import Message, SnapshotId
from snapshots.domain.model.topology import ChannelId, ProcessId, Topology
from snapshots.store import search, windows
from snapshots.store.cut import StoredCut
from snapshots.store.errors import StoreDamaged, StoreMissing
from snapshots.store.layout import (
    CHECKPOINT_FILES,
    CHECKPOINTS,
    DEFECTS,
    FAILOVERS,
    MANIFEST,
    SNAPSHOTS,
)
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import Ints
from snapshots.store.pages import give_back
from snapshots.store.stored_snapshot import StoredSnapshot, read_snapshot
from snapshots.store.tables import ORDER, TIME, Tables

_KEPT_OPEN = 8


class StoredRecording:
    """One recording of the store. Safe for threads; stays as it was opened when it is replaced."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.tables = Tables(folder, manifest)
        _ = self.tables.records, self.tables.strays  # damage shows when a recording is opened

    @classmethod
    def open(cls, folder: Path) -> "StoredRecording":
        """Open the recording in ``folder``. Raises: StoreMissing, StoreDamaged."""
        return cls(folder, Manifest.read(folder))

    @property
    def topology(self) -> Topology:
        """Return the topology from the recording's header."""
        return self.tables.topology

    def positions_at(self, *, at: int | None = None, step: int | None = None) -> Ints:
        """int64[P]: the events with ``at`` <= at, or those with ``step`` < step. Always consistent.

        Raises: ValueError unless exactly one is given.
        """
        return self.tables.positions_at(at=at, step=step)

    def cut(self, positions: Ints) -> StoredCut:
        """The cut at ``positions`` [P]. Raises: ValueError, with a sentence, if they do not fit."""
        positions = np.asarray(positions, np.int64)
        lengths = self.tables.events.length
        if positions.shape != lengths.shape:
            raise ValueError(f"a cut has {len(lengths)} positions, one per process")
        wrong = np.flatnonzero((positions < 0) | (positions > lengths))
        if len(wrong):
            process = self.topology.processes[wrong[0]].id
            raise ValueError(
                f"position {positions[wrong[0]]} of {process!r} is not 0 .. {lengths[wrong[0]]}"
            )
        return StoredCut(self.tables, positions)

    def window(
        self, from_: float, to: float, width: int = 1000, axis: str = TIME
    ) -> windows.Window:
        """What there is to draw between two coordinates; see windows.py. Raises: ValueError."""
        return windows.window(self.tables, from_, to, width, axis)

    def event(self, process: ProcessId, index: int) -> dict[str, Any]:
        """All fields of one event, by name, and the flight it sends or receives.

        Raises: KeyError if there is no such event.
        """
        return search.event(self.tables, process, index)

    def neighbour(
        self, cursor: int, direction: int, group: str = search.EVENT, axis: str = ORDER
    ) -> search.Neighbour | None:
        """The next (1) or previous (-1) event, marker or record from a cursor; see search.py."""
        return search.neighbour(self.tables, cursor, direction, group, axis)

    def find(self, text: str, most: int = 50) -> search.Found:
        """Events by message id or label; see search.py."""
        return search.find(self.tables, text, most)

    def message(self, channel: ChannelId, sent_index: int) -> Message | None:
        """The message that the channel's source sends with its event ``sent_index``, if it does."""
        code = self.tables.channel_code(channel)
        ordinal = self.tables.messages.sent_by(code, sent_index)
        if ordinal is None:
            return None
        return self.tables.read_messages(np.array([code]), np.array([ordinal]))[0]

    def snapshot_positions(self, snapshot: SnapshotId) -> Ints:
        """int64[P]: index of each process's first ``record_state``; NONE where it never records.

        Raises: KeyError.
        """
        return search.snapshot_positions(self.tables, self.tables.snapshot_code(snapshot))

    def scope(self, snapshot: SnapshotId) -> Topology:
        """Return the part of the topology that belongs to a snapshot. Raises: KeyError."""
        return self.tables.scope(self.tables.snapshot_code(snapshot))

    def snapshots(self) -> list[dict[str, Any]]:
        """One summary per snapshot, as the snapshots job wrote it; empty before it ran."""
        return self._json(SNAPSHOTS, [])

    def snapshot(self, snapshot: SnapshotId, *, inferred: bool = False) -> StoredSnapshot:
        """Return what one snapshot recorded and what the log recomputes.

        Args:
            inferred: see ``read_snapshot``.

        Raises: KeyError if there is no such snapshot, or none has been judged yet.
        """
        for summary in self.snapshots():
            if summary["snapshot"] == snapshot:
                return read_snapshot(self.tables, summary, inferred=inferred)
        raise KeyError(snapshot)

    def checkpoints(self) -> list[dict[str, Any]]:
        """One CheckpointReport as JSON per checkpoint of a dataflow; empty for other recordings."""
        return self._json(CHECKPOINTS, [])

    @cached_property
    def checkpoint_names(self) -> frozenset[str]:
        """Which snapshots are checkpoints."""
        return frozenset(report["checkpoint"] for report in self.checkpoints())

    @property
    def is_dataflow(self) -> bool:
        """Whether there are reports of checkpoints and failures."""
        return (self.folder / CHECKPOINTS).exists()

    def checkpoint_files(self) -> dict[str, Any]:
        """``{"files": [fields of FileReport], "decisions": [fields of Decision]}``."""
        return self._json(CHECKPOINT_FILES, {"files": [], "decisions": []})

    def failovers(self) -> dict[str, Any]:
        """Return Failovers as JSON; without items for what is no dataflow."""
        return self._json(FAILOVERS, as_json(Failovers((), (), ())))

    def defects(self) -> dict[str, Any]:
        """``{"total", "defects": [fields of domain.defects.Defect]}``."""
        return self._json(DEFECTS, {"total": 0, "defects": []})

    def _json(self, name: str, absent: Any) -> Any:
        try:
            return json.loads((self.folder / name).read_bytes())
        except FileNotFoundError:
            return absent
        except ValueError as error:
            raise StoreDamaged(name, f"It is no JSON ({error}).", "Was it cut short?") from error


_open: OrderedDict[Path, tuple[tuple[int, int], StoredRecording]] = OrderedDict()
_lock = threading.Lock()


def open_cached(folder: Path) -> StoredRecording:
    """As ``StoredRecording.open``; keeps the last few open. Sees when the folder was replaced.

    Keeps memory in bounds: call it for every question rather than keeping what it returns.

    Raises: StoreMissing, StoreDamaged.
    """
    give_back()
    version = _version(folder)
    with _lock:
        cached = _open.get(folder)
        if cached is not None and cached[0] == version:
            _open.move_to_end(folder)
            return cached[1]
    recording = _opened(folder)
    with _lock:
        _open[folder] = recording
        _open.move_to_end(folder)
        while len(_open) > _KEPT_OPEN:
            _open.popitem(last=False)
    return recording[1]


def _opened(folder: Path) -> tuple[tuple[int, int], StoredRecording]:
    """Opened between two looks at the manifest, so that no file is of another version."""
    while True:
        version = _version(folder)
        try:
            recording = StoredRecording.open(folder)
        except StoreDamaged:
            if _version(folder) == version:
                raise
            continue
        if _version(folder) == version:
            return version, recording


def _version(folder: Path) -> tuple[int, int]:
    try:
        status = (folder / MANIFEST).stat()
    except (FileNotFoundError, NotADirectoryError):
        raise StoreMissing(folder) from None
    return status.st_ino, status.st_mtime_ns
