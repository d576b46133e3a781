"""A failed start of Spark says why and leaves nothing behind; the next one succeeds."""

import os
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.spark.running import processes

pytestmark = [pytest.mark.spark, pytest.mark.slow]

WRAPPER = """#!/bin/bash
[ "$1" = "-version" ] && exec "{java}" "$@"
{body}
"""
DIES_AT_ONCE = "echo 'Error: there is not enough room for a heap.' >&2; exit {code}"
DIES_AFTER_THE_GATEWAY = """
case "$*" in *launcher.Main*) exec "{java}" "$@" ;; esac
wanted="$_PYSPARK_DRIVER_CONN_INFO_PATH"
_PYSPARK_DRIVER_CONN_INFO_PATH="$wanted.early" "{java}" "$@" <&0 &
while [ ! -e "$wanted.early" ]; do sleep 0.01; done
mv "$wanted.early" "$wanted"
sleep 0.5
echo "somebody kills java" >&2
kill -9 $!
exit 7
"""


@pytest.mark.long
@pytest.mark.parametrize("code", [0, 3])
def test_a_java_that_dies_at_once_is_followed_by_a_good_one(tmp_path, code):
    home = a_java(tmp_path, DIES_AT_ONCE.format(code=code))
    processes.run(__name__, "bad_then_good", home, "there is not enough room", DATA_DIR=tmp_path)


@pytest.mark.long
def test_a_java_that_dies_after_its_gateway_is_followed_by_a_good_one(tmp_path):
    home = a_java(tmp_path, DIES_AFTER_THE_GATEWAY.format(java=good_java()))
    processes.run(__name__, "bad_then_good", home, "somebody kills java", DATA_DIR=tmp_path)


@pytest.mark.long
def test_a_jvm_killed_while_its_context_starts_is_replaced(tmp_path):
    processes.run(__name__, "killed_in_the_middle", DATA_DIR=tmp_path)


@pytest.mark.long
def test_a_jvm_frozen_while_it_starts_is_ended_and_replaced(tmp_path):
    processes.run(__name__, "frozen_in_the_middle", DATA_DIR=tmp_path)


@pytest.mark.long
def test_a_master_that_never_answers_is_given_up(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        master = f"spark://127.0.0.1:{silent.getsockname()[1]}"
        processes.run(__name__, "silent_master", DATA_DIR=tmp_path, SPARK_MASTER=master)


@pytest.mark.long
def test_a_worker_process_outlives_a_start_that_fails_and_the_next_job_starts_spark(tmp_path):
    home = a_java(tmp_path, DIES_AT_ONCE.format(code=1))
    environment = {
        "DATA_DIR": tmp_path,
        "REDIS_URL": "redis://127.0.0.1:9/0",
        "DJANGO_SETTINGS_MODULE": "webapp.settings",
    }
    logged = processes.run(__name__, "worker_process", home, **environment)
    assert logged.count("Spark's condition cannot be written to Redis") == 1


def good_java() -> str:
    return os.environ["JAVA_HOME"] + "/bin/java"


def a_java(folder: Path, body: str) -> Path:
    """Write a java that answers ``-version`` like a real one and otherwise runs ``body``."""
    program = folder / "jdk" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(WRAPPER.format(java=good_java(), body=body))
    program.chmod(0o755)
    return folder / "jdk"


def bad_then_good(home: str, words: str) -> None:
    from tasks.spark import session

    good = os.environ["JAVA_HOME"]
    for _ in range(2):
        os.environ["JAVA_HOME"] = home
        sentence = refused(session)
        assert "the JVM ended" in sentence, sentence
        assert words in sentence, sentence
        assert "master reachable" not in sentence
        assert "/bin/" not in sentence, sentence
    os.environ["JAVA_HOME"] = good
    check_good(session)


def killed_in_the_middle() -> None:
    from tasks.spark import session

    interfere(signal.SIGKILL)
    sentence = refused(session)
    assert "the JVM ended by SIGKILL" in sentence, sentence
    check_good(session)


def frozen_in_the_middle() -> None:
    from tasks.spark import session

    os.environ["SPARK_START_SECONDS"] = "15"
    frozen = interfere(signal.SIGSTOP)
    sentence = refused(session)
    assert "did not start on local[2] (SPARK_MASTER) within 15 seconds" in sentence, sentence
    assert not processes.ticks(frozen.pop())
    os.environ["SPARK_START_SECONDS"] = "120"
    check_good(session)


def silent_master() -> None:
    from tasks.spark import session

    os.environ["SPARK_START_SECONDS"] = "20"
    sentence = refused(session)
    assert "within 20 seconds" in sentence, sentence
    assert sentence.endswith("Is the master reachable?")
    os.environ |= {"SPARK_MASTER": "local[2]", "SPARK_START_SECONDS": "120"}
    check_good(session)


def worker_process(home: str) -> None:
    from celery.signals import worker_process_init, worker_process_shutdown

    from tasks.spark import condition, session
    from webapp.celery import app

    good, os.environ["JAVA_HOME"] = os.environ["JAVA_HOME"], home
    errors = [error for _, error in worker_process_init.send(sender=app)]
    assert not any(errors), errors
    noted = condition.current()
    assert (noted.state, noted.restarts) == (condition.DOWN, 0)
    assert "the JVM ended" in noted.reason
    os.environ["JAVA_HOME"] = good
    check_good(session)
    assert (condition.current().state, condition.current().restarts) == (condition.UP, 1)
    worker_process_shutdown.send(sender=app, pid=os.getpid(), exitcode=0)
    assert condition.current().state == condition.DOWN


def refused(session) -> str:
    with pytest.raises(session.SparkUnavailable) as caught:
        session.get()
    assert caught.value.permanent is False
    return str(caught.value)


def check_good(session) -> None:
    """Check that Spark works, and that only its own folder is left."""
    assert session.warm().range(3).count() == 3
    folders = list(Path(os.environ["DATA_DIR"], "tmp", "spark").iterdir())
    assert len(folders) == 1, folders


def interfere(number: int) -> list[int]:
    """Send a signal to the JVM as soon as PySpark has its pid, which the returned list then
    holds."""
    pids: list[int] = []
    threading.Thread(target=_send, args=(number, pids), daemon=True).start()
    return pids


def _send(number: int, pids: list[int]) -> None:
    from pyspark import SparkContext

    while SparkContext._gateway is None or not hasattr(SparkContext._gateway, "proc"):
        time.sleep(0.01)
    time.sleep(0.5)  # the context takes seconds to start
    pids.append(SparkContext._gateway.proc.pid)
    os.kill(pids[0], number)
