"""The folder of a real Spark query is followed while the query runs, is killed and starts again."""

import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from snapshots.archive import columns, spark
from snapshots.models import EngineJob
from tests.stack import ROOT

pytestmark = [
    *(pytest.mark.long, pytest.mark.spark, pytest.mark.django_db),
    pytest.mark.usefixtures("data_dir"),
]
PATIENCE_SECONDS = 180


def started(folder) -> subprocess.Popen:
    command = [sys.executable, "-m", "tests.archive.running_query", str(folder)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def followed_until(ada, folder, is_enough: Callable[[set[int]], bool]) -> set[int]:
    """Follow the folder until enough batches are complete, and return all of them."""
    until = time.monotonic() + PATIENCE_SECONDS
    complete: set[int] = set()
    while not is_enough(complete):
        assert time.monotonic() < until, sorted(complete)
        if (folder / "metadata").exists():
            spark.poll(ada, str(folder))
            rows = EngineJob.objects.get().checkpoints.filter(status="completed")
            complete = set(rows.values_list("number", flat=True))
        time.sleep(0.2)
    return complete


def test_a_real_query_is_followed_past_what_it_forgets_and_past_a_kill(ada, tmp_path):
    columns.forget_all()
    folder = tmp_path / "checkpoint"
    query = started(folder)
    try:
        first = followed_until(ada, folder, lambda complete: len(complete) > 15)
        query.kill()
        query.wait()
        query = started(folder)
        last = followed_until(
            ada, folder, lambda complete: max(complete, default=0) > max(first) + 3
        )
    finally:
        query.kill()
        query.wait()
    assert last == set(range(max(last) + 1))
    kept = {int(path.name) for path in (folder / "commits").iterdir() if path.name.isdigit()}
    assert min(kept) > 0, "Spark forgot no batch, so that the archive had nothing to add"
    job = EngineJob.objects.get()
    rows = job.checkpoints.filter(status="completed", triggered_at__isnull=False)
    assert all(0 <= row.duration < 120_000 for row in rows)
