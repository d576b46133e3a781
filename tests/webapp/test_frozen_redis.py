"""A Redis that stops for a while, or goes away and comes back."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Iterator

import pytest

from snapshots.domain.simulators.samples import two_banks
from tests.stack import Stack
from tests.web.given import native
from tests.webapp.over_http import Api
from tests.webapp.serving import opened, prepared
from webapp.edge.channel_layer import RETRY_SECONDS

pytestmark = pytest.mark.long
FEW_SECONDS = 12.0  # what people wait for, on a machine that does other things too


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Provide a server with a Redis of its own, so that no other server's stops."""
    stack = Stack(tmp_path_factory.mktemp("frozen"))
    stack.start_redis()
    made = prepared(
        stack, cookie="session()", recording="a_ready_recording(a_person('owner@localhost')).pk"
    )
    stack.cookie, stack.recording = made["cookie"], made["recording"]
    stack.api = Api(stack)
    stack.start_server()
    yield stack
    stack.stop()


@contextlib.contextmanager
def frozen(stack: Stack) -> Iterator[None]:
    redis = stack.processes["redis"].pid
    os.kill(redis, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(redis, signal.SIGCONT)


def test_uploads_are_taken_while_redis_stands_still(own):
    with frozen(own):
        for _ in range(3):
            began = time.monotonic()
            answer = own.api.upload(native(two_banks()))
            assert answer.status == 202, answer
            assert time.monotonic() - began < FEW_SECONDS
    assert "Traceback" not in own.said("server")


def test_health_answers_while_redis_stands_still(own):
    with frozen(own):
        began = time.monotonic()
        assert not own.answers()
        assert time.monotonic() - began < FEW_SECONDS
    own.wait_for("Redis", own.answers)


async def test_a_page_is_opened_while_redis_stands_still(own):
    """The page shows everything, and receives the news when Redis runs again."""
    with frozen(own):
        began = time.monotonic()
        socket = await opened(own, f"/ws/recordings/{own.recording}", own.cookie)
        await socket.send('{"type": "cut", "request": 1, "at": 0}')
        assert '"request":1' in await socket.recv()
        assert time.monotonic() - began < FEW_SECONDS
    await socket.close()


async def test_open_pages_outlive_restarts_of_redis(own):
    """Each restart leaves more connections in the pool that lead nowhere."""
    socket = await opened(own, "/ws/jobs", own.cookie)
    for _ in range(4):
        own.kill("redis", signal.SIGTERM)
        time.sleep(2)
        own.run_redis()
        own.wait_for("Redis", own.answers)
        await asyncio.sleep(2 * RETRY_SECONDS)
        accepted = await asyncio.to_thread(own.api.upload, native(two_banks()))
        async with asyncio.timeout(3 * FEW_SECONDS):
            while f'"id":{accepted.body["job"]},' not in await socket.recv():
                pass
    await socket.close()
    assert "Traceback" not in own.said("server")


@pytest.mark.spark
def test_a_job_that_was_asked_for_while_redis_stood_still_is_run(own):
    own.start_worker()
    try:
        with frozen(own):
            accepted = own.api.upload(native(two_banks()))
            time.sleep(3)
        job = own.api.ended(accepted.body["job"])
        assert job["state"] == "done", job
        after = own.api.upload(native(two_banks()))
        assert own.api.ended(after.body["job"])["state"] == "done"
    finally:
        own.kill("worker", signal.SIGTERM)
