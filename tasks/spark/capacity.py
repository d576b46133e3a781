"""How many tasks a session runs at the same time, and how much each may hold: asked of the session,
for the machine of the driver says nothing about a cluster."""

import re
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from tasks.spark.connect import is_remote

CORES_IF_UNKNOWN = 2
PARTS_PER_CORE = 4
"""Tasks of unequal length are spread evenly if there are several for each core."""
MANY_ROWS = 100_000
"""Several parts are faster than one from this count of rows on."""
BYTES_PER_ROW = 1_000
"""More than a kernel was seen to take for each row of its task (600)."""
BYTES_OF_PYTHON = 3 * 2**29
"""The address space of a Python worker that has no row yet, for Spark limits address space."""
LEAST_ROWS = 10_000
_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a session can do at the same time.

    Args:
        cores: how many tasks run at the same time.
        most_rows: how many rows the memory of one task holds; None if no limit is known.
    """

    cores: int = 1
    most_rows: int | None = None

    def parts(self, rows: int, most: int) -> int:
        """Return into how many parts of at most ``most`` rows each to divide some rows."""
        most = min(most, self.most_rows or most)
        enough = min(PARTS_PER_CORE * self.cores, rows // MANY_ROWS)
        return max(-(-rows // most), enough, 1)

    def chunk(self, size: int, least: int, most: int) -> int:
        """Return how many bytes, or rows, of a source of ``size`` one task reads."""
        return min(most, max(least, size // (PARTS_PER_CORE * self.cores)))


HERE = Capacity()


def of(session: SparkSession) -> Capacity:
    """Return the capacity of the executors that have joined so far."""
    cores = _cores(session)
    return Capacity(cores, _most_rows(session, cores))


def _cores(session: SparkSession) -> int:
    """Return the cores of all executors. Spark assumes two until some have joined.

    Spark Connect has no call for it; its plan of a range says into how many parts it would be cut.
    """
    if not is_remote(session):
        return session.sparkContext.defaultParallelism
    numbers: Any = session.range(1)
    found = re.search(r"splits=(\d+)", numbers._explain_string())
    return int(found[1]) if found else CORES_IF_UNKNOWN


def _most_rows(session: SparkSession, cores: int) -> int | None:
    """Return how many rows fit into the memory that the cluster leaves each Python worker.

    Spark divides ``spark.executor.pyspark.memory`` among the cores of an executor, which are at
    most all cores. Without that setting Spark does not limit a Python worker. An executor's heap
    (``spark.executor.memory``) does not matter, for kernels hold their rows outside of it.
    """
    memory = session.conf.get("spark.executor.pyspark.memory", "")
    if not memory:
        return None
    sharing = int(session.conf.get("spark.executor.cores", "") or cores)
    return max((_bytes(memory) // sharing - BYTES_OF_PYTHON) // BYTES_PER_ROW, LEAST_ROWS)


def _bytes(amount: str) -> int:
    """Return the bytes of an amount like ``2g``; Spark takes a number without a unit as MiB."""
    digits, unit = amount.strip().lower().removesuffix("b"), "m"
    if digits[-1:] in _UNITS:
        digits, unit = digits[:-1], digits[-1]
    return int(digits) * _UNITS[unit]
