"""The daemon that forks Python workers for Spark."""

import gc
import mmap
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from pyspark.serializers import UTF8Deserializer, read_int

from tasks.spark.stages import SparkStages
from tests.stack import ROOT


@pytest.fixture
def sockets():
    """A folder with a short path, because a socket's path may have a hundred characters only."""
    with tempfile.TemporaryDirectory() as folder:
        yield folder


def test_an_idle_worker_ends_without_a_word_when_spark_closes_its_connection(sockets):
    variables = {
        "PYTHON_UNIX_DOMAIN_ENABLED": "true",
        "PYTHON_WORKER_FACTORY_SOCK_DIR": sockets,
        "SPARK_REUSE_WORKER": "1",
    }
    daemon = subprocess.Popen(
        [sys.executable, "-m", "tasks.spark.worker_daemon", "pyspark.worker"],
        cwd=ROOT,
        env=os.environ | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(UTF8Deserializer().loads(daemon.stdout))
        with connection.makefile("rb") as answers:
            worker = Path("/proc", str(read_int(answers)))
        assert worker.exists()
    deadline = time.monotonic() + 30
    while worker.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    _, printed = daemon.communicate(timeout=60)
    assert printed == b""


def test_a_worker_does_not_look_for_garbage_in_all_that_is_loaded(spark):
    [frozen] = SparkStages(spark).run(lambda _: gc.get_freeze_count(), [0])
    assert frozen > 10_000


def test_a_worker_keeps_the_memory_that_it_frees_until_it_has_no_task(spark):
    size = 200 * 2**20

    def resident(allocated: int) -> int:
        """Return the bytes of this process after it has filled and freed an array."""
        np.ones(allocated, np.uint8)
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    stages = SparkStages(spark)
    assert stages.run(resident, [size])[0] > size
    deadline = time.monotonic() + 30
    while max(stages.run(resident, [0] * 4)) > size:
        assert time.monotonic() < deadline
        time.sleep(2)
