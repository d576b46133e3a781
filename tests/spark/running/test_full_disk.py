"""A full disk under Spark is not taken for a fault, wherever it shows: such a job waits."""

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from snapshots.passing import DISK_FULL, passing
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from tasks.spark import session
from tasks.spark.engine_state.entries import WithState
from tasks.spark.errors import SparkUnavailable, is_disk_full
from tasks.spark.stages import SparkStages
from tests.readers.engines.spark_streaming.cases import unpack
from tests.spark.running import processes

FULL = "/dev/full"


def writing(path: str) -> None:
    Path(path).write_bytes(b"x")


def complaining(path: str) -> None:
    """Fail like a library that does not understand an OSError."""
    try:
        Path(path).write_bytes(b"x")
    except OSError as error:
        raise ValueError(f"It cannot be kept: {error}") from None


@pytest.mark.parametrize("kernel", [writing, complaining])
def test_a_kernel_that_meets_a_full_disk_fails_for_now_only(spark, kernel):
    with pytest.raises(Exception, match="No space left on device") as caught:
        SparkStages(spark).run(kernel, [FULL], advance=lambda *_: None)
    assert passing(caught.value) is DISK_FULL


@pytest.fixture
def small_disk(tmp_path):
    """Mount a disk of a few megabytes, or of a few files."""

    def mount(options: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", str(tmp_path)]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("a small disk is mounted by root alone, and not on every machine")
        return tmp_path

    yield mount
    subprocess.run(["umount", "--lazy", str(tmp_path)], capture_output=True)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.spark
def test_a_disk_full_of_spark_s_own_files_fails_for_now_only(small_disk):
    processes.run(__name__, "full_of_shuffles", DATA_DIR=small_disk("size=24m"))


@pytest.mark.slow
def test_a_start_on_a_full_disk_fails_for_now_only(small_disk, settings):
    settings.DATA_DIR = small_disk("nr_inodes=4")
    with pytest.raises(SparkUnavailable, match="No space left on device") as caught:
        session._start("local[1]")
    assert passing(caught.value) is DISK_FULL


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.long
def test_state_that_a_full_disk_keeps_from_spark_is_not_called_unreadable(
    small_disk, shared_data, tmp_path_factory
):
    archive = shared_data / "spark-streaming" / "plain-agg-rocksdb-v2.zip"
    folder, _ = unpack(archive, tmp_path_factory.mktemp("upload"))
    processes.run(__name__, "full_before_state", folder, DATA_DIR=small_disk("size=24m"))


def full_before_state(folder: str) -> None:
    """Read state when RocksDB's library and its tables need more space than is left."""
    spark = session.get()
    fill(Path(os.environ["DATA_DIR"], "filler"))
    with pytest.raises(SparkUnavailable, match="no space left") as caught:
        list(WithState(SparkUpload(Path(folder)), spark).entries())
    assert passing(caught.value) is DISK_FULL


def full_of_shuffles() -> None:
    """Run a shuffle that needs more space than is left, and again with room."""
    spark = session.get()
    filler = Path(os.environ["DATA_DIR"], "filler")
    fill(filler)
    shuffled = spark.range(0, 1_000_000, 1, 2).selectExpr("id", "uuid() as text").repartition(4)
    with pytest.raises(Exception, match="No space left on device") as caught:
        shuffled.groupBy("id").agg({"text": "max"}).toArrow()
    assert is_disk_full(caught.value)
    failure = SparkStages(spark)._failure(abs, caught.value)
    assert "No space left on device" in str(failure)
    assert passing(failure) is DISK_FULL
    filler.unlink()
    assert session.get() is spark
    assert spark.range(0, 1000, 1, 2).repartition(4).count() == 1000


def fill(path: Path) -> None:
    with path.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
