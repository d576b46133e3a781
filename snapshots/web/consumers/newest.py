"""Answer the newest question about a recording, and refuse those that it replaces."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from snapshots.problems import Problem
from snapshots.web.consumers.connection import JsonConsumer

logger = logging.getLogger(__name__)

Answer = Callable[[Mapping[str, Any]], dict[str, Any]]


class Newest:
    """Answers one question at a time, and then the newest of those that arrived meanwhile."""

    def __init__(self, consumer: JsonConsumer, answer: Answer) -> None:
        self.consumer, self.answer = consumer, answer
        self.waiting: dict[str, Any] | None = None
        self.task: asyncio.Task | None = None

    async def ask(self, question: dict[str, Any]) -> None:
        dropped, self.waiting = self.waiting, question
        if dropped is not None:
            await self.consumer.refuse("A newer request replaced it.", dropped.get("request"))
        if self.task is None:
            self.task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        try:
            while self.waiting is not None:
                question, self.waiting = self.waiting, None
                await self._reply(question)
        except OSError:  # ASGI's sign that the client has gone
            self.waiting = None
        finally:
            self.task = None

    async def _reply(self, question: dict[str, Any]) -> None:
        request = question.get("request")
        try:
            answer = await asyncio.to_thread(self.answer, question)
        except Problem as problem:
            await self.consumer.refuse(problem.detail, request)
        except Exception:
            logger.exception("A %s could not be answered", question["type"])
            sentence = "An error occurred in the server; its log has the details."
            await self.consumer.refuse(sentence, request)
        else:
            await self.consumer.send_payload(
                {"type": question["type"], "request": request, **answer}
            )

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
