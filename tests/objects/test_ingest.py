"""An ingest whose folder is on an object store writes what the reference writes.

The stages run in this process: Spark adds only where they run.
"""

import gzip

import pytest
from hypothesis import HealthCheck, given, settings

from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.defects import InputRefused
from snapshots.domain.replaying.restore import NotRestorable, restore
from snapshots.readers import recognition
from snapshots.store.objects.paths import path_of
from tasks.spark import capacity
from tasks.spark.capacity import Capacity
from tasks.spark.ingest import sources
from tasks.spark.ingest.job import Ingest
from tasks.spark.ingest.sources import IngestTask
from tasks.spark.judge.job import Judge
from tasks.spark.restore.job import Restore
from tasks.spark.stages import StagesHere
from tests.builders import simulated
from tests.spark.agreement import (
    LIMITS,
    assembled,
    assert_same_reports,
    assert_same_store,
    silent,
    written,
)
from tests.spark.ingest import disorder

pytestmark = pytest.mark.slow


class StagesElsewhere(StagesHere):
    """Runs tasks here that are handed what they read, as if they were on another machine."""

    shares_files = False


@pytest.fixture(autouse=True)
def pieces(monkeypatch):
    """Make pieces of some lines, and parts of some rows."""
    monkeypatch.setattr(capacity, "MANY_ROWS", 20)
    monkeypatch.setattr(sources, "_CHUNK_BYTES", 2_000)
    monkeypatch.setattr(sources, "_MOST_ROWS", 100)


def agree(source, folder, stages) -> None:
    assembly = assembled(source)
    reader = recognition.sniff(source, LIMITS).reader
    task = IngestTask(source, reader.name, reader.header(source, LIMITS), folder / "own", LIMITS)
    result = Ingest(task, stages, silent).run()
    assert_same_store(folder / "own", result, assembly, folder / "reference")
    own = Judge(folder / "own")
    assert_same_reports(own.reports(*own.facts(stages, silent)), judge(assembly.recording))
    assert not [path for path in (folder / "own").rglob("*") if ".work" in path.parts]
    for snapshot in result.manifest.snapshots[:1]:
        try:
            expected = restore(assembly.recording, snapshot)
        except NotRestorable:
            continue
        assert Restore(folder / "own", snapshot).report(stages, silent) == expected


@pytest.mark.parametrize("stages", [StagesHere, StagesElsewhere])
def test_a_log_in_many_pieces(bucket, tmp_path, stages):
    source = written(simulated(seed=3), tmp_path / "log.jsonl")
    agree(source, path_of(f"{bucket}/store"), stages(Capacity(2)))


def test_a_compressed_log_of_which_the_tasks_see_no_file(bucket, tmp_path):
    plain = written(simulated(seed=4), tmp_path / "log.jsonl")
    source = tmp_path / "log.jsonl.gz"
    source.write_bytes(gzip.compress(plain.read_bytes()))
    agree(source, path_of(f"{bucket}/store"), StagesElsewhere(Capacity(2)))


@settings(max_examples=4, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(log=disorder.logs())
def test_logs_in_any_order(object_store, tmp_path_factory, log):
    source = written(log, tmp_path_factory.mktemp("log") / "log.jsonl")
    folder = path_of(f"s3://{object_store.bucket()}/store")
    try:
        assembled(source)
    except InputRefused:
        return
    agree(source, folder, StagesElsewhere(Capacity(2)))
