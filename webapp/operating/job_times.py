"""Count how long jobs take, by kind and end, in Redis; workers write it, /metrics reads it."""

import logging
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from redis import Redis, RedisError

from webapp.operating.redis_reading import client

logger = logging.getLogger(__name__)

KEY = "cutline:job_seconds"  # a hash: "KIND STATE BOUND" counts jobs, "KIND STATE sum" adds seconds
BOUNDS = ("0.5", "1", "2", "5", "10", "30", "60", "120", "300", "900", "3600", "+Inf")


@dataclass
class Times:
    """The jobs of one kind that ended in one state; ``counts`` has each job once, at its bound."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BOUNDS, 0))
    seconds: float = 0.0

    @property
    def cumulative(self) -> list[tuple[str, float]]:
        """Return how many jobs took at most as long as each bound."""
        total, rows = 0, []
        for bound in BOUNDS:
            total += self.counts[bound]
            rows.append((bound, float(total)))
        return rows


@contextmanager
def timed(job) -> Iterator[None]:
    """Note how long a run takes, unless the job was put back for later."""
    began = time.monotonic()
    yield
    if not job.is_open:
        note(job.kind, job.state, time.monotonic() - began)


def note(kind: str, state: str, seconds: float) -> None:
    """Count one job; without Redis it is not counted."""
    bound = next(bound for bound in BOUNDS if seconds <= float(bound))
    try:
        with client() as redis, redis.pipeline(transaction=False) as several:
            several.hincrby(KEY, f"{kind} {state} {bound}", 1)
            several.hincrbyfloat(KEY, f"{kind} {state} sum", seconds)
            several.execute()
    except RedisError as error:
        logger.debug("The time of a job was not counted: %s", error)


def times(redis: Redis) -> dict[tuple[str, str], Times]:
    """Return the times by (kind, state). Raises: RedisError."""
    by_end: dict[tuple[str, str], Times] = defaultdict(Times)
    for name, value in redis.hgetall(KEY).items():
        kind, state, bound = str(name).split(" ")
        if bound == "sum":
            by_end[kind, state].seconds = float(value)
        else:
            by_end[kind, state].counts[bound] = int(value)
    return dict(by_end)
