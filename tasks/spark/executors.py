"""The executors of a cluster: which Python runs our code there, and how many have joined."""

import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

from tasks.spark.configuration import setting
from tasks.spark.connect import is_remote
from tasks.spark.errors import SparkUnavailable, last_line

NEEDED = (
    "cel_expr_python",
    "grpc",
    "mmh3",
    "numpy",
    "obstore",
    "orjson",
    "pandas",
    "pyarrow",
    "pydantic",
    "re2",
    "xxhash",
    "zstandard",
)
"""The packages of others that our code imports on the executors."""

UNPACKED = "environment"
"""The folder, in the working directory of each Python worker, of the packed environment."""

PYTHON_OPTION = "spark.sql.execution.pyspark.python"

_most: WeakKeyDictionary[SparkSession, int] = WeakKeyDictionary()


def packed_environment() -> str:
    """Return the path of the packed environment, empty if none is configured."""
    return setting("SPARK_EXECUTOR_ENVIRONMENT", "")


def python() -> str:
    """Return the Python that the executors shall run, empty for that of the cluster's settings."""
    packed = f"./{UNPACKED}/bin/python" if packed_environment() else ""
    return setting("SPARK_EXECUTOR_PYTHON", "") or packed


def options() -> dict[str, str]:
    """Return the options of a session on a cluster."""
    return {PYTHON_OPTION: python()} if python() else {}


def share(master: str) -> dict[str, str]:
    """Return the options of a session that leaves cores of a standalone cluster to others."""
    most = int(setting("SPARK_CORES_MAX", "0"))
    return {"spark.cores.max": str(most)} if most and master.startswith("spark://") else {}


def absent(task: int) -> tuple[list[str], str]:
    """Return the packages that this process's Python lacks, and which Python it is. A kernel."""
    return [name for name in NEEDED if find_spec(name) is None], sys.executable


def why_unfit(lacking: list[str], where: str) -> SparkUnavailable:
    """Return the error for executors whose Python lacks packages."""
    return unfit(f"{where} lacks {', '.join(lacking)}.")


def why_not_run(error: Exception) -> SparkUnavailable:
    """Return the error for executors that did not even run a kernel."""
    return unfit(last_line(error).rstrip(".") + ".")


def unfit(reason: str) -> SparkUnavailable:
    chosen = python()
    which = f"{chosen} (SPARK_EXECUTOR_PYTHON)" if chosen else "python3 of the executors' own PATH"
    if packed_environment() and not setting("SPARK_EXECUTOR_PYTHON", ""):
        which = f"{chosen} of {packed_environment()} (SPARK_EXECUTOR_ENVIRONMENT)"
    return SparkUnavailable(
        f"The executors' Python, {which}, cannot run Cutline's code: {reason} Set "
        "SPARK_EXECUTOR_PYTHON to a Python on their machines that has the packages of "
        "requirements.txt, or SPARK_EXECUTOR_ENVIRONMENT to a packed environment."
    )


def joined(session: SparkSession) -> int | None:
    """Return how many executors a cluster has given us; None if nobody says that.

    Spark Connect does not say it, and a local session has none.
    """
    if is_remote(session) or str(session.sparkContext.master).startswith("local"):
        return None
    tracker = session.sparkContext._jsc.sc().statusTracker()
    count = len(tracker.getExecutorInfos()) - 1  # the driver is one of them
    _most[session] = max(count, _most.get(session, 0))
    return count


def waiting(session: SparkSession, since: datetime) -> str:
    """Return the words for a stage that no executor works on."""
    most = _most.get(session, 0)
    how_many = f"0 of {most}" if most else "none has joined yet"
    where = "the Spark Connect server" if is_remote(session) else session.sparkContext.master
    clock = since.astimezone(UTC).strftime("%H:%M:%S")
    if is_remote(session):
        how_many = "none has begun a task"
    return f"waiting for executors ({how_many}) since {clock} UTC; see the page of {where}"
