"""The inventory of Spark's checkpoint directories.

A batch is a checkpoint: triggered when it was planned, complete when it is committed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

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
from snapshots.domain.model.derived import DRAINED, WHY_EMPTY, WHY_UNKNOWN
from snapshots.readers.engines import listing
from snapshots.readers.engines.spark_streaming.adapter.entries import (
    TOO_MUCH,
    Reads,
    Rows,
    missing_sentence,
    state_names,
)
from snapshots.readers.engines.spark_streaming.adapter.facts import (
    batch_facts,
    job_facts,
    job_names,
    operator_facts,
    phases_of,
    planned_of,
    ranges_of,
    report_of,
    settings_of,
)
from snapshots.readers.engines.spark_streaming.adapter.flaws import (
    not_read,
    spoilt,
    state_path,
)
from snapshots.readers.engines.spark_streaming.adapter.jobs import (
    SparkJob,
    fate_of,
    snapshot_of,
    why_unknown,
)
from snapshots.readers.engines.spark_streaming.adapter.sizes import Load, StateSizes, known_sum
from snapshots.readers.engines.spark_streaming.progress import Progress
from snapshots.readers.engines.spark_streaming.state.operators import Operator
from snapshots.readers.engines.spark_streaming.state.readings import (
    JOIN_SIDE,
    TIMERS,
    VARIABLE,
    Reading,
)
from snapshots.readers.engines.spark_streaming.state.schemas import EVENT_TIME
from snapshots.readers.engines.spark_streaming.state.sql_types import Struct
from snapshots.readers.engines.spark_streaming.state.store_files import DEFAULT_STORE

BATCH, NO_DATA, EPOCH = "batch", "no-data batch", "epoch"
MOST_PARTS = 500_000  # operators, partitions and stores of all batches; the newest first
MOST_MISSING = 100  # files named of one batch
MOST_COLUMNS = 50
NOT_LISTED = "Only the newest batches list their operators, because there are so many."
_OF_JOINS_OWN = (("index", EVENT_TIME), ("matched",))  # of key and value

Loads = dict[int, dict[int, list[tuple[str, Load]]]]
"""The name of each store and what its version takes, by operator and partition."""


def upload_inventory(
    jobs: tuple[SparkJob, ...],
    states: Mapping[str, StateSizes],
    reports: Mapping[str, Mapping[int, Progress]],
    reads: Reads,
    files: tuple[FileUse, ...],
    notes: Sequence[str],
    shown: Mapping[str, tuple[Fact, ...]],
) -> UploadInventory:
    """Return what an upload holds.

    Args:
        states: the stored state of each checkpoint, by its folder.
        reports: the progress reports by the checkpoint's folder, then by batch.
        notes: what the upload's files say, as sentences.
        shown: what the files of each query show, by its folder.
    """
    flaws = [
        (job, file)
        for job in jobs
        for file in spoilt(job, states[job.folder], reads.damaged.get(job.folder, {}).values())
    ]
    unread = [
        sentence
        for job in jobs
        for sentence in not_read(
            job, states[job.folder], reads.damaged.get(job.folder, {}).values()
        )
    ]
    counts = Counter(job.first + place for job, file in flaws for place in file.places)
    checkpoints: list[CheckpointInventory] = []
    further_notes: list[str] = []
    left = MOST_PARTS
    for job in reversed(jobs):  # the newest first, since there is room for so many
        state = states[job.folder]
        parts = 1 + len(state.stores) + sum(1 for _ in state.partitions())
        for place in reversed(range(len(job.batches))):
            if left and parts >= left:
                further_notes.append(NOT_LISTED)
            left = max(left - parts, 0)
            batch = _BatchInventory(job, place, state, reports[job.folder], reads, in_full=left > 0)
            checkpoints.append(replace(batch.checkpoint(), flaws=counts[batch.number]))
    return UploadInventory(
        engine="spark",
        jobs=tuple(
            JobInventory(job.key, name, (*job_facts(job), *shown[job.folder]))
            for job, name in zip(jobs, job_names(jobs, reports), strict=True)
        ),
        checkpoints=tuple(reversed(checkpoints)),
        files=files,
        notes=(*notes, *_unread_notes(unread), *_left_out(jobs, reads), *further_notes),
        flaws=tuple(file.flaw(job) for job, file in flaws[:MOST_MISSING]),
        flaws_total=len(flaws),
    )


def _unread_notes(sentences: Sequence[str]) -> Iterator[str]:
    """Yield what is said of files that may be whole, of many the first ones."""
    yield from sentences[:MOST_MISSING]
    if (more := len(sentences) - MOST_MISSING) > 0:
        yield f"{more:,} more files are not read here, and may be whole."


def _left_out(jobs: tuple[SparkJob, ...], reads: Reads) -> Iterator[str]:
    for job in jobs:
        if places := reads.left_out.get(job.number, ()):
            ids = spans_text(job.batches[place].batch for place in places)
            of_job = f" of {job.folder}" if len(jobs) > 1 else ""
            count = f"{len(places):,} batch{'es' if len(places) > 1 else ''}"
            yield f"The entries of {count}{of_job} are not read ({ids}): {TOO_MUCH}"


class _BatchInventory:
    """Describes one batch of a job.

    Args:
        in_full: whether there is room for its operators.
    """

    def __init__(
        self,
        job: SparkJob,
        place: int,
        state: StateSizes,
        reports: Mapping[int, Progress],
        reads: Reads,
        *,
        in_full: bool,
    ) -> None:
        self.job, self.place, self.reads = job, place, reads
        self.batch, self.number = job.batches[place], job.first + place
        self.fate = fate_of(job, self.batch)
        self.report = report_of(reports, self.batch)
        self.operators = job.checkpoint.operators if in_full else ()
        self.loads = self._loads(state) if in_full else {}

    def _loads(self, state: StateSizes) -> Loads:
        """Return what the state after the batch takes; before its commit only what was written."""
        version = self.batch.state_version
        loads: Loads = {}
        for operator, store, partition, versions in state.partitions():
            if not self.job.checkpoint.has_partition(partition, self.batch.batch):
                continue
            if self.fate.is_over or versions.wrote(version):
                stores = loads.setdefault(operator, {}).setdefault(partition, [])
                stores.append((store, versions.load(version)))
        return loads

    def checkpoint(self) -> CheckpointInventory:
        job, batch, fate = self.job, self.batch, self.fate
        operators = tuple(map(self._operator, self.operators))
        is_whole = len(operators) == len(job.checkpoint.operators)
        why_state_unknown = job.why_state_unknown or (None if is_whole else NOT_LISTED)
        log = "offsets" if batch.planned else "commits"
        is_empty = fate.is_over and not job.is_continuous
        kind = EPOCH if job.is_continuous else NO_DATA if batch.has_no_data else BATCH
        return CheckpointInventory(
            job=job.key,
            id=batch.batch,
            kind=kind,
            status=fate.status,
            path=None if job.checkpoint.is_state_alone else job.path(f"{log}/{batch.batch}"),
            triggered_at=batch.planned_at_ms,
            completed_at=batch.committed_at_ms,
            bytes=None if why_state_unknown else known_sum(one.bytes for one in operators),
            shared=None if why_state_unknown else self._shared(),
            operators=operators,
            missing=tuple(self._missing())[:MOST_MISSING],
            why_state_unknown=why_state_unknown,
            facts=tuple(batch_facts(job, batch)),
            notes=tuple(self._notes()),
            problem=fate.sentence if fate.status == UNKNOWN else None,
            phases=phases_of(batch),
            planned=planned_of(job, batch),
            settings=settings_of(job, batch),
            ranges=ranges_of(job, batch),
            snapshot=snapshot_of(job, batch.batch) if job.number else None,
            why_empty=WHY_EMPTY[DRAINED] if is_empty else None,
            why_unknown=None if is_empty else WHY_UNKNOWN[why_unknown(job)],
        )

    def _shared(self) -> int:
        """Return how many bytes of its state other batches need, too."""
        return sum(
            load.shared
            for partitions in self.loads.values()
            for stores in partitions.values()
            for _, load in stores
        )

    def _notes(self) -> Iterator[str]:
        fate, batch = self.fate, self.batch
        if fate.status != UNKNOWN and fate.sentence is not None:
            yield fate.sentence
        if fate.status == IN_PROGRESS and batch.sources is None:
            yield self.job.in_flight[batch.batch].sentence
        if not batch.planned:
            yield "Its offset file is not in the upload, so what it read is not known."
        if self.job.is_continuous and batch.went_back:
            yield (
                f"Its offsets go back behind those of epoch {batch.batch - 1}: the query had "
                "started again from an earlier epoch. Whether it had read up to the offsets of "
                f"epoch {batch.batch - 1} when that epoch was committed is not known."
            )

    def _missing(self) -> Iterator[MissingFile]:
        """Yield the absent files without which the batch or its state cannot be read."""
        for folder, reason in self.job.missing_folders.items():
            source = folder.removeprefix("sources/")
            if folder == "state" or any(source == one.source for one in self.batch.sources or ()):
                yield MissingFile(self.job.path(f"{folder}/"), None, reason)
        if not self.fate.is_over:
            return
        for operator, gone in self.job.checkpoint.missing_partitions.items():
            for partition in gone[:MOST_MISSING]:
                path = self.job.path(state_path(operator, partition, DEFAULT_STORE))
                yield MissingFile(path, None, "The folder of the partition is not there.")
        for operator, partitions in self.loads.items():
            for partition, stores in sorted(partitions.items()):
                for store, load in stores:
                    if load.missing is not None:
                        path = self.job.path(state_path(operator, partition, store, load.missing))
                        yield MissingFile(path, None, self._lacking(load))

    def _lacking(self, load: Load) -> str:
        more = f", and {load.lacking - 1:,} more files" if load.lacking > 1 else ""
        version = self.batch.state_version
        return f"Without it{more} version {version} of the state cannot be put together."

    def _operator(self, operator: Operator) -> OperatorInventory:
        checkpoint = self.job.checkpoint
        loads = self.loads.get(operator.id, {})
        sizes = {
            partition: known_sum(load.bytes for _, load in stores)
            for partition, stores in loads.items()
        }
        nodes = checkpoint.topology.operators
        reported = (node.reported_name for node in nodes if node.id == operator.id)
        gone = missing_sentence(checkpoint.missing_partitions.get(operator.id, ()))
        return OperatorInventory(
            id=str(operator.id),
            name=operator.name or next(reported, None),
            parallelism=checkpoint.parallelism(operator, self.batch.batch),
            bytes=known_sum(sizes.values()) if sizes else None,
            subtasks=tuple(
                SubtaskInventory(
                    partition, bytes=sizes[partition], parts=_parts(stores), new=_new_parts(stores)
                )
                for partition, stores in sorted(loads.items())
            ),
            states=tuple(self._states(operator, loads, gone)),
            facts=(
                *operator_facts(self.report, operator.id, len(checkpoint.operators)),
                *_schema_facts(self.job, operator),
            ),
            notes=tuple(self._operator_notes(operator, gone)),
        )

    def _states(
        self, operator: Operator, loads: Mapping[int, list[tuple[str, Load]]], gone: str | None
    ) -> Iterator[StateInventory]:
        """Yield the states, if their entries are read: else nobody knows how many there are."""
        if self.number not in self.reads.read:
            return
        for reading, name in state_names(self.job, operator).items():
            stores = [pair for partition in loads.values() for pair in partition]
            own = reading.store_in({store for store, _ in stores})
            lacking = any(load.lacking for store, load in stores if store == own)
            rows = self.reads.rows.get((self.number, operator.id, name), Rows({}))
            yield StateInventory(
                name=name,
                kind=_state_kind(operator, reading),
                type=_type(self.job, operator, reading),
                reason=rows.reason or gone,
                complete=rows.complete and not lacking and gone is None,
            )

    def _operator_notes(self, operator: Operator, gone: str | None) -> Iterator[str]:
        if gone is not None:
            yield gone
        if self.place in self.reads.left_out.get(self.job.number, ()):
            yield f"The entries of this batch are not read: {TOO_MUCH}"
        reasons: dict[str, list[str]] = {}
        for name in state_names(self.job, operator).values():
            rows = self.reads.rows.get((self.number, operator.id, name))
            if rows is not None and rows.reason is not None and rows.reason != gone:
                reasons.setdefault(rows.reason, []).append(name)
        for reason, names in reasons.items():
            yield f"{', '.join(names)}: {reason}"


def _parts(stores: list[tuple[str, Load]]) -> dict[str, int]:
    """Return bytes by kind of file; where there are several stores, bytes by store."""
    sizes = stores[0][1].parts if len(stores) == 1 else {name: one.bytes for name, one in stores}
    return {name: size for name, size in sizes.items() if size is not None}


def _new_parts(stores: list[tuple[str, Load]]) -> dict[str, int]:
    """Return the bytes of each part that no earlier batch needs, as far as they are known."""
    if len(stores) == 1:
        sizes = dict(stores[0][1].new)
    else:
        sizes = {name: known_sum(load.new.values()) for name, load in stores}
    return {name: size for name, size in sizes.items() if size is not None}


def _state_kind(operator: Operator, reading: Reading) -> str:
    if reading.kind == VARIABLE:
        return operator.state_variables.get(reading.name or "", "state variable")
    return {JOIN_SIDE: "join side", TIMERS: "timers"}.get(reading.kind, "store")


def _type(job: SparkJob, operator: Operator, reading: Reading) -> str | None:
    """Return the columns of key and value, without those that a join adds to the rows of a side."""
    if reading.kind == TIMERS:
        return None
    schemas = job.checkpoint.schemas
    schema = schemas.get((operator.id, reading.store))
    if schema is not None and reading.kind != VARIABLE:
        family = schema.default
    elif (schema := schemas.get((operator.id, DEFAULT_STORE))) is not None:
        names = (reading.name,) if reading.kind == VARIABLE else reading.families
        named = next((one for one in schema.families if one.name in names), None)
        if named is None:
            return None
        family = named
    else:
        return None
    key, value = _OF_JOINS_OWN if reading.kind == JOIN_SIDE else ((), ())
    return f"{_columns(family.key, key)} → {_columns(family.value, value)}"


def _columns(struct: Struct, without: tuple[str, ...]) -> str:
    columns = [name for name in struct.names if name not in without]
    return f"({listing.names(columns, MOST_COLUMNS)})"


def _schema_facts(job: SparkJob, operator: Operator) -> Iterator[Fact]:
    delays: dict[str, int] = {}
    for (owner, _), schema in job.checkpoint.schemas.items():
        if owner == operator.id:
            delays |= schema.watermark_delays_ms
    for column, delay in list(delays.items())[:MOST_COLUMNS]:
        yield Fact(f"watermark delay of {column}", delay, unit=MILLISECONDS)
