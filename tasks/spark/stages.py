"""Run a stage: one kernel over a list of tasks, each task as a Spark task of its own.

A kernel is a module-level function of one picklable argument. Its result must be small, because it
comes back to the driver. Bulk data goes through files in a folder that all machines can reach.
"""

import logging
import pickle
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import pyarrow as pa
from grpc import RpcError
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from snapshots.store.errors import StoreUnreachable
from snapshots.store.layout import SIGNS
from snapshots.store.objects.paths import is_here, path_of, remove_tree
from tasks.spark.answering import ANSWER_SECONDS, Pulse, answers
from tasks.spark.capacity import HERE, Capacity
from tasks.spark.capacity import of as capacity_of
from tasks.spark.connect import is_remote
from tasks.spark.driver import kill_jvm
from tasks.spark.errors import (
    SparkStopped,
    SparkTaskFailed,
    SparkUnavailable,
    TaskLost,
    first_line,
    is_error_of_task,
    is_lost_daemon,
    is_lost_worker,
    last_line,
)
from tasks.spark.time_limits import within

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 0.2
SECONDS_BETWEEN_CALLS = 1.0
BEGUN = "begun"
"""The name of the sign that some task of a stage has begun."""
MOST_TRIES = 3
"""How often a stage is tried whose Python worker ends; three times is not by chance."""

RESULT = pa.schema([("place", pa.int64()), ("result", pa.binary())])
_RESULT_DDL = "place bigint, result binary"

Task = TypeVar("Task")
Result = TypeVar("Result")
Kernel = Callable[[Task], Result]
Advance = Callable[[int, str], None]
"""Is called with the weight of the finished tasks, and with words about what it waits for, which
are empty while it works; may raise to cancel the stage."""


class Stages(Protocol):
    """Runs stages; a kernel cannot tell where it runs."""

    @property
    def capacity(self) -> Capacity:
        """Return how many tasks run at the same time, and how much each may hold."""

    @property
    def shares_files(self) -> bool:
        """Tell whether tasks see the files of this machine."""

    def run(
        self,
        kernel: Kernel[Task, Result],
        tasks: Iterable[Task],
        *,
        weights: Sequence[int] | None = None,
        advance: Advance | None = None,
    ) -> list[Result]:
        """Return the kernel's results in the order of the tasks. Raises what ``advance`` raises."""


Progress = Callable[[str, int, int], None]
"""Is called with a phase, the amount done and the amount in all; may raise to cancel."""


def run_phase(
    stages: Stages,
    progress: Progress,
    phase: str,
    kernel: Kernel[Task, Result],
    tasks: Iterable[Task],
    weights: Sequence[int],
) -> list[Result]:
    """Run a stage as a phase of a job and report its progress. Raises what ``progress`` raises."""
    goal = sum(weights)
    progress(phase, 0, goal)

    def advance(done: int, words: str) -> None:
        progress(f"{phase}: {words}" if words else phase, done, goal)

    return stages.run(kernel, tasks, weights=weights, advance=advance)


class StagesHere:
    """Runs every task in this process, one after the other.

    ``capacity`` only says into how many tasks the work is divided.
    """

    shares_files = True

    def __init__(self, capacity: Capacity = HERE) -> None:
        self.capacity = capacity

    def run(
        self,
        kernel: Kernel[Task, Result],
        tasks: Iterable[Task],
        *,
        weights: Sequence[int] | None = None,
        advance: Advance | None = None,
    ) -> list[Result]:
        results = []
        done = 0
        for number, task in enumerate(tasks):
            results.append(kernel(task))
            done += weights[number] if weights else 1
            if advance:
                advance(done, "")
        return results


class SparkStages:
    """Runs every task as a Spark task.

    ``folder`` holds the signs of progress, and must be reachable from driver and executors. Without
    one they are in a temporary folder, which only executors of this machine reach.
    """

    def __init__(self, session: SparkSession, folder: Path | None = None) -> None:
        self._session = session
        self._folder = folder

    @property
    def capacity(self) -> Capacity:
        return within(ANSWER_SECONDS, lambda: capacity_of(self._session))

    @property
    def shares_files(self) -> bool:
        """Tell whether the executors are on this machine for certain."""
        if is_remote(self._session):
            return False
        return (self._session.sparkContext.master or "").startswith("local")

    def run(
        self,
        kernel: Kernel[Task, Result],
        tasks: Iterable[Task],
        *,
        weights: Sequence[int] | None = None,
        advance: Advance | None = None,
    ) -> list[Result]:
        tasks = list(tasks)
        if not tasks:
            return []
        for _ in range(MOST_TRIES - 1):
            try:
                return self._run(kernel, tasks, weights, advance)
            except TaskLost as error:
                logger.warning("%s It will be run again.", error)
        return self._run(kernel, tasks, weights, advance)

    def _run(
        self,
        kernel: Kernel[Task, Result],
        tasks: list[Task],
        weights: Sequence[int] | None,
        advance: Advance | None,
    ) -> list[Result]:
        if advance is None:
            return self._watched(kernel, tasks, None, lambda pulse: None)
        signs = _folder_of_signs(self._folder)
        try:
            look = partial(_tell, weights or [1] * len(tasks), advance, signs)
            return self._watched(kernel, tasks, str(signs), look)
        finally:
            remove_tree(signs)

    def _watched(
        self,
        kernel: Kernel[Task, Result],
        tasks: list[Task],
        signs: str | None,
        look: Callable[[Pulse], None],
    ) -> list[Result]:
        """Run the stage in a thread, and end it if Spark no longer answers.

        ``look`` is called several times a second; what it raises cancels the stage.
        """
        tag = f"cutline-{uuid.uuid4().hex}"
        outcome: dict[str, Any] = {}
        worker = threading.Thread(
            target=self._collect_into, args=(outcome, tag, kernel, tasks, signs), daemon=True
        )
        worker.start()
        try:
            with Pulse(self._session) as pulse:
                while worker.is_alive() and not pulse.stopped:
                    worker.join(SECONDS_BETWEEN_LOOKS)
                    look(pulse)
        except BaseException:
            self._call_off(tag, worker)
            raise
        if worker.is_alive():
            raise self._stopped("it no longer answers.")
        if "error" in outcome:
            raise outcome["error"]
        return outcome["results"]

    def _call_off(self, tag: str, worker: threading.Thread) -> None:
        """Interrupt the stage until it ends; kill a JVM in which it does not end.

        The first call may come before the stage has begun in the JVM, and then has no effect.
        """
        deadline = time.monotonic() + ANSWER_SECONDS
        with suppress(Exception):  # a Spark that is gone has nothing to interrupt
            while worker.is_alive() and time.monotonic() < deadline:
                within(ANSWER_SECONDS, lambda: _interrupt(self._session, tag))
                worker.join(SECONDS_BETWEEN_CALLS)
        if worker.is_alive() and not is_remote(self._session):
            kill_jvm()

    def _collect_into(
        self, outcome: dict[str, Any], tag: str, kernel: Kernel, tasks: list, signs: str | None
    ) -> None:
        try:
            self._begin(tag, kernel)
            outcome["results"] = self._collect(kernel, tasks, signs)
        except BaseException as error:
            outcome["error"] = error

    def _begin(self, tag: str, kernel: Kernel) -> None:
        try:
            _tag(self._session, tag)
        except Exception as error:
            raise self._failure(kernel, error) from error

    def _collect(
        self, kernel: Kernel[Task, Result], tasks: list[Task], signs: str | None
    ) -> list[Result]:
        try:
            numbers = self._session.range(0, len(tasks), 1, len(tasks))
            table = numbers.mapInArrow(_each(kernel, tasks, signs), _RESULT_DDL).toArrow()
        except Exception as error:
            raise self._failure(kernel, error) from error
        results: dict[int, Result] = {}
        for number, packed in zip(*(column.to_pylist() for column in table.columns), strict=True):
            refused, result = pickle.loads(packed)
            if refused:
                raise result
            results[number] = result
        return [results[number] for number in range(len(tasks))]

    def _failure(self, kernel: Kernel, error: Exception) -> Exception:
        """Return the error to raise for Spark's; it is the task's own only if Spark answers."""
        if not answers(self._session):
            return self._stopped(first_line(error))
        if is_lost_daemon(error):
            return SparkUnavailable(f"Spark cannot start its Python workers: {last_line(error)}")
        task = f"The Spark task {kernel.__name__}"
        if is_lost_worker(error):
            return TaskLost(f"{task} ended with its Python worker. Is the memory too small?")
        if isinstance(error, PySparkException | Py4JJavaError):
            kind = SparkTaskFailed if is_error_of_task(error) else TaskLost
            return kind(f"{task} failed: {last_line(error)}")
        if isinstance(error, Py4JError | OSError | RpcError):
            return self._stopped(first_line(error))
        return error

    def _stopped(self, reason: str) -> SparkUnavailable:
        """Return the error for a Spark that is gone; others may have restarted a server."""
        kind = SparkUnavailable if is_remote(self._session) else SparkStopped
        return kind(f"Spark stopped while it worked: {reason}")


def _folder_of_signs(folder: Path | None) -> Path:
    """Make a new folder for signs in another one, or in a temporary folder of this machine."""
    if folder is None or is_here(folder):
        return Path(tempfile.mkdtemp(prefix=SIGNS, dir=folder))
    return folder / f"{SIGNS}{uuid.uuid4().hex}"


def _tell(weights: Sequence[int], advance: Advance, signs: Path, pulse: Pulse) -> None:
    """Report how many tasks have left a sign, and what the stage waits for."""
    names = {sign.name for sign in signs.iterdir()}
    done = [int(name) for name in names - {BEGUN}]
    advance(sum(weights[number] for number in done), pulse.waits_for(BEGUN in names))


def _tag(session: SparkSession, tag: str) -> None:
    """Tag the jobs that this thread runs.

    A classic session's tags are visible only to its own thread, so no other thread could interrupt
    by them. Those of the context are visible to all.
    """
    if is_remote(session):
        session.addTag(tag)
    else:
        session.sparkContext.addJobTag(tag)


def _interrupt(session: SparkSession, tag: str) -> None:
    if is_remote(session):
        session.interruptTag(tag)
    else:
        session.sparkContext.cancelJobsWithTag(tag)


def _each(
    kernel: Kernel[Task, Result], tasks: list[Task], signs: str | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function for ``mapInArrow`` over a DataFrame of indices into ``tasks``."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if signs is not None:
                (path_of(signs) / BEGUN).touch()
            for number in batch.column(0).to_pylist():
                packed = pickle.dumps(_outcome(kernel, tasks[number]))
                if signs is not None:
                    (path_of(signs) / str(number)).touch()
                columns = [pa.array([number]), pa.array([packed])]
                yield pa.RecordBatch.from_arrays(columns, schema=RESULT)

    return run


def _outcome(
    kernel: Kernel[Task, Result], task: Task
) -> tuple[Literal[False], Result] | tuple[Literal[True], Exception]:
    """Return (False, result), or (True, error) for an error that a retry cannot fix."""
    try:
        return False, kernel(task)
    except (OSError, StoreUnreachable) as error:  # its message says more than a retry's
        return True, error
    except Exception as error:
        if getattr(error, "permanent", False):
            return True, error
        raise
