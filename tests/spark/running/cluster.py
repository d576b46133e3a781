"""A Spark cluster of processes: a standalone master with workers, or a Spark Connect server.

Its processes know nothing of this repository: another working directory, no PYTHONPATH, and no
virtual environment on the PATH.
"""

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

import psutil
import pyspark

from tasks.spark.driver import descendants

BIN = Path(pyspark.__file__).parent / "bin"
PATIENCE_SECONDS = 300
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Process:
    """A JVM of Spark with a log, which is ready once its port is open."""

    def __init__(self, folder: Path, name: str, port: int, *words: object) -> None:
        self.port = port
        self._folder = folder / name
        self._folder.mkdir(parents=True)
        self._words = [str(word) for word in words]
        self._process: subprocess.Popen | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        self.launch()
        self.wait()

    def launch(self) -> None:
        with (self._folder / "log").open("a") as log:
            self._process = subprocess.Popen(
                self._words,
                cwd=self._folder,
                env=_environment(),
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def wait(self) -> None:
        """Wait until the port is open."""
        assert self._process is not None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not _is_open(self.port):
            assert time.monotonic() < deadline, self.last_lines()
            assert self._process.poll() is None, self.last_lines()
            time.sleep(0.1)

    def kill(self) -> None:
        """End the process and those that it started, its executors, as a lost machine would."""
        if self._process is not None:
            self.send(signal.SIGKILL)
            self._process.wait()

    def send(self, number: int) -> None:
        assert self._process is not None
        for pid in [self._process.pid, *descendants(self._process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def processor_seconds(self) -> float:
        """Return the processor time that the process and those that it started have taken."""
        assert self._process is not None
        seconds = 0.0
        for pid in [self._process.pid, *descendants(self._process.pid)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                times = psutil.Process(pid).cpu_times()
                seconds += times.user + times.system
        return seconds

    def last_lines(self) -> str:
        return (self._folder / "log").read_text(errors="replace")[-3000:]


class Standalone:
    """A master with workers of some cores each."""

    def __init__(self, folder: Path, workers: int = 2, cores: int = 1) -> None:
        port, page = free_port(), free_port()
        self.address = f"spark://127.0.0.1:{port}"
        master = "org.apache.spark.deploy.master.Master"
        words = ("--host", "127.0.0.1", "--port", port, "--webui-port", page)
        self.master = Process(folder, "master", port, BIN / "spark-class", master, *words)
        self.workers = [worker(folder, number, self.address, cores) for number in range(workers)]

    def __enter__(self) -> "Standalone":
        self.master.start()
        for process in self.workers:
            process.launch()
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.workers, self.master):
            process.kill()


def worker(folder: Path, number: int, master: str, cores: int = 1) -> Process:
    """Return a worker of a standalone cluster, which is not started yet."""
    port, page = free_port(), free_port()
    name = f"worker-{number}"
    ours = ("--host", "127.0.0.1", "--port", port, "--webui-port", page)
    size = ("--cores", cores, "--memory", "1g", "--work-dir", folder / name / "work")
    words = (BIN / "spark-class", "org.apache.spark.deploy.worker.Worker", *ours, *size, master)
    return Process(folder, name, port, *words)


class Connect(Process):
    """A Spark Connect server whose tasks run on a master."""

    def __init__(self, folder: Path, master: str) -> None:
        port = free_port()
        self.address = f"sc://127.0.0.1:{port}"
        options = {
            "spark.connect.grpc.binding.port": port,
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": folder / "connect",
            "spark.sql.warehouse.dir": folder / "connect" / "warehouse",
            "spark.ui.enabled": "false",
        }
        confs = [word for item in options.items() for word in ("--conf", "=".join(map(str, item)))]
        server = "org.apache.spark.sql.connect.service.SparkConnectServer"
        submit = (BIN / "spark-submit", "--class", server, *confs, "--master", master)
        super().__init__(folder, "connect", port, *submit, "spark-internal")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def _is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _environment() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("HOME", "JAVA_HOME", "LANG") or name.startswith("AWS_")
    }
    return kept | {"PATH": PATH, "SPARK_LOCAL_IP": "127.0.0.1"}
