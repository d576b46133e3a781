"""A proxy before the object store of the tests that lies once, or always.

It passes requests on to the real server. Of those that match, the n-th gets a lie for an answer,
and so do all later ones if the proxy ``lies_on``.
"""

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from tests.objects import server

LATE_SECONDS = 1.6
PAGE = b"<!DOCTYPE html><html><head><title>Sign in to the network</title></head></html>"
_OF_THE_LINE = {"connection", "transfer-encoding", "keep-alive", "content-length", "server", "date"}


@dataclass
class Request:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Answer:
    """An answer as it is sent. ``told``: its Content-Length; the body's own without it."""

    status: int
    headers: dict[str, str]
    body: bytes
    told: int | None = None

    @property
    def length(self) -> int:
        return len(self.body) if self.told is None else self.told


def ask(request: Request) -> Answer:
    """Return what the real server answers."""
    line = http.client.HTTPConnection("127.0.0.1", server.PORT, timeout=30)
    try:
        line.request(request.method, request.path, request.body, request.headers)
        answer = line.getresponse()
        headers = {n: v for n, v in answer.getheaders() if n.lower() not in _OF_THE_LINE}
        told = answer.headers.get("Content-Length")
        is_bodiless = request.method == "HEAD"
        return Answer(
            answer.status, headers, answer.read(), int(told or 0) if is_bodiless else None
        )
    finally:
        line.close()


def late(request: Request, _: str) -> Answer:
    """The truth, after whoever asked has given up."""
    answer = ask(request)
    time.sleep(LATE_SECONDS)
    return answer


def twice(request: Request, _: str) -> Answer:
    """The request reaches the store twice, and the second answer counts."""
    ask(request)
    return ask(request)


def short(request: Request, _: str) -> Answer:
    """Half of the bytes, and a length that fits them."""
    answer = ask(request)
    half = answer.length // 2
    return Answer(answer.status, answer.headers, answer.body[:half], half)


def broken(request: Request, _: str) -> Answer:
    """Half of the bytes, and the length of all."""
    answer = ask(request)
    body = answer.body[: len(answer.body) // 2]
    return Answer(answer.status, answer.headers, body, answer.length)


def long(request: Request, _: str) -> Answer:
    """Seven bytes too many, and a length that fits them."""
    answer = ask(request)
    more = b"" if request.method == "HEAD" else b"further"
    return Answer(answer.status, answer.headers, answer.body + more, answer.length + 7)


def other(request: Request, path: str) -> Answer:
    """What the store says about something else: ``path``."""
    if request.method in ("GET", "HEAD"):
        return ask(Request(request.method, path, request.headers, b""))
    ask(request)
    answer = ask(Request("GET", path, {}, b""))
    return Answer(answer.status, answer.headers, b"" if request.method == "PUT" else answer.body)


def bytes_of_other(request: Request, path: str) -> Answer:
    """The headers of the right answer, and as many bytes of something else."""
    answer = ask(request)
    found = ask(Request("GET", path, {}, b"")).body or b"?"
    body = (found * (len(answer.body) // len(found) + 1))[: len(answer.body)]
    return Answer(answer.status, answer.headers, body, answer.told)


def page(request: Request, _: str) -> Answer:
    """A web page, and the store hears nothing."""
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "ETag": '"1"',
        "Last-Modified": "Tue, 24 Nov 2026 10:00:00 GMT",
    }
    is_head = request.method == "HEAD"
    return Answer(200, headers, b"" if is_head else PAGE, len(PAGE))


LIES: dict[str, Callable[[Request, str], Answer]] = {
    lie.__name__: lie for lie in (late, twice, short, broken, long, other, bytes_of_other, page)
}


@dataclass
class Plan:
    """Which requests are lied to. ``count``: how many have matched so far.

    ``other`` is the path of what is answered in place of the truth.
    """

    lie: Callable[[Request, str], Answer] | None = None
    number: int = 0
    lies_on: bool = False
    other: str = ""
    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Request) -> Answer:
        with self.lock:
            self.count += 1
            is_lie = self.count == self.number or (self.lies_on and self.count > self.number)
        if self.lie is not None and is_lie:
            return self.lie(request, self.other)
        return ask(request)


class LyingProxy(ThreadingHTTPServer):
    """The proxy, at a port of its own. ``plan`` may be replaced at any time."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.plan = Plan()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """Print nothing about a client that has gone."""


class _Handler(BaseHTTPRequestHandler):
    server: LyingProxy
    protocol_version = "HTTP/1.1"

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {n: v for n, v in self.headers.items() if n.lower() != "content-length"}
        answer = self.server.plan.answer(Request(self.command, self.path, headers, body))
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(answer.length))
        self.end_headers()
        self.wfile.write(answer.body)
        if len(answer.body) != answer.length and self.command != "HEAD":
            self.close_connection = True

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass_on  # noqa: N815 - http.server's names

    def log_message(self, *_: object) -> None:
        """Print nothing."""
