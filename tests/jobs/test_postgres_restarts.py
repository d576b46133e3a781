"""A PostgreSQL server that restarts under a running web process and worker."""

import signal
import tempfile
import time
from pathlib import Path

import psycopg
import pytest

from tests.jobs.test_crashes import EVENTS, a_long_log, begun, until
from tests.postgres import Postgres
from tests.stack import Stack
from tests.webapp.over_http import Api

pytestmark = [pytest.mark.spark, pytest.mark.slow]

MOST_CONNECTIONS = 20  # of a stack at rest: a web process keeps none, a worker's threads few


@pytest.fixture(scope="module")
def database():
    server = Postgres()
    server.start()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def stack(database):
    with tempfile.TemporaryDirectory(prefix="cutline-stack-", ignore_cleanup_errors=True) as folder:
        stack = Stack(Path(folder), database_url=database.new_database())
        stack.start_redis()
        stack.start_server()
        stack.start_worker()
        yield stack
        stack.stop()


@pytest.fixture(scope="module")
def api(stack):
    return Api(stack)


@pytest.mark.parametrize(
    "how", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGQUIT]
)
def test_the_next_request_after_a_restart_is_answered(stack, api, database, how):
    assert api.get("/recordings")["total"] >= 0
    database.stop(how)
    assert api.call("GET", "/recordings").status >= 500
    assert not stack.answers()
    database.start()
    assert [api.call("GET", "/recordings").status for _ in range(4)] == [200] * 4
    assert stack.answers()


@pytest.mark.parametrize("seconds", [0, pytest.param(4, marks=pytest.mark.long)])
def test_a_running_job_ends_although_its_database_was_away(api, database, seconds):
    recording, job = begun(api, a_long_log())
    database.stop(signal.SIGQUIT)
    time.sleep(seconds)
    database.start()
    assert api.ended(job)["state"] == "done"
    kept = api.get(f"/recordings/{recording}")
    assert (kept["status"], kept["snapshots"]) == ("ready", ["s1"])
    assert kept["counts"]["events"] >= EVENTS


def test_connections_are_closed_after_requests_and_jobs(stack, api):
    for _ in range(3 * MOST_CONNECTIONS):
        api.get("/recordings")

    def count() -> int:
        with psycopg.connect(stack.database_url) as connection:
            asked = "select count(*) from pg_stat_activity where datname = current_database()"
            return connection.execute(asked).fetchone()[0]

    until("few connections", lambda: count() <= MOST_CONNECTIONS)
