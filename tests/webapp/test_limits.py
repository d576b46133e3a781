"""A body that is too large is cut off while it arrives. The app below sees a client that
disconnects."""

import asyncio
import json
import shutil

import pytest
from channels.db import database_sync_to_async

from tests.web.given import a_person
from webapp.accounts.services import make_token
from webapp.edge import bodies
from webapp.edge.bodies import EVENTS, FORM_BYTES, FREE_BYTES, BodyGate

pytestmark = pytest.mark.django_db(transaction=True)

MULTIPART = b"multipart/form-data; boundary=x"


@pytest.fixture(autouse=True)
def limits(settings):
    settings.MAX_UPLOAD_BYTES = 10_000
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000


@pytest.fixture
def token() -> str:
    return make_token(a_person(), "test")[1]


class App:
    """Reads the whole body like Django does, answers 200, and notes what it saw."""

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


async def answered(
    app: App,
    kind: bytes,
    chunks: list[int],
    announced: int | None = None,
    token: str = "",
    gate: BodyGate | None = None,
    path: str = "/api/recordings",
):
    """Return status and body for a request with chunks of these sizes, and how many of them were
    read."""
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
    if token:
        headers.append((b"authorization", f"Bearer {token}".encode()))
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
    await (gate or BodyGate(app))(scope, receive, send)
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


async def test_a_body_that_does_not_say_so_is_cut_off_while_it_is_read(token):
    app = App()
    status, body, read = await answered(app, MULTIPART, [FORM_BYTES] * 20, token=token)
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


async def test_a_large_body_of_a_stranger_is_not_read():
    app = App()
    status, body, read = await answered(app, MULTIPART, [1], announced=FREE_BYTES + 1)
    assert (status, read, app.read) == (401, 0, 0)
    assert json.loads(body)["type"] == "/problems/unauthorized"


async def test_a_large_body_of_a_stranger_that_does_not_say_so_is_cut_off():
    app = App()
    status, _, read = await answered(app, MULTIPART, [FREE_BYTES // 2] * 20)
    assert (status, read) == (401, 3)
    assert app.disconnected


@pytest.mark.parametrize("wrong", ["cut_wrong", "\x00", "é"])
async def test_a_wrong_token_is_a_stranger(wrong):
    status, _, _ = await answered(App(), MULTIPART, [1], announced=FREE_BYTES + 1, token=wrong)
    assert status == 401


async def test_a_large_body_of_a_known_person_passes(token):
    app = App()
    status, _, _ = await answered(app, MULTIPART, [FREE_BYTES, 1], token=token)
    assert (status, app.read) == (200, FREE_BYTES + 1)


class Waiting(App):
    """Answers when it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope, receive, send) -> None:
        self.begun.set()
        await self.go_on.wait()
        await super().__call__(scope, receive, send)


async def while_one_is_under_way(token: str, other: str):
    """Return the answers to an upload of ``other``: while ``token`` uploads, and after that."""
    app = Waiting()
    gate = BodyGate(app)

    def upload(token):
        chunks = [FREE_BYTES + 1]
        return answered(app, MULTIPART, chunks, FREE_BYTES + 1, token=token, gate=gate)

    first = asyncio.create_task(upload(token))
    await app.begun.wait()
    second = await asyncio.wait_for(upload(other), 10)
    app.go_on.set()
    assert (await first)[0] == 200
    assert (await upload(other))[0] == 200
    return second


async def test_one_person_has_some_uploads_under_way_and_no_more(token, settings):
    settings.MAX_UPLOADS_AT_ONCE = 1
    status, body, read = await while_one_is_under_way(token, token)
    assert (status, read) == (429, 0)
    assert json.loads(body)["retry_after"] > 0


async def test_many_processes_send_events_at_once_under_one_token(token, settings):
    settings.MAX_UPLOADS_AT_ONCE = 1
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * FREE_BYTES
    app = Waiting()
    gate = BodyGate(app)
    sending = [
        asyncio.create_task(answered(app, EVENTS, [FREE_BYTES + 1], token=token, gate=gate))
        for _ in range(3)
    ]
    await asyncio.wait(sending, timeout=0.5)
    app.go_on.set()
    assert [(await each)[0] for each in sending] == [200, 200, 200]


async def test_a_gigabyte_of_events_is_not_read(token):
    status, body, read = await answered(App(), EVENTS, [9], announced=10**9, token=token)
    assert (status, read) == (413, 0)
    assert "larger than 1,000 bytes" in json.loads(body)["detail"]


async def test_all_together_have_some_uploads_under_way_and_no_more(token, settings):
    settings.MAX_BODIES_AT_ONCE = 1
    bob = await database_sync_to_async(a_person)("bob@example.org")
    _, other = await database_sync_to_async(make_token)(bob, "test")
    status, body, _ = await while_one_is_under_way(token, other)
    assert status == 429
    assert "The server receives 1 uploads" in json.loads(body)["detail"]


class Sending:
    """A person who sends a body of events, of which the rest does not come."""

    def __init__(self, gate: BodyGate, token: str) -> None:
        self.sent: list[dict] = []
        self.begun = asyncio.Event()
        headers = [(b"content-type", EVENTS), (b"authorization", f"Bearer {token}".encode())]
        headers.append((b"content-length", str(FREE_BYTES + 9).encode()))
        scope = {"type": "http", "method": "POST", "path": "/api/recordings", "headers": headers}
        self.task = asyncio.create_task(gate(scope, self._receive, self._send))

    async def _receive(self) -> dict:
        self.begun.set()
        await asyncio.sleep(600)
        raise AssertionError

    async def _send(self, message: dict) -> None:
        self.sent.append(message)


async def sending(gate: BodyGate, token: str, count: int) -> list[Sending]:
    all_of_them = [Sending(gate, token) for _ in range(count)]
    for each in all_of_them:
        await asyncio.wait_for(each.begun.wait(), 10)
    return all_of_them


@pytest.fixture
async def other() -> str:
    bob = await _bob()
    return (await database_sync_to_async(make_token)(bob, "test"))[1]


async def test_who_has_all_places_gives_one_to_another_person(token, other, settings):
    settings.MAX_BODIES_AT_ONCE, settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 3, 2 * FREE_BYTES
    app = App()
    gate = BodyGate(app)
    slow = await sending(gate, token, 3)
    assert (await answered(app, MULTIPART, [FREE_BYTES + 1], token=other, gate=gate))[0] == 200
    ended, going_on = await asyncio.wait([each.task for each in slow], timeout=0.2)
    assert (len(ended), len(going_on)) == (1, 2)
    [answers] = [each.sent for each in slow if each.task.done()]
    assert answers[0]["status"] == 429
    assert "gave its place to another person" in json.loads(answers[1]["body"])["detail"]
    for each in going_on:
        each.cancel()


@pytest.mark.parametrize(("after", "expected"), [(0.0, 200), (60.0, 429)])
async def test_a_slow_body_gives_way_to_anybody(
    token, other, settings, monkeypatch, after, expected
):
    settings.MAX_BODIES_AT_ONCE, settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1, 2 * FREE_BYTES
    monkeypatch.setattr(bodies, "SLOW_AFTER", after)
    app = App()
    gate = BodyGate(app)
    [slow] = await sending(gate, token, 1)
    status, _, _ = await answered(app, MULTIPART, [FREE_BYTES + 1], token=other, gate=gate)
    assert status == expected
    slow.task.cancel()


@pytest.mark.parametrize("kind", [EVENTS, MULTIPART])
async def test_a_long_body_under_a_token_that_only_reads_is_not_read(settings, kind):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * FREE_BYTES
    _, reading = await database_sync_to_async(make_token)(await _bob(), "test", scope="read")
    status, body, read = await answered(App(), kind, [9], FREE_BYTES + 1, reading)
    assert (status, read) == (403, 0)
    assert json.loads(body)["type"] == "/problems/needs-writing"


@pytest.mark.parametrize("path", ["/api/recordings/7/events", "/api/uploads/7"])
async def test_a_long_body_to_what_one_may_not_change_is_not_read(other, settings, path):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * FREE_BYTES
    status, _, read = await answered(App(), EVENTS, [9], FREE_BYTES + 1, other, path=path)
    assert (status, read) == (404, 0)


async def _bob():
    return await database_sync_to_async(a_person)("bob@example.org")


async def test_an_upload_that_does_not_fit_on_the_disk_is_not_read(token, settings):
    settings.MIN_FREE_BYTES = shutil.disk_usage(settings.DATA_DIR).free + 1_000_000_000
    status, body, read = await answered(App(), MULTIPART, [9], announced=9, token=token)
    assert (status, read) == (507, 0)
    assert "no space" in json.loads(body)["detail"]


async def test_what_others_will_still_write_counts_as_taken(token, settings):
    """Each is spooled and then written as a file, so it needs twice its size."""
    settings.MAX_UPLOAD_BYTES = 2_000_000_000
    free = shutil.disk_usage(settings.DATA_DIR).free
    settings.MIN_FREE_BYTES = free - 3_000_000_000
    app = Waiting()
    gate = BodyGate(app)
    chunks = [FREE_BYTES + 1]
    first = asyncio.create_task(answered(app, MULTIPART, chunks, 1_000_000_000, token, gate))
    await app.begun.wait()
    assert (await answered(app, MULTIPART, chunks, 1_000_000_000, token, gate))[0] == 507
    app.go_on.set()
    assert (await first)[0] == 200
    assert (await answered(app, MULTIPART, chunks, 1_000_000_000, token, gate))[0] == 200


async def trickled(pause: float, settings, pieces: int = 40) -> int:
    """Return the status of a request whose body arrives in pieces of 10 bytes, with pauses."""
    settings.BODY_SECONDS, settings.BODY_BYTES_PER_SECOND = 0.3, 100
    sent, left = [], pieces

    async def receive():
        nonlocal left
        await asyncio.sleep(pause)
        left -= 1
        return {"type": "http.request", "body": b"x" * 10, "more_body": left > 0}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/api/recordings", "headers": []}
    await BodyGate(App())(scope, receive, send)
    return sent[0]["status"]


async def test_a_body_whose_next_piece_does_not_come_ends(settings):
    assert await trickled(5, settings) == 408


async def test_a_body_that_comes_too_slowly_all_the_time_ends(settings):
    assert await trickled(0.2, settings) == 408


async def test_a_body_that_comes_steadily_passes(settings):
    assert await trickled(0.001, settings) == 200
