"""State of a real Structured Streaming checkpoint, read by Spark's own data source.

``statestore`` reads a private copy. Where it fails, its reason is one sentence, and what the files
alone tell (``snapshots.readers.engines.spark_streaming.state.stored_state``) is given instead.

Source: Spark's documentation, "State Data Source".
"""

import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
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
from snapshots.readers.engines.spark_streaming.state.store_files import DEFAULT_STORE
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
    "Spark stopped while it read the state of this upload, and is not asked for it again. Is one "
    "of its files damaged, or Spark's memory too small?"
)
TOO_SLOW = (
    "Spark was ended because it had read the state of this upload for too long, and is not asked "
    "for it again."
)
_one_at_a_time = threading.Lock()
"""The session's setting of the state format is changed for the time of a read."""


@dataclass(frozen=True)
class StateRequest:
    """What to read. batch: None for the newest committed one.

    changes_from: a batch; asks for the changes of the batches from it up to ``batch``. partition:
    None for all. most_rows: what is beyond is cut off, and the answer says so.
    """

    operator: int = 0
    reading: Reading = field(default_factory=Reading)
    batch: int | None = None
    changes_from: int | None = None
    partition: int | None = None
    most_rows: int = 10_000


@dataclass(frozen=True)
class StateRead:
    """The answer. rows: by partition; each has ``key`` and ``value`` (or ``list_value``,
    ``map_value``, ``expiration_timestamp_ms``), changes also ``batch`` and ``change``.

    committed: False for a batch in flight. by: BY_SPARK, BY_FILES where the data source failed,
    None where the request cannot be answered. failure: why. lost: partitions whose rows could not
    be given, to the reason. missing_partitions: those without a folder, whose rows are silently
    not there.
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
    """How long Spark may read the state of one upload. left: seconds.

    gone: why Spark is not asked any more, as a sentence: it took too long, or a read was its end.
    RocksDB reads tables in the JVM's own process, and whoever makes a table may mean to crash it.
    """

    left: float = 900.0
    gone: str | None = None

    @contextmanager
    def reading(self, session: SparkSession) -> Iterator[None]:
        """Interrupts what the session runs inside, and ends the session, when time is up."""
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
        """A task that hangs in a library's own code would keep its core for ever."""
        self.gone = TOO_SLOW
        with suppress(Exception):  # whatever it says: it is ended
            session.interruptTag(tag)
        kill()


class StateReader:
    """Reads from one checkpoint, which is copied once. Use it as ``open_state`` gives it.

    patience: of all readers of one upload.
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
        """Read by Spark, or by files where it fails.

        Raises: SparkUnavailable where the disk is full. What is wrong with the checkpoint is in
        the answer.
        """
        batches = self._checkpoint.committed_batches
        batch = request.batch if request.batch is not None else max(batches, default=None)
        answer = StateRead(
            request,
            batch,
            batch in batches,
            {},
            missing_partitions=self._checkpoint.missing_partitions.get(request.operator, ()),
        )
        if (refusal := self._refusal(request, batch)) is not None:
            return replace(answer, by=None, failure=refusal)
        if self._patience.gone is not None:
            return self._by_files(answer, Failure(None, self._patience.gone))
        try:
            self._prepare(request, batch)
            with self._patience.reading(self._session):
                rows, truncated = self._by_spark(request, batch)
        except NotDecodable as error:
            return self._by_files(answer, Failure(None, str(error)))
        except Exception as error:  # py4j, grpc and Spark have many
            if self._patience.gone is not None:
                return self._by_files(answer, Failure(None, self._patience.gone))
            if is_disk_full(error):
                raise SparkUnavailable("Spark has no space left on device for state.") from error
            return self._by_files(answer, self._explained(error, request, batch))
        return replace(answer, rows=rows, truncated=truncated)

    @property
    def damaged(self) -> tuple[DamagedFile, ...]:
        """State files that Spark was kept away from."""
        return tuple(self._copy.refused.values())

    def operators(self) -> tuple[list[dict[str, Json]], Failure | None]:
        """What ``state-metadata`` says of each store; nothing for checkpoints of Spark 3.

        Columns: operatorId, operatorName, stateStoreName, numPartitions, minBatchId, maxBatchId,
        operatorProperties, _numColsPrefixKey.
        """
        try:
            frame = self._session.read.format("state-metadata").load(self._copy.folder.as_uri())
            frame = frame.select("*", "_numColsPrefixKey")
            return json_rows(frame.collect(), frame.schema), None
        except Exception as error:  # as above
            return [], explain(error, self._copy.folder, None)

    def _refusal(self, request: StateRequest, batch: int | None) -> Failure | None:
        """Why a request makes no sense for this checkpoint."""
        operators = [operator.id for operator in self._checkpoint.operators]
        if request.operator not in operators:
            return Failure(None, f"There is no operator {request.operator} with state.")
        if batch is None:
            return Failure(None, "No batch is committed, so there is no state yet.")
        known = {one.batch for one in self._checkpoint.batches}
        for wanted in {batch, batch if request.changes_from is None else request.changes_from}:
            if wanted not in known:
                return Failure(
                    None, f"Batch {wanted} is not in the checkpoint, or no longer: {_span(known)}."
                )
        if request.changes_from is None:
            return None
        if request.changes_from > batch:
            return Failure(None, f"Batch {request.changes_from} comes after batch {batch}.")
        if request.reading.kind in (JOIN_SIDE, TIMERS):
            return Failure(
                None,
                "Spark gives no changes of join sides and timers; of a join, ask for its stores.",
            )
        return None

    def _prepare(self, request: StateRequest, batch: int) -> None:
        """Raises: NotDecodable where Spark cannot or must not read."""
        first = batch if request.changes_from is None else request.changes_from
        for one in self._checkpoint.in_flight:
            if one.batch.batch == batch and one.kind != STATE_AHEAD:
                raise NotDecodable(f"Spark reads complete batches only. {one.how_far}")
        damaged = self._copy.add_state(request.operator, first + 1, batch + 1)
        if damaged:
            raise NotDecodable(f"Spark is kept away from a damaged file: {damaged[0]}")
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
            found = json_rows(plain.collect(), frame.schema)
        rows: dict[int, list[dict[str, Json]]] = {}
        for row in found[: request.most_rows]:
            rows.setdefault(row.pop("partition_id"), []).append(_renamed(row))
        return rows, len(found) > request.most_rows

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
        """What can be read of each partition without Spark."""
        request, most, truncated = answer.request, answer.request.most_rows, False
        left = Left.of(self._copy.limits)
        rows: dict[int, list[dict[str, Json]]] = {}
        lost: dict[int, str] = {}
        for partition in self._partitions(request):
            try:
                found = self._partition_by_files(request, partition, answer.batch, left)
            except (NotDecodable, DamagedFile) as error:
                lost[partition] = str(error)
                continue
            truncated = truncated or len(found) > most
            found = found[:most]
            most -= len(found)
            if found:
                rows[partition] = found
        return replace(
            answer, rows=rows, truncated=truncated, by=BY_FILES, failure=failure, lost=lost
        )

    def _partitions(self, request: StateRequest) -> list[int]:
        stores = self._checkpoint.versions.get(request.operator, {})
        found = stores.get(request.reading.store, stores.get(DEFAULT_STORE, {}))
        return [one for one in sorted(found) if request.partition in (one, None)]

    def _partition_by_files(
        self, request: StateRequest, partition: int, batch: int, left: Left
    ) -> list[dict[str, Json]]:
        place = (self._checkpoint, request.operator, request.reading, partition)
        if request.changes_from is None:
            return read_partition(*place, batch + 1, self._copy.limits, left)
        batches = range(request.changes_from, batch + 1)
        return read_changes(*place, batches, self._copy.limits, left)


@contextmanager
def open_state(
    session: SparkSession,
    checkpoint: SparkCheckpoint,
    limits: SparkLimits | None = None,
    scratch: Path | None = None,
    patience: Patience | None = None,
) -> Iterator[StateReader]:
    """scratch: a folder of a plain name that Spark's executors see, too; the system's by default.

    The private copy is removed at the end.
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
    """One read from a folder with one checkpoint. Raises: InputRefused where there is none."""
    checkpoint = read_checkpoint(checkpoint_folder, limits)
    with open_state(session, checkpoint, limits, scratch) as reader:
        return reader.read(request)


@contextmanager
def _state_format(session: SparkSession, version: int) -> Iterator[None]:
    """Spark reads each format only under its own setting."""
    with _one_at_a_time:
        before = session.conf.get(FORMAT_SETTING, None)
        session.conf.set(FORMAT_SETTING, str(version))
        try:
            yield
        finally:
            if before is None:
                session.conf.unset(FORMAT_SETTING)
            else:
                session.conf.set(FORMAT_SETTING, before)


def _renamed(row: dict[str, Json]) -> dict[str, Json]:
    """The columns of the change feed by the names that they have here."""
    names = {"batch_id": "batch", "change_type": "change"}
    return {names.get(name, name): value for name, value in row.items()}


def _span(batches: set[int]) -> str:
    if not batches:
        return "it has none"
    return f"it has batches {min(batches)} to {max(batches)}"
