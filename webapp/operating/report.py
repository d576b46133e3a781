"""Report the state of the whole server: parts, workers, Spark, the queue, the disk."""

from collections import Counter
from dataclasses import asdict
from typing import Literal

from django.db import DatabaseError
from django.db.models import Count
from django.utils import timezone
from redis import RedisError
from typing_extensions import TypedDict

from snapshots.models import Job
from snapshots.quantities import counted
from webapp.operating import checks, disk, presence
from webapp.operating.presence import SparkCondition, Worker
from webapp.operating.redis_reading import client
from webapp.version import VERSION

Status = Literal["ok", "failed"]
QUEUE = "celery"  # the list in Redis that holds the messages


class PartHealth(TypedDict):
    """One part that the server needs; ``problem`` says what is wrong."""

    name: str
    status: Status
    problem: str


class SparkHealth(TypedDict):
    """Spark in one process of a worker; ``state`` is starting, up or down."""

    pid: int
    state: str
    since: str
    reason: str
    restarts: int


class RunningJob(TypedDict):
    """A job that a worker runs now."""

    id: int
    kind: str
    phase: str
    started_at: str | None


class WorkerHealth(TypedDict):
    """A living worker; ``problem`` says why it cannot run jobs."""

    host: str
    pid: int
    status: Status
    problem: str
    version: str
    concurrency: int
    started_at: str
    noted_at: str
    swept_at: str | None
    spark: list[SparkHealth]
    jobs: list[RunningJob]


class QueueHealth(TypedDict):
    """The open jobs in numbers.

    ``messages`` is null if Redis does not answer, ``oldest_seconds`` if there are no jobs.
    """

    messages: int | None
    queued: int
    running: int
    oldest_job: int | None
    oldest_seconds: int | None


class DiskHealth(TypedDict):
    """The disk of one folder, in bytes."""

    folder: str
    free: int
    total: int


class OperatorHealth(TypedDict):
    """The state of the whole server; ``status`` is failed if anything needs the operator."""

    status: Status
    version: str
    at: str
    parts: list[PartHealth]
    workers: list[WorkerHealth]
    queue: QueueHealth | None
    disks: list[DiskHealth]


def report() -> OperatorHealth:
    """Return the state of the whole server; parts that do not answer are reported, not raised."""
    parts: list[PartHealth] = [
        {"name": check.name, "status": check.status, "problem": check.problem}
        for check in checks.ready()
    ]
    workers, messages = _workers()
    parts.append(_workers_part(workers))
    failed = any(part["status"] == "failed" for part in parts)
    return {
        "status": "failed" if failed else "ok",
        "version": VERSION,
        "at": presence.now(),
        "parts": parts,
        "workers": workers,
        "queue": _queue(messages),
        "disks": _disks(),
    }


def _workers() -> tuple[list[WorkerHealth], int | None]:
    """Return the living workers, and how many messages wait; nothing without Redis."""
    try:
        with client() as redis:
            conditions = presence.spark_conditions(redis)
            workers = [_worker(each, conditions) for each in presence.workers(redis)]
            messages = redis.llen(QUEUE)
    except RedisError:
        return [], None
    return workers, messages


def _worker(worker: Worker, conditions: list[SparkCondition]) -> WorkerHealth:
    sparks = [c for c in conditions if c.host == worker.host and c.pid in worker.processes]
    reasons = {c.reason or "Spark is down." for c in sparks if c.state == "down"}
    problem = " ".join(sorted(reasons))
    return {
        "host": worker.host,
        "pid": worker.pid,
        "status": "failed" if problem else "ok",
        "problem": problem,
        "version": worker.version,
        "concurrency": worker.concurrency,
        "started_at": worker.started_at,
        "noted_at": worker.noted_at,
        "swept_at": worker.swept_at,
        "spark": [_spark(condition) for condition in sparks],
        "jobs": _jobs(worker),
    }


def _spark(condition: SparkCondition) -> SparkHealth:
    fields = asdict(condition)
    del fields["host"]
    return fields


def _jobs(worker: Worker) -> list[RunningJob]:
    """Return the jobs that a worker runs, by the leases in their rows."""
    processes = {f"{worker.host}/{pid}" for pid in worker.processes}
    try:
        running = list(Job.objects.filter(state=Job.State.RUNNING).order_by("pk"))
    except DatabaseError:
        return []
    return [_job(job) for job in running if job.worker.rpartition("/")[0] in processes]


def _job(job: Job) -> RunningJob:
    started_at = job.started_at.isoformat(timespec="seconds") if job.started_at else None
    return {"id": job.pk, "kind": job.kind, "phase": job.phase, "started_at": started_at}


def _workers_part(workers: list[WorkerHealth]) -> PartHealth:
    failed = sum(worker["status"] == "failed" for worker in workers)
    problem = "" if workers else "No worker is running, so jobs wait."
    if failed:
        problem = f"{failed} of {counted(len(workers), 'worker')} cannot run jobs."
    return {"name": "workers", "status": "failed" if problem else "ok", "problem": problem}


def _queue(messages: int | None) -> QueueHealth | None:
    """Return the open jobs, or None if the database does not answer."""
    is_open = Job.objects.filter(state__in=Job.OPEN)
    try:
        counts = Counter(dict(is_open.order_by().values_list("state").annotate(Count("pk"))))
        oldest = is_open.order_by("created_at").values_list("pk", "created_at").first()
    except DatabaseError:
        return None
    seconds = round((timezone.now() - oldest[1]).total_seconds()) if oldest else None
    return {
        "messages": messages,
        "queued": counts[Job.State.QUEUED],
        "running": counts[Job.State.RUNNING],
        "oldest_job": oldest[0] if oldest else None,
        "oldest_seconds": seconds,
    }


def _disks() -> list[DiskHealth]:
    disks: list[DiskHealth] = []
    for name, folder in disk.folders().items():
        try:
            usage = disk.usage(folder)
        except OSError:
            continue  # the check of the disk says why
        disks.append({"folder": name, "free": usage.free, "total": usage.total})
    return disks
