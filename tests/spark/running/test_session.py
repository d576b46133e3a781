"""A process has one session, or one sentence that says why it has none."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tasks.spark import session
from tests.spark.running import processes


def output_without(environment: dict[str, str]) -> str:
    """Return the output of a new process that starts a session in this environment."""
    code = (
        "from tasks.spark import session\n"
        "try: session.get()\n"
        "except session.SparkUnavailable as error: print(error)\n"
    )
    base = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=base | environment,
        cwd=session.REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout


@pytest.mark.slow
def test_without_java_the_sentence_says_how_to_get_it(tmp_path):
    output = output_without({"PATH": str(tmp_path)})
    assert output.startswith("Spark needs Java 17, and there is none on the PATH")
    assert "apt install openjdk-17" in output
    assert output.count("\n") == 1


@pytest.mark.slow
def test_a_wrong_java_home_is_named(tmp_path):
    assert f"in JAVA_HOME ({tmp_path})" in output_without({"JAVA_HOME": str(tmp_path)})


@pytest.mark.slow
def test_a_connect_server_that_is_not_there_is_named():
    output = output_without({"SPARK_REMOTE": "sc://127.0.0.1:9"})
    assert output.startswith("The Spark Connect server sc://127.0.0.1:9 (SPARK_REMOTE)")
    assert output.count("\n") == 1


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("length", [61, 60])
def test_the_folder_of_a_session_may_have_a_path_of_any_length(length):
    with tempfile.TemporaryDirectory() as short:
        scratch = Path("tmp", "spark", f"{session.scratch.PREFIX}12345678")
        lacking = length - len(str(Path(short, scratch))) - 1
        processes.run(__name__, "a_job", length, DATA_DIR=Path(short, "x" * lacking))


def a_job(length: str) -> None:
    warm = session.warm()
    assert session._driver is not None
    assert len(str(session._driver.scratch.path)) == int(length)
    has_sockets = warm.conf.get("spark.python.unix.domain.socket.enabled", "false")
    assert has_sockets == ("true" if int(length) <= 60 else "false")
    session.stop()


def test_a_process_has_one_session(spark):
    assert session.get() is spark
    assert session.warm() is spark


def test_workers_take_large_batches(spark):
    assert int(spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")) >= 1_000_000
