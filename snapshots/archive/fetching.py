"""Fetch from an HTTP server that a person named; no redirects or proxies, limited time and size."""

import io
import socket
import time
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
)

import orjson

LARGEST = 16 * 2**20  # bytes of an answer
ANSWER_SECONDS = 5.0  # until the first bytes arrive
POLL_SECONDS = 30.0  # for all requests of one client
_CHUNK = 64 * 1024


class NotAnswered(Exception):
    """A request had no usable answer; the message can be shown.

    ``status`` is the answer's, None if there was no answer.
    """

    def __init__(self, sentence: str, status: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status


class Client:
    """Fetches the JSON below one address during one round.

    Attributes:
        date: when the last answer was given, by the clock of the server, in epoch ms to the second.
            None if it did not say.
    """

    def __init__(self, url: str, seconds: float = POLL_SECONDS) -> None:
        """Prepare a round of at most ``seconds``; ``url`` is a checked address."""
        self.url = url
        self.date: int | None = None
        self._until = time.monotonic() + seconds
        self._opener = OpenerDirector()  # without handlers for redirects, files and proxies
        handlers = (_Handler(self._until), _SecureHandler(self._until))
        for handler in (*handlers, HTTPDefaultErrorHandler(), HTTPErrorProcessor()):
            self._opener.add_handler(handler)

    def get(self, path: str) -> Any:
        """Fetch a path that begins with a slash. Raises: NotAnswered."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise NotAnswered(f"{self.url} is slow: the rest is fetched next time.")
        request = Request(self.url + path, headers={"Accept": "application/json"})
        try:
            with self._opener.open(request, timeout=min(ANSWER_SECONDS, left)) as answer:
                self.date = _date(answer.headers.get("Date"))
                return orjson.loads(self._body(answer, path))
        except HTTPError as error:
            error.close()
            raise NotAnswered(f"{self.url}{path} answers {error.code}.", error.code) from None
        except orjson.JSONDecodeError:
            raise NotAnswered(f"{self.url}{path} does not answer with JSON.") from None
        except (OSError, HTTPException, ValueError) as error:
            raise NotAnswered(f"{self.url}{path} does not answer ({_reason(error)}).") from None

    def _body(self, answer, path: str) -> bytes:
        body = bytearray()
        while chunk := answer.read1(_CHUNK):
            body += chunk
            if len(body) > LARGEST:
                raise NotAnswered(
                    f"{self.url}{path} answers with more than {LARGEST // 2**20} MiB."
                )
        return bytes(body)


class _Handler(HTTPHandler):
    """Opens connections on which nothing is read after an instant."""

    def __init__(self, until: float) -> None:
        super().__init__()
        self._until = until

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_connection, HTTPConnection, self._until), req)


class _SecureHandler(HTTPSHandler):
    """Does the same over TLS."""

    def __init__(self, until: float) -> None:
        super().__init__()
        self._until = until

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_connection, HTTPSConnection, self._until), req)


def _connection(kind: type[HTTPConnection], until: float, *args: Any, **options: Any) -> Any:
    class Response(HTTPResponse):
        def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
            super().__init__(sock, *args, **options)
            self.fp = io.BufferedReader(_Timed(sock, self.fp, until))

    connection = kind(*args, **options)
    connection.response_class = Response
    return connection


class _Timed(io.RawIOBase):
    """Reads from a socket until an instant; a server that sends letter by letter gains nothing."""

    def __init__(self, sock: socket.socket, file: io.BufferedReader, until: float) -> None:
        self._sock, self._file, self._until = sock, file, until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(min(ANSWER_SECONDS, left))
        return self._file.readinto1(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


def _date(header: str | None) -> int | None:
    try:
        return round(parsedate_to_datetime(header or "").timestamp() * 1000)
    except (ValueError, TypeError, OverflowError):
        return None


def _reason(error: Exception) -> str:
    reason = error.reason if isinstance(error, URLError) else error
    text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return "".join(letter for letter in text if letter.isprintable())[:200]
