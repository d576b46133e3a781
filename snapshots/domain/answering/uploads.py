"""The first answer to an upload of an engine: the sentences about each of its jobs."""

from collections.abc import Sequence

from snapshots.domain.answering import (
    engine_log,
    flink,
    seatunnel,
    spark,
    spark_progress,
    spark_queries,
)
from snapshots.domain.answering.flink_job import FlinkJob
from snapshots.domain.answering.job_report import JobReport
from snapshots.domain.answering.sentences import Subject
from snapshots.domain.answering.upload_summary import Detail, Point, UploadSummary
from snapshots.domain.inventory.model import JobInventory
from snapshots.domain.inventory.restore_check import LISTED

FLINK, SPARK = "flink", "spark"


def subjects(
    summary: UploadSummary,
    reports: tuple[JobReport, ...] | None,
    detail: Detail,
    timed: frozenset[str] = frozenset(),
) -> tuple[Subject, ...]:
    """Return the sentences about each job of an upload, the job with the newest checkpoint first.

    Before several queries of Spark comes a subject about all of them.

    Args:
        reports: what the engine said of its jobs; None in uploads that an older release read.
        detail: everything about the checkpoint with a number.
        timed: the names of the snapshots for which there is a page of times.
    """
    jobs = sorted(summary.jobs, key=lambda job: _newest_at(summary.of_job(job.key)), reverse=True)
    own = tuple(_subject(summary, job, reports, detail, timed) for job in jobs)
    queries = _queries(jobs, own)
    if summary.engine == SPARK and len(queries) > 1:
        return (spark_queries.whole(summary, *zip(*queries, strict=True)), *own)
    return own


def _queries(
    jobs: Sequence[JobInventory], subjects: Sequence[Subject]
) -> list[tuple[JobInventory, Subject]]:
    """Return the queries of an upload with the sentences about each, each query once.

    Logs and listings tell of queries whose directories may be in the upload, too. Progress reports
    alone do not tell whether a restart goes on.
    """
    queries = [
        (job, subject)
        for job, subject in zip(jobs, subjects, strict=True)
        if not (engine_log.is_of_log(job) or spark_progress.is_of_reports(job))
    ]
    uploaded = [pair for pair in queries if not pair[0].key.startswith(LISTED)]
    return uploaded or queries


def _newest_at(points: list[Point]) -> int:
    return max((point.item.triggered_at or 0 for point in points), default=-1)


def _subject(
    summary: UploadSummary,
    job: JobInventory,
    reports: tuple[JobReport, ...] | None,
    detail: Detail,
    timed: frozenset[str],
) -> Subject:
    report = next((report for report in reports or () if report.key == job.key), None)
    if summary.engine != FLINK and report is not None and report.is_of_log:
        return engine_log.subject(summary, job, report, detail)
    if summary.engine == SPARK and spark_progress.is_of_reports(job):
        return spark_progress.subject(summary, job, detail)
    if summary.engine == SPARK:
        return spark.subject(summary, job)
    if summary.engine != FLINK:
        return seatunnel.subject(summary, job, detail, timed)
    return flink.subject(
        FlinkJob(
            key=job.key,
            name=job.name,
            points=tuple(summary.of_job(job.key)),
            report=report,
            is_of_older_release=reports is None,
            detail=detail,
            timed=timed,
            everything=tuple(summary.points()),
        )
    )
