"""Report the state of the whole server: parts, workers, Spark, the queue, the disk."""

from collections import Counter
from typing import Literal

from django.core.checks import CheckMessage
from django.db import DatabaseError
from django.db.models import Count
from django.utils import timezone
from redis import RedisError
from typing_extensions import TypedDict

from snapshots.models import Job
from snapshots.payloads.declaring import described
from snapshots.quantities import counted
from webapp.operating import checks, dangers, disk, presence, supplies
from webapp.operating.noted import NO_REDIS, Noted
from webapp.operating.presence import SparkCondition, Worker
from webapp.operating.redis_reading import client
from webapp.operating.supplies import Supply
from webapp.version import VERSION

Status = Literal["ok", "failed"]
QUEUE = "celery"  # the list in Redis that holds the messages


@described
class PartHealth(TypedDict):
    """One part that the server needs.

    Attributes:
        name: the name of the part, such as ``database`` or ``redis``.
        status: ``ok`` or ``failed``.
        problem: what is wrong, as a sentence; empty where nothing is.
    """

    name: str
    status: Status
    problem: str


@described
class SparkHealth(TypedDict):
    """Spark in one process of a worker.

    Attributes:
        pid: the number of the process.
        state: ``starting``, ``up`` or ``down``.
        since: when it came into this state, as ISO 8601 in UTC.
        reason: why it is down, as a sentence; empty where it is not.
        restarts: how often it was started again.
    """

    pid: int
    state: str
    since: str
    reason: str
    restarts: int


@described
class RunningJob(TypedDict):
    """A job that a worker runs now.

    Attributes:
        id: the number of the job.
        kind: ``ingest``, ``simulate``, ``restore``, ``reordering`` or ``predicate``.
        phase: what the worker does at the moment, in a few words.
        started_at: when the job began, as ISO 8601 in UTC; null where that is not known.
    """

    id: int
    kind: str
    phase: str
    started_at: str | None


@described
class WorkerHealth(TypedDict):
    """A living worker.

    Attributes:
        host: the name of its machine.
        pid: the number of its main process.
        status: ``ok`` or ``failed``.
        problem: why it cannot run jobs, as sentences; empty where it can.
        version: the version of Cutline that it runs.
        concurrency: how many jobs it runs at once.
        started_at: when it began, as ISO 8601 in UTC.
        noted_at: when it was last known to be alive, as ISO 8601 in UTC.
        swept_at: when it last looked for lost jobs, as ISO 8601 in UTC; null before the first time.
        spark: Spark in each of its processes.
        jobs: the jobs that it runs now.
    """

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


@described
class QueueHealth(TypedDict):
    """The open jobs in numbers.

    Attributes:
        messages: how many messages wait in Redis; null where Redis does not answer.
        queued: how many jobs are queued.
        running: how many jobs run.
        oldest_job: the number of the oldest open job; null where there is none.
        oldest_seconds: how many seconds ago the oldest open job was requested; null where there is
            none.
    """

    messages: int | None
    queued: int
    running: int
    oldest_job: int | None
    oldest_seconds: int | None


@described
class DiskHealth(TypedDict):
    """The disk of one folder.

    Attributes:
        folder: what the folder holds: ``data`` or ``store``.
        free: how many bytes are free.
        total: how many bytes the disk has.
    """

    folder: str
    free: int
    total: int


@described
class Finding(TypedDict):
    """A setting that is dangerous, as ``manage.py check`` also says.

    Attributes:
        id: its name, such as ``cutline.W001``; SILENCED_CHECKS takes it.
        setting: the setting, or what else it is about.
        problem: what it is, and why that is dangerous, as sentences.
        change: the change to make, as sentences.
    """

    id: str
    setting: str
    problem: str
    change: str


@described
class OperatorHealth(TypedDict):
    """The state of the whole server.

    Attributes:
        status: ``failed`` if anything needs the operator, else ``ok``.
        version: the version of Cutline that the web process runs.
        at: when this was found out, as ISO 8601 in UTC.
        parts: the parts that the server needs.
        workers: the living workers.
        queue: the open jobs in numbers; null where the database does not answer.
        disks: the disks of the folders in which Cutline keeps files.
        runs_out_first: what runs out first and when, as sentences.
        supplies: what can run out, the first to end first.
        findings: settings that are dangerous.
        accepted: the ids of further findings, which SILENCED_CHECKS accepts.
    """

    status: Status
    version: str
    at: str
    parts: list[PartHealth]
    workers: list[WorkerHealth]
    queue: QueueHealth | None
    disks: list[DiskHealth]
    runs_out_first: str
    supplies: list[Supply]
    findings: list[Finding]
    accepted: list[str]


def report() -> OperatorHealth:
    """Return the state of the whole server; parts that do not answer are reported, not raised."""
    parts: list[PartHealth] = [
        {"name": check.name, "status": check.status, "problem": check.problem}
        for check in checks.ready()
    ]
    has_redis = not any(part["name"] == "redis" and part["problem"] for part in parts)
    workers, messages = _workers() if has_redis else ([], None)
    noted = Noted.read() if has_redis else Noted(missing=NO_REDIS)
    parts.append(_workers_part(workers) if has_redis else _WORKERS_NOT_KNOWN)
    failed = any(part["status"] == "failed" for part in parts)
    found, coming = dangers.every(noted), supplies.every(noted)
    return {
        "status": "failed" if failed else "ok",
        "version": VERSION,
        "at": presence.now(),
        "parts": parts,
        "workers": workers,
        "queue": _queue(messages),
        "disks": _disks(),
        "runs_out_first": supplies.headline(coming),
        "supplies": coming,
        "findings": [_finding(each) for each in dangers.not_silenced(found)],
        "accepted": sorted({each.id for each in found if each.id and each.is_silenced()}),
    }


def _finding(message: CheckMessage) -> Finding:
    return {
        "id": message.id or "",
        "setting": str(message.obj),
        "problem": message.msg,
        "change": message.hint or "",
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
    return {
        "pid": condition.pid,
        "state": condition.state,
        "since": condition.since,
        "reason": condition.reason,
        "restarts": condition.restarts,
    }


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


_WORKERS_NOT_KNOWN: PartHealth = {
    "name": "workers",
    "status": "failed",
    "problem": "Which workers run is not known, because Redis does not answer.",
}


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
