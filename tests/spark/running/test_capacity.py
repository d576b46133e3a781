"""Spark's capacity decides into how many tasks a job is divided, not this machine's."""

import sys

import pytest

from tasks.spark.capacity import MANY_ROWS, Capacity
from tests.spark.running import processes
from tests.spark.running.cluster import Connect, Standalone

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("capacity", "rows", "parts"),
    [
        (Capacity(2), 0, 1),
        (Capacity(2), MANY_ROWS - 1, 1),
        (Capacity(2), 5 * MANY_ROWS, 5),
        (Capacity(2), 8 * MANY_ROWS, 8),
        (Capacity(2), 30 * MANY_ROWS, 8),
        (Capacity(2), 100 * MILLION, 100),
        (Capacity(50), 10 * MILLION, 100),
        (Capacity(50), 100 * MILLION, 200),
        (Capacity(2, most_rows=50_000), 10 * MILLION, 200),
        (Capacity(2, most_rows=2 * MILLION), 100 * MILLION, 100),
    ],
)
def test_rows_are_divided_for_the_cores_and_their_memory(capacity, rows, parts):
    assert capacity.parts(rows, MILLION) == parts


@pytest.mark.parametrize(("cores", "size", "bytes_each"), [(1, 90, 20), (2, 90, 11), (50, 90, 5)])
def test_a_source_is_cut_for_the_cores(cores, size, bytes_each):
    assert Capacity(cores).chunk(size, least=5, most=20) == bytes_each


def test_a_local_session_has_the_cores_of_its_master(spark):
    from tasks.spark.stages import SparkStages

    assert SparkStages(spark).capacity == Capacity(spark.sparkContext.defaultParallelism)


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize(("workers", "cores"), [(1, 3), (2, 2)])
def test_a_cluster_has_the_cores_and_the_memory_of_its_executors(tmp_path, workers, cores):
    home = tmp_path / "conf"
    home.mkdir()
    memory = "spark.executor.pyspark.memory 8g\n"
    (home / "spark-defaults.conf").write_text(f"{memory}spark.executor.cores {cores}\n")
    environment = {
        "DATA_DIR": tmp_path,
        "SPARK_EXECUTOR_PYTHON": sys.executable,
        "SPARK_START_SECONDS": 400,  # on a machine that does much else
    }
    with Standalone(tmp_path / "cluster", workers, cores) as cluster:
        processes.run(
            __name__,
            "has",
            *(workers * cores, 2**33 // cores),
            SPARK_MASTER=cluster.address,
            SPARK_CONF_DIR=home,
            **environment,
        )
        with Connect(tmp_path / "cluster", cluster.address) as server:
            address = server.address
            processes.run(__name__, "has", workers * cores, 0, SPARK_REMOTE=address, **environment)


def has(cores: str, bytes_each: str) -> None:
    """Check the capacity of this process's session, once all executors have joined."""
    import time

    from tasks.spark import capacity, session
    from tasks.spark.stages import SparkStages

    stages = SparkStages(session.get())
    deadline = time.monotonic() + 120
    while stages.capacity.cores != int(cores):
        assert time.monotonic() < deadline, stages.capacity
        time.sleep(0.5)
    fit = (int(bytes_each) - capacity.BYTES_OF_PYTHON) // capacity.BYTES_PER_ROW
    assert stages.capacity.most_rows == (fit if int(bytes_each) else None)
    assert stages.run(abs, [-3]) == [3]
    session.stop()
