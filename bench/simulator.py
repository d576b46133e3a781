"""Events a second of the simulators and of the check: ``python -m bench.simulator [EVENTS …]``.

The check is everything between a log and its verdicts: the Spark jobs (read, order, match, write,
judge) from the log's text, and the plain-Python reference from the same events in memory. The ratio
is the reference's time divided by Spark's.
"""

import sys
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from bench.jobs import LIMITS
from bench.recordings import simulation
from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.dataflow import (
    HASH,
    SINK,
    SOURCE,
    TWO_PHASE,
    Dataflow,
    Edge,
    Vertex,
)
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.flink.simulation import DataflowSimulation, simulate_dataflow
from snapshots.readers.logs.native import write_lines
from tasks.spark import session
from tasks.spark.ingest.job import ingest
from tasks.spark.judge.job import judge_snapshots

SIZES = (10**5, 10**6)
MOST_FOR_REFERENCE = 10**6


def main() -> None:
    sizes = [int(float(text)) for text in sys.argv[1:]] or list(SIZES)
    session.warm()
    print(f"{'events':>10}  {'what':34} {'events/s':>10}")
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
            measure(Path(folder), size)
    session.stop()


def measure(folder: Path, size: int) -> None:
    run = simulation(size, seed=1)
    events, seconds = timed(lambda: list(simulate(run)))
    report(len(events), "simulator, Chandy-Lamport", seconds)
    flow = dataflow(size)
    made, seconds = timed(lambda: sum(1 for _ in islice(simulate_dataflow(flow), size)))
    report(made, "simulator, dataflow with checkpoints", seconds)
    log = folder / "log.jsonl"
    with log.open("wb") as file:
        file.writelines(write_lines(run.header("bench"), events))
    _, spark = timed(lambda: check_with_spark(log, folder / "store"))
    report(len(events), "check, Spark", spark)
    if len(events) <= MOST_FOR_REFERENCE * 1.1:
        header = run.header("bench")
        _, reference = timed(lambda: judge(assemble(header, events).recording))
        report(len(events), "check, plain-Python reference", reference)
        print(f"{'':10}  the reference takes {reference / spark:.1f} times as long", flush=True)


def dataflow(events: int) -> DataflowSimulation:
    """Return two sources, four counters and two two-phase sinks: about five events a record."""
    records = events // 10
    flow = Dataflow(
        (
            Vertex("source", SOURCE, 2, records=records, rate=0, cost=50, keys=100),
            Vertex("count", "operator", 4, function="count", cost=50),
            Vertex("sink", SINK, 2, sink=TWO_PHASE, cost=20),
        ),
        (Edge("source", "count", HASH), Edge("count", "sink", HASH)),
    )
    return DataflowSimulation(flow, most_events=events)


def check_with_spark(log: Path, store: Path) -> None:
    store.mkdir()
    ingest(log, store, limits=LIMITS, progress=_silent)
    judge_snapshots(store, _silent)


def _silent(*_: object) -> None:
    """Ignore progress."""


T = TypeVar("T")


def timed(act: Callable[[], T]) -> tuple[T, float]:
    began = perf_counter()
    return act(), perf_counter() - began


def report(events: int, what: str, seconds: float) -> None:
    print(f"{events:>10,}  {what:34} {events / seconds:>10,.0f}", flush=True)


if __name__ == "__main__":
    main()
