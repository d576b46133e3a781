"""Connect the channel layer to Redis for many viewers, and survive its hangs and restarts."""

import asyncio
import logging
from typing import Any

from channels_redis.core import RedisChannelLayer
from redis.asyncio import BlockingConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
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
        self._members: set[tuple[str, str]] = set()  # groups and the channels of this process

    def create_pool(self, index: int) -> BlockingConnectionPool:
        # A connection of the pool that a restart of Redis has cut is made anew at its next use.
        again = Retry(NoBackoff(), 1)
        options = {"socket_timeout": None, "retry": again, **self.hosts[index]}
        return BlockingConnectionPool.from_url(
            options.pop("address"), max_connections=MOST_CONNECTIONS, timeout=None, **options
        )

    async def group_add(self, group: str, channel: str) -> None:
        self._members.add((group, channel))
        async with asyncio.timeout(ANSWER_SECONDS):
            await super().group_add(group, channel)

    async def group_discard(self, group: str, channel: str) -> None:
        self._members.discard((group, channel))
        async with asyncio.timeout(ANSWER_SECONDS):
            await super().group_discard(group, channel)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        with self._silence.respected(TimeoutError, RedisError):
            async with asyncio.timeout(ANSWER_SECONDS):
                await super().group_send(group, message)

    async def receive_single(self, channel: str) -> tuple[Any, Any]:
        """Wait for a message, even through a restart of Redis, so that pages stay connected."""
        was_lost = False
        while True:
            try:
                if was_lost:
                    await self._join_again()
                    was_lost = False
                return await super().receive_single(channel)
            except (RedisError, OSError) as error:
                logger.warning("Redis cannot be reached (%s). Trying again.", error)
                was_lost = True
                await asyncio.sleep(RETRY_SECONDS)

    async def _join_again(self) -> None:
        """Enter the channels into their groups, which a Redis that was restarted has forgotten."""
        for group, channel in list(self._members):
            await self.group_add(group, channel)
