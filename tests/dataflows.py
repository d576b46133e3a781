"""Builders of dataflows and of simulated runs of them, and the files that a run needs."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from random import Random

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.dataflow import (
    BROADCAST,
    FORWARD,
    HASH,
    REBALANCE,
    Dataflow,
    Edge,
    Vertex,
)
from snapshots.domain.dataflow_logs.events import fields_of
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.dataflow_logs.kinds import CP_ACK, CP_COMPLETE
from snapshots.domain.model.recording import Event, LoggedEvent
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.dataflows.results import DataflowRun
from snapshots.domain.simulators.flink.simulation import DataflowSimulation, run_dataflow
from snapshots.domain.simulators.protocols.flink_coordinator import CheckpointSettings
from snapshots.domain.simulators.protocols.flink_task import ALIGNED, AT_LEAST_ONCE

SINKS = ("plain", "idempotent", "two-phase")


def a_source(id_: str = "source", **parameters: object) -> Vertex:
    return Vertex(id_, "source", **{"rate": 2_000.0, "records": 40, "cost": 50, **parameters})


def a_sink(id_: str = "sink", **parameters: object) -> Vertex:
    return Vertex(id_, "sink", **{"sink": "two-phase", "cost": 60, **parameters})


def an_operator(id_: str, function: str, **parameters: object) -> Vertex:
    return Vertex(id_, "operator", function=function, **parameters)


def two_pipelines() -> Dataflow:
    """Return source -> sink, other -> archive."""
    return Dataflow(
        (a_source(), a_sink(), a_source("other", records=60), a_sink("archive")),
        (Edge("source", "sink", FORWARD), Edge("other", "archive", FORWARD)),
    )


def word_count(
    parallelism: int = 2, *, sink: str = "two-phase", cost: int = 250, **source: object
) -> Dataflow:
    """Return source =hash=> count =rebalance=> sink, all of the same parallelism."""
    return Dataflow(
        (
            a_source(parallelism=parallelism, **source),
            an_operator("count", "count", parallelism=parallelism, cost=cost),
            a_sink(parallelism=parallelism, sink=sink),
        ),
        (Edge("source", "count", HASH), Edge("count", "sink", REBALANCE)),
    )


def a_run_of(dataflow: Dataflow | None = None, **options: object) -> DataflowSimulation:
    """Return a short run with checkpoints every 10 ms.

    ``options`` are those of DataflowSimulation and CheckpointSettings.
    """
    names = CheckpointSettings.__dataclass_fields__
    settings = {"interval": 10_000, "tolerable_failures": 1_000, "align_timeout": 1_000}
    settings |= {name: options.pop(name) for name in list(options) if name in names}
    return DataflowSimulation(dataflow or word_count(), CheckpointSettings(**settings), **options)


def failing(simulation: DataflowSimulation, at: int, process: str) -> DataflowSimulation:
    return replace(simulation, failures=(*simulation.failures, FailAt(at, process)))


def any_dataflow(rng: Random) -> Dataflow:
    """Return a chain, union, join, diamond or two pipelines, with sinks of any kind."""
    wide = rng.randint(1, 3)
    source = a_source(
        parallelism=wide,
        records=rng.randint(0, 40),
        rate=rng.choice((0.0, 1_000.0, 4_000.0)),
        skew=rng.choice((0.0, 1.5)),
        keys=rng.randint(1, 6),
    )
    cost = rng.choice((20, 200, 600))
    sink = a_sink(parallelism=wide, sink=rng.choice(SINKS))
    shape = rng.choice((_chain, _union, _join, _diamond, _apart, _straight))
    return shape(rng, source, sink, cost)


def _chain(rng: Random, source: Vertex, sink: Vertex, cost: int) -> Dataflow:
    wide = source.parallelism
    first = rng.choice(("map", "filter", "flatmap"))
    exchange = rng.choice((FORWARD, REBALANCE, BROADCAST))
    last = rng.choice((FORWARD, HASH, REBALANCE))
    middle = an_operator(first, first, parallelism=wide, cost=cost)
    keyed = an_operator("sum", "sum", parallelism=wide, cost=cost)
    edges = (Edge("source", first, exchange), Edge(first, "sum", HASH), Edge("sum", "sink", last))
    return Dataflow((source, middle, keyed, sink), edges)


def _union(rng: Random, source: Vertex, sink: Vertex, cost: int) -> Dataflow:
    other = replace(source, id="other", parallelism=1, records=source.records // 2)
    keyed = an_operator("count", "count", parallelism=source.parallelism, cost=cost)
    edges = (Edge("source", "count", HASH), Edge("other", "count", HASH))
    return Dataflow((source, other, keyed, sink), (*edges, Edge("count", "sink", HASH)))


def _join(rng: Random, source: Vertex, sink: Vertex, cost: int) -> Dataflow:
    other = replace(source, id="other", rate=1_500.0)
    joined = an_operator("join", "join", parallelism=source.parallelism, cost=cost)
    edges = (Edge("source", "join", HASH), Edge("other", "join", HASH))
    return Dataflow((source, other, joined, sink), (*edges, Edge("join", "sink", FORWARD)))


def _diamond(rng: Random, source: Vertex, sink: Vertex, cost: int) -> Dataflow:
    wide = source.parallelism
    slow = an_operator("slow", "map", parallelism=wide, cost=2 * cost)
    keyed = an_operator("count", "count", parallelism=wide, cost=cost)
    edges = (
        Edge("source", "slow", rng.choice((FORWARD, REBALANCE))),
        Edge("source", "count", HASH),
        Edge("slow", "count", HASH),
        Edge("count", "sink", FORWARD),
    )
    return Dataflow((source, slow, keyed, sink), edges)


def _apart(rng: Random, source: Vertex, sink: Vertex, cost: int) -> Dataflow:
    """Return two pipelines."""
    one = word_count(source.parallelism, sink=sink.sink, cost=cost, records=source.records)
    other = (replace(source, id="other"), replace(sink, id="archive", sink="two-phase"))
    return Dataflow((*one.vertices, *other), (*one.edges, Edge("other", "archive", FORWARD)))


def _straight(rng: Random, source: Vertex, sink: Vertex, cost: int) -> Dataflow:
    """Return only forward edges, so that there are as many regions as subtasks side by side."""
    total = an_operator("total", "total", parallelism=source.parallelism, cost=cost)
    return Dataflow((source, total, sink), (Edge("source", "total"), Edge("total", "sink")))


def any_simulation(rng: Random, mode: str) -> DataflowSimulation:
    """Return a run without failures; some have small buffers, some a slow task."""
    dataflow = any_dataflow(rng)
    slow = rng.choice((None, *(subtask.id for subtask in dataflow.subtasks)))
    return a_run_of(
        dataflow,
        mode=mode,
        interval=rng.choice((1_500, 4_000)),
        align_timeout=rng.choice((0, 500, 3_000)),
        max_concurrent=rng.choice((1, 2)) if mode in (ALIGNED, AT_LEAST_ONCE) else 1,
        min_pause=rng.choice((0, 1_000)),
        timeout=rng.choice((8_000, 10_000_000)),
        retained=rng.randint(1, 2),
        savepoints=rng.choice(((), (5_000,), (6_000, 11_000))),
        seed=rng.randrange(2**32),
        buffer=rng.choice((1, 2, 8)),
        slow={} if slow is None else {slow: 4.0},
        mean_delay=rng.choice((50, 1_000)),
        async_time=rng.choice((100, 2_000)),
        incremental=rng.random() < 0.5,
        lost_notices=frozenset(rng.sample(range(1, 6), rng.randint(0, 2))),
        most_restarts=200,
        most_events=100_000,
    )


def with_failures(rng: Random, simulation: DataflowSimulation, duration: int) -> DataflowSimulation:
    """Return the run with one failure or two, at random moments within ``duration`` (us)."""
    tasks = [subtask.id for subtask in simulation.dataflow.subtasks]
    for _ in range(rng.randint(1, 2)):
        simulation = failing(simulation, rng.randint(0, duration), rng.choice(tasks))
    return replace(
        simulation,
        failover=rng.choice(("full", "region", "pipeline")),
        restart_delay=rng.choice((0, 4_000)),
    )


def differences(run) -> list[object]:
    """Return where the analysis of a run's log differs from what the simulator counted."""
    found = all_failovers(assemble(*run.log).recording)
    told = [
        (total.effect.sink, total.effect.duplicates, total.effect.rewritten, total.effect.lost)
        for total in found.sinks
    ]
    counted = run.counted
    true = [
        (sink, counted.duplicates[sink], counted.rewritten[sink], counted.lost[sink])
        for sink, *_ in told
    ]
    told += [{item.split: item.records for item in report.re_read} for report in found.reports]
    true += [failure.re_read for failure in counted.failures]
    return [pair for pair in zip(told, true, strict=True) if pair[0] != pair[1]]


def needed_files(events: Iterable[Event | LoggedEvent]) -> dict[str, tuple[int, ...]]:
    """Return for every file the checkpoints that need it, of those retained at the end.

    The files are those that an acknowledgement names. A file that none needs may be deleted.
    """
    files_of: dict[int, set[str]] = {}
    retained: list[int] = []
    for event in sorted(events, key=lambda event: event.line):
        if event.kind == CP_ACK and event.snapshot is not None:
            files = {handle["file"] for handle in fields_of(event.extra)["handles"]}
            files_of.setdefault(int(event.snapshot), set()).update(files)
        elif event.kind == CP_COMPLETE:
            retained = fields_of(event.extra)["retained"]
    return {
        file: tuple(cid for cid in retained if file in files_of.get(cid, ()))
        for file in sorted(set().union(*files_of.values()))
    }


@cache
def any_run(seed: int, mode: str) -> DataflowRun:
    """Simulate a random run; two of three have failures."""
    rng = Random(seed)
    simulation = any_simulation(rng, mode)
    if seed % 3:
        end = run_dataflow(simulation).log.events[-1].at
        simulation = with_failures(rng, simulation, end)
    return run_dataflow(simulation)
