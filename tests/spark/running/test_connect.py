"""A Spark Connect server that stops in the middle of a job and starts again."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import PySparkException

from tasks.spark import answering, connect
from tasks.spark.driver import descendants
from tasks.spark.errors import SparkUnavailable
from tasks.spark.stages import SparkStages
from tests.spark.running import processes
from tests.spark.running.test_lost_spark import slow

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@pytest.mark.long
def test_a_server_that_is_killed_and_comes_back(tmp_path):
    check(tmp_path, "killed_server")


@pytest.mark.long
def test_a_server_that_freezes_in_the_middle_of_a_job_and_thaws(tmp_path):
    check(tmp_path, "frozen_server")


@pytest.mark.long
def test_calls_of_a_frozen_server_end(tmp_path):
    check(tmp_path, "frozen_calls")


def check(folder: Path, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    remote = f"sc://127.0.0.1:{port}/;user_id=ada"
    processes.run(__name__, name, port, folder, SPARK_REMOTE=remote, DATA_DIR=folder)


def killed_server(port: str, folder: str) -> None:
    from tasks.spark import session

    with Server(port, folder) as server:
        stages = SparkStages(session.get())
        later(2, server.kill)
        with pytest.raises(SparkUnavailable) as caught:
            stages.run(slow, range(8), advance=lambda *_: None)
        assert (caught.value.permanent, caught.value.is_death) == (False, False)
        with pytest.raises(SparkUnavailable, match=f"sc://127.0.0.1:{port} .SPARK_REMOTE") as away:
            session.get()
        assert "ada" not in str(away.value)
        server.start()
        assert SparkStages(session.get()).run(abs, [-3], advance=lambda *_: None) == [3]
        server.kill()
        server.start()  # a restart between two jobs: the handle of the session is invalid
        assert SparkStages(session.get()).run(abs, [-3], advance=lambda *_: None) == [3]


def frozen_server(port: str, folder: str) -> None:
    from tasks.spark import session

    answering.ANSWER_SECONDS = 5.0
    answering.PULSE_SECONDS = 1.0
    with Server(port, folder) as server:
        stages = SparkStages(session.get())
        os.environ["SPARK_START_SECONDS"] = "10"
        later(2, lambda: server.send(signal.SIGSTOP))
        with pytest.raises(SparkUnavailable, match="no longer answers"):
            stages.run(slow, range(8), advance=lambda *_: None)
        with pytest.raises(SparkUnavailable, match="no answer within 10 seconds"):
            session.get()
        server.send(signal.SIGCONT)
        os.environ["SPARK_START_SECONDS"] = "120"
        stages = SparkStages(session.get())
        assert stages.run(abs, [-3], advance=lambda *_: None) == [3]
        later(2, lambda: server.send(signal.SIGSTOP))
        with pytest.raises(SparkUnavailable, match="no longer answers"):
            stages.run(slow, range(8))


def frozen_calls(port: str, folder: str) -> None:
    """Call a frozen server without a stage: no call takes longer than Spark may take to start."""
    from tasks.spark import session

    with Server(port, folder) as server:
        warm = session.get()
        assert SparkStages(warm).run(abs, [-3]) == [3]
        connect.limit(warm, 5.0)
        server.send(signal.SIGSTOP)
        began = time.monotonic()
        for call in (
            lambda: warm.conf.get("spark.sql.session.timeZone"),
            lambda: warm.range(3).schema,
            lambda: warm.interruptTag("none"),
            lambda: warm.addArtifacts(__file__, pyfile=True),
            lambda: SparkStages(warm).capacity,
        ):
            with pytest.raises(PySparkException, match="deadline|Deadline"):
                call()
        assert 20 < time.monotonic() - began < 60


def later(seconds: float, strike) -> None:
    threading.Timer(seconds, strike).start()


class Server:
    """A Connect server in a process of its own."""

    def __init__(self, port: str, folder: str) -> None:
        self._port = int(port)
        self._folder = Path(folder, "server")
        self._folder.mkdir()

    def __enter__(self) -> "Server":
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        options = {
            "spark.connect.grpc.binding.port": self._port,
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": self._folder,
            "spark.sql.warehouse.dir": self._folder / "warehouse",
            "spark.ui.enabled": "false",
        }
        submit = [Path(pyspark.__file__).parent / "bin" / "spark-submit", "--class", SERVER]
        submit += [
            part for name, value in options.items() for part in ("--conf", f"{name}={value}")
        ]
        outside = {name: text for name, text in os.environ.items() if name != "SPARK_REMOTE"}
        with (self._folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [*map(str, submit), "--master", "local[2]", "spark-internal"],
                env=outside | {"SPARK_CONNECT_MODE": "0", "PYSPARK_PYTHON": sys.executable},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait()

    def kill(self) -> None:
        self.send(signal.SIGCONT)
        self.send(signal.SIGKILL)
        self.process.wait()

    def send(self, number: int) -> None:
        for pid in [self.process.pid, *descendants(self.process.pid)]:
            os.kill(pid, number)

    def _wait(self) -> None:
        deadline = time.monotonic() + 300
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
            except OSError:
                log = (self._folder / "log").read_text()[-3000:]
                assert time.monotonic() < deadline, log
                assert self.process.poll() is None, log
                time.sleep(0.2)
