"""Websockets: they check access, answer from the store and relay; they decide nothing.

Work for one client is bounded: of the windows it asks for, and of the cuts, one is computed while
the newest of the others waits; those it passes are answered as dropped. A client that does not read
its answers is asked for nothing new, so nothing piles up here.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from snapshots import access, live, replays, services, stores
from snapshots.api.json import dumps
from snapshots.problems import Conflict, Invalid, NotFound, Problem
from snapshots.store.errors import StoreError
from snapshots.store.reader import StoredRecording

logger = logging.getLogger(__name__)

UNAUTHORIZED = 4401
NOT_FOUND = 4404
NOT_READY = 4409
TOO_LARGE = 1009
MOST_BYTES = 1024**2  # of one message of a client: a cut of the largest recording fits
CURSORS_A_SECOND = 20

Answer = Callable[[StoredRecording, Mapping[str, Any]], dict[str, Any]]


class JsonConsumer(AsyncWebsocketConsumer):
    """Accepts whoever is signed in; a connection that is refused closes with a reason."""

    async def connect(self) -> None:
        await self.accept()  # a close code reaches the page only over an open connection
        if self.scope["user"].is_authenticated:
            await self.begin()
        else:
            await self.close(UNAUTHORIZED, "Sign in first.")

    async def begin(self) -> None:
        """Join groups; close where there is nothing to join."""

    async def tell(self, payload: Mapping[str, Any]) -> None:
        await self.send(text_data=dumps(payload).decode())

    async def refuse(self, detail: str, request: Any = None) -> None:
        """request: what the client numbered its question with."""
        payload = {"type": "refused", "detail": detail}
        if isinstance(request, int | float | str):
            payload["request"] = request
        await self.tell(payload)


class JobsConsumer(JsonConsumer):
    """Relays every change of the person's jobs."""

    group: str | None = None

    async def begin(self) -> None:
        self.group = live.jobs_group(self.scope["user"].pk)
        await self.channel_layer.group_add(self.group, self.channel_name)

    async def disconnect(self, code: int) -> None:
        if self.group:
            await self.channel_layer.group_discard(self.group, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        await self.refuse("This address only tells how jobs go; it takes no messages.")

    async def job_changed(self, event: Mapping[str, Any]) -> None:
        await self.tell({"type": "job", **event["job"]})


class RecordingConsumer(JsonConsumer):
    """Windows and cuts of one ready recording, and the presenter's cursor for those who follow."""

    stored: StoredRecording | None = None
    role = "none"

    async def begin(self) -> None:
        self.client = uuid.uuid4().hex
        self.newest = {"window": Newest(self, replays.window), "cut": Newest(self, replays.cut)}
        self.cursor = Latest(self._share, 1 / CURSORS_A_SECOND)
        try:
            self.stored = await database_sync_to_async(self._open)()
        except NotFound as missing:
            await self.close(NOT_FOUND, missing.detail[:100])
        except (Conflict, StoreError) as error:
            await self.close(NOT_READY, str(error)[:100])

    def _open(self) -> StoredRecording:
        recording = access.recording(self.scope["user"], self.scope["url_route"]["kwargs"]["id"])
        services.require_ready(recording)
        return stores.open_recording(recording)

    @property
    def group(self) -> str:
        return live.followers_group(self.scope["url_route"]["kwargs"]["id"])

    async def disconnect(self, code: int) -> None:
        if self.stored is not None:
            for newest in self.newest.values():
                newest.stop()
            self.cursor.stop()
            await self.channel_layer.group_discard(self.group, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        raw = text_data if text_data is not None else bytes_data
        if len(raw) > MOST_BYTES:
            await self.close(TOO_LARGE, f"A message has at most {MOST_BYTES:,} bytes.")
        elif self.stored is not None:
            await self._read(raw)

    async def _read(self, raw: str | bytes) -> None:
        try:
            message = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            return await self.refuse(f"The message is not JSON: {error.msg}.")
        if not isinstance(message, dict):
            return await self.refuse("A message is an object with a type.")
        return await self._take(message)

    async def _take(self, message: dict[str, Any]) -> None:
        kind, request = message.get("type"), message.get("request")
        try:
            if kind in ("window", "cut"):
                await self.newest[kind].ask(message)
            elif kind == "follow":
                await self._follow(message)
            elif kind in ("play", "pause", "seek", "speed"):
                self._present(kind, message)
            else:
                raise Invalid("type is window, cut, play, pause, seek, speed or follow.")
        except Problem as problem:
            await self.refuse(problem.detail, request)

    async def _follow(self, message: Mapping[str, Any]) -> None:
        """role: ``presenter`` shares its cursor, ``follower`` gets it, ``none`` neither."""
        role = message.get("role", "follower")
        if role not in ("presenter", "follower", "none"):
            raise Invalid("role is presenter, follower or none.")
        self.role = role
        join = self.channel_layer.group_add
        leave = self.channel_layer.group_discard
        await (join if role == "follower" else leave)(self.group, self.channel_name)

    def _present(self, kind: str, message: Mapping[str, Any]) -> None:
        """Of a presenter's cursors the newest is relayed, some times a second."""
        cursor: dict[str, Any] = {"playing": message.get("playing", kind == "play") is True}
        for name in ("at", "step", "speed"):
            if message.get(name) is not None:
                cursor[name] = replays.finite(message[name], name)
        if self.role == "presenter":
            self.cursor.set(cursor)

    async def _share(self, cursor: Mapping[str, Any]) -> None:
        by = {"by": self.scope["user"].get_username(), "client": self.client}
        event = {"type": "cursor.moved", "cursor": {**cursor, **by}}
        await self.channel_layer.group_send(self.group, event)

    async def cursor_moved(self, event: Mapping[str, Any]) -> None:
        await self.tell({"type": "cursor", **event["cursor"]})


class Newest:
    """Answers one question at a time; of those that come meanwhile, the newest one next."""

    def __init__(self, consumer: RecordingConsumer, answer: Answer) -> None:
        self.consumer, self.answer = consumer, answer
        self.waiting: dict[str, Any] | None = None
        self.task: asyncio.Task | None = None

    async def ask(self, question: dict[str, Any]) -> None:
        dropped, self.waiting = self.waiting, question
        if dropped is not None:
            await self.consumer.refuse("A newer request took its place.", dropped.get("request"))
        if self.task is None:
            self.task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        try:
            while self.waiting is not None:
                question, self.waiting = self.waiting, None
                await self._reply(question)
        finally:
            self.task = None

    async def _reply(self, question: dict[str, Any]) -> None:
        request = question.get("request")
        try:
            answer = await asyncio.to_thread(self.answer, self.consumer.stored, question)
        except Problem as problem:
            await self.consumer.refuse(problem.detail, request)
        except Exception:
            logger.exception("A %s could not be answered", question["type"])
            await self.consumer.refuse("The server made a mistake; its log says which.", request)
        else:
            await self.consumer.tell({"type": question["type"], "request": request, **answer})

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()


class Latest:
    """Hands on the latest value, at most once in ``seconds``."""

    def __init__(self, hand_on: Callable, seconds: float) -> None:
        self.hand_on, self.seconds = hand_on, seconds
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
                await self.hand_on(value)
                await asyncio.sleep(self.seconds)
        except Exception as error:  # redis-py, channels and the network have many names for this
            logger.warning("A cursor could not be shared (%s). Is Redis up?", error)
        finally:
            self.task = None

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
