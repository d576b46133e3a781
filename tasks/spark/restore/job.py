"""Restore a snapshot of a stored recording, run on from it, and compare with the original.

Two Spark actions: first the channels, which show what receives find, then the processes. The
reference is ``snapshots.domain.replaying.restore``.
"""

from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import MessageId, SnapshotId
from snapshots.domain.model.topology import JsonText
from snapshots.domain.replaying.restore import (
    MOST_DIFFERENCES,
    Contents,
    Difference,
    NotRestorable,
    RestoreReport,
    require_all_recorded,
    require_one_run,
)
from snapshots.store.layout import NONE, RECORD_COLUMNS, RECORDS
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import read_batch
from snapshots.store.objects.paths import path_of
from snapshots.store.tables import Tables
from tasks.spark import session
from tasks.spark.ingest.schemas import ranges
from tasks.spark.judge.recorded import positions_of
from tasks.spark.restore.kernels import (
    Placed,
    RestoredChannel,
    RestoredProcess,
    RestoreTask,
    restore_channels,
    restore_processes,
)
from tasks.spark.stages import Kernel, Progress, Result, SparkStages, Stages, run_phase

CHANNELS, PROCESSES = "replaying channels", "replaying processes"
ROWS_PER_TASK = 500_000


def restore_snapshot(
    folder: Path,
    snapshot: SnapshotId,
    progress: Progress,
    spark: SparkSession | None = None,
    work: Path | None = None,
) -> RestoreReport:
    """Restore a snapshot of the recording in ``folder`` and replay the rest on top of it.

    Args:
        progress: called with the phase, the channels or processes done, and how many there are in
            all; may raise to cancel.
        spark: the session to use; this process's own if None.
        work: a folder in which driver and executors may write; None if they share this machine.

    Raises: NotRestorable, StoreMissing, StoreDamaged, SparkUnavailable, SparkTaskFailed, what
    ``progress`` raises.
    """
    restore = Restore(path_of(folder), snapshot)
    return restore.report(SparkStages(spark or session.get(), work), progress)


class Restore:
    """One restore of a snapshot. Raises: NotRestorable.

    Args:
        positions: int64[P], NONE outside the snapshot's scope.
        processes, channels: those in its scope.
    """

    def __init__(self, folder: Path, snapshot: SnapshotId) -> None:
        self.folder = folder
        self.snapshot = snapshot
        self.manifest = Manifest.read(folder)
        self.tables = Tables(folder, self.manifest)
        processes = [process.id for process in self.tables.topology.processes]
        records = pa.Table.from_batches([read_batch(folder / RECORDS, RECORD_COLUMNS)])
        self.code = self._code(records)
        positions = positions_of(records, len(self.manifest.snapshots), len(processes))
        scope = self.tables.in_scope(self.code)
        self.positions = positions[self.code]
        self.processes = [processes[code] for code in np.flatnonzero(scope).tolist()]
        recorded = np.flatnonzero(self.positions != NONE).tolist()
        require_all_recorded(
            snapshot, self.processes, dict.fromkeys(processes[code] for code in recorded)
        )
        for code in recorded:
            own = self.tables.restores.get(code, ())
            require_one_run(snapshot, processes[code], int(self.positions[code]), own)
        self.channel_codes = np.flatnonzero(scope[self.tables.source])
        channels = self.tables.topology.channels
        self.channels = [channels[code].id for code in self.channel_codes.tolist()]

    def _code(self, records: pa.Table) -> int:
        """Return the code of the snapshot, if a record or a marker names it."""
        names = self.manifest.snapshots
        code = names.index(self.snapshot) if self.snapshot in names else NONE
        columns = [records["snapshot"], self.tables.stray_markers.column("snapshot")]
        columns += [
            part.numbers("snapshot", slice(0, part.num_rows))
            for part in self.tables.markers.table.parts
        ]
        if code == NONE or not any(pc.any(pc.equal(column, code)).as_py() for column in columns):
            raise NotRestorable(f"the recording has no snapshot {self.snapshot}")
        return code

    def report(self, stages: Stages, progress: Progress) -> RestoreReport:
        channels = self._channels(stages, progress)
        targets = self.tables.target[self.channel_codes].tolist()
        missing = [
            (target, index)
            for target, channel in zip(targets, channels, strict=True)
            for index in channel.missing
        ]
        processes = self._processes(stages, progress, missing)
        at_events = [placed for channel in channels for placed in channel.at_events]
        at_states = [process.at_event for process in processes if process.at_event]
        listed = _by_step(at_states, at_events)
        at_end = [item.at_end for item in processes if item.at_end]
        at_end += [item.at_end for item in channels if item.at_end]
        total = sum(channel.at_events_total for channel in channels) + len(at_states)
        recorded = self.positions != NONE
        skipped = int(self.positions[recorded].sum())
        return RestoreReport(
            snapshot=self.snapshot,
            replayed=int(self.tables.events.length[recorded].sum()) - skipped,
            skipped=skipped,
            processes_from_log=tuple(
                name
                for name, process in zip(self.processes, processes, strict=True)
                if not process.is_recorded and process.restored is not None
            ),
            channels_from_log=tuple(
                name
                for name, channel in zip(self.channels, channels, strict=True)
                if not channel.is_recorded
            ),
            restored=self._contents(
                [process.restored for process in processes],
                [channel.restored for channel in channels],
            ),
            end=self._contents(
                [process.end for process in processes], [channel.left for channel in channels]
            ),
            original_end=self._contents(
                [process.original_end for process in processes],
                [channel.unreceived for channel in channels],
            ),
            differences=tuple([*listed, *at_end][:MOST_DIFFERENCES]),
            differences_total=total + len(at_end),
            states_unknown=sum(None in (item.end, item.original_end) for item in processes),
            is_derived=is_derived(self.manifest.header_extra),
        )

    def _channels(self, stages: Stages, progress: Progress) -> list[RestoredChannel]:
        load = (self.tables.messages.table.length + 1).tolist()
        tasks = [
            RestoreTask(str(self.folder), self.code, *bounds)
            for bounds in ranges(load, ROWS_PER_TASK, stages.capacity)
        ]
        return _restored(stages, progress, CHANNELS, restore_channels, tasks)

    def _processes(
        self, stages: Stages, progress: Progress, missing: list[tuple[int, int]]
    ) -> list[RestoredProcess]:
        load = (self.tables.events.length + 1).tolist()
        tasks = [
            RestoreTask(
                str(self.folder),
                self.code,
                first,
                end,
                tuple(item for item in missing if first <= item[0] < end),
            )
            for first, end in ranges(load, 2 * ROWS_PER_TASK, stages.capacity)
        ]
        return _restored(stages, progress, PROCESSES, restore_processes, tasks)

    def _contents(self, states: list[JsonText | None], channels: list[list[MessageId]]) -> Contents:
        by_process = zip(self.processes, states, strict=True)
        by_channel = zip(self.channels, channels, strict=True)
        return Contents(
            {name: state for name, state in by_process if state is not None},
            {name: tuple(messages) for name, messages in by_channel if messages},
        )


def _restored(
    stages: Stages,
    progress: Progress,
    phase: str,
    kernel: Kernel[RestoreTask, list[Result]],
    tasks: list[RestoreTask],
) -> list[Result]:
    """Restore channels or processes, range by range."""
    weights = [task.end - task.first for task in tasks]
    return list(chain.from_iterable(run_phase(stages, progress, phase, kernel, tasks, weights)))


def _by_step(states: list[Placed], messages: list[Placed]) -> list[Difference]:
    """Sort the differences at events by step; at one event, the state comes before the message."""
    keyed = [
        ((item.step, rank), item) for rank, items in enumerate((states, messages)) for item in items
    ]
    return [item.difference for _, item in sorted(keyed, key=lambda pair: pair[0])]
