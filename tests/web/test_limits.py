"""Bodies of requests are cut off while they arrive; the app below sees a client that went away."""

import json

import pytest

from snapshots.limits import FORM_BYTES, BodyLimit

MULTIPART = b"multipart/form-data; boundary=x"


@pytest.fixture(autouse=True)
def limits(settings):
    settings.MAX_UPLOAD_BYTES = 10_000
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000


class App:
    """Reads the whole body as Django does, then answers 200; notes what it saw."""

    def __init__(self) -> None:
        self.read = 0
        self.disconnected = False

    async def __call__(self, scope, receive, send) -> None:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.disconnected = True
                return
            self.read += len(message["body"])
            if not message.get("more_body"):
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def answered(app: App, kind: bytes, chunks: list[int], announced: int | None = None):
    """(status, body) of a request with chunks of these sizes; how many of them were read."""
    bodies = [
        {"type": "http.request", "body": b"x" * size, "more_body": place < len(chunks) - 1}
        for place, size in enumerate(chunks)
    ]
    total, sent = len(bodies), []

    async def receive():
        return bodies.pop(0)

    async def send(message):
        sent.append(message)

    headers = [(b"content-type", kind)]
    if announced is not None:
        headers.append((b"content-length", str(announced).encode()))
    await BodyLimit(app)({"type": "http", "headers": headers}, receive, send)
    return sent[0]["status"], sent[1]["body"], total - len(bodies)


async def test_a_body_within_the_limit_passes():
    app = App()
    status, _, _ = await answered(app, MULTIPART, [5_000, 5_000])
    assert (status, app.read) == (200, 10_000)


async def test_a_body_that_says_it_is_too_large_is_not_read():
    app = App()
    status, body, read = await answered(app, MULTIPART, [1], announced=10_001 + FORM_BYTES)
    assert (status, read) == (413, 0)
    assert json.loads(body)["type"] == "/problems/too-large"


async def test_a_body_that_does_not_say_so_is_cut_off_while_it_is_read():
    app = App()
    status, body, read = await answered(app, MULTIPART, [FORM_BYTES] * 20)
    assert (status, read) == (413, 2)
    assert app.disconnected
    assert json.loads(body)["limit"] == 10_000 + FORM_BYTES


async def test_a_body_that_is_no_file_has_the_smaller_limit():
    status, _, _ = await answered(App(), b"application/json", [1_001])
    assert status == 413
    status, _, _ = await answered(App(), b"application/json", [1_000])
    assert status == 200


@pytest.mark.parametrize("announced", ["-5", "many", "9" * 50])
async def test_a_length_without_meaning_is_not_believed(announced):
    status, _, _ = await answered(App(), MULTIPART, [10], announced=announced)
    assert status == 200
