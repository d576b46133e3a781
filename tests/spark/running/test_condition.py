"""Each worker process notes the condition of its Spark in Redis, for as long as it lives."""

import os
import threading
import time

import pytest

from tasks.spark import condition
from webapp.operating import presence
from webapp.operating.redis_reading import client


@pytest.fixture
def noted(live_redis, settings, monkeypatch):
    """Return the notes in a Redis where only this process may have one."""
    settings.REDIS_URL = live_redis.empty_redis_url
    with client() as redis:
        redis.flushdb()
    over = threading.Event()
    monkeypatch.setattr(condition, "_over", over)
    monkeypatch.setattr(condition, "_condition", condition.Condition())
    monkeypatch.setattr(condition, "_starts", 0)
    monkeypatch.setattr(condition, "SECONDS_BETWEEN_NOTES", 0.1)
    yield
    over.set()  # or the thread would note into the Redis of the next test
    for thread in threading.enumerate():
        if thread.name == "condition":
            thread.join()


def test_the_condition_of_a_process_is_listed_with_its_restarts(noted):
    looks = threading.Event()
    condition.publish(looks.set)
    states = [condition.STARTING, condition.DOWN, condition.STARTING, condition.UP]
    for state in states:
        condition.note(state, "Java is missing." if state == condition.DOWN else "")
    until(lambda: [one.state for one in listed()] == [condition.UP])
    [noted_here] = listed()
    assert (noted_here.restarts, noted_here.reason, noted_here.pid) == (1, "", os.getpid())
    assert looks.is_set()
    with client() as redis:
        [key] = redis.keys("cutline:spark:*")
        assert key == f"cutline:spark:{noted_here.host}:{os.getpid()}"
        assert 0 < redis.ttl(key) <= 60


def test_a_note_without_a_change_keeps_since_when(noted):
    condition.note(condition.DOWN, "Java is missing.")
    since = condition.current().since
    time.sleep(1.1)
    condition.note(condition.DOWN, "Java is missing.")
    assert condition.current().since == since != ""


def listed() -> list[presence.SparkCondition]:
    """Return the notes that health and metrics read."""
    with client() as redis:
        return presence.spark_conditions(redis)


def until(is_so) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline, listed()
        time.sleep(0.05)
