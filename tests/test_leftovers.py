"""What a run of tests started ends with it, even if the run is killed."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from tests import leftovers
from tests.stack import ROOT

pytestmark = pytest.mark.slow

RUN = """
import subprocess, sys, time
from tests import leftovers
leftovers.watch()
child = subprocess.Popen(["sleep", "1003"], start_new_session=True)
print(child.pid, flush=True)
time.sleep(1003)
"""


def test_what_a_killed_run_started_is_killed():
    environment = {k: v for k, v in os.environ.items() if k != leftovers.VARIABLE}
    run = subprocess.Popen(
        [sys.executable, "-c", RUN], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    child = psutil.Process(int(run.stdout.readline()))
    run.kill()
    run.wait()
    deadline = time.monotonic() + 30
    while child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.1)
