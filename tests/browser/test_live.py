"""Open pages stay current."""

import os
import signal

import pytest

OPEN = """() => {
  window.closings = [];
  window.socket = new WebSocket(`ws://${location.host}/ws/jobs`);
  window.socket.onclose = event => window.closings.push(event.code);
  return new Promise(resolve => { window.socket.onopen = resolve; });
}"""


@pytest.mark.long
def test_an_open_page_outlives_a_redis_that_is_slow_to_answer(server, page):
    page.goto("/account")
    page.evaluate(OPEN)
    redis = server.processes["redis"].pid
    os.kill(redis, signal.SIGSTOP)
    try:
        page.wait_for_timeout(11_000)
    finally:
        os.kill(redis, signal.SIGCONT)
    page.wait_for_timeout(1_000)
    assert page.evaluate("window.closings") == []
