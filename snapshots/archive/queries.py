"""Query the archive of one job: filtered checkpoints, trends, failures, one checkpoint."""

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
from snapshots.payloads.arrays import typed_array
from snapshots.problems import NotFound

STRIP = 60  # checkpoints
WIDTH = 600  # the default number of points of a trend


def overview(job: EngineJob, chosen: Filter, width: int = WIDTH) -> dict[str, Any]:
    """Return an ``payloads.ArchiveOverview``; each trend has at most ``width`` points."""
    columns = columns_of(job)
    rows = chosen.rows(columns)
    axis, x = trends.axis(columns, rows)
    empty_measures = [name for name in trends.MEASURES if np.isnan(getattr(columns, name)).all()]
    return {
        "axis": axis,
        "total": len(columns),
        "shown": len(rows),
        "unplaced": int(np.isnan(x).sum()),
        "version": job.version,
        "trends": {
            measure: _trend(columns, measure, x, rows, width)
            for measure in trends.MEASURES
            if measure not in empty_measures
        },
        "lacking": empty_measures,
        "failures": _failures(columns, rows, x),
        "slowest": _slowest(columns, rows, x),
    }


def listed(
    job: EngineJob, chosen: Filter, sort: str, offset: int, limit: int
) -> tuple[list[EngineCheckpoint], int]:
    """Return one page of rows, and the number of rows on all pages; ``sort`` as in ``ordered``."""
    columns = columns_of(job)
    rows = ordered(columns, chosen.rows(columns), sort)
    return rows_of(columns, rows[offset : offset + limit]), len(rows)


def rows_of(columns: Columns, indices: Ints) -> list[EngineCheckpoint]:
    """Return these rows of the columns from the database, in the same order."""
    keys = columns.key[indices].tolist()
    rows = EngineCheckpoint.objects.in_bulk(keys)
    return [rows[key] for key in keys if key in rows]


def newest(job: EngineJob, count: int = STRIP) -> list[EngineCheckpoint]:
    """Return the last checkpoints by number, sorted from old to new."""
    columns = columns_of(job)
    return rows_of(columns, np.arange(max(0, len(columns) - count), len(columns)))


def checkpoint(job: EngineJob, pipeline: int, number: int) -> EngineCheckpoint:
    """Return one checkpoint with its detail. Raises: NotFound."""
    rows = job.checkpoints.select_related("detail", "recording")
    row = None
    if number < 2**63 and pipeline < 2**31:
        row = rows.filter(pipeline=pipeline, number=number).first()
    if row is None:
        of = f" of pipeline {pipeline}" if pipeline else ""
        raise NotFound(f"The archive has no checkpoint {number}{of} of “{job}”.")
    return row


def neighbours(job: EngineJob, row: EngineCheckpoint) -> tuple[int | None, int | None]:
    """Return the numbers of the checkpoints before and after this one in its pipeline."""
    own = job.checkpoints.filter(pipeline=row.pipeline).values_list("number", flat=True)
    before = own.filter(number__lt=row.number).order_by("-number").first()
    return before, own.filter(number__gt=row.number).order_by("number").first()


def compare(slow: EngineCheckpoint, healthy: EngineCheckpoint) -> comparison.Difference:
    slow_facts, healthy_facts = filling.facts_of(slow), filling.facts_of(healthy)
    return comparison.compare(slow_facts, healthy_facts, _earlier(slow))


def busy_at(row: EngineCheckpoint) -> Mapping[str, Busy]:
    """Return, by subtask, who was still copying for an earlier checkpoint at this one's trigger."""
    return busy(filling.facts_of(row), _earlier(row))


def _earlier(row: EngineCheckpoint) -> Iterator[CheckpointFacts]:
    own = EngineCheckpoint.objects.filter(
        job_id=row.job_id, pipeline=row.pipeline, number__lt=row.number, detail__isnull=False
    )
    for earlier in own.select_related("detail").order_by("-number")[:MOST_EARLIER]:
        yield filling.facts_of(earlier)


def healthy_beside(job: EngineJob, row: EngineCheckpoint) -> EngineCheckpoint | None:
    """Return the default checkpoint to compare with, or None if there is none.

    It has the median duration of the 50 completed checkpoints of the same kind and pipeline that
    are nearest by number.
    """
    columns = columns_of(job)
    similar = Filter(status="completed", kind=row.kind, pipeline=row.pipeline)
    rows = similar.rows(columns)
    rows = rows[(columns.number[rows] != row.number) & ~np.isnan(columns.duration[rows])]
    if not len(rows):
        return None
    near = rows[np.argsort(np.abs(columns.number[rows] - row.number), kind="stable")][:50]
    middle = near[np.argsort(columns.duration[near], kind="stable")][(len(near) - 1) // 2]
    return rows_of(columns, np.array([middle]))[0]


def gaps(job: EngineJob) -> int:
    """Return how many numbers are missing between each pipeline's first and last checkpoint.

    A missing checkpoint never began, or nobody read it while the engine or an upload told of it.
    """
    columns, missing = columns_of(job), 0
    for pipeline in np.unique(columns.pipeline):
        own = columns.number[columns.pipeline == pipeline]
        missing += int(own[-1] - own[0]) + 1 - len(own)
    return missing


def failed_unseen(job: EngineJob) -> int:
    """Return how many more checkpoints failed, by the engine's count, than are kept.

    0 if that count is not known. The others failed before they had a number, or nobody read them
    while the engine or an upload told of them.
    """
    kept = len(Filter(status=FAILED).rows(columns_of(job)))
    return max(0, job.counts.get("failed", 0) - kept)


def choices(job: EngineJob) -> dict[str, Sequence]:
    """Return the values that the filters offer: kinds, and pipelines if there are several."""
    columns = columns_of(job)
    pipelines = np.unique(columns.pipeline).tolist()
    return {
        "kinds": sorted(name for name in columns.kind.names if name),
        "pipelines": pipelines if len(pipelines) > 1 else [],
    }


def _trend(columns: Columns, measure: str, x: np.ndarray, rows: Ints, width: int) -> dict[str, Any]:
    y = getattr(columns, measure)[rows]
    points = trends.trend(x, y, rows, width)
    indices = np.searchsorted(rows, points.outliers)
    names = ("x", "low", "mid", "high", "band_x", "lower", "upper")
    return {name: typed_array(getattr(points, name)) for name in names} | {
        "number": typed_array(columns.number[points.rows]),
        "pipeline": typed_array(columns.pipeline[points.rows]),
        "exact": points.exact,
        "outliers": {
            "x": typed_array(x[indices]),
            "y": typed_array(y[indices]),
            "number": typed_array(columns.number[points.outliers]),
            "pipeline": typed_array(columns.pipeline[points.outliers]),
            "total": points.outliers_total,
        },
    }


def _failures(columns: Columns, rows: Ints, x: np.ndarray) -> dict[str, Any]:
    counts = trends.failures(columns, rows, x)
    return {
        "edges": typed_array(counts.edges),
        "failed": typed_array(counts.failed),
        "completed": typed_array(counts.completed),
        "causes": [
            {
                "cause": cause,
                "phase": phase,
                "count": total,
                "last_number": int(columns.number[last]),
                "last_pipeline": int(columns.pipeline[last]),
                "last_at": _whole(columns.triggered_at[last]),
            }
            for cause, phase, total, last in counts.causes
        ],
    }


def _slowest(columns: Columns, rows: Ints, x: np.ndarray) -> dict[str, Any]:
    ranking = trends.slowest(columns, rows, x)
    return {
        "names": list(ranking.names),
        "totals": ranking.totals.tolist(),
        "others": ranking.others,
        "edges": typed_array(ranking.edges),
        "counts": ranking.counts.tolist(),
    }


def _whole(number: float) -> int | None:
    return None if np.isnan(number) else int(number)
