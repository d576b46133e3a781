"""A stored recording, opened: maps its files and answers; reads no whole column."""

import json
import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from snapshots.domain.dataflow_logs.failovers.report import Failovers
from snapshots.domain.model.recording import Message, MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId, ProcessId, Topology
from snapshots.store import levels, search, windows
from snapshots.store.bins import Bins
from snapshots.store.cut import StoredCut
from snapshots.store.errors import StoreDamaged, StoreMissing
from snapshots.store.layout import (
    CHECKPOINT_FILES,
    CHECKPOINTS,
    DEFECTS,
    FAILOVERS,
    MANIFEST,
    NONE,
    RECORD_COLUMNS,
    RECORDS,
    SNAPSHOTS,
    STRAY_COLUMNS,
    STRAYS,
)
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import Ints, read_batch
from snapshots.store.pages import give_back
from snapshots.store.stored_snapshot import StoredSnapshot, read_snapshot
from snapshots.store.tables import ORDER, TIME, Tables

_KEPT_OPEN = 8


@dataclass(frozen=True, slots=True)
class Stray:
    """A receive, of a message or of a marker, that no send in the log explains."""

    process: ProcessId
    index: int
    at: int
    line: int
    channel: ChannelId | None
    message: MessageId | None
    snapshot: SnapshotId | None


class StoredRecording:
    """One recording of the store. Safe for threads; stays as it was opened when it is replaced."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.tables = Tables(folder, manifest)
        self._records = read_batch(folder / RECORDS, RECORD_COLUMNS)
        self._strays = read_batch(folder / STRAYS, STRAY_COLUMNS)
        self._matrices: dict[tuple[str, int, str], np.ndarray] = {}

    @classmethod
    def open(cls, folder: Path) -> "StoredRecording":
        """Open the recording in ``folder``. Raises: StoreMissing, StoreDamaged."""
        return cls(folder, Manifest.read(folder))

    @property
    def topology(self) -> Topology:
        return self.tables.topology

    def positions_at(self, *, at: int | None = None, step: int | None = None) -> Ints:
        """int64[P]: the events with ``at`` <= at, or those with ``step`` < step. Always consistent.

        Raises: ValueError unless exactly one is given.
        """
        if (at is None) == (step is None):
            raise ValueError("a cut is asked for by exactly one of at and step")
        if at is not None:
            return self.tables.positions_before(TIME, at + 1)
        return self.tables.positions_before(ORDER, step + 1)

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
        return StoredCut(self, positions)

    def window(
        self, from_: float, to: float, width: int = 1000, axis: str = TIME
    ) -> windows.Window:
        """What there is to draw between two coordinates; see windows.py. Raises: ValueError."""
        return windows.window(self, from_, to, width, axis)

    def level(self, axis: str, bins: Bins, what: str, codes: Ints) -> np.ndarray:
        """The rows ``codes`` of a stored level in ``bins``; what: ``events`` or ``depth``.

        Raises: StoreDamaged.
        """
        stored = Bins.covering(*levels.span(self.manifest.extent, axis), bins.exponent)
        key = axis, bins.exponent, what
        if key not in self._matrices:
            rows = self.topology.processes if what == "events" else self.topology.channels
            self._matrices[key] = levels.read_level(
                self.folder, axis, bins.exponent, what, (len(rows), stored.count)
            )
        first = bins.first - stored.first
        return self._matrices[key][codes, first : first + bins.count]

    def event(self, process: ProcessId, index: int) -> dict[str, Any]:
        """All fields of one event, by name, and the flight it sends or receives.

        Raises: KeyError if there is no such event.
        """
        return search.event(self, process, index)

    def neighbour(
        self, cursor: int, direction: int, group: str = search.EVENT, axis: str = ORDER
    ) -> search.Neighbour | None:
        """The next (1) or previous (-1) event, marker or record from a cursor; see search.py."""
        return search.neighbour(self, cursor, direction, group, axis)

    def find(self, text: str, most: int = 50) -> search.Found:
        """Events by message id or label; see search.py."""
        return search.find(self, text, most)

    def messages(self, codes: Ints, ordinals: Ints) -> tuple[Message, ...]:
        """The messages with these ordinals [N] on the channels with these codes [N]."""
        rows = self.tables.messages.table.pick(codes, ordinals)
        channels = self.topology.channels
        received = rows.nullable("received_index").tolist()
        received_at = rows.nullable("received_at").tolist()
        columns = (
            [channels[code].id for code in codes.tolist()],
            ordinals.tolist(),
            rows.texts("message"),
            rows.texts("value"),
            rows.values("sent_index").tolist(),
            rows.values("sent_at").tolist(),
            [None if index == NONE else index for index in received],
            [
                None if index == NONE else at
                for index, at in zip(received, received_at, strict=True)
            ],
        )
        return tuple(map(Message, *columns))

    def message(self, channel: ChannelId, sent_index: int) -> Message | None:
        """The message that the channel's source sends with its event ``sent_index``, if it does."""
        code = self.channel_code(channel)
        ordinal = self.tables.messages.sent_by(code, sent_index)
        return None if ordinal is None else self.messages(np.array([code]), np.array([ordinal]))[0]

    def process_code(self, process: ProcessId) -> int:
        """The place of the process in the header. Raises: KeyError."""
        return self._process_codes[process]

    def channel_code(self, channel: ChannelId) -> int:
        """The place of the channel in the header. Raises: KeyError."""
        return self._channel_codes[channel]

    def snapshot_code(self, snapshot: SnapshotId) -> int:
        """The place of the snapshot in the manifest. Raises: KeyError."""
        return self._snapshot_codes[snapshot]

    def kind_codes(self, kinds: Collection[str]) -> Ints:
        """The codes of those of the kinds that the manifest lists."""
        return np.array([n for n, kind in enumerate(self.manifest.kinds) if kind in kinds])

    @cached_property
    def _process_codes(self) -> dict[str, int]:
        return {process.id: code for code, process in enumerate(self.topology.processes)}

    @cached_property
    def _channel_codes(self) -> dict[str, int]:
        return {channel.id: code for code, channel in enumerate(self.topology.channels)}

    @cached_property
    def _snapshot_codes(self) -> dict[str, int]:
        return {snapshot: code for code, snapshot in enumerate(self.manifest.snapshots)}

    @property
    def records(self) -> pa.RecordBatch:
        """RECORD_COLUMNS, mapped."""
        return self._records

    @cached_property
    def record_order(self) -> tuple[Ints, Ints, Ints]:
        """step, process and index [N] of all ``record_state`` events, by step."""
        return search.record_order(self)

    @cached_property
    def stray_places(self) -> tuple[Ints, Ints]:
        """process [N] and index [N] of every stray, by line."""
        return tuple(self._strays.column(name).to_numpy() for name in ("process", "index"))

    def strays(self, rows: Ints) -> tuple[Stray, ...]:
        """The strays in these rows."""
        taken = self._strays.take(pa.array(rows, pa.int64())).to_pylist()
        return tuple(self._stray(**row) for row in taken)

    def _stray(self, process: int, channel: int, snapshot: int, **fields: Any) -> Stray:
        return Stray(
            process=self.topology.processes[process].id,
            channel=None if channel == NONE else self.topology.channels[channel].id,
            snapshot=None if snapshot == NONE else self.manifest.snapshots[snapshot],
            **fields,
        )

    def snapshot_positions(self, snapshot: SnapshotId) -> Ints:
        """int64[P]: index of each process's first ``record_state``; NONE where it never records.

        Raises: KeyError.
        """
        return search.snapshot_positions(self, self.snapshot_code(snapshot))

    def snapshots(self) -> list[dict[str, Any]]:
        """One summary per snapshot, as the snapshots job wrote it; empty before it ran."""
        return self._json(SNAPSHOTS, [])

    def snapshot(self, snapshot: SnapshotId, *, inferred: bool = False) -> StoredSnapshot:
        """What one snapshot recorded and what the log recomputes. inferred: see ``read_snapshot``.

        Raises: KeyError.
        """
        return read_snapshot(self, snapshot, inferred=inferred)

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
        """``Failovers.to_json()``; without items for what is no dataflow."""
        return self._json(FAILOVERS, Failovers((), (), ()).to_json())

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
