"""Hold a websocket open for as long as its person has the right to it."""

import asyncio
import contextlib
import logging
import math
import random
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from channels.auth import get_user
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.utils import timezone

from snapshots import access
from snapshots.jobs import live
from snapshots.passing import passing
from snapshots.problems import Problem, Unauthorized
from snapshots.web.json import dumps
from webapp.accounts.sessions import key_hash

logger = logging.getLogger(__name__)

UNAUTHORIZED = live.UNAUTHORIZED
NOT_FOUND = live.NOT_FOUND
TRY_AGAIN = 1013
BROKEN_OFF = 1006
MOST_REASON_BYTES = 120  # of a close frame
CHECK_SECONDS = 30  # the most between two checks whether a person may still be here


class JsonConsumer(AsyncWebsocketConsumer):
    """Accepts people who are signed in, and closes other connections with a reason.

    A connection also ends when the right to it ends. A message announces that; if the message is
    lost, a regular check of the database notices it.
    """

    _checking: asyncio.Task | None = None
    _is_left = False

    async def __call__(self, scope, receive, send) -> None:
        """Serve the connection, and leave it also when it breaks off while something is sent."""
        self.joined: set[str] = set()
        try:
            await super().__call__(scope, receive, send)
        finally:
            if not self._is_left:
                await self.disconnect(BROKEN_OFF)

    async def websocket_disconnect(self, message: Mapping[str, Any]) -> None:
        self._is_left = True
        await super().websocket_disconnect(message)

    async def connect(self) -> None:
        await self.accept()  # a close code reaches the page only over an open connection
        if not self.scope["user"].is_authenticated:
            visitor = await database_sync_to_async(self.visitor)()
            if visitor is None:
                await self.end(UNAUTHORIZED, "Sign in first.")
                return
            self.scope["user"] = visitor
        self._checking = asyncio.create_task(self._check_regularly())
        await asyncio.gather(self.begin(), *map(self.join, self._own_groups()))

    def visitor(self) -> access.Visitor | None:
        """Return the visitor of a public link, if this kind of connection takes one."""
        return None

    async def begin(self) -> None:
        """Join the groups of this kind of connection, or end the connection."""

    async def disconnect(self, code: int) -> None:
        if self._checking is not None:
            self._checking.cancel()
        await asyncio.gather(*map(self.leave, list(self.joined)))

    def _own_groups(self) -> list[str]:
        if isinstance(self.scope["user"], access.Visitor):
            return []
        groups = [live.account_group(self.scope["user"].pk)]
        if key := getattr(self.scope.get("session"), "session_key", None):
            groups.append(live.session_group(key_hash(key)))
        return groups

    async def join(self, group: str) -> None:
        """Receive what is sent to a group; if Redis does not answer, the next check joins again."""
        self.joined.add(group)
        with logged("join"):
            await self.channel_layer.group_add(group, self.channel_name)

    async def leave(self, group: str) -> None:
        self.joined.discard(group)
        with logged("leave"):
            await self.channel_layer.group_discard(group, self.channel_name)

    async def end(self, code: int, reason: str) -> None:
        """Close with a reason, shortened to what fits into the frame."""
        await self.close(code, reason.encode()[:MOST_REASON_BYTES].decode(errors="ignore"))

    async def socket_end(self, event: Mapping[str, Any]) -> None:
        await self.end(event["code"], event["reason"])

    async def _check_regularly(self) -> None:
        while True:
            # Connections check at different moments, so that the database is asked evenly.
            await asyncio.sleep(min(CHECK_SECONDS * random.uniform(0.5, 1), self._seconds_left()))
            if not await self._may_stay():
                return
            await asyncio.gather(*map(self.join, list(self.joined)))

    def _seconds_left(self) -> float:
        """Return in how many seconds the visitor's link expires; infinity without an end."""
        user = self.scope["user"]
        if not isinstance(user, access.Visitor) or user.link.expires_at is None:
            return math.inf
        return max(0.05, (user.link.expires_at - timezone.now()).total_seconds())

    async def right_changed(self, event: Mapping[str, Any]) -> None:
        """Check the right at once, because the person's place in a team has changed."""
        await self._may_stay()

    async def _may_stay(self) -> bool:
        """Check the right to be here, and end the connection without it."""
        try:
            await self.require_right(await self._person())
        except Problem as problem:
            await self.end(UNAUTHORIZED if problem.status == 401 else NOT_FOUND, problem.detail)
            return False
        except Exception as error:
            if passing(error) is None:
                logger.exception("The right to a websocket could not be checked")
        return True

    async def _person(self):
        """Return the person of the session, or the visitor, as the database has them now.

        Raises: NotFound for a visitor whose link does not work any more.
        """
        if isinstance(self.scope["user"], access.Visitor):
            return await database_sync_to_async(access.visitor_of_link)(self.scope["user"].link.pk)
        if "session" not in self.scope:
            return self.scope["user"]
        engine = import_module(settings.SESSION_ENGINE)
        fresh = engine.SessionStore(self.scope["session"].session_key)
        return await get_user({"session": fresh})

    async def require_right(self, user) -> None:
        """Check that ``user`` may still be here. Raises: Problem."""
        if not user.is_authenticated and not isinstance(user, access.Visitor):
            raise Unauthorized("You are no longer signed in.")

    async def send_payload(self, payload: Mapping[str, Any]) -> None:
        await self.send(text_data=dumps(payload).decode())

    async def refuse(self, detail: str, request: Any = None) -> None:
        """Send a refusal; ``request`` is the number or text that the client gave its question."""
        payload: dict[str, object] = {"type": "refused", "detail": detail}
        if isinstance(request, int | float | str):
            payload["request"] = request
        await self.send_payload(payload)


@contextlib.contextmanager
def logged(action: str) -> Iterator[None]:
    """Log a failure of Redis and continue."""
    try:
        yield
    except Exception as error:  # redis-py, channels and the network raise many kinds of errors here
        logger.warning("A websocket could not %s a group (%r). Is Redis up?", action, error)
