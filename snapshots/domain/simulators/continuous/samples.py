"""A continuous query for the gallery: an epoch that the sink has taken and no commit names."""

from snapshots.domain.dataflow_logs.dataflow import FORWARD, Dataflow, Edge, Vertex
from snapshots.domain.simulators.continuous.driver import DRIVER
from snapshots.domain.simulators.continuous.simulation import (
    ContinuousSimulation,
    run_continuous,
)
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.protocols.continuous_driver import EpochSettings
from snapshots.domain.simulators.sample import Sample
from snapshots.domain.simulators.script import Log

CRASH_AT = 42_500
"""The sink shows epoch 2 then, and its commit is being written."""


def taken_not_committed() -> ContinuousSimulation:
    """Two partitions, a filter, and a sink that shows an epoch when it has taken it over."""
    flow = Dataflow(
        (
            Vertex("source", "source", 2, rate=1_000, records=70, cost=80, keys=4),
            Vertex("filter", "operator", 2, function="filter", cost=80),
            Vertex("table", "sink", 2, sink="two-phase", cost=40),
        ),
        (Edge("source", "filter", FORWARD), Edge("filter", "table", FORWARD)),
    )
    return ContinuousSimulation(
        flow,
        EpochSettings(interval=20_000, poll_interval=2_000),
        commit_time=2_000,
        failures=(FailAt(CRASH_AT, DRIVER),),
    )


def taken_not_committed_log() -> Log:
    """Return the log of ``taken_not_committed``."""
    return run_continuous(taken_not_committed(), "an epoch delivered twice").log


CONTINUOUS_SAMPLES = (
    Sample(
        "uncommitted-epoch",
        "An epoch delivered twice",
        "Here no batch is planned: the tasks never stop, and the driver only counts epochs up. A "
        "reader that learns of a new number puts a marker between two records, and the snapshot "
        "of an epoch lies at its markers. The sink takes over epoch 2, and the query dies before "
        "that is noted in the log of commits. So it goes on behind epoch 1, and reads the records "
        "of epoch 2 again. A batch would come again with the same records under the same number, "
        "and a sink could tell. An epoch ends where its markers happen to be: these records come "
        "in an epoch with another end, and even a sink that shows only whole epochs has them "
        "twice.",
        taken_not_committed_log,
    ),
)
