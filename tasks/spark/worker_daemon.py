"""Spark's Python daemon, with the kernels' imports made before it forks.

Spark ends Python workers that idle for a minute; the next ones are forks of this process and so
begin with everything loaded.
"""

import numpy  # noqa: F401
import pyarrow.ipc  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark import daemon

if __name__ == "__main__":
    daemon.manager()
