"""A real worker, which forks the processes of its pool, does a job on an object store."""

import os
import subprocess
import sys

import pytest

from snapshots.domain.simulators.samples import two_banks
from tests.objects.server import ENVIRONMENT
from tests.stack import ROOT, Stack
from tests.web.given import native

CHECKED_AND_FORKED = """
import os, signal
import django
django.setup()
from webapp.celery import require_own_files
from snapshots.files import recordings
require_own_files()
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    print(recordings.store().folder("j1-1").exists(), flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.fixture
def stack(tmp_path, bucket):
    made = Stack(tmp_path / "data")
    made.folder.mkdir()
    made.environment = os.environ | {"DATA_DIR": str(made.folder), "DATABASE_URL": ""}
    made.environment |= places(bucket)
    yield made
    made.stop()


def places(bucket: str) -> dict[str, str]:
    return ENVIRONMENT | {"STORE_URL": f"{bucket}/store", "UPLOADS_URL": f"{bucket}/uploads"}


@pytest.mark.slow
def test_a_process_that_the_worker_forks_after_its_check_reads_the_store(stack):
    stack.environment |= {"DJANGO_SETTINGS_MODULE": "webapp.settings"}
    stack.manage("migrate", "--verbosity", "0")
    ran = run(stack, CHECKED_AND_FORKED)
    assert ran.stdout.split() == ["False", "0"], ran.stderr


@pytest.mark.slow
@pytest.mark.long
def test_a_worker_whose_store_does_not_answer_ends_with_the_reason(stack):
    stack.environment |= {"DJANGO_SETTINGS_MODULE": "webapp.settings"}
    stack.manage("migrate", "--verbosity", "0")
    stack.environment["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9"
    ran = run(stack, CHECKED_AND_FORKED)
    assert ran.returncode == 1
    assert "It does not answer." in ran.stderr.splitlines()[-1]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.long
def test_a_worker_does_jobs_on_an_object_store(stack, bucket):
    stack.start_redis()
    stack.environment |= places(bucket)
    stack.start_worker()
    log = stack.folder / "banks.jsonl"
    log.write_bytes(native(two_banks()))
    assert "ready" in stack.manage("ingest", str(log), "--wait")
    assert "Rows and files agree." in stack.manage("check_data")
    assert not (stack.folder / "store").exists()


def run(stack: Stack, program: str) -> subprocess.CompletedProcess:
    words = [sys.executable, "-c", program]
    return subprocess.run(
        words, cwd=ROOT, env=stack.environment, capture_output=True, text=True, timeout=120
    )
