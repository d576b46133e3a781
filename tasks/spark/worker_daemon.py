"""Run Spark's Python daemon with the kernels loaded before it forks.

Spark ends Python workers that idle for a minute. The next ones are forks of this process and so
begin with everything loaded.
"""

import pyspark.worker  # noqa: F401
from pyspark import daemon

import tasks.spark.ingest.job
import tasks.spark.judge.job  # noqa: F401

if __name__ == "__main__":
    daemon.manager()
