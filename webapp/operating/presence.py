"""Note in Redis that workers and web processes are alive; health pages and metrics read it.

Each worker has the key ``cutline:worker:HOST:PID``, which expires when the worker no longer renews
it. Spark's condition is in ``cutline:spark:HOST:PID``, one key for each of the worker's processes.
A web process has ``cutline:web:HOST:PID``, with what it has taken of its limits.
"""

import json
import logging
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from redis import Redis, RedisError

from webapp.operating.redis_reading import client
from webapp.version import VERSION

logger = logging.getLogger(__name__)

WORKER = "cutline:worker:"
SPARK = "cutline:spark:"
WEB = "cutline:web:"
SWEEPS = "cutline:sweeps"
SECONDS_BETWEEN_NOTES = 5
SECONDS_TO_LIVE = 20

_last_sweep: str | None = None


@dataclass(frozen=True, slots=True)
class SparkCondition:
    """The Spark of one process: ``starting``, ``up`` or ``down``, and why."""

    host: str
    pid: int
    state: str
    since: str = ""
    reason: str = ""
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker as it noted itself; times are ISO 8601 in UTC.

    Args:
        processes: the pids in which it runs jobs.
        swept_at: when it last looked for lost jobs; None before the first time.
    """

    host: str
    pid: int
    started_at: str
    noted_at: str
    concurrency: int
    processes: list[int] = field(default_factory=list)
    swept_at: str | None = None
    version: str = ""

    @property
    def name(self) -> str:
        return f"{self.host}:{self.pid}"


@dataclass(frozen=True, slots=True)
class Taken:
    """How many a process has of something limited, and the most that it had since it started.

    Args:
        limit: how many it may have.
        most_at: when it had the most, as ISO 8601 in UTC.
    """

    now: int
    limit: int
    most: int
    most_at: str


@dataclass(frozen=True, slots=True)
class Web:
    """A web process as it noted itself; times are ISO 8601 in UTC.

    Args:
        files: open files and connections, beside the limit that the system sets.
        bodies: places for large bodies, beside MAX_BODIES_AT_ONCE.
    """

    host: str
    pid: int
    started_at: str
    websockets: int
    files: Taken
    bodies: Taken


def note_web(web: Web) -> None:
    """Note that a web process is alive. Raises: RedisError."""
    with client() as redis:
        redis.set(f"{WEB}{web.host}:{web.pid}", json.dumps(asdict(web)), ex=SECONDS_TO_LIVE)


def webs(redis: Redis) -> list[Web]:
    """Return the living web processes, by name. Raises: RedisError."""
    notes = [note for _, note in _notes(redis, WEB)]
    return [
        Web(**note | {name: Taken(**note[name]) for name in ("files", "bodies")}) for note in notes
    ]


def note_worker(pid: int, started_at: str, processes: Sequence[int]) -> None:
    """Note that a worker of this host is alive. Raises: RedisError."""
    worker = Worker(
        host=socket.gethostname(),
        pid=pid,
        started_at=started_at,
        noted_at=now(),
        concurrency=len(processes),
        processes=list(processes),
        swept_at=_last_sweep,
        version=VERSION,
    )
    with client() as redis:
        redis.set(WORKER + worker.name, json.dumps(asdict(worker)), ex=SECONDS_TO_LIVE)


def withdraw_worker(pid: int) -> None:
    """Remove the note when a worker of this host ends. Raises: RedisError."""
    with client() as redis:
        redis.delete(f"{WORKER}{socket.gethostname()}:{pid}")


def note_sweep() -> None:
    """Note that this process has looked for lost jobs, also for the next note of its worker."""
    global _last_sweep
    _last_sweep = now()
    try:
        with client() as redis:
            redis.incr(SWEEPS)
    except RedisError as error:
        logger.debug("A sweep was not counted: %s", error)


def workers(redis: Redis) -> list[Worker]:
    """Return the living workers, by name. Raises: RedisError."""
    return [Worker(**note) for _, note in _notes(redis, WORKER)]


def spark_conditions(redis: Redis) -> list[SparkCondition]:
    """Return the condition of Spark in each process that runs jobs. Raises: RedisError."""
    conditions = []
    for key, note in _notes(redis, SPARK):
        host, _, pid = key.rpartition(":")
        fields = {name: note[name] for name in ("state", "since", "reason", "restarts")}
        conditions.append(SparkCondition(host=host, pid=int(pid), **fields))
    return conditions


def sweeps(redis: Redis) -> int:
    """Return how many sweeps all workers have done. Raises: RedisError."""
    return int(redis.get(SWEEPS) or 0)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _notes(redis: Redis, prefix: str) -> list[tuple[str, dict[str, Any]]]:
    keys = sorted(redis.scan_iter(f"{prefix}*", count=1000))
    values = redis.mget(keys) if keys else []
    pairs = zip(keys, values, strict=True)
    return [(key.removeprefix(prefix), json.loads(value)) for key, value in pairs if value]
