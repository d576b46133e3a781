"""Merge what a source reports into the archive, checkpoint by checkpoint.

Taking the same facts again changes nothing, so an interrupted source simply begins again.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from django.db import transaction

from snapshots.domain.archive import absence, causes
from snapshots.domain.archive.merging import contradict, merged
from snapshots.domain.archive.model import IN_PROGRESS, UNKNOWN, CheckpointFacts, JobFacts
from snapshots.domain.archive.packing import pack, unpack
from snapshots.fields import clipped, storable
from snapshots.models import (
    Collector,
    EngineCheckpoint,
    EngineCheckpointDetail,
    EngineJob,
    Recording,
)

CHUNK = 500  # rows in one query
_REPORTED = (
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
_DERIVED = (
    "phase",
    "start_delay_max",
    "alignment_max",
    "sync_max",
    "async_max",
    "slowest",
    "cause",
)
_CHANGED = [
    *(name for name in (*_REPORTED, *_DERIVED) if name not in ("number", "pipeline")),
    "told_phase",
    "recording",
    "contents",
    "version",
]
_MOST = {"subtasks": 2**31 - 1, "acknowledged": 2**31 - 1}
_MOST_OF_OTHERS = 2**63 - 1
_LONGEST = {"kind": 40, "phase": 40, "failure": 4_000, "path": 1_000}
_LONGEST_DERIVED = {"phase": 40, "slowest": 220, "cause": 120}
_LONGEST_KEY = 128
_COUNTED = ("total", "in_progress", "completed", "failed")


@transaction.atomic
def take(
    owner,
    job_facts: JobFacts,
    *,
    recording: Recording | None = None,
    collector: Collector | None = None,
) -> EngineJob:
    """Return the job after adding the facts about its checkpoints.

    ``recording`` is the upload that holds the checkpoints in ``job_facts.contents``.
    """
    job_facts = _storable(job_facts)
    job = _job(owner, job_facts, collector)
    changed = 0
    for chunk in _chunks(_once(job_facts.checkpoints), CHUNK):
        changed += _take_chunk(job, chunk, job_facts, recording)
    new_values = {
        "name": job_facts.name or job.name,
        "state": job_facts.state or job.state,
        "counts": max(job_facts.counts, job.counts, key=lambda counts: counts.get("total", -1)),
        "collector_id": collector.pk if collector else job.collector_id,
    }
    if recording is not None:
        job.uploads.add(recording)
    if changed or any(getattr(job, name) != value for name, value in new_values.items()):
        for name, value in new_values.items():
            setattr(job, name, value)
        job.version += bool(changed)
        job.save()
    return job


def forget_progress(job: EngineJob, going: Collection[tuple[int, int]]) -> None:
    """Note of which checkpoints in progress the engine tells no more: how they ended is not known.

    Args:
        going: the checkpoints that are in progress, as pairs (pipeline, number).
    """
    rows = job.checkpoints.filter(status=IN_PROGRESS).values_list("pk", "pipeline", "number")
    lost = [pk for pk, pipeline, number in rows if (pipeline, number) not in going]
    if lost:
        job.version += 1
        job.checkpoints.filter(pk__in=lost).update(status=UNKNOWN, version=job.version)
        job.save(update_fields=["version"])


def forget_links(recording: Recording) -> None:
    """Forget where an upload's checkpoints lie, because it is about to be read again."""
    EngineCheckpoint.objects.filter(recording=recording).update(recording=None, contents=None)
    recording.engine_jobs.clear()


def facts_of(row: EngineCheckpoint) -> CheckpointFacts:
    """Return the facts in a row; ``row`` was selected with its ``detail``."""
    reported = {name: getattr(row, name) for name in _REPORTED}
    return CheckpointFacts(**reported, phase=row.told_phase, vertices=unpack(packed_of(row)))


def packed_of(row: EngineCheckpoint) -> bytes:
    return bytes(row.detail.packed) if hasattr(row, "detail") else b""


def columns_of(facts: CheckpointFacts) -> dict[str, Any]:
    """Return the fields of a row for these facts, and the fields that follow from them."""
    return {name: getattr(facts, name) for name in _REPORTED} | {
        "told_phase": facts.phase,
        "phase": _fitting(causes.phase_of(facts), _LONGEST_DERIVED["phase"]),
        "start_delay_max": _most(facts, "start_delay"),
        "alignment_max": _most(facts, "alignment"),
        "sync_max": _most(facts, "sync"),
        "async_max": _most(facts, "async_"),
        "slowest": _fitting(absence.slowest(facts), _LONGEST_DERIVED["slowest"]),
        "cause": _fitting(causes.cause_of(facts), _LONGEST_DERIVED["cause"]),
    }


def _most(facts: CheckpointFacts, number: str) -> int | None:
    """Return the largest of all subtasks' numbers, or None if no column can hold it."""
    largest = causes.most(facts, number)
    return None if largest is None or largest > _MOST_OF_OTHERS else largest


def _job(owner, job_facts: JobFacts, collector: Collector | None) -> EngineJob:
    """Return the newest run of the job that the facts do not contradict, locked; else a new run."""
    runs = list(
        EngineJob.objects.select_for_update(of=("self",))
        .filter(owner=owner, engine=job_facts.engine, key=job_facts.key)
        .order_by("-run")
    )
    for job in runs:
        if not _contradicts(job, job_facts.checkpoints):
            return job
    number = runs[0].run + 1 if runs else 1
    return EngineJob.objects.get_or_create(
        owner=owner, engine=job_facts.engine, key=job_facts.key, run=number
    )[0]


def _storable(job_facts: JobFacts) -> JobFacts:
    """Fit the facts to the columns, so that a row's facts equal those that were written.

    Numbers beyond 63 bits are dropped; texts are marked and clipped, as ``fields`` does.
    """
    checkpoints = [_bounded(facts) for facts in job_facts.checkpoints]
    kept = [facts for facts in checkpoints if 0 <= facts.number <= _MOST_OF_OTHERS]
    return replace(
        job_facts,
        key=_fitting(job_facts.key, _LONGEST_KEY),
        name=_fitting(job_facts.name, 200),
        state=_fitting(job_facts.state, 40),
        counts={name: job_facts.counts[name] for name in _COUNTED if name in job_facts.counts},
        checkpoints=tuple(kept),
    )


def _bounded(facts: CheckpointFacts) -> CheckpointFacts:
    changed: dict[str, Any] = {}
    for name in _REPORTED[2:]:
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
    triggers = {facts.key: facts.triggered_at for facts in checkpoints}
    for numbers in _chunks([facts.number for facts in checkpoints], CHUNK):
        rows = job.checkpoints.filter(number__in=numbers)
        for pipeline, number, at in rows.values_list("pipeline", "number", "triggered_at"):
            if contradict(triggers.get((pipeline, number)), at):
                return True
    return False


def _once(checkpoints: Iterable[CheckpointFacts]) -> list[CheckpointFacts]:
    """Return each checkpoint once; of two with different triggers, the later one."""
    by_key: dict[tuple[int, int], CheckpointFacts] = {}
    for facts in checkpoints:
        earlier = by_key.get(facts.key)
        if earlier is None:
            by_key[facts.key] = facts
        elif contradict(earlier.triggered_at, facts.triggered_at):
            by_key[facts.key] = max(earlier, facts, key=lambda item: item.triggered_at or 0)
        else:
            by_key[facts.key] = merged(earlier, facts)
    return list(by_key.values())


def _take_chunk(
    job: EngineJob, chunk: list[CheckpointFacts], job_facts: JobFacts, recording: Recording | None
) -> int:
    """Write some checkpoints of a job; return how many rows are new or changed."""
    rows = job.checkpoints.filter(number__in=[facts.number for facts in chunk])
    stored = {(row.pipeline, row.number): row for row in rows.select_related("detail")}
    new, changed, details = [], [], []
    for facts in chunk:
        row = stored.get(facts.key)
        index = job_facts.contents.get(facts.key) if recording is not None else None
        if row is None:
            row = EngineCheckpoint(job=job, version=job.version + 1, **columns_of(facts))
            new.append(row)
        else:
            previous = facts_of(row)
            facts = merged(previous, facts)
            values = columns_of(facts)
            is_same = facts == previous and _has(row, values)
            if is_same and (index is None or _is_linked(row, recording, index)):
                continue
            for name, value in values.items():
                setattr(row, name, value)
            row.version = job.version + 1
            changed.append(row)
        if index is not None:
            row.recording, row.contents = recording, index
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


def _has(row: EngineCheckpoint, values: Mapping[str, Any]) -> bool:
    """Tell whether a row has these values; one of an older version may derive some otherwise."""
    return all(getattr(row, name) == value for name, value in values.items())


def _is_linked(row: EngineCheckpoint, recording: Recording | None, index: int) -> bool:
    return recording is not None and (row.recording_id, row.contents) == (recording.pk, index)


def _chunks(items: Iterable, size: int) -> Iterator[list]:
    left = iter(items)
    while chunk := list(islice(left, size)):
        yield chunk
