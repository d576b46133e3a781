"""Processes killed in the middle of an ingest: one ready recording, and nothing left over."""

import socket
import time
from functools import cache

import pytest
from redis import Redis

from snapshots.domain.model import shapes
from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.script import Log
from snapshots.domain.simulators.simulation import Simulation, SnapshotStart
from snapshots.domain.simulators.workloads import Bank
from tests.stack import Stack
from tests.web.given import native
from tests.webapp.over_http import Api

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EVENTS = 120_000
PATIENCE_SECONDS = 300


@cache
def a_long_log() -> bytes:
    """Simulate a log that is so large that its ingest takes a while."""
    simulation = Simulation(
        shapes.random_connected(20, 3, seed=1),
        Bank(),
        events=EVENTS,
        snapshots=(SnapshotStart(1_000_000, ("p1",)),),
    )
    return native(Log(simulation.header("crash"), tuple(simulate(simulation))))


@pytest.fixture(scope="module")
def log() -> bytes:
    return a_long_log()


@pytest.fixture
def api(stack):
    """Start every process that a test killed again afterwards."""
    yield Api(stack)
    if "redis" not in stack.processes:
        stack.run_redis()
    if "worker" not in stack.processes:
        stack.start_worker()
    if "server" not in stack.processes:
        stack.start_server()


@pytest.fixture
def leftovers(stack):
    """Return the files that were not in the folders before."""
    before = files(stack)
    return lambda: files(stack) - before


def files(stack: Stack) -> set[str]:
    return {
        f"{folder}/{path.name}"
        for folder in ("uploads", "store")
        if (stack.folder / folder).exists()
        for path in (stack.folder / folder).iterdir()
    }


def until(what: str, is_so) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, f"{what} did not come about in time"
        time.sleep(0.02)


def begun(api: Api, log: bytes) -> tuple[int, int]:
    """Return a recording and its job in the middle of the ingest."""
    accepted = api.upload(log).body
    until("the ingest", lambda: api.get(f"/jobs/{accepted['job']}")["state"] == "running")
    until("a store", lambda: api.get(f"/jobs/{accepted['job']}")["progress"] > 0.1)
    job = api.get(f"/jobs/{accepted['job']}")
    assert job["state"] == "running", "the ingest was over before it could be disturbed"
    return accepted["id"], accepted["job"]


def check_one_ready(api: Api, recording: int, job: int, leftovers) -> None:
    assert api.ended(job)["state"] == "done"
    found = api.get(f"/recordings/{recording}")
    assert (found["status"], found["snapshots"]) == ("ready", ["s1"])
    assert found["counts"]["events"] >= EVENTS
    assert api.get(f"/recordings/{recording}/snapshots/s1")["verdict"] == "consistent"
    until("a sweep", lambda: len(leftovers()) == 2)
    folders = sorted(name.partition("/")[0] for name in leftovers())
    assert folders == ["store", "uploads"]
    assert not any(".tmp-" in name for name in leftovers())


def test_a_killed_worker_is_followed_by_one_that_finishes_the_job(stack, api, log, leftovers):
    recording, job = begun(api, log)
    stack.kill("worker")
    stack.start_worker()
    check_one_ready(api, recording, job, leftovers)


def test_a_killed_redis_stops_no_job(stack, api, log, leftovers):
    recording, job = begun(api, log)
    stack.kill("redis")
    time.sleep(0.5)
    stack.run_redis()
    check_one_ready(api, recording, job, leftovers)
    later = api.upload(log.replace(b'"name":"crash"', b'"name":"later"')).body
    assert api.ended(later["job"])["state"] == "done"
    api.call("DELETE", f"/recordings/{later['id']}")


@pytest.mark.long
def test_a_job_whose_message_the_queue_lost_runs(stack, api, log, leftovers):
    stack.kill("worker")
    accepted = api.upload(log).body
    with Redis.from_url(stack.redis_url) as redis:
        redis.flushall()
    stack.start_worker()
    check_one_ready(api, accepted["id"], accepted["job"], leftovers)


@pytest.mark.long
def test_an_upload_without_a_queue_waits_for_it(stack, api, log, leftovers):
    stack.kill("redis")
    accepted = api.upload(log)
    assert accepted.status == 202
    stack.run_redis()
    check_one_ready(api, accepted.body["id"], accepted.body["job"], leftovers)


def test_a_killed_server_loses_no_job_and_keeps_no_half_upload(stack, api, log, leftovers):
    recording, job = begun(api, log)
    half = socket.create_connection(("127.0.0.1", stack.port))
    head = (
        f"POST /api/recordings HTTP/1.1\r\nHost: 127.0.0.1:{stack.port}\r\n"
        f"Authorization: {api.headers['Authorization']}\r\nContent-Length: {len(log)}\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        '--x\r\nContent-Disposition: form-data; name="file"; filename="half.jsonl"\r\n\r\n'
    )
    half.sendall(head.encode() + log[: len(log) // 2])
    stack.kill("server")
    half.close()
    stack.start_server()
    check_one_ready(api, recording, job, leftovers)
    names = [item["name"] for item in api.get("/recordings?limit=500")["items"]]
    assert "half.jsonl" not in names
