"""A stage: one kernel over a list of tasks, each task in a Spark task of its own.

A kernel is a module-level function of one picklable argument; what it returns must be small, since
it comes back to the driver. Bulk data goes through files in a folder that all can reach.
"""

import pickle
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from grpc import RpcError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tasks.spark.errors import SparkTaskFailed, SparkUnavailable, first_line

SECONDS_BETWEEN_LOOKS = 0.2

RESULT = pa.schema([("place", pa.int64()), ("result", pa.binary())])
_RESULT_DDL = "place bigint, result binary"

Advance = Callable[[int], None]
"""Called with the weight of the tasks that are done; may raise to cancel the stage."""


class Stages(Protocol):
    """Runs stages; the kernels cannot tell where."""

    def run(
        self,
        kernel: Callable[[Any], Any],
        tasks: Iterable[Any],
        *,
        weights: Sequence[int] | None = None,
        advance: Advance | None = None,
    ) -> list:
        """The kernel's results in the order of the tasks. Raises what ``advance`` raises."""


class StagesHere:
    """Runs every task in this process, one after the other."""

    def run(self, kernel, tasks, *, weights=None, advance=None):
        results = []
        done = 0
        for place, task in enumerate(tasks):
            results.append(kernel(task))
            done += weights[place] if weights else 1
            if advance:
                advance(done)
        return results


class SparkStages:
    """Runs every task as a Spark task; ``folder`` (a temporary one by default) holds the signs of
    progress and must be reachable from driver and workers."""

    def __init__(self, session: SparkSession, folder: Path | None = None) -> None:
        self._session = session
        self._folder = folder

    def run(self, kernel, tasks, *, weights=None, advance=None):
        tasks = list(tasks)
        if not tasks:
            return []
        if advance is None:
            return self._collect(kernel, tasks, None)
        signs = Path(tempfile.mkdtemp(prefix="signs-", dir=self._folder))
        try:
            return self._watched(kernel, tasks, weights or [1] * len(tasks), advance, signs)
        finally:
            shutil.rmtree(signs, ignore_errors=True)

    def _watched(self, kernel, tasks, weights, advance, signs):
        tag = f"cutline-{uuid.uuid4().hex}"
        outcome: dict[str, object] = {}
        worker = threading.Thread(
            target=self._collect_into, args=(outcome, tag, kernel, tasks, str(signs)), daemon=True
        )
        worker.start()
        try:
            while worker.is_alive():
                worker.join(SECONDS_BETWEEN_LOOKS)
                advance(sum(weights[int(sign.name)] for sign in signs.iterdir()))
        except BaseException:
            self._session.interruptTag(tag)
            worker.join()
            raise
        if "error" in outcome:
            raise outcome["error"]
        return outcome["results"]

    def _collect_into(self, outcome, tag, kernel, tasks, signs) -> None:
        try:
            self._session.addTag(tag)
            outcome["results"] = self._collect(kernel, tasks, signs)
        except BaseException as error:
            outcome["error"] = error

    def _collect(self, kernel, tasks, signs):
        places = self._session.range(0, len(tasks), 1, len(tasks))
        frame = places.mapInArrow(_each(kernel, tasks, signs), _RESULT_DDL)
        try:
            table = frame.toArrow()
        except PySparkException as error:
            raise SparkTaskFailed(_sentence(kernel, error)) from error
        except (Py4JError, OSError, RpcError) as error:  # the other side is gone
            raise SparkUnavailable(f"Spark stopped while it worked: {first_line(error)}") from error
        results: list = [None] * len(tasks)
        for place, packed in zip(*(column.to_pylist() for column in table.columns), strict=True):
            refused, result = pickle.loads(packed)
            if refused:
                raise result
            results[place] = result
        return results


def _each(kernel, tasks, signs):
    """The function for ``mapInArrow`` over a DataFrame of places in ``tasks``."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                packed = pickle.dumps(_outcome(kernel, tasks[place]))
                if signs is not None:
                    Path(signs, str(place)).touch()
                columns = [pa.array([place]), pa.array([packed])]
                yield pa.RecordBatch.from_arrays(columns, schema=RESULT)

    return run


def _outcome(kernel, task):
    """(False, result), or (True, error) for an error that a retry cannot mend."""
    try:
        return False, kernel(task)
    except OSError as error:  # no space, no such folder: the sentence is worth more than a retry
        return True, error
    except Exception as error:
        if getattr(error, "permanent", False):
            return True, error
        raise


def _sentence(kernel, error: PySparkException) -> str:
    """What failed, and the last line of the Python worker's traceback, or of Spark's message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("at ", "File ", "Caused by"))]
    return f"The Spark task {kernel.__name__} failed: {told[-1] if told else error}"
