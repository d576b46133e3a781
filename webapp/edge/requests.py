"""Give every request and websocket an id, and count and log it.

The answer carries the id in ``X-Request-ID``, and every log line shows it. Time and status are
counted for /metrics. With ACCESS_LOG=yes each is a line of the log ``access``.
"""

import logging
import re
import time
import uuid
from types import SimpleNamespace
from typing import Any

from django.conf import settings

from webapp.operating import observed
from webapp.operating.logging import Person, about, redacted

logger = logging.getLogger("access")

HEADER = b"x-request-id"
PERSON = "cutline.person"  # the scope's member
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
CLIENT_WENT_AWAY = 499  # before an answer began; the number is nginx's


class Requests:
    """An ASGI app that gives each request an id, counts it, and logs it after its answer."""

    def __init__(self, app) -> None:
        self.app = app

    async def __call__(self, scope, receive, send) -> None:
        kind = {"http": _Request, "websocket": _Websocket}.get(scope["type"])
        if kind is None:
            await self.app(scope, receive, send)
        else:
            await kind(scope, send).run(self.app, receive)


class _Request:
    """One request, and the part of its answer that has been sent."""

    status = CLIENT_WENT_AWAY

    def __init__(self, scope: dict[str, Any], send) -> None:
        self.id, self.person = _id_of(scope), Person()
        self.scope = {**scope, PERSON: self.person}
        self._send = send
        self.bytes = 0
        self.began = time.monotonic()

    async def run(self, app, receive) -> None:
        with about(request=self.id, person=self.person):
            try:
                await app(self.scope, receive, self.send)
            except Exception:
                self.fail()
                raise
            finally:
                self.end(time.monotonic() - self.began)

    async def send(self, message: dict[str, Any]) -> None:
        """Pass a part of the answer on, with the id added to its headers."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message["headers"], (HEADER, self.id.encode())]}
        self.bytes += len(message.get("body", b""))
        await self._send(message)

    def fail(self) -> None:
        """Note that the app raised an error; the server answers 500 if no answer has begun."""
        self.status = 500 if self.status == CLIENT_WENT_AWAY else self.status

    def end(self, seconds: float) -> None:
        status = observed.status_class(self.status)
        observed.request_seconds.labels(status).observe(seconds)
        self.log(self.scope["method"], seconds)

    def log(self, method: str, seconds: float) -> None:
        """Write the line of the access log, if it is switched on; the query is left out."""
        if not settings.ACCESS_LOG:
            return
        fields = {
            "method": method,
            "path": redacted(self.scope["path"].encode("unicode_escape").decode()),
            "status": self.status,
            "ms": round(seconds * 1000),
            "bytes": self.bytes,
            "address": (self.scope.get("client") or ("-",))[0],
        }
        line = "{method} {path} {status} {ms} ms {bytes} bytes from {address}"
        logger.info("%s", line.format(**fields), extra={"fields": fields})


class _Websocket(_Request):
    """One websocket, from its handshake to its end; its status is the close code."""

    status = 1006  # closed without a code

    def __init__(self, scope: dict[str, Any], send) -> None:
        super().__init__(scope, send)
        self.is_open = False

    async def run(self, app, receive) -> None:
        async def received() -> dict[str, Any]:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                self.status = message.get("code") or self.status
            return message

        await super().run(app, received)

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.accept" and not self.is_open:
            self.is_open = True
            observed.open_websockets.inc()
            observed.websockets.note(observed.websockets.now + 1)
        elif message["type"] == "websocket.close":
            self.status = message.get("code") or 1000
        self.bytes += len(message.get("text") or message.get("bytes") or b"")
        await self._send(message)

    def fail(self) -> None:
        self.status = 1011

    def end(self, seconds: float) -> None:
        if self.is_open:
            observed.open_websockets.dec()
            observed.websockets.note(observed.websockets.now - 1)
        self.log("WEBSOCKET", seconds)


class NotePerson:
    """An ASGI app that notes whose websocket it is, because outer layers cannot see that."""

    def __init__(self, app) -> None:
        self.app = app

    async def __call__(self, scope, receive, send) -> None:
        if PERSON in scope and "user" in scope:
            user = getattr(scope["user"], "_wrapped", scope["user"])
            scope[PERSON].holder = SimpleNamespace(user=user)
        await self.app(scope, receive, send)


def note_person(get_response):
    """Note whose request it is as soon as that is known, for the layers outside of Django."""

    def middleware(request):
        person = getattr(request, "scope", {}).get(PERSON)
        if person is not None:
            person.holder = request
        return get_response(request)

    return middleware


def _id_of(scope: dict[str, Any]) -> str:
    """Return the id from a trusted proxy (see proxies.py), or a new one."""
    given = dict(scope["headers"]).get(HEADER, b"")
    return given.decode() if _ID.fullmatch(given) else uuid.uuid4().hex
