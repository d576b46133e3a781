"""Start, watch and end the driver's JVM.

PySpark starts a JVM with all settings on its command line, waits for it without a limit, and shows
its last output only on the terminal. Here the JVM gets only the settings that it needs at its
start; the others follow over py4j, so that no secret stands on a command line.
"""

import contextlib
import logging
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.serializers import UTF8Deserializer, read_int
from pyspark.sql import SparkSession, SQLContext

from tasks.spark import jvm
from tasks.spark.scratch import Scratch
from tasks.spark.time_limits import within

logger = logging.getLogger(__name__)

LINES_KEPT = 20
LONGEST_LINE = 500
SECONDS_TO_END = 2.0
SECONDS_BETWEEN_LOOKS = 0.05
_FOLDERS = re.compile(r"(?<![\w./])(?:/[^\s/:]+)+/(?=[^\s/])")
_USUAL_LINES = ("WARNING: Using incubator", "Using Spark's default", "Setting ", "To adjust ")


class DriverEnded(Exception):
    """The JVM ended although nobody requested it."""


class Driver:
    """A JVM with its scratch folder.

    ``is_late`` tells whether it was killed because its time was up.
    Raises: OSError if the process cannot be created.
    """

    def __init__(self, command: list[str], scratch: Scratch) -> None:
        """Start the JVM.

        Args:
            command: the program and its words, see ``jvm.py``.
            scratch: the session's folder, which is removed together with the JVM.
        """
        self.is_late = False
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self.scratch = scratch
        try:
            self._address = Path(tempfile.mkdtemp(dir=self.scratch.path), "gateway")
            self.process = _launch(command, self._address)
        except BaseException:
            self.scratch.remove()
            raise
        self._reader = threading.Thread(target=self._read, name="spark-driver", daemon=True)
        self._reader.start()

    def connect(self) -> None:
        """Make PySpark use this JVM. Raises: DriverEnded, Py4JError, OSError."""
        while not self._address.exists():
            if self.has_ended:
                raise DriverEnded
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(SECONDS_BETWEEN_LOOKS)
        with self._address.open("rb") as file:
            port, secret = read_int(file), UTF8Deserializer().loads(file)
        self._address.unlink()
        with _environment(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret):
            gateway = launch_gateway()
        gateway.proc = self.process
        SparkContext._ensure_initialized(gateway=gateway)

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def ends_soon(self) -> bool:
        """Return whether the JVM ends within seconds; its connections close a little earlier."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(SECONDS_TO_END)
        return self.has_ended

    def last_lines(self) -> list[str]:
        """Return the last lines that the JVM wrote.

        Left out are the lines of every start and the folders of this machine, which the log holds.
        """
        if self.has_ended:
            self._reader.join(SECONDS_TO_END)
        lines = [line for line in self._lines if line and not line.startswith(_USUAL_LINES)]
        return [_FOLDERS.sub("", line) for line in lines]

    @contextlib.contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Kill the JVM if the block takes longer than ``seconds``.

        Calls over py4j have no time limit of their own; they fail when the JVM is killed.
        """
        timer = threading.Timer(seconds, self._kill_late)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def kill(self) -> None:
        """Kill the JVM and its descendants at once."""
        _kill(self.process)

    def end(self, seconds: float = SECONDS_TO_END) -> None:
        """Close the JVM's input so that it ends; kill it if it does not, and remove its folder."""
        assert self.process.stdin is not None  # it is a pipe
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        self.discard()

    def discard(self) -> None:
        """Kill the JVM and remove its folder."""
        if not self.has_ended:
            self.kill()
        self.scratch.remove()

    def _kill_late(self) -> None:
        self.is_late = True
        self.kill()

    def _read(self) -> None:
        """Keep the last lines and write all of them to the log, so that the pipe never fills."""
        assert self.process.stdout is not None  # it is a pipe
        with self.process.stdout as lines:
            for line in iter(partial(lines.readline, LONGEST_LINE), b""):
                text = line.decode(errors="replace").rstrip()
                self._lines.append(text)
                logger.info("%s", text)


def kill_jvm() -> None:
    """Kill the JVM that PySpark uses, if there is one."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None:
        _kill(process)


def _kill(process: subprocess.Popen) -> None:
    for pid in [process.pid, *descendants(process.pid)]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def forget_context() -> None:
    """Reset PySpark's context and JVM, whatever state a failure left them in."""
    context, gateway = SparkContext._active_spark_context, SparkContext._gateway
    for close in (
        getattr(getattr(context, "_accumulatorServer", None), "shutdown", None),
        getattr(gateway, "shutdown", None),
    ):
        if close is not None:
            with contextlib.suppress(Exception):  # the other side is gone or does not answer
                within(SECONDS_TO_END, close)
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    SQLContext._instantiatedContext = None


def _launch(command: list[str], address: Path) -> subprocess.Popen:
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,  # the JVM ends when this pipe closes, even by a kill
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | jvm.variables() | {"_PYSPARK_DRIVER_CONN_INFO_PATH": str(address)},
        preexec_fn=_ignore_interrupts,  # noqa: PLW1509, it only sets a signal
    )


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C: it is meant for the parent process, which ends the JVM in good order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def descendants(pid: int) -> list[int]:
    """Return the ids of a process's children and of all their descendants."""
    pids = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                pids += [child, *descendants(child)]
    return pids


@contextlib.contextmanager
def _environment(**variables: str) -> Iterator[None]:
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
