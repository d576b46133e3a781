"""A SeaTunnel job for the gallery: its splits change hands, twice."""

from snapshots.domain.dataflow_logs.dataflow import HASH, Dataflow, Edge, Vertex
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.protocols.seatunnel import PipelineSettings
from snapshots.domain.simulators.sample import Sample
from snapshots.domain.simulators.script import Log
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
)
