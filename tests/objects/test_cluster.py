"""A cluster whose executors share no folder with the worker: all passes over the object store.

The worker's own files lie under ``/proc/self/cwd``, which is another folder in each process, as the
same path is on another machine.
"""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from tests.objects.server import ENVIRONMENT
from tests.spark.running import processes
from tests.spark.running.cluster import Standalone

pytestmark = [pytest.mark.spark, pytest.mark.long]


def test_a_cluster_without_a_shared_folder_does_all_jobs(tmp_path, bucket):
    with Standalone(tmp_path / "cluster") as cluster:
        environment = ENVIRONMENT | {
            "SPARK_MASTER": cluster.address,
            "SPARK_EXECUTOR_PYTHON": sys.executable,
            "DATA_DIR": tmp_path,
        }
        processes.run(__name__, "all_jobs", tmp_path, bucket, **environment)


def all_jobs(folder: str, bucket: str) -> None:
    from snapshots.store.objects.paths import path_of
    from tasks.spark import session
    from tests.spark.running.test_cluster import a_run_is_reordered_and_searched

    os.chdir(folder)
    Path("only-here").mkdir()
    own = Path("/proc/self/cwd/only-here")
    tempfile.tempdir = str(own)
    spark = session.warm()
    a_small_log_agrees(spark, own, path_of(f"{bucket}/small"))
    a_log_in_pieces_agrees(spark, own, path_of(f"{bucket}/pieces"))
    parts_that_only_the_cluster_reads_agree(spark, own, path_of(f"{bucket}/parts"))
    a_run_is_reordered_and_searched(spark, path_of(f"{bucket}/small/spark"))
    session.stop()


def a_small_log_agrees(spark, own: Path, store: Path) -> None:
    from snapshots.domain.simulators.samples import two_banks
    from tests.spark.agreement import agree, written

    agree(written(two_banks(), own / "log.jsonl"), store, spark)


def a_log_in_pieces_agrees(spark, own: Path, store: Path) -> None:
    from tasks.spark.ingest import job, sources
    from tests.builders import simulated
    from tests.spark.agreement import agree, written

    job.is_small = lambda source: False
    sources._CHUNK_BYTES = 4_000
    agree(written(simulated(seed=5), own / "long.jsonl"), store, spark)


def parts_that_only_the_cluster_reads_agree(spark, own: Path, store: Path) -> None:
    """The sources are folders of parts on the object store, which no disk here holds."""
    from snapshots.store.objects.paths import put_tree
    from tests.builders import simulated
    from tests.spark.agreement import agree, written
    from tests.spark.ingest.test_parts import write_parquet

    header, *events = written(simulated(seed=6), own / "whole.jsonl").read_bytes().splitlines(True)
    half = len(events) // 2
    parquet, text = own / "parquet", own / "text"
    parquet.mkdir()
    text.mkdir()
    for number, part in enumerate((events[:half], events[half:])):
        write_parquet(parquet / f"part-{number}.parquet", part, header)
        (text / f"part-{number}.jsonl").write_bytes(b"".join([header, *part]))
    for folder in (parquet, text):
        put_tree(folder, store / "sources" / folder.name)
        agree(store / "sources" / folder.name, store / folder.name, spark)
