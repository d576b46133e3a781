"""Read the state of a real Structured Streaming checkpoint with Spark's own data source.

``statestore`` reads a private copy of the checkpoint. If it fails, the answer gives the reason in
one sentence, and what the files alone hold
(``snapshots.readers.engines.spark_streaming.state.stored_state``).
Source: Spark's documentation, "State Data Source".
"""

import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from snapshots.readers.engines.spark_streaming.checkpoint import SparkCheckpoint
from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.files import DamagedFile
from snapshots.readers.engines.spark_streaming.incidents import STATE_AHEAD
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.state.private_copy import PrivateCopy
from snapshots.readers.engines.spark_streaming.state.readings import (
    DEFAULT,
    JOIN_SIDE,
    TIMERS,
    VARIABLE,
    Reading,
)
from snapshots.readers.engines.spark_streaming.state.stored_state import (
    Left,
    NotDecodable,
    read_changes,
    read_partition,
)
from snapshots.readers.engines.spark_streaming.upload import read_checkpoint
from tasks.spark.engine_state.failures import Failure, explain
from tasks.spark.engine_state.values import json_rows, plain_columns
from tasks.spark.errors import SparkUnavailable, is_disk_full
from tasks.spark.session import answers, kill

FORMAT_SETTING = "spark.sql.streaming.stateStore.checkpointFormatVersion"
BY_SPARK, BY_FILES = "spark", "files"
STOPPED = (
    "Spark stopped while it read the state of this upload, and will not read it again. Is one "
    "of its files damaged, or Spark's memory too small?"
)
TOO_SLOW = (
    "Reading the state of this upload took too long, so Spark was ended, and will not "
    "read it again."
)
_BATCH = "read_after_batch"  # a column that no state has
_one_at_a_time = threading.Lock()
"""Allows one read at a time, because a read changes the session's setting of the state format."""


@dataclass(frozen=True)
class StateRequest:
    """What to read of a state.

    Args:
        batch: the batch after which to read; None for the newest committed one.
        changes_from: read the changes of the batches from here to ``batch`` instead of the state.
        partition: the partition to read; None for all.
        most_rows: the most rows to return; ``StateRead.truncated`` tells whether there are more.
    """

    operator: int = 0
    reading: Reading = field(default_factory=Reading)
    batch: int | None = None
    changes_from: int | None = None
    partition: int | None = None
    most_rows: int = 10_000


@dataclass(frozen=True)
class StateRead:
    """The answer to a StateRequest.

    Args:
        rows: the rows by partition. Each has ``key`` and ``value`` (or ``list_value``,
            ``map_value``,
            ``expiration_timestamp_ms``); changes also have ``batch`` and ``change``.
        committed: False for a batch in flight.
        by: BY_SPARK; BY_FILES if the data source failed; None if the request cannot be answered.
        failure: why ``by`` is not BY_SPARK.
        lost: why the rows of a partition could not be read, by partition.
        missing_partitions: partitions without a folder, whose rows are missing from ``rows``.
    """

    request: StateRequest
    batch: int | None
    committed: bool
    rows: dict[int, list[dict[str, Json]]]
    by: str | None = BY_SPARK
    failure: Failure | None = None
    lost: dict[int, str] = field(default_factory=dict)
    missing_partitions: tuple[int, ...] = ()
    truncated: bool = False


@dataclass
class Patience:
    """How long Spark may still read the state of one upload.

    RocksDB reads tables inside the JVM's process, and a table may be crafted to crash it.

    Args:
        left: seconds that remain.
        gone: why Spark must not read any more: reading took too long, or ended Spark.
    """

    left: float = 900.0
    gone: str | None = None

    @contextmanager
    def reading(self, session: SparkSession) -> Iterator[None]:
        """End what the session runs in this block, and the session itself, when the time is up."""
        tag, began = f"state-{uuid.uuid4().hex}", time.monotonic()
        timer = threading.Timer(max(0.0, self.left), self._interrupt, (session, tag))
        timer.start()
        try:
            session.addTag(tag)
            yield
        except Exception:
            if self.gone is None and not answers(session):
                self.gone = STOPPED
            raise
        finally:
            timer.cancel()
            self.left -= time.monotonic() - began
            if self.gone is None:
                session.removeTag(tag)

    def _interrupt(self, session: SparkSession, tag: str) -> None:
        """Interrupt the read and kill Spark.

        A task stuck in native code would keep its core for ever.
        """
        self.gone = TOO_SLOW
        with suppress(Exception):  # the session is killed next in any case
            session.interruptTag(tag)
        kill()


class StateReader:
    """Reads states of one checkpoint from a private copy; made by ``open_state``.

    All readers of one upload share the same ``patience``.
    """

    def __init__(
        self,
        session: SparkSession,
        checkpoint: SparkCheckpoint,
        copy: PrivateCopy,
        patience: Patience,
    ) -> None:
        self._session = session
        self._patience = patience
        self._checkpoint = checkpoint
        self._copy = copy

    def read(self, request: StateRequest) -> StateRead:
        """Read a state with Spark, or from the files if Spark fails.

        What is wrong with the checkpoint is part of the answer.
        Raises: SparkUnavailable if the disk is full.
        """
        committed = self._checkpoint.committed_batches
        batch = request.batch if request.batch is not None else max(committed, default=None)
        answer = self._empty(request, batch)
        if (refusal := self._refusal(request, batch)) is not None:
            return replace(answer, by=None, failure=refusal)
        assert batch is not None  # else the request is refused
        if self._patience.gone is not None:
            return self._by_files(answer, Failure(None, self._patience.gone))
        try:
            self._prepare(request, batch)
            with self._patience.reading(self._session):
                rows, truncated = self._by_spark(request, batch)
        except NotDecodable as error:
            return self._by_files(answer, Failure(None, str(error)))
        except Exception as error:  # py4j, grpc and Spark raise many kinds of errors
            if self._patience.gone is not None:
                return self._by_files(answer, Failure(None, self._patience.gone))
            if is_disk_full(error):
                raise SparkUnavailable("Spark has no space left on device for state.") from error
            return self._by_files(answer, self._explained(error, request, batch))
        return replace(answer, rows=rows, truncated=truncated)

    def read_batches(
        self, request: StateRequest, batches: Sequence[int], most_rows: int
    ) -> dict[int, StateRead]:
        """Read the state after each of several committed batches with one query of Spark.

        The answer is empty if Spark cannot read all of them, or if they have more than
        ``most_rows`` rows together. ``read`` then finds out what is wrong with which.
        """
        if self._patience.gone is not None:
            return {}
        if any(self._refusal(request, batch) is not None for batch in batches):
            return {}
        try:
            for batch in batches:
                self._prepare(request, batch)
            with self._patience.reading(self._session):
                records = self._by_spark_together(request, batches, most_rows)
        except Exception as error:  # as above
            if self._patience.gone is None and is_disk_full(error):
                raise SparkUnavailable("Spark has no space left on device for state.") from error
            return {}
        if len(records) > most_rows:
            return {}
        answers = {batch: self._empty(replace(request, batch=batch), batch) for batch in batches}
        for row in records:
            rows = answers[row.pop(_BATCH)].rows
            rows.setdefault(row.pop("partition_id"), []).append(row)
        sizes = (sum(map(len, answer.rows.values())) for answer in answers.values())
        return answers if max(sizes) <= request.most_rows else {}

    def _empty(self, request: StateRequest, batch: int | None) -> StateRead:
        """Return the answer to a request, without rows."""
        return StateRead(
            request,
            batch,
            batch in self._checkpoint.committed_batches,
            {},
            missing_partitions=self._checkpoint.missing_partitions.get(request.operator, ()),
        )

    def _by_spark_together(
        self, request: StateRequest, batches: Sequence[int], most_rows: int
    ) -> list[dict[str, Json]]:
        with _state_format(self._session, self._checkpoint.state_format):
            frames = [
                self._frame(request, batch).withColumn(_BATCH, F.lit(batch)) for batch in batches
            ]
            frame = reduce(DataFrame.unionByName, frames)
            return json_rows(plain_columns(frame.limit(most_rows + 1)).collect(), frame.schema)

    @property
    def damaged(self) -> tuple[DamagedFile, ...]:
        """Return the damaged state files that Spark was not allowed to read."""
        return tuple(self._copy.refused.values())

    def operators(self) -> tuple[list[dict[str, Json]], Failure | None]:
        """Return the rows of ``state-metadata``, one for each store.

        Checkpoints of Spark 3 have none. Columns: operatorId, operatorName, stateStoreName,
        numPartitions, minBatchId, maxBatchId, operatorProperties, _numColsPrefixKey.
        """
        try:
            frame = self._session.read.format("state-metadata").load(self._copy.folder.as_uri())
            frame = frame.select("*", "_numColsPrefixKey")
            return json_rows(frame.collect(), frame.schema), None
        except Exception as error:  # as above
            return [], explain(error, self._copy.folder, None)

    def _refusal(self, request: StateRequest, batch: int | None) -> Failure | None:
        """Return why the checkpoint cannot answer a request, or None if it can."""
        operators = [operator.id for operator in self._checkpoint.operators]
        if request.operator not in operators:
            return Failure(None, f"There is no operator {request.operator} with state.")
        if batch is None:
            return Failure(None, "No batch is committed, so there is no state yet.")
        batches = {item.batch for item in self._checkpoint.batches}
        for wanted in {batch, batch if request.changes_from is None else request.changes_from}:
            if wanted not in batches:
                return Failure(
                    None,
                    f"Batch {wanted} is not in the checkpoint, or no longer: {_span(batches)}.",
                )
        if request.changes_from is None:
            return None
        if request.changes_from > batch:
            return Failure(None, f"Batch {request.changes_from} comes after batch {batch}.")
        if request.reading.kind in (JOIN_SIDE, TIMERS):
            return Failure(
                None,
                "Spark gives no changes of join sides and timers; read the join's stores instead.",
            )
        return None

    def _prepare(self, request: StateRequest, batch: int) -> None:
        """Copy what the read needs. Raises: NotDecodable if Spark cannot or must not read it."""
        first = batch if request.changes_from is None else request.changes_from
        for progress in self._checkpoint.in_flight:
            if progress.batch.batch == batch and progress.kind != STATE_AHEAD:
                raise NotDecodable(f"Spark reads complete batches only. {progress.how_far}")
        damaged = self._copy.add_state(request.operator, first + 1, batch + 1)
        if damaged:
            raise NotDecodable(f"Spark is not allowed to read a damaged file: {damaged[0]}")
        if batch in self._checkpoint.logs.in_flight:
            self._copy.commit(batch)

    def _by_spark(
        self, request: StateRequest, batch: int
    ) -> tuple[dict[int, list[dict[str, Json]]], bool]:
        with _state_format(self._session, self._checkpoint.state_format):
            frame = self._frame(request, batch)
            if request.partition is not None:
                frame = frame.where(F.col("partition_id") == request.partition)
            plain = plain_columns(frame.limit(request.most_rows + 1))
            records = json_rows(plain.collect(), frame.schema)
        rows: dict[int, list[dict[str, Json]]] = {}
        for row in records[: request.most_rows]:
            rows.setdefault(row.pop("partition_id"), []).append(_renamed(row))
        return rows, len(records) > request.most_rows

    def _frame(self, request: StateRequest, batch: int) -> DataFrame:
        reader = self._session.read.format("statestore").option("operatorId", request.operator)
        reading = request.reading
        if reading.kind == TIMERS:
            reader = reader.option("readRegisteredTimers", True)
        elif reading.kind != DEFAULT:
            reader = reader.option(reading.kind, reading.name)
        if reading.kind == VARIABLE and request.changes_from is None:
            reader = reader.option("flattenCollectionTypes", False)
        if request.changes_from is None:
            reader = reader.option("batchId", batch)
        else:
            reader = reader.option("readChangeFeed", True)
            reader = reader.option("changeStartBatchId", request.changes_from)
            reader = reader.option("changeEndBatchId", batch)
        return reader.load(self._copy.folder.as_uri())

    def _explained(self, error: Exception, request: StateRequest, batch: int) -> Failure:
        problem = next((b.problem for b in self._checkpoint.batches if b.batch == batch), None)
        return explain(error, self._copy.folder, problem)

    def _by_files(self, answer: StateRead, failure: Failure) -> StateRead:
        """Read what can be read of each partition without Spark."""
        assert answer.batch is not None  # else the request is refused
        request, most, truncated = answer.request, answer.request.most_rows, False
        left = Left.of(self._copy.limits)
        rows: dict[int, list[dict[str, Json]]] = {}
        lost: dict[int, str] = {}
        for partition in self._partitions(request):
            try:
                rows_here = self._partition_by_files(request, partition, answer.batch, left)
            except (NotDecodable, DamagedFile) as error:
                lost[partition] = str(error)
                continue
            truncated = truncated or len(rows_here) > most
            rows_here = rows_here[:most]
            most -= len(rows_here)
            if rows_here:
                rows[partition] = rows_here
        return replace(
            answer, rows=rows, truncated=truncated, by=BY_FILES, failure=failure, lost=lost
        )

    def _partitions(self, request: StateRequest) -> list[int]:
        stores = self._checkpoint.versions.get(request.operator, {})
        partitions = stores.get(request.reading.store_in(stores), {})
        return [number for number in sorted(partitions) if request.partition in (number, None)]

    def _partition_by_files(
        self, request: StateRequest, partition: int, batch: int, left: Left
    ) -> list[dict[str, Json]]:
        target = (self._checkpoint, request.operator, request.reading, partition)
        if request.changes_from is None:
            return read_partition(*target, batch + 1, self._copy.limits, left)
        batches = range(request.changes_from, batch + 1)
        return read_changes(*target, batches, self._copy.limits, left)


@contextmanager
def open_state(
    session: SparkSession,
    checkpoint: SparkCheckpoint,
    limits: SparkLimits | None = None,
    scratch: Path | None = None,
    patience: Patience | None = None,
) -> Iterator[StateReader]:
    """Open the states of a checkpoint; the private copy is removed at the end.

    ``scratch`` is a folder with a plain path that Spark's executors can reach; the system's
    temporary folder if None.
    """
    folder = Path(tempfile.mkdtemp(prefix="spark-state-", dir=scratch))
    try:
        copy = PrivateCopy(checkpoint, folder / "checkpoint", limits or SparkLimits())
        yield StateReader(session, checkpoint, copy, patience or Patience())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_state(
    session: SparkSession,
    checkpoint_folder: Path,
    request: StateRequest,
    limits: SparkLimits | None = None,
    scratch: Path | None = None,
) -> StateRead:
    """Read one state from a folder with one checkpoint. Raises: InputRefused if there is none."""
    checkpoint = read_checkpoint(checkpoint_folder, limits)
    with open_state(session, checkpoint, limits, scratch) as reader:
        return reader.read(request)


@contextmanager
def _state_format(session: SparkSession, version: int) -> Iterator[None]:
    """Set the state format while the block runs; Spark reads each format only under its setting."""
    with _one_at_a_time:
        previous = session.conf.get(FORMAT_SETTING, None)
        session.conf.set(FORMAT_SETTING, str(version))
        try:
            yield
        finally:
            if previous is None:
                session.conf.unset(FORMAT_SETTING)
            else:
                session.conf.set(FORMAT_SETTING, previous)


def _renamed(row: dict[str, Json]) -> dict[str, Json]:
    """Rename the columns of the change feed to ``batch`` and ``change``."""
    names = {"batch_id": "batch", "change_type": "change"}
    return {names.get(name, name): value for name, value in row.items()}


def _span(batches: set[int]) -> str:
    if not batches:
        return "it has none"
    return f"it has batches {min(batches)} to {max(batches)}"
