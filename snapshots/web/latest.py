"""Send the newest of many values, and not too often."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

logger = logging.getLogger(__name__)


class Latest:
    """Sends the latest value, at most once in ``seconds``."""

    def __init__(self, send: Callable, seconds: float) -> None:
        self.send, self.seconds = send, seconds
        self.value: Any = None
        self.task: asyncio.Task | None = None

    def set(self, value: Any) -> None:
        self.value = value
        if self.task is None:
            self.task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        try:
            while self.value is not None:
                value, self.value = self.value, None
                await self.send(value)
                await asyncio.sleep(self.seconds)
        except Exception as error:  # redis-py, channels and the network raise many kinds
            logger.warning("What a person shows could not be shared (%s). Is Redis up?", error)
        finally:
            self.task = None

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
