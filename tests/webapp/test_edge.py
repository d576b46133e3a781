"""How much of a real server a stranger, or a client that stops in the middle, can occupy."""

import contextlib
import http.client
import json
import resource
import socket
import time

import pytest

from snapshots.domain.simulators.samples import two_banks
from tests.stack import Stack
from tests.web.given import native
from tests.webapp.over_http import Api
from tests.webapp.serving import descriptors, open_sockets, wait_until

pytestmark = pytest.mark.slow

HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "
MANY = 1_500


@pytest.fixture(scope="module")
def edge(live_redis, tmp_path_factory):
    """Provide a server that waits less long than by default."""
    folder = tmp_path_factory.mktemp("edge")
    limits = {"HEADER_SECONDS": 2, "BODY_SECONDS": 2, "MAX_WAITING_CONNECTIONS": 1_200}
    stack = live_redis.beside(folder, **limits)
    stack.start_server()
    yield stack
    stack.stop()


@pytest.fixture
def connected(edge):
    """Provide a function that opens connections to the server. They are closed when the test
    ends."""
    with contextlib.ExitStack() as connections:
        yield lambda: connections.enter_context(
            socket.create_connection(("127.0.0.1", edge.port), timeout=30)
        )


def spooled(stack: Stack) -> list[str]:
    """Return the files in the data folder, even deleted ones, that the server has open for a
    body."""
    here = [path for path in descriptors(stack) if path.startswith(str(stack.folder))]
    return [path for path in here if "sqlite" not in path and not path.endswith(".log")]


def answer_of(connection: socket.socket) -> tuple[int, dict]:
    reply = http.client.HTTPResponse(connection)
    reply.begin()
    return reply.status, json.loads(reply.read())


def head(path: str, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""]
    return "\r\n".join(lines).encode()


def test_many_half_requests_are_gone_after_the_limit(edge, connected):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4_096), hard))
    before = open_sockets(edge)
    for _ in range(MANY):
        connected().sendall(HALF)
    assert edge.answers()
    wait_until(lambda: open_sockets(edge) <= before + 5)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_of_too_many_half_requests_the_oldest_goes_first(edge, connected):
    """The oldest of too many half requests ends long before its time is over."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4_096), hard))
    first = connected()
    first.sendall(HALF)
    began = time.monotonic()
    others = [connected() for _ in range(1_250)]
    if time.monotonic() - began > 1.5:
        pytest.skip("this machine is too slow to open them before the first one's time is over")
    assert first.recv(1) == b""
    assert time.monotonic() - began < 2
    others[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert others[-1].recv(12) == b"HTTP/1.1 200"
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_half_request_is_answered_with_why_it_ends(connected):
    connection = connected()
    connection.sendall(HALF)
    status, problem = answer_of(connection)
    assert (status, problem["type"]) == (408, "/problems/too-slow")
    assert connection.recv(1) == b""


def test_a_connection_that_says_nothing_is_closed(connected):
    assert connected().recv(1) == b""


def test_a_second_half_request_on_a_connection_ends_too(connected):
    connection = connected()
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    status, _ = answer_of(connection)
    assert status == 200
    connection.sendall(HALF)
    assert answer_of(connection)[0] == 408


def test_blank_lines_do_not_keep_a_connection(connected):
    connection = connected()
    began = time.monotonic()
    with contextlib.suppress(ConnectionError):
        while time.monotonic() - began < 10:
            connection.sendall(b"\r\n")
            time.sleep(0.2)
    assert time.monotonic() - began < 9


def test_a_header_without_end_is_refused(connected):
    connection = connected()
    connection.sendall(HALF)
    with contextlib.suppress(ConnectionError):
        for _ in range(20):
            connection.sendall(b"x" * 10_000)
    status, problem = answer_of(connection)
    assert (status, problem["type"]) == (431, "/problems/header-too-large")


def test_a_large_body_of_a_stranger_is_refused_before_it_is_read(edge, connected):
    connection = connected()
    kind = "Content-Type: multipart/form-data; boundary=x"
    connection.sendall(head("/api/recordings", kind, f"Content-Length: {500 * 1024**2}"))
    status, problem = answer_of(connection)
    assert (status, problem["type"]) == (401, "/problems/unauthorized")


def test_what_a_stranger_sends_all_the_same_lies_nowhere(edge, connected):
    connection = connected()
    kind = "Content-Type: multipart/form-data; boundary=x"
    connection.sendall(head("/api/recordings", kind, f"Content-Length: {500 * 1024**2}"))
    with contextlib.suppress(ConnectionError):
        for _ in range(50):
            connection.sendall(b"x" * 1024**2)
            assert spooled(edge) == []
    assert answer_of(connection)[0] == 401
    assert sum(path.stat().st_size for path in (edge.folder / "uploads").iterdir()) == 0


def test_a_stranger_on_a_page_gets_a_sentence(connected):
    connection = connected()
    connection.sendall(head("/recordings", f"Content-Length: {10**6}"))
    reply = http.client.HTTPResponse(connection)
    reply.begin()
    assert reply.status == 401
    assert reply.read().startswith(b"Sign in before you send more than 65,536 bytes.")


def test_a_large_body_of_a_known_person_is_spooled_in_the_data_folder(edge, connected):
    """The file has no name, so it vanishes with its process."""
    token = f"Authorization: Bearer {edge.token()}"
    connection = connected()
    kind = "Content-Type: multipart/form-data; boundary=x"
    length = f"Content-Length: {20 * 1024**2}"
    connection.sendall(head("/api/recordings", kind, token, length) + b"x" * 10 * 1024**2)
    wait_until(lambda: spooled(edge))
    assert all("(deleted)" in path for path in spooled(edge))
    connection.close()
    wait_until(lambda: not spooled(edge))


def test_a_slow_body_ends(edge, connected):
    connection = connected()
    connection.sendall(head("/api/recordings", "Content-Length: 1000") + b"{")
    status, problem = answer_of(connection)
    assert (status, problem["type"]) == (408, "/problems/too-slow")


def test_the_uploads_of_a_person_pass(edge):
    padding = b"\n" * 200_000
    answer = Api(edge).upload(native(two_banks()) + padding)
    assert answer.status == 202, answer
