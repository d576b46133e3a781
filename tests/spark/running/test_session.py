"""A process has one session, or one sentence that says why it has none."""

import os
import subprocess
import sys

import pytest

from tasks.spark import session


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


def test_a_process_has_one_session(spark):
    assert session.get() is spark
    assert session.warm() is spark


def test_workers_take_large_batches(spark):
    assert int(spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")) >= 1_000_000
