"""How much may come in: into a recording, and in the body of a request."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings

from snapshots import problems
from snapshots.readers.base import Limits

FORM_BYTES = 1024**2  # what a multipart body holds beside its files


def recording_limits() -> Limits:
    """What a recording may hold, from the settings."""
    return Limits(
        total_bytes=settings.MAX_RECORDING_BYTES,
        line_bytes=settings.MAX_LINE_BYTES,
        processes=settings.MAX_PROCESSES,
        channels=settings.MAX_CHANNELS,
    )


class BodyLimit:
    """ASGI: answers 413 as soon as a request's body is too large, before the rest of it is read.

    Django reads a whole body to disk before a view can refuse it. The limit is that of a file for
    multipart bodies, that of a form for all others.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self.app = app

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        limit = body_limit(headers.get(b"content-type", b""))
        if _announced(headers) > limit:
            await _refuse(send, limit)
            return
        await _Metered(self.app, receive, send, limit).run(scope)


class _Metered:
    """One request whose body is counted while it is read."""

    def __init__(self, app, receive, send, limit: int) -> None:
        self.app, self._receive, self._send, self.limit = app, receive, send, limit
        self.read = 0

    async def run(self, scope) -> None:
        await self.app(scope, self.receive, self.send)
        if self.read > self.limit:
            await _refuse(self._send, self.limit)

    async def receive(self) -> dict[str, Any]:
        """To the app below, a body that is too large is a client that went away."""
        message = await self._receive()
        self.read += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.read > self.limit else message

    async def send(self, message: dict[str, Any]) -> None:
        if self.read <= self.limit:
            await self._send(message)


def body_limit(content_type: bytes) -> int:
    """Bytes."""
    if content_type.lower().startswith(b"multipart/form-data"):
        return settings.MAX_UPLOAD_BYTES + FORM_BYTES
    return settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def _announced(headers: dict[bytes, bytes]) -> int:
    text = headers.get(b"content-length", b"")
    return int(text) if text.isdigit() and len(text) < 20 else 0


async def _refuse(send, limit: int) -> None:
    detail = f"The body of the request is larger than {limit:,} bytes, the most this server takes."
    body = json.dumps(problems.TooLarge(detail, limit=limit).as_json()).encode()
    headers = [
        (b"content-type", problems.MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
