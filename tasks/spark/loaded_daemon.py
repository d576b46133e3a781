"""Spark's Python daemon with the kernels loaded before it forks.

Spark ends Python workers that idle for a minute. The next ones are forks of the daemon and so
begin with everything loaded.
"""

import gc
import io
import select
import sys

import pyspark.worker
from pyspark import daemon

from snapshots.without_pandas import keep_pandas_out

keep_pandas_out()

import tasks.spark.ingest.job  # noqa: E402
import tasks.spark.judge.job  # noqa: E402, F401
from tasks.spark import memory  # noqa: E402

SECONDS_OF_WORK = 1.0
"""A worker that has no task for so long gives its freed memory back."""

_run_task = pyspark.worker.main


def run() -> None:
    """Fork a worker for each request of Spark, until Spark closes the standard input."""
    pyspark.worker.main = run_task
    memory.keep_freed()
    # A worker collects garbage after each task, which would look at all that is loaded: 60 ms.
    gc.freeze()
    daemon.manager()


def run_task(requests: io.BufferedReader, answers: io.BufferedWriter) -> None:
    """Run the next task, or end the process if Spark has closed the connection of an idle worker.

    PySpark would report the closed connection over that connection, and print a traceback.
    """
    if not select.select([requests], [], [], SECONDS_OF_WORK)[0]:
        memory.give_back()
    try:
        is_closed = not requests.peek(1)
    except ConnectionError:
        is_closed = True
    if is_closed:
        sys.exit(1)
    _run_task(requests, answers)
