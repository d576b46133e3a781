"""A micro-batch query for the gallery: a batch that was delivered and never committed."""

from snapshots.domain.dataflow_logs.dataflow import FORWARD, HASH, Dataflow, Edge, Vertex
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.micro_batches.driver import DRIVER
from snapshots.domain.simulators.micro_batches.simulation import SparkSimulation, run_spark
from snapshots.domain.simulators.protocols.spark_epochs import BatchSettings
from snapshots.domain.simulators.sample import Sample
from snapshots.domain.simulators.script import Log

CRASH_AT = 66_500
"""Batch 2 has gone to the sinks then, and its commit is being written."""


def delivered_twice() -> SparkSimulation:
    """Two splits, a counter by key, and two sinks: one appends, one knows a batch by its number."""
    flow = Dataflow(
        (
            Vertex("source", "source", 2, rate=1_000, records=70, cost=80, keys=4),
            Vertex("count", "operator", 2, function="count", cost=80),
            Vertex("lines", "sink", 2, sink="plain", cost=40),
            Vertex("table", "sink", 2, sink="idempotent", cost=40),
        ),
        (
            Edge("source", "count", HASH),
            Edge("count", "lines", FORWARD),
            Edge("count", "table", FORWARD),
        ),
    )
    return SparkSimulation(
        flow,
        BatchSettings(interval=20_000, cores=4),
        commit_time=2_000,
        failures=(FailAt(CRASH_AT, DRIVER),),
    )


def delivered_twice_log() -> Log:
    """Return the log of ``delivered_twice``."""
    return run_spark(delivered_twice(), "a batch delivered twice").log


SPARK_SAMPLES = (
    Sample(
        "uncommitted-batch",
        "A batch delivered twice",
        "Instead of sending barriers, this engine cuts the input into batches: it writes down "
        "which records come next, runs them through all tasks, hands the result to the sinks and "
        "notes that the batch is done; the snapshot lies between two batches, when nothing is on "
        "the way. Here it dies after batch 2 has reached the sinks and before that is noted. The "
        "same records run again under the same number: the table knows the number and takes "
        "nothing twice, the list of lines has them all twice.",
        delivered_twice_log,
    ),
)
