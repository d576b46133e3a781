"""The Spark session: one per process, started once, kept warm.

SPARK_REMOTE (Spark Connect) goes before SPARK_MASTER (a cluster, or ``local[*]`` by default). The
jobs are the same for all three.
"""

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tasks.spark.errors import SparkUnavailable, first_line
from tasks.spark.stages import SparkStages

REPOSITORY = Path(__file__).resolve().parents[2]
SHIPPED = (
    "snapshots/domain",
    "snapshots/readers",
    "snapshots/store",
    "snapshots/sandbox.py",
    "snapshots/sandboxed.py",
    "tasks/spark",
)
"""What the Python workers of a cluster import; sent to them as one zip."""

CONNECT_PORT = 15002
SECONDS_TO_CONNECT = 10

_session: SparkSession | None = None


def get() -> SparkSession:
    """This process's session; starts it where there is none, or where the last one died.

    Raises: SparkUnavailable.
    """
    global _session
    if _session is not None and not answers(_session):
        _forget()
    if _session is None:
        _session = _connect(_setting("SPARK_REMOTE", "")) or _start()
    return _session


def warm() -> SparkSession:
    """``get``, and one tiny job, so that the Python workers are forked and have their imports.

    Raises: SparkUnavailable.
    """
    session = get()
    try:
        SparkStages(session).run(_nothing, range(os.cpu_count() or 1))
    except Exception as error:
        raise SparkUnavailable(f"Spark started but ran no job: {first_line(error)}") from error
    return session


def stop() -> None:
    """Ends the session, if there is one."""
    global _session
    if _session is not None:
        session, _session = _session, None
        session.stop()


def answers(session: SparkSession) -> bool:
    """Whether the JVM, or the server, behind a session is still there."""
    try:
        return bool(session.conf.get("spark.sql.session.timeZone"))
    except Exception:  # py4j and grpc have many ways to say that the other side is gone
        return False


def kill() -> None:
    """Ends a local session's JVM, whatever it does; the next ``get`` starts another.

    A cluster's driver goes likewise; a Spark Connect server is not ours to end.
    """
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is not None and getattr(gateway, "proc", None) is not None:
        gateway.proc.kill()
        gateway.proc.wait()


def _nothing(task: int) -> int:
    return task


def _setting(name: str, default: str) -> str:
    """From Django's settings where Django runs, else from the environment."""
    try:
        from django.conf import settings
    except ImportError:
        return os.environ.get(name) or default
    if settings.configured and hasattr(settings, name):
        return str(getattr(settings, name))
    return os.environ.get(name) or default


def _forget() -> None:
    """Lets go of a session whose JVM has died, so that the next one starts a new JVM."""
    from pyspark import SparkContext

    global _session
    _session = None
    if SparkContext._gateway is not None:
        SparkContext._gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def _connect(remote: str) -> SparkSession | None:
    if not remote:
        return None
    _need_server(remote)
    try:
        session = SparkSession.builder.remote(remote).getOrCreate()
        for key, value in _session_options().items():
            session.conf.set(key, value)
        _ship(session)
    except Exception as error:
        raise SparkUnavailable(
            f"The Spark Connect server {remote} (SPARK_REMOTE) cannot be reached: "
            f"{first_line(error)}"
        ) from error
    return session


def _need_server(remote: str) -> None:
    """Spark Connect's own client would try for ten minutes."""
    address = urlsplit(remote)
    try:
        place = address.hostname or "", address.port or CONNECT_PORT
        socket.create_connection(place, timeout=SECONDS_TO_CONNECT).close()
    except (OSError, ValueError) as error:
        raise SparkUnavailable(
            f"The Spark Connect server {remote} (SPARK_REMOTE) cannot be reached: "
            f"{first_line(error)}"
        ) from error


def _start() -> SparkSession:
    _need_java()
    master = _setting("SPARK_MASTER", "local[*]")
    builder = SparkSession.builder.appName("Cutline").master(master)
    for key, value in (_session_options() | _driver_options()).items():
        builder = builder.config(key, value)
    local = master == "local" or master.startswith("local[")
    if local:
        _prepare_local_workers()
        builder = builder.config("spark.python.daemon.module", "tasks.spark.worker_daemon")
        builder = builder.config("spark.driver.host", "127.0.0.1")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    try:
        session = builder.getOrCreate()
        if not local:
            _ship(session)
    except PySparkException as error:
        raise SparkUnavailable(
            f"Spark did not start on {master} (SPARK_MASTER): {first_line(error)}"
        ) from error
    except Exception as error:  # py4j's, where the JVM answers with an exception
        raise SparkUnavailable(
            f"Spark did not start on {master} (SPARK_MASTER): {first_line(error)} "
            "Is the master reachable?"
        ) from error
    return session


def _need_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        where = f"in JAVA_HOME ({home})" if home else "on the PATH, and JAVA_HOME is not set"
        raise SparkUnavailable(
            f"Spark needs Java 17, and there is none {where}. "
            "On Debian or Ubuntu: apt install openjdk-17-jre-headless."
        )
    if subprocess.run([java, "-version"], capture_output=True).returncode:
        raise SparkUnavailable(f"Spark needs Java 17, and {java} does not run.")


def _session_options() -> dict[str, str]:
    return {
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000000",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    }


def _driver_options() -> dict[str, str]:
    scratch = _scratch()
    return {
        "spark.driver.memory": _setting("SPARK_DRIVER_MEMORY", "3g"),
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.python.worker.reuse": "true",
        "spark.python.task.killTimeout": "100ms",
        "spark.python.worker.faulthandler.enabled": "true",
    }


def _scratch() -> Path:
    """Where Spark puts its own temporary files."""
    data = _setting("DATA_DIR", "")
    folder = (Path(data) / "tmp" if data else Path(tempfile.gettempdir())) / "spark"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SparkUnavailable(
            f"Spark's temporary folder {folder} cannot be made ({error.strerror})."
        ) from error
    return folder


def _prepare_local_workers() -> None:
    """The Python workers run this interpreter and import this repository, on this host."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(REPOSITORY) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(REPOSITORY), *paths]))


def _ship(session: SparkSession) -> None:
    """Sends our packages to the Python workers of a cluster, which fetch them when they start."""
    folder = Path(tempfile.mkdtemp(prefix="shipped-", dir=_scratch()))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = folder / "cutline.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for package in ("snapshots", "tasks"):
            packed.write(REPOSITORY / package / "__init__.py", f"{package}/__init__.py")
        for package in SHIPPED:
            here = REPOSITORY / package
            for source in [here] if here.is_file() else sorted(here.rglob("*.py")):
                packed.write(source, source.relative_to(REPOSITORY))
    session.addArtifacts(str(archive), pyfile=True)
