"""Questions to the archive of one job: what passes a filter, trends, failures, one checkpoint."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from snapshots.archive import filling
from snapshots.archive.columns import columns_of
from snapshots.domain.archive import comparison, trends
from snapshots.domain.archive.busy import MOST_EARLIER, Busy, busy
from snapshots.domain.archive.columns import Columns, Filter, Ints, ordered
from snapshots.domain.archive.model import FAILED, CheckpointFacts
from snapshots.models import EngineCheckpoint, EngineJob
from snapshots.payloads.window import typed_array
from snapshots.problems import NotFound

STRIP = 60  # checkpoints
WIDTH = 600  # points of a trend, unless asked otherwise


def overview(job: EngineJob, asked: Filter, width: int = WIDTH) -> dict[str, Any]:
    """``payloads.ArchiveOverview``. width: most points of each trend."""
    columns = columns_of(job)
    rows = asked.rows(columns)
    axis, x = trends.axis(columns, rows)
    lacking = [name for name in trends.MEASURES if np.isnan(getattr(columns, name)).all()]
    return {
        "axis": axis,
        "total": len(columns),
        "shown": len(rows),
        "unplaced": int(np.isnan(x).sum()),
        "version": job.version,
        "trends": {
            measure: _trend(columns, measure, x, rows, width)
            for measure in trends.MEASURES
            if measure not in lacking
        },
        "lacking": lacking,
        "failures": _failures(columns, rows, x),
        "slowest": _slowest(columns, rows, x),
    }


def listed(
    job: EngineJob, asked: Filter, sort: str, offset: int, limit: int
) -> tuple[list[EngineCheckpoint], int]:
    """Rows of a page, and how many there are on all. sort: as ``ordered`` takes it."""
    columns = columns_of(job)
    rows = ordered(columns, asked.rows(columns), sort)
    return rows_of(columns, rows[offset : offset + limit]), len(rows)


def rows_of(columns: Columns, places: Ints) -> list[EngineCheckpoint]:
    """From the database, in this order."""
    keys = columns.key[places].tolist()
    found = EngineCheckpoint.objects.in_bulk(keys)
    return [found[key] for key in keys if key in found]


def newest(job: EngineJob, count: int = STRIP) -> list[EngineCheckpoint]:
    """The last ones by number, the oldest of them first."""
    columns = columns_of(job)
    return rows_of(columns, np.arange(max(0, len(columns) - count), len(columns)))


def checkpoint(job: EngineJob, pipeline: int, number: int) -> EngineCheckpoint:
    """With its detail. Raises: NotFound."""
    rows = job.checkpoints.select_related("detail", "recording")
    found = None
    if number < 2**63 and pipeline < 2**31:
        found = rows.filter(pipeline=pipeline, number=number).first()
    if found is None:
        of = f" of pipeline {pipeline}" if pipeline else ""
        raise NotFound(f"The archive has no checkpoint {number}{of} of “{job}”.")
    return found


def neighbours(job: EngineJob, row: EngineCheckpoint) -> tuple[int | None, int | None]:
    """The numbers before and behind it in its pipeline."""
    own = job.checkpoints.filter(pipeline=row.pipeline).values_list("number", flat=True)
    before = own.filter(number__lt=row.number).order_by("-number").first()
    return before, own.filter(number__gt=row.number).order_by("number").first()


def compare(slow: EngineCheckpoint, healthy: EngineCheckpoint) -> comparison.Difference:
    one, other = filling.facts_of(slow), filling.facts_of(healthy)
    return comparison.compare(one, other, _earlier(slow))


def busy_at(row: EngineCheckpoint) -> Mapping[str, Busy]:
    """By subtask: who was still copying for an earlier checkpoint when this one was triggered."""
    return busy(filling.facts_of(row), _earlier(row))


def _earlier(row: EngineCheckpoint) -> Iterator[CheckpointFacts]:
    own = EngineCheckpoint.objects.filter(
        job_id=row.job_id, pipeline=row.pipeline, number__lt=row.number, detail__isnull=False
    )
    for one in own.select_related("detail").order_by("-number")[:MOST_EARLIER]:
        yield filling.facts_of(one)


def healthy_beside(job: EngineJob, row: EngineCheckpoint) -> EngineCheckpoint | None:
    """What to compare with, where nobody says: of the 50 completed of its kind and pipeline that
    are nearest by number the one of median duration."""
    columns = columns_of(job)
    asked = Filter(status="completed", kind=row.kind, pipeline=row.pipeline)
    rows = asked.rows(columns)
    rows = rows[(columns.number[rows] != row.number) & ~np.isnan(columns.duration[rows])]
    if not len(rows):
        return None
    near = rows[np.argsort(np.abs(columns.number[rows] - row.number), kind="stable")][:50]
    middle = near[np.argsort(columns.duration[near], kind="stable")][(len(near) - 1) // 2]
    return rows_of(columns, np.array([middle]))[0]


def gaps(job: EngineJob) -> int:
    """How many numbers lack between the first and the last of each pipeline: checkpoints that
    never began, or that the engine forgot before anybody asked."""
    columns, lacking = columns_of(job), 0
    for pipeline in np.unique(columns.pipeline):
        own = columns.number[columns.pipeline == pipeline]
        lacking += int(own[-1] - own[0]) + 1 - len(own)
    return lacking


def failed_unseen(job: EngineJob) -> int:
    """How many more have failed than are kept, as the engine counts: attempts that failed before
    they had a number, and those that it forgot before anybody asked."""
    kept = len(Filter(status=FAILED).rows(columns_of(job)))
    return max(0, job.counts.get("failed", 0) - kept)


def choices(job: EngineJob) -> dict[str, Sequence]:
    """What the filters offer: kinds, and pipelines where there are several."""
    columns = columns_of(job)
    pipelines = np.unique(columns.pipeline).tolist()
    return {
        "kinds": sorted(name for name in columns.kind.names if name),
        "pipelines": pipelines if len(pipelines) > 1 else [],
    }


def _trend(columns: Columns, measure: str, x: np.ndarray, rows: Ints, width: int) -> dict[str, Any]:
    y = getattr(columns, measure)[rows]
    found = trends.trend(x, y, rows, width)
    places = np.searchsorted(rows, found.outliers)
    names = ("x", "low", "mid", "high", "band_x", "lower", "upper")
    return {name: typed_array(getattr(found, name)) for name in names} | {
        "number": typed_array(columns.number[found.rows]),
        "pipeline": typed_array(columns.pipeline[found.rows]),
        "exact": found.exact,
        "outliers": {
            "x": typed_array(x[places]),
            "y": typed_array(y[places]),
            "number": typed_array(columns.number[found.outliers]),
            "pipeline": typed_array(columns.pipeline[found.outliers]),
            "total": found.outliers_total,
        },
    }


def _failures(columns: Columns, rows: Ints, x: np.ndarray) -> dict[str, Any]:
    found = trends.failures(columns, rows, x)
    return {
        "edges": typed_array(found.edges),
        "failed": typed_array(found.failed),
        "completed": typed_array(found.completed),
        "causes": [
            {
                "cause": cause,
                "phase": phase,
                "count": count,
                "last_number": int(columns.number[last]),
                "last_pipeline": int(columns.pipeline[last]),
                "last_at": _whole(columns.triggered_at[last]),
            }
            for cause, phase, count, last in found.causes
        ],
    }


def _slowest(columns: Columns, rows: Ints, x: np.ndarray) -> dict[str, Any]:
    found = trends.slowest(columns, rows, x)
    return {
        "names": list(found.names),
        "totals": found.totals.tolist(),
        "others": found.others,
        "edges": typed_array(found.edges),
        "counts": found.counts.tolist(),
    }


def _whole(number: float) -> int | None:
    return None if np.isnan(number) else int(number)
