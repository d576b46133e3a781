"""Connect the channel layer to Redis for many viewers, and survive its hangs and restarts."""

import asyncio
import logging
from typing import Any

from channels_redis.core import RedisChannelLayer
from redis.asyncio import BlockingConnectionPool
from redis.exceptions import RedisError

from webapp.edge.silence import Silence

logger = logging.getLogger(__name__)

MOST_CONNECTIONS = 50  # of a process; when all are in use, the next caller waits
ANSWER_SECONDS = 3.0  # for every command except waiting for a message
RETRY_SECONDS = 1.0


class RedisLayer(RedisChannelLayer):
    """channels_redis with a limited wait for answers, and no limit on callers.

    redis-py's own pool raises an error above 100 connections. A command without a time limit would
    hang for as long as Redis does; only waiting for a message may take that long.
    """

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self._silence = Silence("Redis")

    def create_pool(self, index: int) -> BlockingConnectionPool:
        options = {"socket_timeout": None, **self.hosts[index]}
        return BlockingConnectionPool.from_url(
            options.pop("address"), max_connections=MOST_CONNECTIONS, timeout=None, **options
        )

    async def group_add(self, group: str, channel: str) -> None:
        async with asyncio.timeout(ANSWER_SECONDS):
            await super().group_add(group, channel)

    async def group_discard(self, group: str, channel: str) -> None:
        async with asyncio.timeout(ANSWER_SECONDS):
            await super().group_discard(group, channel)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        with self._silence.respected(TimeoutError, RedisError):
            async with asyncio.timeout(ANSWER_SECONDS):
                await super().group_send(group, message)

    async def receive_single(self, channel: str) -> tuple[Any, Any]:
        """Wait for a message, even through a restart of Redis, so that pages stay connected."""
        while True:
            try:
                return await super().receive_single(channel)
            except (RedisError, OSError) as error:
                logger.warning("Redis cannot be reached (%s). Trying again.", error)
                await asyncio.sleep(RETRY_SECONDS)
