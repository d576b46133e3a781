"""Keep the process's one Spark session: started once, reused by all jobs.

SPARK_REMOTE (Spark Connect) takes precedence over SPARK_MASTER (a cluster, or ``local[*]`` by
default). The jobs are the same for all three. Before every start, the remains of an earlier session
or a failed start are dropped and its JVM is ended.
"""

import atexit
import logging
import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grpc import RpcError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tasks.spark import condition, connect, executors, jvm, scratch
from tasks.spark.answering import answers
from tasks.spark.configuration import REPOSITORY, setting, start_seconds
from tasks.spark.driver import SECONDS_TO_END, Driver, forget_context
from tasks.spark.errors import SparkStopped, SparkTaskFailed, SparkUnavailable, first_line
from tasks.spark.scratch import Scratch
from tasks.spark.sparing import spare_pandas
from tasks.spark.stages import SparkStages
from tasks.spark.time_limits import within

logger = logging.getLogger(__name__)

SHIPPED = (
    "snapshots/quantities.py",
    "snapshots/without_pandas.py",
    "snapshots/domain",
    "snapshots/readers",
    "snapshots/store",
    "snapshots/sandbox",
    "tasks/spark",
)
"""The packages and modules that a cluster's Python workers import; they are sent as one zip."""

SECONDS_TO_STOP = 5.0
LONGEST_FOLDER_OF_SOCKETS = 60
"""The most bytes in the path of a folder in which Spark makes Unix sockets: it refuses longer ones,
because the path of a socket has a limit too."""

_session: SparkSession | None = None
_driver: Driver | None = None
_turn = threading.RLock()


def get() -> SparkSession:
    """Return this process's session; start one if there is none or if the last one died.

    Raises: SparkUnavailable.
    """
    global _session
    with _turn:
        if _session is not None and not _is_alive(_session):
            logger.warning("Spark's session ended unexpectedly. Starting another.")
            drop()
        if _session is None:
            _session = _started()
        condition.note(condition.UP)
        return _session


def warm() -> SparkSession:
    """Return the session after one tiny job, so that Python workers are forked and have imported.

    Raises: SparkUnavailable.
    """
    session = get()
    stages = SparkStages(session)
    try:
        cores = stages.capacity.cores
        within(start_seconds(), lambda: stages.run(_nothing, range(cores)))
    except Exception as error:
        sentence = f"Spark started but ran no job: {first_line(error)}"
        condition.note(condition.DOWN, sentence)
        raise SparkUnavailable(sentence) from error
    return session


def stop(seconds_to_end: float = SECONDS_TO_END) -> None:
    """End the session, if there is one, in good order, and kill its JVM if that takes longer."""
    with _turn:
        if _session is not None:
            with suppress(Exception):  # if it does not stop, it is ended below
                within(SECONDS_TO_STOP, _session.stop)
        if _driver is not None:
            _driver.end(seconds_to_end)
        drop()


def drop() -> None:
    """Forget the session, or the remains of its failed start, and kill its JVM."""
    global _session, _driver
    with _turn:
        session, _session = _session, None
        driver, _driver = _driver, None
    if session is not None and connect.is_remote(session):
        connect.close(session)
    if driver is not None:
        driver.discard()
    forget_context()
    condition.note(condition.DOWN, "It was stopped.")


def explained(error: Exception) -> Exception:
    """Return the reason if Spark is gone and ``error`` came from it, else ``error`` itself."""
    from_spark = isinstance(error, Py4JError | PySparkException | RpcError | OSError)
    if not from_spark or _session is None or _is_alive(_session):
        return error
    kind = SparkUnavailable if connect.is_remote(_session) else SparkStopped
    return kind(f"Spark stopped while it worked: {first_line(error)}")


def look() -> None:
    """Note that the JVM has ended since it was last used."""
    driver = _driver
    if driver is not None and driver.has_ended and condition.current().state == condition.UP:
        condition.note(condition.DOWN, _ending(driver))


def kill() -> None:
    """End a local session's JVM at once; the next ``get`` starts another.

    A cluster's driver is ended likewise. A Spark Connect server is not ours to end: its connection
    is closed, so that whoever waits for an answer gets an error.
    """
    if _driver is not None:
        _driver.kill()
    elif _session is not None and connect.is_remote(_session):
        connect.close(_session)


def _nothing(task: int) -> int:
    return task


def _is_alive(session: SparkSession) -> bool:
    return (_driver is None or not _driver.has_ended) and answers(session)


def _started() -> SparkSession:
    """Start a session and note how that went."""
    remote = connect.address()
    condition.note(condition.STARTING)
    try:
        session = _connect(remote) if remote else _start(master())
    except BaseException as error:
        drop()
        condition.note(condition.DOWN, str(error))
        raise
    return session


def master() -> str:
    return setting("SPARK_MASTER", "local[*]")


def _connect(remote: str) -> SparkSession:
    session = connect.connect(remote, _session_options() | executors.options())
    folder = _scratch()
    try:
        within(start_seconds(), lambda: _ship(session, folder))
        _check_executors(session)
    except SparkUnavailable:
        connect.close(session)
        raise
    except Exception as error:
        connect.close(session)
        raise connect.unreachable(remote, error) from error
    finally:
        folder.remove()
    return session


def _start(master: str) -> SparkSession:
    """Start a session with a JVM of our own. Raises: SparkUnavailable."""
    global _driver
    java = _need_java()
    spare_pandas()
    folder = _scratch()
    options = _session_options() | _driver_options(folder) | _network_options(master, folder)
    if jvm.is_local(master):
        _prepare_local_workers()
    else:
        options |= executors.options() | executors.share(master)
    try:
        memory = setting("SPARK_DRIVER_MEMORY", "3g")
        _driver = Driver(jvm.command(java, master, memory, folder.path), folder)
    except OSError as error:
        folder.remove()
        raise SparkUnavailable(f"Spark's JVM cannot be started: {error}.") from error
    try:
        with _driver.limited(start_seconds()):
            _driver.connect()
            session = _built(master, options)
            if not jvm.is_local(master):
                _ship(session, folder)
    except Exception as error:  # of PySpark and py4j, if the JVM is gone or answers with an error
        raise SparkUnavailable(_why_not_started(_driver, master, error)) from error
    if not jvm.is_local(master):
        _check_executors(session)
    return session


def _check_executors(session: SparkSession) -> None:
    """Check that an executor comes, and that its Python can run our code. Raises: SparkUnavailable.

    Otherwise the first stage of a job would stand still, or fail after many attempts.
    """
    began = datetime.now(UTC)
    try:
        [(lacking, where)] = within(
            start_seconds(), lambda: SparkStages(session).run(executors.absent, [0])
        )
    except TimeoutError as error:
        words = executors.waiting(session, began)
        raise SparkUnavailable(
            f"Spark runs no task: {words}. Do its workers have a free core and enough memory? "
            "A session takes all cores of a standalone cluster unless SPARK_CORES_MAX says less."
        ) from error
    except SparkTaskFailed as error:
        raise executors.why_not_run(error) from error
    if lacking:
        raise executors.why_unfit(lacking, where)


def _built(master: str, options: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName("Cutline").master(master)
    for key, value in options.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    server: Any = session.sparkContext._accumulatorServer
    server.handle_error = _note_lost_connection
    return session


def _note_lost_connection(*_: object) -> None:
    """Replace the traceback that Python prints when a killed JVM closes its connection."""
    logger.info("The JVM closed its connection for accumulators.")


def _why_not_started(driver: Driver, master: str, error: Exception) -> str:
    where = f"on {master} (SPARK_MASTER)"
    hint = "" if jvm.is_local(master) else " Is the master reachable?"
    if driver.is_late:
        return (
            f"Spark did not start {where} within {start_seconds():g} seconds "
            f"(SPARK_START_SECONDS).{hint or ' Is the machine overloaded?'}"
        )
    if driver.ends_soon():
        return f"Spark did not start {where}: {_ending(driver)}"
    return f"Spark did not start {where}: {first_line(error)}{hint}"


def _ending(driver: Driver) -> str:
    """Describe how the JVM ended, with its last lines."""
    code = driver.process.wait()
    how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    lines = driver.last_lines()
    quotation = f" Its last lines: {' / '.join(lines)}" if lines else ""
    return f"the JVM ended {how}.{quotation}"


def _need_java() -> Path:
    """Return the program of a Java that runs. Raises: SparkUnavailable."""
    java = jvm.find_java()
    if java is None:
        home = os.environ.get("JAVA_HOME")
        where = f"in JAVA_HOME ({home})" if home else "on the PATH, and JAVA_HOME is not set"
        raise SparkUnavailable(
            f"Spark needs Java 17, and there is none {where}. "
            "On Debian or Ubuntu: apt install openjdk-17-jre-headless."
        )
    try:
        version = [str(java), "-version"]
        answer = subprocess.run(version, capture_output=True, timeout=start_seconds(), check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SparkUnavailable(f"Spark needs Java 17, and {java} does not run: {error}.") from error
    if answer.returncode:
        raise SparkUnavailable(f"Spark needs Java 17, and {java} does not run.")
    return java


def _session_options() -> dict[str, str]:
    return {
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000000",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    }


def _driver_options(folder: Scratch) -> dict[str, str]:
    return {
        "spark.local.dir": str(folder.path),
        "spark.sql.warehouse.dir": (folder.path / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.cleaner.periodicGC.interval": "1min",  # so that memory is given back after a job
        "spark.python.worker.reuse": "true",
        "spark.python.task.killTimeout": "100ms",
        "spark.python.worker.faulthandler.enabled": "true",
    }


def _network_options(master: str, folder: Scratch) -> dict[str, str]:
    """Return the options that keep strangers away from Spark's ports.

    A local session creates its own secret, which never leaves the JVM. In a cluster the master and
    all workers share one secret, so the operator has to configure it.
    """
    if jvm.is_local(master):
        return {
            "spark.python.daemon.module": "tasks.spark.worker_daemon",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.authenticate": "true",
        } | _socket_options(folder)
    secret = setting("SPARK_AUTH_SECRET", "")
    if not secret:
        return {}
    return {"spark.authenticate": "true", "spark.authenticate.secret": secret}


def _socket_options(folder: Scratch) -> dict[str, str]:
    """Return options for sockets to the Python workers in a private folder.

    If the folder's path is too long for a socket, they use ports of loopback with a secret.
    """
    if len(os.fsencode(folder.path)) > LONGEST_FOLDER_OF_SOCKETS:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": str(folder.path),
    }


def _scratch() -> Scratch:
    """Remove the folders of killed sessions and create one for a new session."""
    scratch.sweep()
    try:
        return Scratch()
    except OSError as error:
        raise SparkUnavailable(
            f"Spark's temporary folder {error.filename} cannot be created ({error.strerror})."
        ) from error


def _prepare_local_workers() -> None:
    """Let the Python workers run this interpreter and import this repository, on this host."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(REPOSITORY) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(REPOSITORY), *paths]))


def shipped_files() -> Iterator[Path]:
    """Yield the modules that are sent to the Python workers of a cluster."""
    for name in SHIPPED:
        path = REPOSITORY / name
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def _ship(session: SparkSession, folder: Scratch) -> None:
    """Send our packages, and a packed environment if there is one, to the Python workers of a
    cluster, which fetch them when they start."""
    package_file = folder.path / "cutline.zip"
    with zipfile.ZipFile(package_file, "w", zipfile.ZIP_DEFLATED) as packed:
        for package in ("snapshots", "tasks"):
            packed.write(REPOSITORY / package / "__init__.py", f"{package}/__init__.py")
        for source in shipped_files():
            packed.write(source, source.relative_to(REPOSITORY))
    session.addArtifacts(str(package_file), pyfile=True)
    if environment := executors.packed_environment():
        session.addArtifacts(f"{environment}#{executors.UNPACKED}", archive=True)


atexit.register(stop)
