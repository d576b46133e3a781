"""Choose the series of states in which a condition is searched.

Checkpoints are those of one job, and of one pipeline where an engine numbers each separately.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snapshots.answers import inventory
from snapshots.answers.bisect_series import (
    ARCHIVE,
    CHECKPOINTS,
    SNAPSHOTS,
    CheckpointSeries,
    HeldCheckpoint,
    Series,
    SnapshotSeries,
)
from snapshots.archive.uploads import numbered_by_pipeline, pipeline_of
from snapshots.files.recordings import open_recording
from snapshots.models import EngineJob, Recording
from snapshots.problems import Invalid

ORDER_OF_UPLOAD = (
    "The checkpoints of the job are in the order of the upload's list, the oldest first."
)
ORDER_OF_ARCHIVE = (
    "The checkpoints of the job that an upload holds are in the order of their numbers."
)


@dataclass(frozen=True, slots=True)
class Choice:
    """The checkpoints of one job, or of one pipeline where an engine numbers each separately.

    Attributes:
        job: the key of the job. None if it is not known.
        pipeline: the number of the pipeline; 0 where there are none.
        count: how many checkpoints there are.
    """

    job: str | None
    pipeline: int
    count: int


def of_recording(recording: Recording, question: Mapping[str, Any]) -> Series:
    """Return the series of a ready recording that a question names.

    Args:
        question: may have ``series``, and ``job`` and ``pipeline`` for checkpoints.

    Raises: Invalid, NotFound.
    """
    name = question.get("series")
    if name == CHECKPOINTS:
        return of_upload(recording, question)
    if name not in (None, SNAPSHOTS):
        raise Invalid(f"series must be {SNAPSHOTS} or {CHECKPOINTS}.", field="series")
    return SnapshotSeries(open_recording(recording), list(recording.snapshots.all()))


def of_upload(recording: Recording, question: Mapping[str, Any]) -> CheckpointSeries:
    """Return the checkpoints of a job in an upload, by default of the job with the most.

    Args:
        question: may have ``job`` and ``pipeline``.

    Raises: Invalid, NotFound if no engine wrote the recording.
    """
    upload = inventory.opened(recording).upload
    keys = _keys(recording)
    job, pipeline = _chosen(_choices(keys), question)
    items = [
        HeldCheckpoint(recording, number, item["id"], item["kind"])
        for number, (item, key) in enumerate(zip(upload["checkpoints"], keys, strict=True))
        if key == (job, pipeline)
    ]
    return CheckpointSeries(items, ORDER_OF_UPLOAD, CHECKPOINTS)


def choices(recording: Recording) -> list[Choice]:
    """Return the jobs and pipelines of an upload, the one with the most checkpoints first."""
    return _choices(_keys(recording))


def of_archive(
    job: EngineJob, uploads: Iterable[Recording], question: Mapping[str, Any]
) -> CheckpointSeries:
    """Return the checkpoints of an archived job that an upload holds.

    Args:
        uploads: the uploads that the person may see.
        question: may have ``pipeline``.

    Raises: Invalid.
    """
    visible = {upload.pk: upload for upload in uploads if upload.is_ready}
    rows = job.checkpoints.filter(recording__in=visible, contents__isnull=False)
    available = _by_pipeline(rows.values_list("pipeline", flat=True))
    _, pipeline = _chosen(available, {**question, "job": None})
    items = [
        HeldCheckpoint(
            visible[row.recording_id], row.contents, row.number, row.kind or "checkpoint"
        )
        for row in rows.filter(pipeline=pipeline).order_by("number")
        if row.recording_id is not None and row.contents is not None
    ]
    return CheckpointSeries(items, ORDER_OF_ARCHIVE, ARCHIVE)


def pipelines(job: EngineJob) -> list[int]:
    """Return the pipelines of an archived job that uploads hold, the longest series first."""
    rows = job.checkpoints.filter(recording__isnull=False, contents__isnull=False)
    return [choice.pipeline for choice in _by_pipeline(rows.values_list("pipeline", flat=True))]


def _by_pipeline(numbers: Iterable[int]) -> list[Choice]:
    return _ordered({(None, number): count for number, count in Counter(numbers).items()})


def _keys(recording: Recording) -> list[tuple[str | None, int]]:
    """Return job and pipeline of each checkpoint of an upload."""
    opened = inventory.opened(recording)
    listed = opened.upload["checkpoints"]
    if not numbered_by_pipeline(opened.upload["engine"]):
        return [(item["job"], 0) for item in listed]
    return [
        (item["job"], pipeline_of(opened.checkpoint(number))) for number, item in enumerate(listed)
    ]


def _choices(keys: Sequence[tuple[str | None, int]]) -> list[Choice]:
    return _ordered(Counter(keys))


def _ordered(counts: Mapping[tuple[str | None, int], int]) -> list[Choice]:
    listed = [Choice(job, pipeline, count) for (job, pipeline), count in counts.items()]
    return sorted(listed, key=lambda choice: (-choice.count, choice.pipeline))


def _chosen(available: Sequence[Choice], question: Mapping[str, Any]) -> tuple[str | None, int]:
    """Return job and pipeline that a question names, or those with the most checkpoints."""
    job, pipeline = question.get("job"), question.get("pipeline")
    for field, value, kind in (("job", job, str), ("pipeline", pipeline, int)):
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise Invalid(f"{field} must be a {_KINDS[kind]}.", field=field)
    fitting = available
    if job is not None:
        fitting = [choice for choice in fitting if (choice.job or "") == job]
        if not fitting:
            raise Invalid(f"There are no checkpoints of a job {job[:80]!r}.", field="job")
    if pipeline is not None:
        fitting = [choice for choice in fitting if choice.pipeline == pipeline]
        if not fitting:
            raise Invalid(
                f"There are no checkpoints of a pipeline {str(pipeline)[:24]}.", field="pipeline"
            )
    return (fitting[0].job, fitting[0].pipeline) if fitting else (None, 0)


_KINDS = {str: "text", int: "whole number"}
