"""Keep in Redis what was used over the last week, from which ``rates.py`` says what runs out when.

Every half hour one process of each machine measures its disks (``cutline:measured:HOST``), and one
of all machines measures what they share (``cutline:measured``). Each is a list of JSON of at most
KEPT samples. Redis may lose them; then a forecast waits until enough was measured again.
"""

import json
import socket
import time
from collections import defaultdict
from typing import Any

from redis import Redis

from snapshots import allowances
from webapp.operating import disk
from webapp.operating.redis_reading import client

KEY = "cutline:measured"
SECONDS_BETWEEN = 1800
SECONDS_KEPT = 7 * 86_400 + SECONDS_BETWEEN  # one sample must be a week old
KEPT = SECONDS_KEPT // SECONDS_BETWEEN + 1
MOST_ACCOUNTS = 50  # those that use most of what they may store

Sample = dict[str, Any]
Series = list[tuple[float, float]]


def measure() -> None:
    """Add a sample of this machine, and one of what is shared, if their turn has come.

    Raises: RedisError, DatabaseError, OSError.
    """
    with client() as redis:
        _add(redis, f"{KEY}:{socket.gethostname()}", lambda: {"disks": _disks()})
        _add(redis, KEY, lambda: _shared(redis))


def _add(redis: Redis, key: str, sample) -> None:
    """Add a sample unless another process did so within the time between two."""
    turn = f"{key}:turn"
    if not redis.set(turn, "taken", nx=True, ex=SECONDS_BETWEEN):
        return
    try:
        text = json.dumps({"at": int(time.time()), **sample()})
    except BaseException:
        redis.delete(turn)  # the next try need not wait
        raise
    with redis.pipeline() as several:
        several.rpush(key, text)
        several.ltrim(key, -KEPT, -1)
        several.expire(key, SECONDS_KEPT)  # a machine that has gone leaves nothing for ever
        several.execute()


def _disks() -> Sample:
    return {each.holds: each._asdict() for each in disk.disks()}


def _shared(redis: Redis) -> Sample:
    accounts = allowances.fullest("stored_bytes", MOST_ACCOUNTS)
    return {
        "redis": redis.info("memory")["used_memory"],
        "stored": {str(each.owner.pk): each.used for each in accounts},
    }


def machines(redis: Redis) -> dict[str, list[Sample]]:
    """Return the samples of each machine by its host name. Raises: RedisError."""
    keys = sorted(key for key in redis.scan_iter(f"{KEY}:*", count=1000) if not _is_turn(key))
    return {key.removeprefix(f"{KEY}:"): _samples(redis, key) for key in keys}


def shared(redis: Redis) -> list[Sample]:
    """Return the samples of what all machines share, the oldest first. Raises: RedisError."""
    return _samples(redis, KEY)


def _is_turn(key: str) -> bool:
    return key.endswith(":turn")


def _samples(redis: Redis, key: str) -> list[Sample]:
    """Return the samples up to now; a clock that was set back leaves some of the future."""
    samples = map(json.loads, redis.lrange(key, 0, -1))
    now = time.time()
    return sorted((each for each in samples if each["at"] <= now), key=lambda each: each["at"])


def stored_of_accounts(samples: list[Sample]) -> dict[int, Series]:
    """Return for each account how many bytes it stored, where that was measured."""
    series: dict[int, Series] = defaultdict(list)
    for sample in samples:
        for owner, stored in sample["stored"].items():
            series[int(owner)].append((sample["at"], stored))
    return series
