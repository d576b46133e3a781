"""A worker with two processes has two Sparks; one that is killed is replaced and leaves nothing."""

import os
import signal
import time
from pathlib import Path

import pytest

from tasks.spark import condition
from tests.stack import Stack

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


def test_each_process_of_a_worker_has_its_own_spark(worker, settings):
    settings.REDIS_URL = worker.redis_url
    base = worker.folder / "tmp" / "spark"
    first = until_up(2)
    folders = set(base.iterdir())
    assert len(folders) == 2
    os.kill(min(first), signal.SIGKILL)
    until(lambda: max(first) in until_up(2) and until_up(2) != first)
    until(lambda: len(set(base.iterdir()) & folders) == 1)
    assert len(set(base.iterdir())) == 2
    worker.kill("worker", signal.SIGTERM)
    assert condition.listed() == [] or not any(map(runs, pids()))


def until_up(count: int) -> set[int]:
    """Wait for so many processes whose Spark is up, and return their pids."""
    until(lambda: len(pids()) == count)
    return pids()


def pids() -> set[int]:
    up = [one.pid for one in condition.listed() if one.state == condition.UP]
    return {pid for pid in up if runs(pid)}


def runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def until(is_so) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < deadline, condition.listed()
        time.sleep(0.2)
