"""A receiver of webhooks that runs as a real HTTP server in the tests."""

import ssl
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Serves until ``stop`` is called; with ``certificate`` (a file with key), over TLS.

    Attributes:
        status: the status of the next answers.
        location: the header of a redirect.
        drips: whether the answer comes one byte at a time and never ends.
        received: what came, in order.
    """

    certificate: str = ""
    status: int = 204
    location: str = ""
    drips: bool = False
    received: list[Received] = field(default_factory=list)

    def __post_init__(self) -> None:
        handler = type("Bound", (_Handler,), {"receiver": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.handle_error = lambda *_: None  # a client that goes away is meant
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def port(self) -> int:
        return self.server.server_port

    @property
    def url(self) -> str:
        return f"{'https' if self.certificate else 'http'}://localhost:{self.port}/hook?x=1"

    def stop(self) -> None:
        self.drips = False
        self.server.shutdown()
        self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    receiver: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.receiver.received.append(Received(self.path, dict(self.headers), body))
        if self.receiver.drips:
            self.drip()
            return
        self.send_response(self.receiver.status)
        if self.receiver.location:
            self.send_header("Location", self.receiver.location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def drip(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
        while self.receiver.drips:
            self.wfile.write(b"x")
            self.wfile.flush()
            time.sleep(0.01)

    def log_message(self, *_) -> None:
        pass
