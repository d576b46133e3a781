"""Gather the defects that the stages of an ingest find, in the order of the reference."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from snapshots.domain.model import defects as say
from snapshots.domain.model.defects import Defect, Defects
from snapshots.domain.model.recording import KINDS, RECORD_CHANNEL
from snapshots.domain.model.topology import Topology
from snapshots.store.layout import NONE
from tasks.spark.ingest.schemas import ListedDefects, Matched, Ordered, Placed


class AllDefects:
    """The defects of a recording. Tasks list only the first ones, and count the others."""

    def __init__(self) -> None:
        self._defects = Defects()
        self._unlisted = 0

    @property
    def listed(self) -> tuple[Defect, ...]:
        return self._defects.listed

    @property
    def total(self) -> int:
        """Return how many there are, with those that are not listed."""
        return self._defects.total + self._unlisted

    def raise_refused(self) -> None:
        """Raise InputRefused if there is a defect with which no recording can be stored."""
        self._defects.raise_refused()

    def extend(self, defects: Iterable[Defect]) -> None:
        """Add defects that are all listed."""
        self._defects.extend(defects)

    def add(self, defects: ListedDefects) -> None:
        """Add the defects of a task."""
        self._defects.extend(defects.listed)
        self._unlisted += defects.unlisted

    def add_clocks(self, ordered: list[Ordered], matched: list[Matched]) -> None:
        """Add what is wrong with the times of processes, then with those of channels."""
        for part in ordered:
            self.add(part.clocks)
        self._add_placed(item for part in matched for item in part.early)
        for channels in matched:
            self.add(channels.overtaken)

    def add_records(
        self,
        records: pa.Table,
        matched: list[Matched],
        topology: Topology,
        snapshots: Sequence[str],
    ) -> None:
        """Add what is wrong with records: RECORD_COLUMNS, sorted as in the store."""
        twice = (
            _record_again(row, topology, snapshots)
            for row in records.take(pa.array(_recorded_twice(records))).to_pylist()
        )
        unknown = (item for part in matched for item in part.unknown)
        self._unlisted += sum(part.unlisted for part in matched)
        self._add_placed([*twice, *unknown])

    def _add_placed(self, placed: Iterable[Placed]) -> None:
        self.extend(item.defect for item in sorted(placed, key=lambda item: item.place))


def _recorded_twice(records: pa.Table) -> np.ndarray:
    """Return the rows of states and channels that were recorded before."""
    kind = records["kind"].to_numpy()
    channel = np.where(kind == KINDS.index(RECORD_CHANNEL), records["channel"].to_numpy(), NONE)
    columns = [records[name].to_numpy() for name in ("process", "snapshot")]
    by_key = np.lexsort((records["index"].to_numpy(), channel, *columns))
    keys = np.stack([channel, *columns], axis=1)[by_key]
    again: np.ndarray = by_key[1:][(keys[1:] == keys[:-1]).all(axis=1)]
    return again


def _record_again(row: dict, topology: Topology, snapshots: Sequence[str]) -> Placed:
    part = "its state"
    if row["kind"] == KINDS.index(RECORD_CHANNEL):
        part = f"channel {say.quoted(topology.channels[row['channel']].id)}"
    defect = say.recorded_twice(
        process=topology.processes[row["process"]].id,
        snapshot=snapshots[row["snapshot"]],
        part=part,
        line=row["line"],
    )
    return Placed((row["process"], row["index"], 0), defect)
