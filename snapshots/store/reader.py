"""Open a stored recording: its files are mapped, and no column is read as a whole."""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from snapshots.domain.dataflow_logs.failovers.report import Failovers
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.derived import is_untimed
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.model.topology import ProcessId, Topology
from snapshots.store import events, windows
from snapshots.store.control import Control, read_control
from snapshots.store.cut import StoredCut
from snapshots.store.errors import StoreDamaged, StoreMissing
from snapshots.store.excerpts import Excerpt, SnapshotExcerpt, read_excerpt
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
from snapshots.store.objects.paths import is_here, know_catalogue
from snapshots.store.pages import release_pages
from snapshots.store.searching.search import Search
from snapshots.store.searching.words import Word
from snapshots.store.spreading import Spreading
from snapshots.store.stored_snapshot import StoredSnapshot, read_snapshot
from snapshots.store.summaries import read_summary
from snapshots.store.tables import TIME, Tables

_KEPT_OPEN = 8
_TIMES = ("began_at", "ended_at", "duration")  # of a snapshot
_KEPT_SEARCHES = 4  # of each recording
_KEPT_SPREADINGS = 8  # of each recording


class StoredRecording:
    """One recording of the store. Safe for threads; if it is replaced, this stays the old one."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.tables = Tables(folder, manifest)
        self._searches: OrderedDict[tuple[Word, ...], Search] = OrderedDict()
        self._searching = threading.Lock()
        _ = self.tables.records, self.tables.strays  # damage shows when a recording is opened

    @classmethod
    def open(cls, folder: Path) -> "StoredRecording":
        """Open the recording in ``folder``.

        Raises: StoreMissing, StoreDamaged, StoreUnreachable.
        """
        know_catalogue(folder)
        return cls(folder, Manifest.read(folder))

    @property
    def topology(self) -> Topology:
        """Return the topology from the recording's header."""
        return self.tables.topology

    def positions_at(self, *, at: int | None = None, step: int | None = None) -> Ints:
        """Return the positions of the consistent cut at an instant or a step: int64[P].

        Raises: ValueError unless exactly one is given.
        """
        return self.tables.positions_at(at=at, step=step)

    def cut(self, positions: Ints) -> StoredCut:
        """Return the cut at ``positions`` [P]. Raises: ValueError if they do not fit."""
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
        """Return what there is to draw between two coordinates; see windows.py.

        Raises: ValueError.
        """
        return windows.window(self.tables, from_, to, width, axis)

    def event(self, process: ProcessId, index: int) -> dict[str, Any]:
        """Return the fields of one event and the flight that it sends or receives; see events.py.

        Raises: KeyError if there is no such event.
        """
        return events.event(self.tables, process, index)

    def search(self, words: tuple[Word, ...]) -> Search:
        """Return the search for these words; the last few are kept, with what they found."""
        with self._searching:
            search = self._searches.pop(words, None) or Search(self.tables, words)
            self._searches[words] = search
            while len(self._searches) > _KEPT_SEARCHES:
                self._searches.popitem(last=False)
            return search

    def forget_search(self, words: tuple[Word, ...]) -> None:
        """Drop a search that cannot go on, so that the next one begins anew."""
        with self._searching:
            self._searches.pop(words, None)

    def snapshot_positions(self, snapshot: SnapshotId) -> Ints:
        """Return the index of each process's first ``record_state``, or NONE: int64[P].

        Raises: KeyError if there is no such snapshot.
        """
        return events.snapshot_positions(self.tables, self.tables.snapshot_code(snapshot))

    @cached_property
    def spreading(self) -> Callable[[SnapshotId], Spreading]:
        """Return the function that says how a snapshot spreads; the last few answers are kept."""
        return lru_cache(maxsize=_KEPT_SPREADINGS)(partial(Spreading, self.tables))

    @cached_property
    def control(self) -> Control:
        """Return what tasks and coordinators do; it is worked out once."""
        return read_control(self.tables)

    def scope(self, snapshot: SnapshotId) -> Topology:
        """Return the part of the topology that belongs to a snapshot. Raises: KeyError."""
        return self.tables.scope(self.tables.snapshot_code(snapshot))

    def snapshots(self) -> list[dict[str, Any]]:
        """Return one summary per snapshot; none before the snapshots job ran.

        The times of a snapshot are None if its recording does not know them.
        """
        return [self._timed(summary) for summary in self._json(SNAPSHOTS, [])]

    def _timed(self, summary: dict[str, Any]) -> dict[str, Any]:
        """Return a summary with None for times that its recording does not know."""
        is_known = not is_untimed(self.manifest.header_extra, summary["snapshot"])
        return summary if is_known else summary | dict.fromkeys(_TIMES)

    def snapshot(self, snapshot: SnapshotId, *, inferred: bool = False) -> StoredSnapshot:
        """Return what one snapshot recorded and what the log recomputes; see ``read_snapshot``.

        Raises: KeyError if there is no such snapshot, or none has been judged yet.
        """
        return read_snapshot(self.tables, self._summary(snapshot), inferred=inferred)

    def excerpt(self, snapshot: SnapshotId, excerpt: Excerpt) -> SnapshotExcerpt:
        """Return a part of one snapshot; see ``read_excerpt``.

        Raises: KeyError if there is no such snapshot, or none has been judged yet;
        ChannelNotInSnapshot.
        """
        return read_excerpt(self.tables, self._summary(snapshot), excerpt)

    def _summary(self, snapshot: SnapshotId) -> dict[str, Any]:
        summary = read_summary(self.folder, snapshot)
        return self._searched(snapshot) if summary is None else self._timed(summary)

    def _searched(self, snapshot: SnapshotId) -> dict[str, Any]:
        """Look for a snapshot among all summaries. Raises: KeyError."""
        for summary in self.snapshots():
            if summary["snapshot"] == snapshot:
                return summary
        raise KeyError(snapshot)

    def checkpoints(self) -> list[dict[str, Any]]:
        """Return the CheckpointReports of a dataflow as JSON; none for other recordings."""
        return self._json(CHECKPOINTS, [])

    @cached_property
    def checkpoint_names(self) -> frozenset[str]:
        """Return the ids of the snapshots that are checkpoints."""
        return frozenset(self.checkpoint_ends)

    @cached_property
    def checkpoint_ends(self) -> dict[str, int | None]:
        """Return when each checkpoint completed or was given up; None if that is not known."""
        return {report["checkpoint"]: report["ended_at"] for report in self.checkpoints()}

    @property
    def is_dataflow(self) -> bool:
        """Tell whether there are reports of checkpoints and failures."""
        return (self.folder / CHECKPOINTS).exists()

    def checkpoint_files(self) -> dict[str, Any]:
        """Return ``{"files": [fields of FileReport], "decisions": [fields of Decision]}``."""
        return self._json(CHECKPOINT_FILES, {"files": [], "decisions": []})

    def failovers(self) -> dict[str, Any]:
        """Return Failovers as JSON, which has no items if the recording is no dataflow."""
        nothing = as_json(Failovers((), (), ()))
        return nothing | self._json(FAILOVERS, nothing)

    def defects(self) -> dict[str, Any]:
        """Return ``{"total", "defects": [fields of domain.model.defects.Defect]}``."""
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
    """Open a recording and keep the last few open; open it again if the folder was replaced.

    Call it for every question instead of keeping the result, since it also bounds the memory.
    Raises: StoreMissing, StoreDamaged.
    """
    release_pages()
    close_removed()
    know_catalogue(folder)
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


def close_removed() -> None:
    """Close what is kept open of recordings that were removed, which frees their disk space.

    Only a folder of this machine is looked at.
    """
    with _lock:
        for folder in [folder for folder in _open if is_here(folder) and not folder.exists()]:
            del _open[folder]


def _opened(folder: Path) -> tuple[tuple[int, int], StoredRecording]:
    """Open a recording; try again if it was replaced meanwhile, so that all files fit together."""
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
