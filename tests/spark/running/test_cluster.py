"""A cluster by settings alone: all jobs give on it what they give without it.

Its processes are those of ``cluster.py``, which have no packages of ours and none of Cutline's.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.spark.running import processes
from tests.spark.running.cluster import Connect, Standalone

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_standalone_cluster_does_all_jobs(standalone_spark, tmp_path, shared_data):
    check("all_jobs", tmp_path, shared_data, SPARK_MASTER=standalone_spark.address)


@pytest.mark.long
def test_a_spark_connect_server_does_all_jobs(tmp_path, shared_data):
    folder = tmp_path / "cluster"
    with Standalone(folder) as cluster, Connect(folder, cluster.address) as server:
        check("all_jobs", tmp_path, shared_data, SPARK_REMOTE=server.address)


@pytest.mark.long
def test_a_python_without_the_packages_is_named_with_the_setting(tmp_path):
    with Standalone(tmp_path / "cluster") as cluster:
        environment = {"SPARK_MASTER": cluster.address, "DATA_DIR": tmp_path}
        processes.run(__name__, "wrong_python", **environment)


@pytest.mark.long
def test_a_packed_environment_is_sent_to_the_executors(tmp_path):
    with Standalone(tmp_path / "cluster") as cluster:
        environment = {"SPARK_MASTER": cluster.address, "DATA_DIR": tmp_path}
        processes.run(__name__, "packed", tmp_path, **environment)


@pytest.mark.long
def test_a_cluster_that_loses_its_executors_goes_on_when_they_are_back(tmp_path):
    with Standalone(tmp_path / "cluster", workers=0) as cluster:
        environment = {"SPARK_MASTER": cluster.address, "DATA_DIR": tmp_path}
        environment["SPARK_EXECUTOR_PYTHON"] = sys.executable
        processes.run(
            __name__, "executors_come_and_go", cluster.master.port, tmp_path, **environment
        )


def check(name: str, folder: Path, *arguments: object, **address: str) -> None:
    environment = {"DATA_DIR": folder, "SPARK_EXECUTOR_PYTHON": sys.executable}
    processes.run(__name__, name, folder, *arguments, **environment, **address)


def all_jobs(folder: str, shared_data: str) -> None:
    from tasks.spark import session

    spark = session.warm()
    have_a_temporary_folder_that_executors_lack(Path(folder))
    a_log_is_read_judged_and_restored(spark, Path(folder))
    a_run_is_reordered_and_searched(spark, Path(folder, "spark"))
    checkpoints_are_explained(spark, Path(folder))
    state_is_read(spark, Path(folder), Path(shared_data))
    session.stop()


def have_a_temporary_folder_that_executors_lack(folder: Path) -> None:
    """Choose one whose path means another folder in each process, as if on another machine."""
    os.chdir(folder)
    Path("only-here").mkdir()
    tempfile.tempdir = "/proc/self/cwd/only-here"


def a_log_is_read_judged_and_restored(spark, folder: Path) -> None:
    from snapshots.domain.simulators.samples import two_banks
    from tests.spark.agreement import agree, written

    agree(written(two_banks(), folder / "log.jsonl"), folder, spark)


def a_run_is_reordered_and_searched(spark, stored: Path) -> None:
    """``stored``: the two banks, judged."""
    from snapshots.domain.model.as_json import as_json
    from snapshots.store.manifest import Manifest
    from tasks.spark.reorder.job import Reorder, reorder_snapshot
    from tasks.spark.search.job import Search, search_predicate
    from tasks.spark.stages import StagesHere
    from tests.spark.agreement import silent

    [snapshot] = Manifest.read(stored).snapshots
    here = Reorder(stored, snapshot).report(StagesHere(), silent)
    found = reorder_snapshot(stored, snapshot, silent, spark, work=stored)
    assert as_json(found) == as_json(here)
    text = "A > 8000 && B > 1000"
    expected = Search(stored, text).answer(StagesHere(), silent)
    answer = search_predicate(stored, text, silent, spark, work=stored)
    assert as_json(answer) == as_json(expected)
    assert answer.possibly is not None


def checkpoints_are_explained(spark, folder: Path) -> None:
    from snapshots.domain.assembling.assembly import assemble
    from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints
    from snapshots.domain.model.as_json import as_json
    from snapshots.domain.simulators.flink.samples import windowed
    from snapshots.domain.simulators.flink.simulation import run_dataflow
    from snapshots.store.writer import write_recording
    from tasks.spark.checkpoints.job import explain_checkpoints
    from tests.spark.agreement import silent

    recording = assemble(*run_dataflow(windowed()).log).recording
    (folder / "dataflow").mkdir()
    write_recording(recording, folder / "dataflow")
    explained = explain_checkpoints(folder / "dataflow", silent, spark)
    expected = [as_json(report) for report in checkpoints(recording)]
    assert [as_json(report) for report in explained.checkpoints] == expected != []


def state_is_read(spark, folder: Path, shared_data: Path) -> None:
    from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
    from tasks.spark.engine_state.entries import WithState
    from tests.readers.engines.spark_streaming.cases import unpack

    case = shared_data / "spark-streaming" / "window-agg-hdfs.zip"
    checkpoint, _ = unpack(case, folder)
    by_spark = WithState(SparkUpload(checkpoint), spark).entries()
    by_files = SparkUpload(checkpoint).entries()
    assert sorted(map(repr, by_spark)) == sorted(map(repr, by_files))


def wrong_python() -> None:
    from tasks.spark import session

    with pytest.raises(session.SparkUnavailable) as caught:
        session.warm()
    sentence = str(caught.value)
    assert "python3 of the executors' own PATH" in sentence
    assert "No module named 'pyarrow'" in sentence
    assert "Set SPARK_EXECUTOR_PYTHON" in sentence
    os.environ["SPARK_EXECUTOR_PYTHON"] = "/no/such/python"
    with pytest.raises(session.SparkUnavailable, match=r"/no/such/python.*cannot run"):
        session.warm()


def packed(folder: str) -> None:
    """A venv's packages in a folder with a Python that finds them, as conda-pack would make it."""
    import tarfile

    from tasks.spark import session
    from tasks.spark.executors import absent
    from tasks.spark.stages import SparkStages

    started = Path(folder, "python")
    started.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    started.chmod(0o755)
    environment = Path(folder, "environment.tar.gz")
    with tarfile.open(environment, "w:gz") as archive:
        archive.add(started, "bin/python")
    os.environ["SPARK_EXECUTOR_ENVIRONMENT"] = str(environment)
    [(lacking, where)] = SparkStages(session.warm()).run(absent, [0])
    assert (lacking, where) == ([], sys.executable)


def executors_come_and_go(port: str, folder: str) -> None:
    """No worker, then one that is killed in the middle of a stage, then another."""
    from tasks.spark import answering, session
    from tasks.spark.stages import SparkStages
    from tests.spark.running.cluster import worker

    def slow(task: int) -> int:
        time.sleep(2)
        return task

    answering.PULSE_SECONDS = 1.0
    os.environ["SPARK_START_SECONDS"] = "30"
    with pytest.raises(session.SparkUnavailable, match="none has joined yet"):
        session.get()
    os.environ["SPARK_START_SECONDS"] = "120"
    master = f"spark://127.0.0.1:{port}"
    first, second = (worker(Path(folder, "workers"), number, master) for number in range(2))
    first.start()
    stages = SparkStages(session.get())
    told: list[str] = []

    def strike(done: int, words: str) -> None:
        told.append(words)
        if done and first.is_running:
            first.kill()
        if words and not second.is_running:
            second.start()

    try:
        assert stages.run(slow, range(4), advance=strike) == [0, 1, 2, 3]
    finally:
        second.kill()
    assert "" in told
    assert any(words.startswith("waiting for executors (0 of 1) since") for words in told)
    session.stop()
