"""What a regional failure does at each kind of sink, with each kind of source, from simulated runs.

``.venv/bin/python -m snapshots.simulating.sinks_and_sources`` prints the table of
docs/formats/protocols.md, "5.1 Regional failover".
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.dataflow import (
    HASH,
    IDEMPOTENT,
    PLAIN,
    REBALANCE,
    TWO_PHASE,
    Dataflow,
    Edge,
    Vertex,
)
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.dataflow_logs.kinds import CP_COMPLETE
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.dataflows.results import DataflowRun
from snapshots.domain.simulators.protocols.seatunnel import PipelineSettings
from snapshots.domain.simulators.seatunnel.regions import GO_ON, REGION, RESTART
from snapshots.domain.simulators.seatunnel.simulation import SeaTunnelSimulation, run_seatunnel

SINKS = {
    "neither idempotent nor two-phase": (PLAIN, ()),
    "idempotent": (IDEMPOTENT, ()),
    "two-phase, with a committer": (TWO_PHASE, ()),
    "two-phase, each writer commits": (TWO_PHASE, ("sink",)),
}
SOURCES = {
    "gives the same again": ((), RESTART),
    "cannot; restart the pipeline": (("orders",), RESTART),
    "cannot; go on all the same": (("orders",), GO_ON),
}
FAILED = {"an operator": "clean[0]", "the sink": "sink[0]"}
MOMENTS = range(21_000, 39_000, 2_000)
HEAD = (
    "| fails | sink | source | restarts | shown twice | lost | skipped | counted twice | right |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
)


@dataclass(frozen=True, slots=True)
class Row:
    """What came of the failures at one kind of sink with one kind of source.

    The numbers are sums over all moments of a failure, counted from the logs alone.

    Attributes:
        failed: what fails.
        sink: the kind of sink.
        source: the kind of source; "any" if everything restarts.
        restarts: what restarts.
        twice: how many records the sink shows twice.
        lost: how many records nobody will ever see.
        skipped: how many records were skipped by their ids.
        counted_twice: how many records entered the state of an operator twice.
        is_right: whether sink and states end in each run as without a failure.
    """

    failed: str
    sink: str
    source: str
    restarts: str
    twice: int
    lost: int
    skipped: int
    counted_twice: int
    is_right: bool


def rows() -> Iterator[Row]:
    """Run the job with each kind of sink and source, and yield what came of it."""
    for failed, process in FAILED.items():
        for sink in SINKS:
            sources = list(SOURCES) if failed == "an operator" else ["gives the same again"]
            for source in sources:
                yield _row(failed, process, sink, source)


def table() -> str:
    """Return the rows as a table of a document."""
    return HEAD + "".join(
        f"| {row.failed} | {row.sink} | {row.source} | {row.restarts} | {row.twice} | {row.lost} "
        f"| {row.skipped} | {row.counted_twice} | {'yes' if row.is_right else '**no**'} |\n"
        for row in rows()
    )


def _row(failed: str, process: str, sink: str, source: str) -> Row:
    kind, calm = SINKS[sink][0], _calm(sink)
    completed = next(event for event in calm.log.events if event.kind == CP_COMPLETE)
    assert completed.at is not None  # a simulated event has its time
    moments = [completed.at + 50, *MOMENTS]  # once between a checkpoint and the word of it
    runs = [_run(sink, source, FailAt(at, ProcessId(process))) for at in moments]
    found = [all_failovers(assemble(*run.log).recording) for run in runs]
    effects = [item.sinks[0].effect for item in found]
    reports = [item.reports[0] for item in found]
    everything = all(report.went_on == 0 for report in reports)
    return Row(
        failed,
        sink,
        source if failed == "an operator" else "any",
        "the pipeline" if everything else "the operator and the source",
        twice=sum(effect.duplicates for effect in effects),
        lost=sum(effect.lost for effect in effects),
        skipped=sum(report.skipped or 0 for report in reports),
        counted_twice=sum(report.counted_twice or 0 for report in reports),
        is_right=all(_ending(run, kind) == _ending(calm, kind) for run in runs),
    )


def _ending(run: DataflowRun, kind: str) -> tuple[object, ...]:
    """Return what a run has come to: what the sink shows, and the counts by key.

    An idempotent sink shows the last value of each key, the others each record.
    """
    counted = run.counted
    counts = [state for name, state in counted.states.items() if name.startswith("count")]
    if kind == IDEMPOTENT:
        return counted.tables["sink"], counts
    return sorted(record.rid for record in counted.visible["sink"]), counts


@cache
def _calm(sink: str) -> DataflowRun:
    return run_seatunnel(_job(sink))


def _run(sink: str, source: str, failure: FailAt) -> DataflowRun:
    unrepeatable, on_unrepeatable = SOURCES[source]
    return run_seatunnel(
        replace(
            _job(sink),
            failures=(failure,),
            unrepeatable=unrepeatable,
            on_unrepeatable=on_unrepeatable,
        )
    )


def _job(sink: str) -> SeaTunnelSimulation:
    kind, writer_commits = SINKS[sink]
    flow = Dataflow(
        (
            Vertex("orders", "source", 2, rate=1_000, records=60, cost=100),
            Vertex("clean", "operator", 2, cost=100),
            Vertex("count", "operator", 2, function="count", cost=150),
            Vertex("sink", "sink", 2, sink=kind, cost=80),
        ),
        (
            Edge("orders", "clean", REBALANCE),
            Edge("clean", "count", HASH),
            Edge("count", "sink", HASH),
        ),
    )
    return SeaTunnelSimulation(
        flow, PipelineSettings(interval=15_000), writer_commits=writer_commits, failover=REGION
    )


if __name__ == "__main__":
    print(table(), end="")  # noqa: T201, its output is the table
