"""Asking an HTTP server that somebody named: no redirects, no proxies, bounded time and space."""

import time
from http.client import HTTPException
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
ANSWER_SECONDS = 5.0  # until something comes
POLL_SECONDS = 30.0  # for all questions of one client
_CHUNK = 64 * 1024


class NotAnswered(Exception):
    """A sentence to show; ``status`` is the answer's, None where there was none."""

    def __init__(self, sentence: str, status: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status


class Client:
    """The JSON below one address, for one round of questions."""

    def __init__(self, url: str, seconds: float = POLL_SECONDS) -> None:
        """url: as ``addresses.checked`` gives it."""
        self.url = url
        self._until = time.monotonic() + seconds
        self._opener = OpenerDirector()  # without a handler of redirects, files or proxies
        for handler in (HTTPHandler, HTTPSHandler, HTTPDefaultErrorHandler, HTTPErrorProcessor):
            self._opener.add_handler(handler())

    def get(self, path: str) -> Any:
        """path: with a slash before it. Raises: NotAnswered."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise NotAnswered(f"{self.url} is slow: the rest is asked next time.")
        request = Request(self.url + path, headers={"Accept": "application/json"})
        try:
            with self._opener.open(request, timeout=min(ANSWER_SECONDS, left)) as answer:
                return orjson.loads(self._body(answer, path))
        except HTTPError as error:
            error.close()
            raise NotAnswered(f"{self.url}{path} answers {error.code}.", error.code) from None
        except orjson.JSONDecodeError:
            raise NotAnswered(f"{self.url}{path} answers what is not JSON.") from None
        except (OSError, HTTPException, ValueError) as error:
            raise NotAnswered(f"{self.url}{path} does not answer ({_reason(error)}).") from None

    def _body(self, answer, path: str) -> bytes:
        found = bytearray()
        while chunk := answer.read1(_CHUNK):
            found += chunk
            if len(found) > LARGEST:
                raise NotAnswered(f"{self.url}{path} answers more than {LARGEST // 2**20} MiB.")
            if time.monotonic() > self._until:
                raise NotAnswered(f"{self.url}{path} answers too slowly.")
        return bytes(found)


def _reason(error: Exception) -> str:
    reason = error.reason if isinstance(error, URLError) else error
    text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return "".join(letter for letter in text if letter.isprintable())[:200]
