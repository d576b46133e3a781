"""What a source knows goes into the archive: each checkpoint is merged with what is there.

Taking the same facts again changes nothing, so whoever was interrupted begins again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from django.db import transaction

from snapshots.domain.archive import absence, causes
from snapshots.domain.archive.merging import contradict, merged
from snapshots.domain.archive.model import CheckpointFacts, JobFacts
from snapshots.domain.archive.packing import pack, unpack
from snapshots.fields import clipped, storable
from snapshots.models import (
    Collector,
    EngineCheckpoint,
    EngineCheckpointDetail,
    EngineJob,
    Recording,
)

CHUNK = 500  # rows in one question to the database
_TOLD = (
    "number",
    "pipeline",
    "kind",
    "status",
    "triggered_at",
    "ended_at",
    "duration",
    "bytes",
    "is_bytes_told",
    "uploaded",
    "in_flight",
    "subtasks",
    "acknowledged",
    "failure",
    "path",
)
_FOLLOWING = (
    "phase",
    "start_delay_max",
    "alignment_max",
    "sync_max",
    "async_max",
    "slowest",
    "cause",
)
_CHANGED = [
    *(name for name in (*_TOLD, *_FOLLOWING) if name not in ("number", "pipeline")),
    "told_phase",
    "recording",
    "contents",
    "version",
]
_MOST = {"subtasks": 2**31 - 1, "acknowledged": 2**31 - 1}
_MOST_OF_OTHERS = 2**63 - 1
_LONGEST = {"kind": 40, "phase": 40, "failure": 4_000, "path": 1_000}
_LONGEST_KEY = 128
_COUNTED = ("total", "in_progress", "completed", "failed")


@transaction.atomic
def take(
    owner,
    told: JobFacts,
    *,
    recording: Recording | None = None,
    collector: Collector | None = None,
) -> EngineJob:
    """The job, with what ``told`` adds to its checkpoints.

    recording: the upload that holds the checkpoints in ``told.contents``.
    """
    told = _storable(told)
    job = _job(owner, told, collector)
    changed = 0
    for chunk in _chunks(_once(told.checkpoints), CHUNK):
        changed += _take_chunk(job, chunk, told, recording)
    known = {
        "name": told.name or job.name,
        "state": told.state or job.state,
        "counts": max(told.counts, job.counts, key=lambda counts: counts.get("total", -1)),
        "collector_id": collector.pk if collector else job.collector_id,
    }
    if recording is not None:
        job.uploads.add(recording)
    if changed or any(getattr(job, name) != value for name, value in known.items()):
        for name, value in known.items():
            setattr(job, name, value)
        job.version += bool(changed)
        job.save()
    return job


def forget_links(recording: Recording) -> None:
    """Before an upload is taken anew: where its checkpoints lie may have changed."""
    EngineCheckpoint.objects.filter(recording=recording).update(recording=None, contents=None)
    recording.engine_jobs.clear()


def facts_of(row: EngineCheckpoint) -> CheckpointFacts:
    """row: with its ``detail``."""
    told = {name: getattr(row, name) for name in _TOLD}
    return CheckpointFacts(**told, phase=row.told_phase, vertices=unpack(packed_of(row)))


def packed_of(row: EngineCheckpoint) -> bytes:
    return bytes(row.detail.packed) if hasattr(row, "detail") else b""


def columns_of(facts: CheckpointFacts) -> dict[str, Any]:
    """The fields of a row that hold these facts, and those that follow from them."""
    return {name: getattr(facts, name) for name in _TOLD} | {
        "told_phase": facts.phase,
        "phase": causes.phase_of(facts),
        "start_delay_max": _most(facts, "start_delay"),
        "alignment_max": _most(facts, "alignment"),
        "sync_max": _most(facts, "sync"),
        "async_max": _most(facts, "async_"),
        "slowest": absence.slowest(facts),
        "cause": causes.cause_of(facts),
    }


def _most(facts: CheckpointFacts, number: str) -> int | None:
    """Return the largest of all subtasks' numbers; None where no column can hold it."""
    largest = causes.most(facts, number)
    return None if largest is None or largest > _MOST_OF_OTHERS else largest


def _job(owner, told: JobFacts, collector: Collector | None) -> EngineJob:
    """The newest run of the job that the facts do not contradict, locked; else a new run."""
    runs = list(
        EngineJob.objects.select_for_update(of=("self",))
        .filter(owner=owner, engine=told.engine, key=told.key)
        .order_by("-run")
    )
    for job in runs:
        if not _contradicts(job, told.checkpoints):
            return job
    number = runs[0].run + 1 if runs else 1
    return EngineJob.objects.get_or_create(
        owner=owner, engine=told.engine, key=told.key, run=number
    )[0]


def _storable(told: JobFacts) -> JobFacts:
    """Fit the facts to the columns, so that those of a row equal those that were put in.

    Numbers beyond 63 bits are dropped; texts are marked and clipped, as ``fields`` says.
    """
    checkpoints = [_bounded(one) for one in told.checkpoints]
    kept = [one for one in checkpoints if 0 <= one.number <= _MOST_OF_OTHERS]
    return replace(
        told,
        key=_fitting(told.key, _LONGEST_KEY),
        name=_fitting(told.name, 200),
        state=_fitting(told.state, 40),
        counts={name: told.counts[name] for name in _COUNTED if name in told.counts},
        checkpoints=tuple(kept),
    )


def _bounded(facts: CheckpointFacts) -> CheckpointFacts:
    changed: dict[str, Any] = {}
    for name in _TOLD[2:]:
        value = getattr(facts, name)
        if isinstance(value, int) and not 0 <= value <= _MOST.get(name, _MOST_OF_OTHERS):
            changed[name] = None
    for name, longest in _LONGEST.items():
        changed[name] = _fitting(getattr(facts, name), longest)
    if changed.get("bytes", facts.bytes) is None:
        changed["is_bytes_told"] = False
    return replace(facts, **changed)


def _fitting(text: str, longest: int) -> str:
    return clipped(storable(text), longest)


def _contradicts(job: EngineJob, checkpoints: Sequence[CheckpointFacts]) -> bool:
    triggers = {one.key: one.triggered_at for one in checkpoints}
    for numbers in _chunks([one.number for one in checkpoints], CHUNK):
        rows = job.checkpoints.filter(number__in=numbers)
        for pipeline, number, at in rows.values_list("pipeline", "number", "triggered_at"):
            if contradict(triggers.get((pipeline, number)), at):
                return True
    return False


def _once(checkpoints: Iterable[CheckpointFacts]) -> list[CheckpointFacts]:
    """Each checkpoint once; of two with different triggers the later."""
    found: dict[tuple[int, int], CheckpointFacts] = {}
    for one in checkpoints:
        known = found.get(one.key)
        if known is None:
            found[one.key] = one
        elif contradict(known.triggered_at, one.triggered_at):
            found[one.key] = max(known, one, key=lambda item: item.triggered_at)
        else:
            found[one.key] = merged(known, one)
    return list(found.values())


def _take_chunk(
    job: EngineJob, chunk: list[CheckpointFacts], told: JobFacts, recording: Recording | None
) -> int:
    """How many rows are new or changed."""
    rows = job.checkpoints.filter(number__in=[one.number for one in chunk])
    known = {(row.pipeline, row.number): row for row in rows.select_related("detail")}
    new, changed, details = [], [], []
    for facts in chunk:
        row = known.get(facts.key)
        place = told.contents.get(facts.key) if recording is not None else None
        if row is None:
            row = EngineCheckpoint(job=job, version=job.version + 1, **columns_of(facts))
            new.append(row)
        else:
            before = facts_of(row)
            facts = merged(before, facts)
            if facts == before and (place is None or _is_linked(row, recording, place)):
                continue
            for name, value in columns_of(facts).items():
                setattr(row, name, value)
            row.version = job.version + 1
            changed.append(row)
        if place is not None:
            row.recording, row.contents = recording, place
        if facts.vertices:
            details.append((row, pack(facts.vertices)))
    EngineCheckpoint.objects.bulk_create(new, batch_size=CHUNK)
    EngineCheckpoint.objects.bulk_update(changed, _CHANGED, batch_size=50)
    EngineCheckpointDetail.objects.bulk_create(
        [EngineCheckpointDetail(checkpoint=row, packed=packed) for row, packed in details],
        update_conflicts=True,
        unique_fields=["checkpoint"],
        update_fields=["packed"],
        batch_size=100,
    )
    return len(new) + len(changed)


def _is_linked(row: EngineCheckpoint, recording: Recording, place: int) -> bool:
    return (row.recording_id, row.contents) == (recording.pk, place)


def _chunks(items: Iterable, size: int) -> Iterator[list]:
    left = iter(items)
    while chunk := list(islice(left, size)):
        yield chunk
