"""SeaTunnel jobs for the gallery: splits change hands, and a part of a job goes back."""

from snapshots.domain.dataflow_logs.dataflow import HASH, REBALANCE, Dataflow, Edge, Vertex
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.protocols.seatunnel import PipelineSettings
from snapshots.domain.simulators.sample import Sample
from snapshots.domain.simulators.script import Log
from snapshots.domain.simulators.seatunnel.regions import REGION
from snapshots.domain.simulators.seatunnel.simulation import (
    SeaTunnelSimulation,
    StartFrom,
    run_seatunnel,
)


def splits_change_hands() -> SeaTunnelSimulation:
    """Three readers before the savepoint, two after it; a writer dies between two checkpoints."""
    flow = Dataflow(
        (
            Vertex("orders", "source", 2, rate=1_000, records=70, cost=100),
            Vertex("count", "operator", 2, function="count", cost=150),
            Vertex("files", "sink", 2, sink="two-phase", cost=80),
        ),
        (Edge("orders", "count", HASH), Edge("count", "files", HASH)),
    )
    return SeaTunnelSimulation(
        flow,
        PipelineSettings(interval=15_000),
        failures=(FailAt(25_000, ProcessId("files[0]")),),
        start_from=StartFrom(20_000, {"orders": 3}),
    )


def splits_change_hands_log() -> Log:
    """Return the log of ``splits_change_hands``."""
    return run_seatunnel(splits_change_hands(), "splits change hands").log


def only_what_failed() -> SeaTunnelSimulation:
    """A regional failover of an operator, then one of the sink, before which everything lies."""
    flow = Dataflow(
        (
            Vertex("orders", "source", 2, rate=1_000, records=50, cost=100),
            Vertex("clean", "operator", 2, cost=100),
            Vertex("count", "operator", 2, function="count", cost=150),
            Vertex("lines", "sink", 2, cost=80),
        ),
        (
            Edge("orders", "clean", REBALANCE),
            Edge("clean", "count", HASH),
            Edge("count", "lines", HASH),
        ),
    )
    failures = (FailAt(25_000, ProcessId("clean[0]")), FailAt(43_000, ProcessId("lines[0]")))
    return SeaTunnelSimulation(
        flow, PipelineSettings(interval=15_000), failures=failures, failover=REGION
    )


def only_what_failed_log() -> Log:
    """Return the log of ``only_what_failed``."""
    return run_seatunnel(only_what_failed(), "only what failed").log


SEATUNNEL_SAMPLES = (
    Sample(
        "splits-change-hands",
        "Splits change hands",
        "Here one process, the enumerator, hands the pieces of the input out to readers, and the "
        "checkpoint begins with it: barriers go from it to the readers, on to the writers, and "
        "from them to a committer that publishes what all have written. The job was stopped with "
        "a savepoint when it had three readers and goes on with two, so the pieces go back to the "
        "enumerator and out again. When a writer dies, all of them do so once more, and no line "
        "is published twice.",
        splits_change_hands_log,
    ),
    Sample(
        "only-what-failed",
        "Only what failed, and what lies before it",
        "The design of SeaTunnel restarts as little as it can: the operator that died and all "
        "before it. The tasks behind it go on, and skip by their ids the records that come again, "
        "so that a sink that only appends shows nothing twice. Then the sink itself dies. "
        "Everything lies before it, all goes back, and nobody is left who could skip.",
        only_what_failed_log,
    ),
)
