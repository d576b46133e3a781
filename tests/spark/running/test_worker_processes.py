"""A worker with two processes has two Sparks. One that is killed is replaced and leaves nothing
behind."""

import os
import signal
import time
from pathlib import Path

import pytest
from redis import Redis

from tasks.spark import condition
from tests.stack import Stack
from webapp.operating import presence

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SECONDS = 400


@pytest.fixture
def worker(tmp_path):
    stack = Stack(tmp_path)
    stack.start_redis()
    stack.environment |= {
        "WORKER_CONCURRENCY": "2",
        "SPARK_MASTER": "local[1]",
        "SPARK_DRIVER_MEMORY": "1g",
    }
    stack.start_worker()
    yield stack
    stack.stop()


@pytest.mark.long
def test_each_process_of_a_worker_has_its_own_spark(worker):
    until(lambda: len(up(worker)) == 2)
    first, folders = up(worker), of_jvms(worker)
    assert len(folders) == 2
    os.kill(min(first), signal.SIGKILL)
    until(lambda: len(up(worker) - {min(first)}) == 2)
    until(lambda: len(of_jvms(worker) & folders) == 1)
    assert len(of_jvms(worker)) == 2
    assert max(first) in up(worker)


@pytest.mark.long
def test_a_worker_that_ends_leaves_no_folder_and_no_note(worker):
    until(lambda: len(up(worker)) == 2)
    process = worker.processes["worker"]
    process.terminate()
    process.wait(60)
    assert up(worker) == set()
    assert list((worker.folder / "tmp" / "spark").iterdir()) == []


def of_jvms(worker: Stack) -> set[Path]:
    """Return the scratch folders in which a JVM keeps blocks."""
    return {path.parent for path in (worker.folder / "tmp" / "spark").glob("*/blockmgr-*")}


def up(worker: Stack) -> set[int]:
    """Return the processes that live and have noted that their Spark is up."""
    with Redis.from_url(worker.redis_url, decode_responses=True) as redis:
        noted = presence.spark_conditions(redis)
    pids = {each.pid for each in noted if each.state == condition.UP}
    return {pid for pid in pids if Path(f"/proc/{pid}").exists()}


def until(is_so) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.2)
