"""Read from Redis with short time limits, so that pages, probes and jobs never wait long."""

from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

SECONDS = 1.0  # for a connection, and for an answer


def client() -> Redis:
    """Return a client that gives up after a second; use it as a context manager."""
    return Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=SECONDS,
        socket_timeout=SECONDS,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
    )
