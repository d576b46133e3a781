"""Turn the checkpoint directories of an upload into jobs, with the outcome of each batch."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from snapshots.domain.inventory.model import COMPLETED, IN_PROGRESS, UNKNOWN
from snapshots.domain.model.derived import CONTINUOUS, NOT_COMMITTED
from snapshots.domain.model.recording import SnapshotId
from snapshots.readers.engines.spark_streaming.checkpoint import SparkCheckpoint
from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.incidents import PARTIAL, STATE_AHEAD, InFlight
from snapshots.readers.engines.spark_streaming.logs.offsets import (
    FILE,
    KAFKA,
    PlannedBatch,
    kind_of,
)
from snapshots.readers.engines.spark_streaming.logs.offsets import UNKNOWN as UNKNOWN_SOURCE
from snapshots.readers.engines.spark_streaming.timeline import Batch

ROW_CHECKSUMS = "spark.sql.streaming.stateStore.rowChecksum.enabled"
LONGEST_LABEL = 40  # characters
MOST_SPANNED = 1_000_000  # batches between the oldest and the newest, of which gaps are named
NO_STATE = (
    "The progress reports name stateful operators, and the folder of their state is not in the "
    "upload."
)
MAYBE_NO_STATE = (
    "The upload holds no folder state/ and no progress report. Either the query keeps no state, or "
    "the folder was left out."
)
NO_SOURCE_LOG = "The log of the source is not in the upload, so the files it gave are not known."


@dataclass(frozen=True)
class SparkJob:
    """One checkpoint directory.

    Attributes:
        folder: its path in the upload; empty for the upload itself.
        key: the query's id, with the folder where an earlier job has the same id.
        label: what distinguishes its processes and snapshots from those of other jobs; None if it
            is the only one.
        first: the number of its oldest batch among all checkpoints of the upload.
        others_have_state: whether another checkpoint of the upload has a folder of state.
    """

    number: int
    folder: str
    key: str
    label: str | None
    first: int
    checkpoint: SparkCheckpoint
    others_have_state: bool = False

    @property
    def batches(self) -> tuple[Batch, ...]:
        """The batches of the checkpoint directory, ascending."""
        return self.checkpoint.batches

    @cached_property
    def in_flight(self) -> dict[int, InFlight]:
        """What batches in flight had done, by batch."""
        return {one.batch.batch: one for one in self.checkpoint.in_flight}

    @cached_property
    def with_state(self) -> frozenset[int]:
        """The batches that have state: committed ones, and those in flight that wrote some.

        Without offsets/ and commits/ these are all whose state is there.
        """
        if not self.checkpoint.operators:
            return frozenset()
        if self.checkpoint.is_state_alone:
            return frozenset(batch.batch for batch in self.batches)
        ahead = {b for b, one in self.in_flight.items() if one.kind in (STATE_AHEAD, PARTIAL)}
        return frozenset({*self.checkpoint.committed_batches, *ahead})

    @cached_property
    def is_ahead(self) -> bool:
        """Whether there is state of a batch that neither log has, though a plan is written first.

        Real-time mode (Spark 4.1 and later) writes offsets at the end of a batch.
        """
        if self.checkpoint.is_state_alone or not self.batches:
            return False
        version = self.batches[-1].state_version
        return any(
            file.version > version
            for stores in self.checkpoint.versions.values()
            for partitions in stores.values()
            for partition in partitions.values()
            for file in partition.files
        )

    @cached_property
    def may_be_real_time(self) -> bool:
        """Whether nothing in the files excludes real-time mode, which no file names.

        It came with Spark 4.1, which names the setting of row checksums with each plan of batches.
        """
        plans = [p for p in self.checkpoint.logs.planned.values() if isinstance(p, PlannedBatch)]
        if not plans or ROW_CHECKSUMS not in plans[-1].settings:
            return False
        return all(map(_may_be_of_real_time, plans[-1].offsets.values()))

    @cached_property
    def gaps(self) -> list[int]:
        """The batches between the oldest and the newest of which neither log has a file."""
        there = {batch.batch for batch in self.batches}
        if self.is_continuous or self.checkpoint.is_state_alone or not there:
            return []
        if max(there) - min(there) > MOST_SPANNED:
            return []
        return [batch for batch in range(min(there), max(there)) if batch not in there]

    @cached_property
    def is_continuous(self) -> bool:
        """Whether its batches are epochs."""
        plans = [p for p in self.checkpoint.logs.planned.values() if isinstance(p, PlannedBatch)]
        return bool(plans) and all(plan.continuous for plan in plans)

    @property
    def keeps_state(self) -> bool | None:
        """Tell whether the query keeps state; None if the upload does not show it.

        Continuous processing has no stateful operators, and a progress report counts them. Where
        the upload holds the state of another query, folders of state were not left out.
        """
        if self.checkpoint.operators or self.checkpoint.reported_operators:
            return True
        is_stateless = (
            self.is_continuous
            or self.checkpoint.reported_operators is not None
            or self.others_have_state
        )
        return False if is_stateless else None

    @cached_property
    def missing_folders(self) -> dict[str, str]:
        """The folders that its batches need and the upload lacks, each with the reason."""
        missing = {}
        if self.keeps_state and not self.checkpoint.operators:
            missing["state"] = NO_STATE
        for batch in self.batches:
            for source in batch.sources or ():
                if kind_of(source.end) == FILE and source.source not in self.checkpoint.source_logs:
                    missing[f"sources/{source.source}"] = NO_SOURCE_LOG
        return missing

    @cached_property
    def why_state_unknown(self) -> str | None:
        """Why it is not known which state the batches have; None if that is known."""
        if self.checkpoint.operators or self.keeps_state is False:
            return None
        return NO_STATE if self.keeps_state else MAYBE_NO_STATE

    def path(self, path: str) -> str:
        """Turn a path in the checkpoint into a path in the upload."""
        return f"{self.folder}/{path}" if self.folder else path

    def place_of(self, log_file: str) -> int:
        """Return the place, among the batches, of the batch that a log file describes."""
        number = int(log_file.rpartition("/")[2])
        return bisect_left(self.batches, number, key=lambda batch: batch.batch)


@dataclass(frozen=True)
class Fate:
    """What became of a batch.

    Attributes:
        status: one of the inventory's.
        sentence: why that is not certain, or what else must be said of it.
        is_over: whether it was committed, by its own file or because it must have been; None
            where that is not known.
    """

    status: str
    sentence: str | None
    is_over: bool | None


def jobs_of(checkpoints: Mapping[str, SparkCheckpoint]) -> tuple[SparkJob, ...]:
    """Return the jobs of checkpoints, which are given by folder."""
    queries: set[str] = set()
    labels = _labels(list(checkpoints))
    with_state = {folder for folder, one in checkpoints.items() if one.operators}
    jobs: list[SparkJob] = []
    first = 0
    for number, (folder, checkpoint) in enumerate(checkpoints.items()):
        key = checkpoint.query or ""
        if key in queries:
            key = f"{key}/{folder}" if key else folder
        queries.add(key)
        has_state = bool(with_state - {folder})
        job = SparkJob(number, folder, key, labels[folder], first, checkpoint, has_state)
        jobs.append(job)
        first += len(checkpoint.batches)
    return tuple(jobs)


def _labels(folders: list[str]) -> dict[str, str | None]:
    """Return the last names of the folders if these are short and differ, else numbers from 1."""
    if len(folders) == 1:
        return {folders[0]: None}
    names = [folder.rsplit("/", 1)[-1] for folder in folders]
    plain = len(set(names)) == len(names) and all(1 <= len(n) <= LONGEST_LABEL for n in names)
    numbers = [str(number) for number in range(1, len(folders) + 1)]
    return dict(zip(folders, names if plain else numbers, strict=True))


def _may_be_of_real_time(offset: Json) -> bool:
    """Tell whether a source of real-time mode may have given an offset; Delta's is none."""
    is_of_delta = isinstance(offset, dict) and "reservoirVersion" in offset
    return kind_of(offset) in (KAFKA, UNKNOWN_SOURCE) and not is_of_delta


def fate_of(job: SparkJob, batch: Batch) -> Fate:
    """Return the outcome of a batch; a later batch also proves that it was committed."""
    if batch.committed:
        return Fate(COMPLETED, batch.problem, True)
    if job.checkpoint.is_state_alone:
        return Fate(UNKNOWN, f"{batch.problem} Whether the batch is complete is not known.", None)
    later = job.batches[-1].batch > batch.batch
    if job.is_continuous and batch.committed is False and later:
        return _fate_of_epoch(batch.batch in job.in_flight)
    if batch.committed is None:
        if later:
            return Fate(UNKNOWN, f"{batch.problem} Later batches were planned, so it ended.", True)
        return Fate(UNKNOWN, f"{batch.problem} Whether the batch is complete is not known.", None)
    if batch.batch not in job.in_flight:
        sentence = "Later batches are committed, so it ended; its commit is not in the upload."
        return Fate(UNKNOWN, sentence, True)
    if batch.problem is not None:
        return Fate(UNKNOWN, f"{batch.problem} What was planned is not known.", None)
    if later:
        sentence = "Later batches were planned, too: a query commits late, or commits are missing."
        return Fate(IN_PROGRESS, sentence, False)
    return Fate(IN_PROGRESS, None, False)


def _fate_of_epoch(is_in_flight: bool) -> Fate:
    """Return the outcome of an epoch without a commit, behind which others have ended.

    Args:
        is_in_flight: whether no later epoch is committed.
    """
    if is_in_flight:
        return Fate(IN_PROGRESS, "Later epochs ended, too, and were not committed.", False)
    sentence = (
        "A later epoch is committed. Either the commit of this one is not in the upload, or a "
        "restart gave the epoch up."
    )
    return Fate(UNKNOWN, sentence, None)


def snapshot_of(job: SparkJob, batch: int) -> SnapshotId:
    """Name the snapshot of a batch: by its number, and in all jobs but the first by the job."""
    return SnapshotId(f"{batch} ({job.label})" if job.number else str(batch))


def why_unknown(job: SparkJob) -> str:
    """Return the word that explains why channels of a batch are not known to be empty."""
    return CONTINUOUS if job.is_continuous else NOT_COMMITTED
