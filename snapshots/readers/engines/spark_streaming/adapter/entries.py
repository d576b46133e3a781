"""Entries of stored state, in the form that is the same for every engine.

Who reads them is asked for the rows of one batch, operator and reading at a time: Spark's own data
source (``tasks.spark.engine_state.entries``) or, without Spark, the decoder of the files. They give
values and no bytes; so keys and values are told apart by their JSON.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import orjson

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
from snapshots.readers.engines.spark_streaming.state.stored_state import (
    Left,
    NotDecodable,
    read_partition,
)
from snapshots.readers.engines.spark_streaming.timeline import Batch

ALWAYS_READ = 5  # batches of a job, however many entries they have
MOST_ENTRIES = 1_000_000  # of an upload
MOST_SECONDS = 120.0  # to read them
TOO_MUCH = (
    f"of an upload at most {MOST_ENTRIES:,} entries are read, for at most {MOST_SECONDS / 60:.0f} "
    "minutes, and newer batches first."
)
_VALUES = ("value", "list_value", "map_value", "expiration_timestamp_ms")


@dataclass(frozen=True)
class Wanted:
    job: SparkJob
    batch: int
    operator: int
    reading: Reading


@dataclass(frozen=True)
class Rows:
    """by_partition: each row has ``key`` and one of ``value``, ``list_value``, ``map_value`` and
    ``expiration_timestamp_ms``. complete: all there are. reason: why not, or what else is to be
    said, as a sentence. damaged: files that turned out to be."""

    by_partition: Mapping[int, list[dict[str, Json]]]
    complete: bool = True
    reason: str | None = None
    damaged: tuple[DamagedFile, ...] = ()


@dataclass(frozen=True)
class Told:
    """What came to light about a state while its entries were read."""

    complete: bool
    reason: str | None


Place = tuple[int, int, str]  # number of the checkpoint, operator, name of the state


@dataclass
class Reads:
    """What was read of an upload. told: by state, only of those that were. damaged: by folder of
    the checkpoint and path. read: numbers of checkpoints. left_out: by number of the job, the
    places of batches whose entries were not read."""

    told: dict[Place, Told] = field(default_factory=dict)
    damaged: dict[str, dict[str, DamagedFile]] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)
    left_out: dict[int, tuple[int, ...]] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic

    def entries(
        self, jobs: tuple[SparkJob, ...], ask: Callable[[Wanted], Rows]
    ) -> Iterator[StateEntry]:
        """Of every batch that has state, by job from the newest to the oldest; then by operator and
        state. As many as there is room and time for, and of each job at least ALWAYS_READ batches.

        ask: never raises.
        """
        began, count = self.clock(), 0
        for number, job in enumerate(jobs):
            share = (number + 1) / len(jobs)
            wanted = [place for place, one in enumerate(job.batches) if one.batch in job.with_state]
            for done, place in enumerate(reversed(wanted)):
                late = self.clock() - began > MOST_SECONDS * share
                if done >= ALWAYS_READ and (late or count > MOST_ENTRIES * share):
                    self.left_out[job.number] = tuple(wanted[: len(wanted) - done])
                    break
                self.read.add(job.first + place)
                for entry in self._batch(job, place, ask):
                    count += 1
                    yield entry

    def _batch(
        self, job: SparkJob, place: int, ask: Callable[[Wanted], Rows]
    ) -> Iterator[StateEntry]:
        for operator in job.checkpoint.operators:
            yield from self._operator(job, job.first + place, job.batches[place], operator, ask)

    def _operator(
        self,
        job: SparkJob,
        number: int,
        batch: Batch,
        operator: Operator,
        ask: Callable[[Wanted], Rows],
    ) -> Iterator[StateEntry]:
        for reading, name in state_names(job, operator).items():
            rows = ask(Wanted(job, batch.batch, operator.id, reading))
            self.told[number, operator.id, name] = Told(rows.complete, rows.reason)
            damaged = self.damaged.setdefault(job.folder, {})
            damaged.update((error.file, error) for error in rows.damaged)
            for partition, found in sorted(rows.by_partition.items()):
                for row in found:
                    yield _entry(number, operator.id, partition, name, reading, row)


def state_names(job: SparkJob, operator: Operator) -> dict[Reading, str]:
    """Every way to read an operator's state, and what the state is called."""
    readings = readings_of(operator, job.checkpoint.versions)
    names = [reading.name or reading.kind for reading in readings]
    return {
        reading: name if names.count(name) == 1 else reading.label
        for reading, name in zip(readings, names, strict=True)
    }


def rows_by_files(wanted: Wanted, limits: SparkLimits) -> Rows:
    """Without Spark: what the decoder of the files can read."""
    checkpoint = wanted.job.checkpoint
    stores = checkpoint.versions.get(wanted.operator, {})
    partitions = stores.get(wanted.reading.store, {})
    rows: dict[int, list[dict[str, Json]]] = {}
    reasons, damaged = [_missing(wanted)], []
    left = Left.of(limits)
    for partition in sorted(partitions):
        place = (checkpoint, wanted.operator, wanted.reading, partition, wanted.batch + 1)
        try:
            rows[partition] = read_partition(*place, limits, left)
        except (NotDecodable, DamagedFile) as error:
            reasons.append(str(error))
            if isinstance(error, DamagedFile):
                damaged.append(error)
    if not partitions:
        reasons.append(f"There are no files of the store {wanted.reading.store!r}.")
    found = [reason for reason in reasons if reason]
    return Rows(rows, not found, found[0] if found else None, tuple(damaged))


def _missing(wanted: Wanted) -> str | None:
    gone = wanted.job.checkpoint.missing_partitions.get(wanted.operator, ())
    return missing_sentence(gone)


def missing_sentence(partitions: tuple[int, ...]) -> str | None:
    """Why rows of an operator are not there, whoever reads; None where all can be."""
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
    # of these a key can have several: rows come and go, and none of them changes
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
    """The same bytes for the same value, whoever has read it."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
