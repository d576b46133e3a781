"""Read the restores with an epoch, and what they took back, in a stored recording.

In the tables of messages and markers, ``received_index`` is the index at which a flight leaves its
channel. If the target's event there is a restore, the flight was taken back and never received.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from snapshots.domain.model.recording import MessageId, Restored, SnapshotId
from snapshots.store.layout import RESTORE_COLUMNS, RESTORES
from snapshots.store.mapped import Ints, read_batch
from snapshots.store.parts import write_table

ByProcess = Mapping[int, tuple[Restored, ...]]


def write_restores(folder: Path, restores: ByProcess) -> None:
    """Write the restores of each process, by its code; nothing if there are none."""
    rows = [
        {
            "process": code,
            "index": item.row,
            "epoch": item.epoch,
            "snapshot": item.snapshot,
            "line": item.line,
            "done": item.done,
            "missing": item.missing,
        }
        for code, own in sorted(restores.items())
        for item in own
    ]
    if rows:
        table = pa.Table.from_pylist(rows, RESTORE_COLUMNS)
        write_table(folder / RESTORES, table, RESTORE_COLUMNS)


def read_restores(folder: Path) -> ByProcess:
    """Return the restores of each process, by its code. Raises: StoreDamaged."""
    if not (folder / RESTORES).exists():
        return {}
    found: dict[int, list[Restored]] = {}
    for row in read_batch(folder / RESTORES, RESTORE_COLUMNS).to_pylist():
        restored = Restored(
            row=row["index"],
            epoch=row["epoch"],
            snapshot=None if row["snapshot"] is None else SnapshotId(row["snapshot"]),
            line=row["line"],
            done=row["done"],
            missing=None if row["missing"] is None else MessageId(row["missing"]),
        )
        found.setdefault(row["process"], []).append(restored)
    return {code: tuple(own) for code, own in found.items()}


@dataclass(frozen=True)
class TakenBack:
    """Tells which flights of one table were taken back.

    Attributes:
        target: int64[C], the process at the end of each channel.
        rows: for each process that went back, the indexes of its restores.
    """

    target: Ints
    rows: Mapping[int, Ints]

    @cached_property
    def channels(self) -> NDArray[np.bool_]:
        """Whether a restore may have taken back a flight, for each channel: bool[C]."""
        return np.isin(self.target, list(self.rows))

    def among(self, codes: Ints, ends: Ints) -> NDArray[np.bool_]:
        """Tell which flights on these channels [N], with these ends [N], were taken back."""
        taken = np.zeros(len(codes), np.bool_)
        processes = self.target[codes]
        for process in np.unique(processes[self.channels[codes]]).tolist():
            own = processes == process
            taken[own] = np.isin(ends[own], self.rows[process])
        return taken
