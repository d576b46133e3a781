"""What an upload of Spark's checkpoint directories holds, in the words of every engine.

A batch is a checkpoint: planned when it was triggered, committed when it is complete.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from snapshots.domain.inventory.batches import spans_text
from snapshots.domain.inventory.model import (
    IN_PROGRESS,
    MILLISECONDS,
    UNKNOWN,
    CheckpointInventory,
    Fact,
    FileUse,
    JobInventory,
    MissingFile,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
    UploadInventory,
)
from snapshots.domain.model.derived import DRAINED, NOT_COMPLETED, NOT_TOLD, WHY_EMPTY, WHY_UNKNOWN
from snapshots.readers.engines import listing
from snapshots.readers.engines.spark_streaming.adapter.entries import (
    TOO_MUCH,
    Reads,
    Told,
    missing_sentence,
    state_names,
)
from snapshots.readers.engines.spark_streaming.adapter.events import snapshot_of
from snapshots.readers.engines.spark_streaming.adapter.facts import (
    batch_facts,
    job_facts,
    operator_facts,
    phases_of,
    report_of,
    settings_of,
)
from snapshots.readers.engines.spark_streaming.adapter.flaws import Spoilt, spoilt
from snapshots.readers.engines.spark_streaming.adapter.jobs import Fate, SparkJob, fate_of
from snapshots.readers.engines.spark_streaming.adapter.planned import planned_of
from snapshots.readers.engines.spark_streaming.adapter.sizes import Load, StateSizes
from snapshots.readers.engines.spark_streaming.progress import Progress
from snapshots.readers.engines.spark_streaming.state.operators import Operator
from snapshots.readers.engines.spark_streaming.state.readings import (
    JOIN_SIDE,
    TIMERS,
    VARIABLE,
    Reading,
)
from snapshots.readers.engines.spark_streaming.state.sql_types import Struct
from snapshots.readers.engines.spark_streaming.state.store_files import DEFAULT_STORE
from snapshots.readers.engines.spark_streaming.timeline import Batch

if TYPE_CHECKING:
    from snapshots.readers.engines.spark_streaming.state.schemas import ColumnFamily

BATCH, NO_DATA, EPOCH = "batch", "no-data batch", "epoch"
MOST_PARTS = 500_000  # operators, partitions and stores of all batches; the newest first
MOST_MISSING = 100  # files named of one batch
MOST_COLUMNS = 50
_OF_JOINS_OWN = ("index", "matched")  # of key and value


@dataclass
class Telling:
    """The contents on their way. left: how many of MOST_PARTS can still be told."""

    jobs: tuple[SparkJob, ...]
    states: Mapping[str, StateSizes]
    reports: Mapping[str, Mapping[int, Progress]]
    reads: Reads
    left: int = field(default_factory=lambda: MOST_PARTS)
    notes: list[str] = field(default_factory=list)

    def inventory(self, files: tuple[FileUse, ...], notes: Sequence[str]) -> UploadInventory:
        checkpoints = [one for job in reversed(self.jobs) for one in self._batches(job)]
        flaws = [(job, one) for job in self.jobs for one in self._spoilt(job)]
        return UploadInventory(
            engine="spark",
            jobs=tuple(
                JobInventory(job.key, job.folder or "checkpoint", job_facts(job))
                for job in self.jobs
            ),
            checkpoints=tuple(reversed(checkpoints)),
            files=files,
            notes=(*notes, *self._left_out(), *self.notes),
            flaws=tuple(one.flaw(job) for job, one in flaws[:MOST_MISSING]),
            flaws_total=len(flaws),
        )

    def _left_out(self) -> Iterator[str]:
        for job in self.jobs:
            if places := self.reads.left_out.get(job.number, ()):
                ids = spans_text(job.batches[place].batch for place in places)
                of = f" of {job.folder}" if len(self.jobs) > 1 else ""
                count = f"{len(places):,} batch{'es' if len(places) > 1 else ''}"
                yield f"The entries of {count}{of} are not read ({ids}): {TOO_MUCH}"

    def _spoilt(self, job: SparkJob) -> Iterator[Spoilt]:
        return spoilt(job, self.states[job.folder], self.reads.damaged.get(job.folder, {}).values())

    def _batches(self, job: SparkJob) -> Iterator[CheckpointInventory]:
        """The newest first, since there is room for so many."""
        stores = self.states[job.folder].stores.values()
        parts = 1 + sum(1 + sum(map(len, one.values())) for one in stores)
        for place in reversed(range(len(job.batches))):
            if self.left and parts >= self.left:
                self.notes.append("Operators are told of the newest batches only: they are many.")
            self.left = max(self.left - parts, 0)
            yield self._batch(job, job.batches[place], job.first + place)

    def _batch(self, job: SparkJob, batch: Batch, number: int) -> CheckpointInventory:
        fate = fate_of(job, batch)
        told = job.checkpoint.operators if self.left else ()
        loads = _loads(job, batch, self.states[job.folder], fate) if self.left else {}
        operators = tuple(
            self._operator(job, batch, number, operator, loads.get(operator.id, {}))
            for operator in told
        )
        own = [load for partitions in loads.values() for one in partitions.values() for load in one]
        known = [operator.bytes for operator in operators if operator.bytes is not None]
        return CheckpointInventory(
            job=job.key,
            id=batch.batch,
            kind=_kind(job, batch),
            status=fate.status,
            path=_path(job, batch),
            triggered_at=batch.planned_at_ms,
            completed_at=batch.committed_at_ms,
            bytes=sum(known) if len(known) == len(job.checkpoint.operators) else None,
            shared=sum(load.shared for _, load in own),
            operators=operators,
            missing=tuple(_missing(job, batch, loads, fate))[:MOST_MISSING],
            facts=batch_facts(job, batch),
            notes=tuple(_batch_notes(job, batch, fate)),
            problem=fate.sentence if fate.status == UNKNOWN else None,
            phases=phases_of(batch),
            planned=planned_of(job, batch),
            settings=settings_of(job, batch),
            snapshot=snapshot_of(job, batch.batch) if job.number else None,
            **_whys(job, fate),
        )

    def _operator(
        self,
        job: SparkJob,
        batch: Batch,
        number: int,
        operator: Operator,
        loads: Mapping[int, list[tuple[str, Load]]],
    ) -> OperatorInventory:
        sizes = {partition: _size([load for _, load in one]) for partition, one in loads.items()}
        complete = None not in sizes.values() and bool(sizes)
        report = report_of(job, self.reports[job.folder], batch)
        return OperatorInventory(
            id=str(operator.id),
            name=operator.name or _reported_name(job, operator),
            parallelism=operator.used_partitions,
            bytes=sum(sizes.values()) if complete else None,
            subtasks=tuple(
                SubtaskInventory(partition, bytes=sizes[partition], parts=_parts(one))
                for partition, one in sorted(loads.items())
            ),
            states=tuple(self._states(job, batch, number, operator, loads)),
            facts=(
                *operator_facts(report, operator.id, len(job.checkpoint.operators)),
                *_schema_facts(job, operator),
            ),
            notes=tuple(self._operator_notes(job, batch, number, operator)),
        )

    def _states(
        self,
        job: SparkJob,
        batch: Batch,
        number: int,
        operator: Operator,
        loads: Mapping[int, list[tuple[str, Load]]],
    ) -> Iterator[StateInventory]:
        """Only of batches whose entries are read: of others it is not known how many there are."""
        if number not in self.reads.read:
            return
        gone = missing_sentence(job.checkpoint.missing_partitions.get(operator.id, ()))
        for reading, name in state_names(job, operator).items():
            own = [load for one in loads.values() for store, load in one if store == reading.store]
            lacking = any(load.lacking for load in own)
            told = self.reads.told.get((number, operator.id, name), Told(True, None))
            yield StateInventory(
                name=name,
                kind=_state_kind(operator, reading),
                type=_type(job, operator, reading),
                reason=told.reason or gone,
                complete=told.complete and not lacking and gone is None,
            )

    def _operator_notes(
        self, job: SparkJob, batch: Batch, number: int, operator: Operator
    ) -> Iterator[str]:
        gone = missing_sentence(job.checkpoint.missing_partitions.get(operator.id, ()))
        if gone is not None:
            yield gone
        if number - job.first in self.reads.left_out.get(job.number, ()):
            yield f"The entries of this batch are not read: {TOO_MUCH}"
        reasons: dict[str, list[str]] = {}
        for name in state_names(job, operator).values():
            told = self.reads.told.get((number, operator.id, name))
            if told is not None and told.reason is not None and told.reason != gone:
                reasons.setdefault(told.reason, []).append(name)
        for reason, names in reasons.items():
            yield f"{', '.join(names)}: {reason}"


def _loads(
    job: SparkJob, batch: Batch, sizes: StateSizes, fate: Fate
) -> dict[int, dict[int, list[tuple[str, Load]]]]:
    """By operator and partition: the name of each store and what its version takes.

    Of a batch that was never committed only what was written.
    """
    version = batch.state_version
    found: dict[int, dict[int, list[tuple[str, Load]]]] = {}
    for operator, stores in sizes.stores.items():
        for store, partitions in stores.items():
            for partition, versions in partitions.items():
                if fate.is_over or versions.wrote(version):
                    own = found.setdefault(operator, {}).setdefault(partition, [])
                    own.append((store, versions.load(version)))
    return found


def _size(loads: list[Load]) -> int | None:
    sizes = [load.bytes for load in loads]
    return None if None in sizes else sum(sizes)


def _parts(loads: list[tuple[str, Load]]) -> dict[str, int]:
    """Bytes by kind of file, or where there are several stores, by store."""
    if len(loads) == 1:
        return {name: size for name, size in loads[0][1].parts.items() if size is not None}
    return {store: load.bytes for store, load in loads if load.bytes is not None}


def _whys(job: SparkJob, fate: Fate) -> dict[str, str]:
    """Nothing is between the tasks of a batch that is over; of others nobody tells."""
    if fate.is_over and not job.is_continuous:
        return {"why_empty": WHY_EMPTY[DRAINED]}
    return {"why_unknown": WHY_UNKNOWN[NOT_TOLD if job.is_continuous else NOT_COMPLETED]}


def _kind(job: SparkJob, batch: Batch) -> str:
    if job.is_continuous:
        return EPOCH
    return NO_DATA if batch.has_no_data else BATCH


def _path(job: SparkJob, batch: Batch) -> str:
    return job.path(f"{'offsets' if batch.planned else 'commits'}/{batch.batch}")


def _batch_notes(job: SparkJob, batch: Batch, fate: Fate) -> Iterator[str]:
    if fate.status != UNKNOWN and fate.sentence is not None:
        yield fate.sentence
    if fate.status == IN_PROGRESS and batch.sources is None:
        yield job.in_flight[batch.batch].sentence
    if not batch.planned:
        yield "Its offset file is not in the upload, so what it read is not known."


def _missing(
    job: SparkJob,
    batch: Batch,
    loads: Mapping[int, Mapping[int, list[tuple[str, Load]]]],
    fate: Fate,
) -> Iterator[MissingFile]:
    """What it takes to read the state after the batch, and is not there."""
    if not fate.is_over:
        return
    for operator, gone in job.checkpoint.missing_partitions.items():
        for partition in gone[:MOST_MISSING]:
            path = job.path(f"state/{operator}/{partition}")
            yield MissingFile(path, None, "The folder of the partition is not there.")
    for operator, partitions in loads.items():
        for partition, one in sorted(partitions.items()):
            for store, load in one:
                if load.lacking:
                    inner = "" if store == DEFAULT_STORE else f"/{store}"
                    path = job.path(f"state/{operator}/{partition}{inner}/{load.missing}")
                    yield MissingFile(path, None, _lacking(batch, load))


def _lacking(batch: Batch, load: Load) -> str:
    more = f", and {load.lacking - 1:,} more files" if load.lacking > 1 else ""
    return f"Without it{more} version {batch.state_version} of the state cannot be put together."


def _reported_name(job: SparkJob, operator: Operator) -> str | None:
    nodes = job.checkpoint.topology.operators
    return next((node.reported_name for node in nodes if node.id == operator.id), None)


def _state_kind(operator: Operator, reading: Reading) -> str:
    if reading.kind == VARIABLE:
        return operator.state_variables.get(reading.name or "", "state variable")
    return {JOIN_SIDE: "join side", TIMERS: "timers"}.get(reading.kind, "store")


def _type(job: SparkJob, operator: Operator, reading: Reading) -> str | None:
    """Columns of key and value, without those that a join adds to the rows of a side."""
    if reading.kind == TIMERS:
        return None
    schemas = job.checkpoint.schemas
    schema = schemas.get((operator.id, reading.store))
    if schema is not None and reading.kind != VARIABLE:
        family: ColumnFamily | None = schema.default
    else:  # a store may hold several
        schema = schemas.get((operator.id, DEFAULT_STORE))
        name = reading.name if reading.kind == VARIABLE else reading.store
        family = schema and next((one for one in schema.families if one.name == name), None)
    if family is None:
        return None
    key, value = _OF_JOINS_OWN if reading.kind == JOIN_SIDE else (None, None)
    return f"{_columns(family.key, key)} → {_columns(family.value, value)}"


def _columns(struct: Struct, without: str | None) -> str:
    columns = [name for name in struct.names if name != without]
    return f"({listing.names(columns, MOST_COLUMNS)})"


def _schema_facts(job: SparkJob, operator: Operator) -> Iterator[Fact]:
    delays: dict[str, int] = {}
    for (owner, _), schema in job.checkpoint.schemas.items():
        if owner == operator.id:
            delays |= schema.watermark_delays_ms
    for column, delay in list(delays.items())[:MOST_COLUMNS]:
        yield Fact(f"watermark delay of {column}", delay, unit=MILLISECONDS)
