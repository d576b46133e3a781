"""Let a client read an answer that it gets before it has sent its whole request.

A server that closes a connection while data still arrive resets it, and the client may lose the
answer. So the rest is read and discarded for a short while.
"""

import asyncio
from contextlib import suppress
from typing import Any

LINGER_SECONDS = 2.0


class Lingering:
    """An ASGI app that delays the end of an early answer while the client still sends its body."""

    def __init__(self, app) -> None:
        self.app = app

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] == "http":
            request = _Request(receive, send, is_coming=_has_body(scope["headers"]))
            await self.app(scope, request.receive, request.send)
        else:
            await self.app(scope, receive, send)


class _Request:
    """One request; ``is_coming`` tells whether more of its body is expected."""

    def __init__(self, receive, send, *, is_coming: bool) -> None:
        self._receive, self._send, self.is_coming = receive, send, is_coming

    async def receive(self) -> dict[str, Any]:
        message = await self._receive()
        self.is_coming = message["type"] == "http.request" and message.get("more_body", False)
        return message

    async def send(self, message: dict[str, Any]) -> None:
        is_end = message["type"] == "http.response.body" and not message.get("more_body", False)
        if not (is_end and self.is_coming):
            await self._send(message)
            return
        await self._send({**message, "more_body": True})
        await self._throw_away_the_rest()
        await self._send({"type": "http.response.body", "body": b""})

    async def _throw_away_the_rest(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while self.is_coming:
                    await self.receive()


def _has_body(headers) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in headers
    )
