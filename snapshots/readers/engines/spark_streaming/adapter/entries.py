"""Entries of stored state, in the form that is the same for every engine.

A function reads the rows of one batch, operator and reading at a time: Spark's own data source
(``tasks.spark.engine_state.entries``) or, without Spark, the decoder of the files. Rows hold values
and no bytes, so keys and values are compared by their JSON.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import orjson

from snapshots.domain.inventory.batches import NEWER_FIRST
from snapshots.domain.inventory.entries import StateEntry
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob
from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.files import DamagedFile
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.state.operators import Operator
from snapshots.readers.engines.spark_streaming.state.readings import (
    JOIN_SIDE,
    TIMERS,
    Reading,
    readings_of,
)
from snapshots.readers.engines.spark_streaming.state.schemas import EVENT_TIME
from snapshots.readers.engines.spark_streaming.state.store_files import DEFAULT_STORE
from snapshots.readers.engines.spark_streaming.state.stored_state import (
    Kept,
    Left,
    NotDecodable,
    read_partition,
)

ALWAYS_READ = 5  # batches of a job, however many entries they have
MOST_ENTRIES = 1_000_000  # of an upload
MOST_SECONDS = 30.0  # to read them
TOO_MUCH = (
    f"at most {MOST_ENTRIES:,} entries of an upload are read, for at most {MOST_SECONDS:.0f} "
    f"seconds, {NEWER_FIRST}"
)
NO_EVENT_TIME = (
    f"Keys are shown without the column {EVENT_TIME}: Spark's own reader of state gives wrong "
    "numbers for it in joins of state format 4."
)
_VALUES = ("value", "list_value", "map_value", "expiration_timestamp_ms")


@dataclass(frozen=True)
class Wanted:
    """The state that is to be read: a reading of an operator after a batch."""

    job: SparkJob
    batch: int
    operator: int
    reading: Reading


@dataclass(frozen=True)
class Rows:
    """The rows of a state.

    Attributes:
        by_partition: rows with ``key`` and one of ``value``, ``list_value``, ``map_value`` and
            ``expiration_timestamp_ms``.
        complete: whether these are all rows.
        reason: why they are not, or what else must be said, as a sentence.
        damaged: files that turned out to be damaged.
    """

    by_partition: Mapping[int, list[dict[str, Json]]]
    complete: bool = True
    reason: str | None = None
    damaged: tuple[DamagedFile, ...] = ()


@dataclass
class Reads:
    """What is known of an upload's states after their entries were read.

    Attributes:
        rows: the rows of each state without entries, by checkpoint, operator and the state's name.
        damaged: damaged files by folder of the checkpoint, then by path.
        read: the numbers of the checkpoints that were read.
        left_out: the places of the batches that were not read, by number of the job.
        is_whole: whether they are read without a limit, as a person may ask.
        clock: gives seconds.
    """

    rows: dict[tuple[int, int, str], Rows] = field(default_factory=dict)
    damaged: dict[str, dict[str, DamagedFile]] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)
    left_out: dict[int, tuple[int, ...]] = field(default_factory=dict)
    is_whole: bool = False
    clock: Callable[[], float] = time.monotonic

    def entries(
        self, jobs: tuple[SparkJob, ...], read_rows: Callable[[Wanted], Rows]
    ) -> Iterator[StateEntry]:
        """Yield the entries of batches with state, by job from the newest batch to the oldest.

        Unless all are asked for, they are read as long as there is room and time, and at least
        ALWAYS_READ batches of each job.

        Args:
            read_rows: reads the rows of a state; it never raises.
        """
        began, count = self.clock(), 0
        for number, job in enumerate(jobs, 1):
            share = number / len(jobs)
            wanted = [place for place, one in enumerate(job.batches) if one.batch in job.with_state]
            for done, place in enumerate(reversed(wanted)):
                late = self.clock() - began > MOST_SECONDS * share
                is_too_much = late or count > MOST_ENTRIES * share
                if done >= ALWAYS_READ and is_too_much and not self.is_whole:
                    self.left_out[job.number] = tuple(wanted[: len(wanted) - done])
                    break
                self.read.add(job.first + place)
                for entry in self._batch(job, place, read_rows):
                    count += 1
                    yield entry

    def _batch(
        self, job: SparkJob, place: int, read_rows: Callable[[Wanted], Rows]
    ) -> Iterator[StateEntry]:
        number, batch = job.first + place, job.batches[place].batch
        for operator in job.checkpoint.operators:
            for reading, name in state_names(job, operator).items():
                wanted = Wanted(job, batch, operator.id, reading)
                rows = without_event_time(wanted, read_rows(wanted))
                self.rows[number, operator.id, name] = replace(rows, by_partition={})
                damaged = self.damaged.setdefault(job.folder, {})
                damaged.update((error.file, error) for error in rows.damaged)
                for partition, stored in sorted(rows.by_partition.items()):
                    for row in stored:
                        yield _entry(number, operator.id, partition, name, reading, row)


def without_event_time(wanted: Wanted, rows: Rows) -> Rows:
    """Take the event time out of the keys of a join of state format 4, and say so."""
    schema = wanted.job.checkpoint.schemas.get((wanted.operator, DEFAULT_STORE))
    families = schema.families if schema is not None and wanted.reading.kind == JOIN_SIDE else ()
    if not any(family.has_event_time_in_key for family in families):
        return rows
    for stored in rows.by_partition.values():
        for row in stored:
            if isinstance(key := row.get("key"), dict):
                key.pop(EVENT_TIME, None)
    reason = " ".join(filter(None, (rows.reason, NO_EVENT_TIME)))
    return replace(rows, reason=reason)


def state_names(job: SparkJob, operator: Operator) -> dict[Reading, str]:
    """Return the readings of an operator's state, with the names of the states."""
    readings = readings_of(operator, job.checkpoint.versions)
    names = [reading.name or reading.kind for reading in readings]
    return {
        reading: name if names.count(name) == 1 else reading.label
        for reading, name in zip(readings, names, strict=True)
    }


def rows_by_files(wanted: Wanted, limits: SparkLimits, kept: Kept | None = None) -> Rows:
    """Return what the decoder of the files can read, without Spark."""
    checkpoint = wanted.job.checkpoint
    stores = checkpoint.versions.get(wanted.operator, {})
    listed = stores.get(wanted.reading.store_in(stores), {})
    partitions = [one for one in sorted(listed) if checkpoint.has_partition(one, wanted.batch)]
    rows: dict[int, list[dict[str, Json]]] = {}
    damaged: list[DamagedFile] = []
    gone = missing_sentence(checkpoint.missing_partitions.get(wanted.operator, ()))
    reasons = [gone] if gone is not None else []
    left = Left.of(limits)
    for partition in partitions:
        place = (checkpoint, wanted.operator, wanted.reading, partition, wanted.batch + 1)
        try:
            rows[partition] = read_partition(*place, limits, left, kept)
        except (NotDecodable, DamagedFile) as error:
            reasons.append(str(error))
            if isinstance(error, DamagedFile):
                damaged.append(error)
    if not partitions:
        reasons.append(f"There are no files of the store {wanted.reading.store!r}.")
    return Rows(rows, not reasons, reasons[0] if reasons else None, tuple(damaged))


def missing_sentence(partitions: tuple[int, ...]) -> str | None:
    """Say that the rows of partitions are missing, whoever reads; None without such partitions."""
    if not partitions:
        return None
    several = f" and {len(partitions) - 1:,} more" if len(partitions) > 1 else ""
    return (
        f"The folder of partition {partitions[0]}{several} is not in the upload: its rows are "
        "missing, and nothing else says so."
    )


def _entry(
    number: int, operator: int, partition: int, state: str, reading: Reading, row: dict[str, Json]
) -> StateEntry:
    key = row.get("key")
    value = next((row[name] for name in _VALUES if name in row), None)
    key_text, value_text = as_text(key), as_text(value)
    # A key can have several rows of these kinds; rows come and go, and none of them changes.
    several = reading.kind in (JOIN_SIDE, TIMERS)
    return StateEntry(
        checkpoint=number,
        operator=str(operator),
        subtask=partition,
        state=state,
        key=key,
        value=value,
        bytes=len(key_text) + len(value_text),
        identity=key_text + b" " + value_text if several else key_text,
        digest=value_text,
    )


def as_text(value: Json) -> bytes:
    """Return the same bytes for the same value, whoever has read it."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
