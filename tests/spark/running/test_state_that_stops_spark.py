"""A state that crashes Spark's JVM, or occupies it for ever, costs only the answer about that
state."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readers.engines.spark_streaming.cases import unpack
from tests.stack import ROOT

pytestmark = [pytest.mark.spark, pytest.mark.long]


def test_a_worker_outlives_spark(shared_data, tmp_path):
    """The worker runs in a process of its own, because other tests need their session."""
    archive = shared_data / "spark-streaming" / "window-agg-hdfs.zip"
    folder, _ = unpack(archive, tmp_path)
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    answer = subprocess.run(
        [sys.executable, "-m", "tests.spark.running.test_state_that_stops_spark", str(folder)],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert answer.stdout.splitlines()[-1:] == ["all is well"], answer.stderr[-3000:]


def main(folder: Path) -> None:
    from pyspark import SparkContext

    from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
    from tasks.spark import session
    from tasks.spark.engine_state.entries import WithState
    from tasks.spark.engine_state.state import (
        BY_FILES,
        STOPPED,
        TOO_SLOW,
        Patience,
        StateRequest,
        open_state,
    )

    by_files = sorted(map(repr, SparkUpload(folder).entries()))
    upload = WithState(SparkUpload(folder), session.get())
    entries = upload.entries()
    found = [next(entries)]
    jvm = SparkContext._gateway.proc
    os.kill(jvm.pid, signal.SIGKILL)  # as a fault in RocksDB's own code would end it
    jvm.wait()
    found += entries
    assert sorted(map(repr, found)) == by_files
    states = [one.operators[0].states[0] for one in upload.inventory().checkpoints]
    assert states[-1].reason is None  # the newest is read first, before Spark was stopped
    assert all(state.reason.startswith(STOPPED) for state in states[:-1])

    again = session.get()
    assert again.range(3).count() == 3
    jvm = SparkContext._gateway.proc
    [job] = upload.upload.jobs
    with open_state(again, job.checkpoint, patience=Patience(0.0)) as reader:
        slow = reader.read(StateRequest(batch=11))
        after = reader.read(StateRequest(batch=10))
    for answer in (slow, after):
        assert (answer.by, answer.failure.sentence) == (BY_FILES, TOO_SLOW)
        assert answer.rows
    assert jvm.wait(60) is not None
    print("all is well")


if __name__ == "__main__":
    import django

    django.setup()
    main(Path(sys.argv[1]))
