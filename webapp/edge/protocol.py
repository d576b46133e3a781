"""Limit how long a connection may take, in uvicorn's protocols below ASGI.

uvicorn waits for ever for the end of a request's header. It closes a websocket whose client has
stopped reading only when that client goes away.
"""

import asyncio
import json
from collections import OrderedDict

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from snapshots import problems

MAX_HEADER_BYTES = 64 * 1024
FLUSH_SECONDS = 5  # for the data already written to a connection that is to be closed

_waiting: OrderedDict["HttpProtocol", None] = OrderedDict()
"""The connections of this process without a complete header, the oldest first."""


class HttpProtocol(HttpToolsProtocol):
    """HTTP/1.1 whose headers must be complete within HEADER_SECONDS and MAX_HEADER_BYTES."""

    _timer: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _in_header = True

    def connection_made(self, transport) -> None:
        super().connection_made(transport)
        self._begin_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            self._end_waiting()  # refused, or a websocket by now
        elif self._in_header or not self._is_answering:
            self._begin_waiting()
            self._count_header(len(data))

    def on_message_begin(self) -> None:
        self._in_header = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_header = False
        self._end_waiting()
        super().on_headers_complete()

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _begin_waiting(self) -> None:
        if self._timer is not None:
            return
        self._timer = self.loop.call_later(settings.HEADER_SECONDS, self._header_is_late)
        _waiting[self] = None
        if len(_waiting) > settings.MAX_WAITING_CONNECTIONS:
            next(iter(_waiting))._drop()

    def _end_waiting(self) -> None:
        self._header_bytes = 0
        _waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _count_header(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > MAX_HEADER_BYTES:
            self._refuse(_header_too_large())

    def _header_is_late(self) -> None:
        """Answer a request that stopped in its header; close silently if none began."""
        self._timer = None
        if self._is_answering:  # a further request on a connection that awaits an answer
            self._begin_waiting()
        elif self._header_bytes:
            self._refuse(_header_late())
        else:
            self._drop()

    def _refuse(self, problem: problems.Problem) -> None:
        if not self._is_answering:
            self.transport.write(_as_http(problem))
        self._drop()

    def _drop(self) -> None:
        self._end_waiting()
        self.transport.close()
        self.loop.call_later(FLUSH_SECONDS, self.transport.abort)


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """Websockets whose connection ends soon after its close, whether the client reads or not."""

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self._abort_soon()

    async def send(self, message) -> None:
        """Drop messages after the close; an answer to a slow reader may still be under way."""
        if self.close_sent:
            return
        if message["type"] == "websocket.close":
            self._abort_soon()
        await super().send(message)

    def _abort_soon(self) -> None:
        self.loop.call_later(FLUSH_SECONDS, self.transport.abort)


def _header_late() -> problems.Problem:
    return problems.TooSlow(
        f"The header of the request was not complete within {settings.HEADER_SECONDS} s."
    )


def _header_too_large() -> problems.Problem:
    return problems.HeaderTooLarge(
        f"The header of the request is larger than {MAX_HEADER_BYTES:,} bytes. "
        "Are there too many cookies?"
    )


def _as_http(problem: problems.Problem) -> bytes:
    body = json.dumps(problem.as_json()).encode()
    head = (
        f"content-type: {problems.MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
        "connection: close\r\n\r\n"
    )
    return STATUS_LINE[problem.status] + head.encode() + body
