"""Read the part of /metrics that is the same for all processes: from database, Redis and disk.

What does not answer is left out; ``cutline_part_ok`` shows which part that is.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from django.db import DatabaseError
from django.db.models import Count, Sum
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from redis import Redis, RedisError

from snapshots.models import Job, Recording
from webapp.operating import job_times, presence, report
from webapp.operating.redis_reading import client
from webapp.operating.supplies import Supply
from webapp.version import VERSION


class StateCollector(Collector):
    """Reads the state at each scrape."""

    def collect(self) -> Iterator[Metric]:
        health = report.report()
        yield _gauge("info", "The running version.", [([VERSION], 1)], ["version"])
        yield _parts(health)
        yield _disk(health)
        yield _oldest(health)
        yield from _supplies(health)
        yield _findings(health)
        yield from _guarded(_of_database, DatabaseError)
        yield from _guarded(_of_redis, RedisError)


def _guarded(read, error: type[Exception]) -> list[Metric]:
    try:
        return list(read())
    except error:
        return []


Rows = Iterable[tuple[Iterable[object], float]]


def _gauge(name: str, text: str, rows: Rows, labels: Iterable[str] = ()) -> Metric:
    family = GaugeMetricFamily(f"cutline_{name}", text, labels=list(labels))
    for values, number in rows:
        family.add_metric([str(value) for value in values], number)
    return family


def _parts(health: report.OperatorHealth) -> Metric:
    rows = [([part["name"]], float(part["status"] == "ok")) for part in health["parts"]]
    return _gauge("part_ok", "1 if a part of the server is well, else 0.", rows, ["part"])


def _disk(health: report.OperatorHealth) -> Metric:
    rows = [([disk["folder"]], disk["free"]) for disk in health["disks"]]
    return _gauge("disk_free_bytes", "Free space of a folder's disk.", rows, ["folder"])


def _oldest(health: report.OperatorHealth) -> Metric:
    queue = health["queue"]
    rows: Rows = [([], queue["oldest_seconds"] or 0)] if queue else []
    return _gauge("oldest_open_job_seconds", "Age of the oldest open job; 0 without one.", rows)


def _supplies(health: report.OperatorHealth) -> Iterator[Metric]:
    """Yield what is used of what can run out, its limit, and the seconds until it ends.

    People and teams have their numbers here, since whoever reads metrics need not know addresses.
    """
    labels = ["supply", "of"]
    rows = [([each["name"], each["account"] or each["of"]], each) for each in health["supplies"]]
    used = [(values, each["used"]) for values, each in rows if each["used"] is not None]
    limits = [(values, each["limit"]) for values, each in rows if each["limit"] is not None]
    ends = [(values, _seconds_left(each)) for values, each in rows if _is_forecast(each)]
    yield _gauge("supply_used", "What is used of what can run out.", used, labels)
    yield _gauge("supply_limit", "How much of it can be used.", limits, labels)
    text = "Seconds until it runs out; +Inf if it does not at the present rate."
    yield _gauge("supply_runs_out_seconds", text, ends, labels)


def _is_forecast(supply: Supply) -> bool:
    return supply["state"] == "out" or bool(supply["rates"])


def _seconds_left(supply: Supply) -> float:
    if supply["runs_out_at"] is None:
        return math.inf
    ends_at = datetime.fromisoformat(supply["runs_out_at"])
    return max((ends_at - datetime.now(UTC)).total_seconds(), 0.0)


def _findings(health: report.OperatorHealth) -> Metric:
    counts = Counter((each["id"], each["setting"]) for each in health["findings"])
    text = "Dangerous settings, as manage.py check finds them."
    return _gauge("findings", text, counts.items(), ["id", "setting"])


def _of_database() -> Iterator[Metric]:
    counts = Job.objects.order_by().values_list("kind", "state").annotate(Count("pk"))
    rows = [([kind, state], number) for kind, state, number in counts]
    yield _gauge("jobs", "Jobs in the database.", rows, ["kind", "state"])
    kept = Recording.objects.aggregate(stored=Sum("stored_bytes"), recordings=Count("pk"))
    uploads = Recording.objects.exclude(upload="").aggregate(bytes=Sum("size"))["bytes"]
    yield _gauge("recordings", "Recordings in the database.", [([], kept["recordings"])])
    yield _gauge("stored_bytes", "Size of all stores.", [([], kept["stored"] or 0)])
    yield _gauge("upload_bytes", "Size of all kept uploads.", [([], uploads or 0)])


def _of_redis() -> Iterator[Metric]:
    with client() as redis:
        yield _gauge("queue_messages", "Waiting messages.", [([], redis.llen(report.QUEUE))])
        workers: Rows = [([], len(presence.workers(redis)))]
        yield _gauge("workers", "Living workers.", workers)
        yield from _spark(presence.spark_conditions(redis))
        sweeps = CounterMetricFamily("cutline_sweeps", "Sweeps of all workers.")
        sweeps.add_metric([], presence.sweeps(redis))
        yield sweeps
        yield _job_seconds(redis)


def _spark(conditions: list[presence.SparkCondition]) -> Iterator[Metric]:
    labels = ["host", "pid"]
    up = [([c.host, c.pid], float(c.state == "up")) for c in conditions]
    yield _gauge("spark_up", "1 if the process's Spark is up, else 0.", up, labels)
    text = "Starts of a process's JVM after the first."
    restarts = CounterMetricFamily("cutline_spark_restarts", text, labels=labels)
    for condition in conditions:
        restarts.add_metric([condition.host, str(condition.pid)], condition.restarts)
    yield restarts


def _job_seconds(redis: Redis) -> Metric:
    text = "How long jobs ran, by kind and by the state in which they ended."
    family = HistogramMetricFamily("cutline_job_seconds", text, labels=["kind", "state"])
    for (kind, state), times in sorted(job_times.times(redis).items()):
        family.add_metric([kind, state], times.cumulative, times.seconds)
    return family
