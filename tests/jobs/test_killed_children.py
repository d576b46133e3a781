"""The process that runs a worker's jobs is killed, and the one that replaces it runs the next."""

import os
import signal
from pathlib import Path

import pytest

from snapshots.domain.simulators.samples import two_banks
from tests.stack import Stack
from tests.web.given import native
from tests.webapp.over_http import Api

pytestmark = [pytest.mark.spark, pytest.mark.slow]


OF_THE_ALLOCATOR = "jemalloc_bg_thd"  # it holds no lock while a process is forked


def test_the_main_process_of_a_worker_has_a_single_thread(celery_worker_process):
    """Forks of a process with a single thread copy no lock that another thread holds."""
    worker = celery_worker_process.processes["worker"].pid
    celery_worker_process.wait_for("the work beside it", celery_worker_process.beside_worker)
    threads = [path.read_text().strip() for path in Path(f"/proc/{worker}/task").glob("*/comm")]
    assert len([name for name in threads if name != OF_THE_ALLOCATOR]) == 1


def test_the_process_beside_a_worker_is_started_again(celery_worker_process):
    worker = celery_worker_process
    worker.wait_for("the work beside it", worker.beside_worker)
    [killed] = worker.beside_worker()
    os.kill(killed, signal.SIGKILL)
    worker.wait_for("another", lambda: set(worker.beside_worker()) - {killed})


@pytest.mark.only("sqlite", reason="The lock is one of SQLite's.")
@pytest.mark.long
def test_a_lock_that_the_work_beside_holds_stops_no_job(tmp_path):
    stack = Stack(tmp_path)
    try:
        stack.start_redis()
        stack.start_server()
        stack.environment |= {
            "DJANGO_SETTINGS_MODULE": "tests.jobs.held_lock",
            "SPARK_MASTER": "local[1]",
        }
        stack.start_worker()
        stack.wait_for("the lock", (tmp_path / "held").exists)
        [child] = stack.job_processes()
        os.kill(child, signal.SIGKILL)
        api = Api(stack)
        assert api.get(f"/recordings/{api.ingested(native(two_banks()))}")["status"] == "ready"
    finally:
        stack.stop()
