"""Failures at random moments: the run with one compared to the run without.

Each seed is another dataflow, with other parameters and other failures; DATAFLOW_EXAMPLES=1000
tries that many in each mode.
"""

import os
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.dataflow import (
    FORWARD,
    HASH,
    IDEMPOTENT,
    SINK,
    TWO_PHASE,
    Dataflow,
    Vertex,
)
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import SEND, LoggedEvent
from snapshots.domain.simulators.dataflows.functions import is_keyed
from snapshots.domain.simulators.dataflows.lanes import Lane
from snapshots.domain.simulators.dataflows.results import DataflowRun
from snapshots.domain.simulators.flink.simulation import run_dataflow
from snapshots.domain.simulators.protocols import flink_task
from snapshots.domain.simulators.protocols.flink_task import (
    ALIGNED,
    AT_LEAST_ONCE,
    TIMEOUT,
    UNALIGNED,
    Block,
    Unblock,
)
from tests.dataflows import any_simulation, with_failures

pytestmark = pytest.mark.slow

SEEDS = range(int(os.environ.get("DATAFLOW_EXAMPLES") or 16))
EXACTLY_ONCE = (ALIGNED, UNALIGNED, TIMEOUT)


def outcome(run: DataflowRun) -> dict[str, object]:
    """Return what must not depend on a failure: states, and what readers of the sinks see."""
    counted = run.counted
    flow = Dataflow.from_json(run.log.header.extra["dataflow"])
    sinks = [vertex for vertex in flow.vertices if vertex.kind == SINK]
    return {
        "states": counted.states,
        "committed": {
            sink.id: Counter(record.rid for record in counted.visible[sink.id])
            for sink in sinks
            if sink.sink == TWO_PHASE
        },
        "tables": {
            sink.id: counted.tables.get(sink.id)
            for sink in sinks
            if sink.sink == IDEMPOTENT and keeps_order_by_key(flow, sink)
        },
    }


def keeps_order_by_key(flow: Dataflow, sink: Vertex) -> bool:
    """Tell whether all values of a key come over one channel, so that the last one is the same."""
    (edge,) = flow.edges_to(sink.id)
    return is_keyed(flow.vertex_by_id[edge.source]) and edge.exchange in (HASH, FORWARD)


def without_defects(run: DataflowRun):
    assembly = assemble(*run.log)
    assert assembly.defects == ()
    return assembly.recording


def both_runs(seed: int, mode: str, **options: object) -> tuple[DataflowRun, DataflowRun]:
    """Simulate the same run without a failure and with one or two."""
    rng = Random(seed)
    calm = any_simulation(rng, mode)
    expected = run_dataflow(calm)
    end = expected.log.events[-1].at
    return expected, run_dataflow(with_failures(rng, calm, end), **options)


@pytest.mark.parametrize("mode", EXACTLY_ONCE)
def test_exactly_once_a_failure_changes_neither_states_nor_committed_output(mode):
    seen: Counter[str] = Counter()

    for seed in SEEDS:
        expected, failed = both_runs(seed, mode)
        assert expected.counted.finished
        assert failed.counted.finished, seed
        assert outcome(failed) == outcome(expected), seed
        assert not any(failed.counted.lost.values()), seed
        recording = without_defects(failed)
        completed = set(map(str, failed.counted.completed))
        for report in judge(recording):
            if report.snapshot in completed:
                assert report.counts == {"consistent": 1}, (seed, report.snapshot)
        seen["failed"] += bool(failed.counted.failures)
        seen["restored"] += any(item.snapshot for item in failed.counted.failures)
        seen["records in channels"] += bool(failed.counted.channel_state)
        seen["put back"] += any(is_put_back(event) for event in failed.log.events)
        seen["transactions recovered"] += "tx_recover_commit" in kinds(failed)

    assert seen["restored"]
    assert mode == ALIGNED or seen["put back"]


def kinds(run: DataflowRun) -> set[str]:
    return {event.kind for event in run.log.events}


def is_put_back(event: LoggedEvent) -> bool:
    return event.kind == SEND and '"restored":true' in (event.extra or "")


def test_at_least_once_repeats_in_some_runs_and_never_loses():
    seen: Counter[str] = Counter()

    for seed in SEEDS:
        expected, failed = both_runs(seed, AT_LEAST_ONCE)
        assert failed.counted.finished, seed
        assert not any(failed.counted.lost.values()), seed
        recording = without_defects(failed)
        seen["duplicates"] += any(failed.counted.duplicates.values())
        seen["orphans"] += any("orphan" in report.counts for report in judge(recording))
        seen["other states"] += failed.counted.states != expected.counted.states

    assert seen["duplicates"]
    assert seen["orphans"]
    assert seen["other states"]


def test_unaligned_comes_to_the_same_end_as_aligned():
    for seed in SEEDS:
        calm = any_simulation(Random(seed), UNALIGNED)
        aligned = replace(calm, checkpoints=replace(calm.checkpoints, mode=ALIGNED))
        assert outcome(run_dataflow(calm)) == outcome(run_dataflow(aligned)), seed


class NotBlocking:
    """Step functions of a task with a broken rule: in exactly-once, no channel is blocked."""

    def __getattr__(self, name):
        step = getattr(flink_task, name)

        def broken(*arguments, **options):
            task, effects = step(*arguments, **options)
            return task, tuple(item for item in effects if not isinstance(item, Block | Unblock))

        return broken if name.startswith("on_") else step


def test_without_blocking_the_check_finds_orphans_and_ends_differ():
    runs = [both_runs(seed, ALIGNED, steps=NotBlocking()) for seed in range(30)]
    assert any(has_verdict(failed, "orphan") for _, failed in runs)
    assert any(outcome(failed) != outcome(expected) for expected, failed in runs)


def test_without_the_overtaken_records_the_check_finds_losses_and_ends_differ(monkeypatch):
    def forgetful(lane, item, ahead):
        jump(lane, item, [])

    jump = Lane._jump
    monkeypatch.setattr(Lane, "_jump", forgetful)
    runs = [both_runs(seed, UNALIGNED) for seed in range(30)]
    assert any(has_verdict(failed, "lost") for _, failed in runs)
    assert any(outcome(failed) != outcome(expected) for expected, failed in runs)


def has_verdict(run: DataflowRun, verdict: str) -> bool:
    return any(verdict in report.counts for report in judge(assemble(*run.log).recording))
