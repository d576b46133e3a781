"""Failures analysed from a log, compared with what the simulator counted while it wrote the log.

DATAFLOW_EXAMPLES=1000 tries that many dataflows in each mode.
"""

import json
import os
from collections import Counter
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.dataflow import FORWARD, Dataflow, Edge
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers, failovers
from snapshots.domain.dataflow_logs.failovers.report import MOST_EXAMPLES, Failovers, compare
from snapshots.domain.dataflow_logs.kinds import WRITE
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import RECORD_STATE
from snapshots.domain.model.topology import Process
from snapshots.domain.simulators.dataflows.lanes import Lane
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.dataflows.results import DataflowRun
from snapshots.domain.simulators.flink.samples import counted_twice, smallest
from snapshots.domain.simulators.flink.simulation import DataflowSimulation, run_dataflow
from snapshots.domain.simulators.micro_batches.samples import delivered_twice_log
from snapshots.domain.simulators.micro_batches.simulation import SparkSimulation, run_spark
from snapshots.domain.simulators.protocols.flink_task import ALIGNED, AT_LEAST_ONCE, MODES
from snapshots.domain.simulators.samples import two_banks
from snapshots.domain.simulators.script import Log
from tests.dataflow_damage import garbled
from tests.dataflows import (
    a_run_of,
    a_sink,
    a_source,
    any_simulation,
    failing,
    with_failures,
    word_count,
)
from tests.effort import examples

pytestmark = pytest.mark.slow

SEEDS = range(int(os.environ.get("DATAFLOW_EXAMPLES") or examples(12)))


@cache
def any_run(seed: int, mode: str) -> DataflowRun:
    """Simulate a random run with one failure or two."""
    rng = Random(seed)
    simulation = any_simulation(rng, mode)
    end = run_dataflow(simulation).log.events[-1].at
    return run_dataflow(with_failures(rng, simulation, end))


def text(checkpoint: int | None) -> str | None:
    return None if checkpoint is None else str(checkpoint)


def told(run: DataflowRun) -> Failovers:
    return all_failovers(assemble(*run.log).recording)


@pytest.mark.parametrize("mode", MODES)
def test_the_analysis_of_the_log_equals_what_the_simulator_counted(mode):
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        run = any_run(seed, mode)
        found, counted = told(run), run.counted
        assert [
            (r.process, r.at, r.scope, r.restored, r.restarted_at, r.caught_up_at)
            for r in found.reports
        ] == [
            (
                f.process,
                f.at,
                f.scope,
                text(f.snapshot),
                f.restarted_at,
                f.caught_up_at,
            )
            for f in counted.failures
        ], seed
        for report, failure in zip(found.reports, counted.failures, strict=True):
            assert {item.split: item.records for item in report.re_read} == failure.re_read, seed
            assert report.records_re_read == sum(failure.re_read.values())
            assert report.time_to_catch_up == failure.time_to_catch_up
        sinks = {total.effect.sink: total for total in found.sinks}
        assert {s: len(w) for s, w in counted.written.items()} == {
            s: total.written for s, total in sinks.items()
        }
        for sink, total in sinks.items():
            assert total.visible == len(counted.visible[sink]), (seed, sink)
            assert total.effect.duplicates == counted.duplicates[sink], (seed, sink)
            assert total.effect.rewritten == counted.rewritten[sink], (seed, sink)
            assert total.effect.lost == counted.lost[sink] == 0, (seed, sink)
            assert total.pending == 0
        assert found.dropped == ()
        seen["restored"] += any(report.restored for report in found.reports)
        seen["duplicates"] += any(total.effect.duplicates for total in found.sinks)
        seen["rewritten"] += any(total.effect.rewritten for total in found.sinks)
        seen["counted twice"] += any(report.counted_twice for report in found.reports)
        assert mode == AT_LEAST_ONCE or not any(report.counted_twice for report in found.reports)
    assert seen["restored"]
    assert seen["duplicates"]
    assert seen["rewritten"]
    assert (mode == AT_LEAST_ONCE) == bool(seen["counted twice"])


def test_the_effects_of_all_failures_together_are_the_whole_effect():
    for seed in SEEDS:
        found = told(any_run(seed, MODES[seed % 4]))
        for total in found.sinks:
            effects = [s for r in found.reports for s in r.sinks if s.sink == total.effect.sink]
            for name in ("repeated", "duplicates", "rewritten", "rewound", "differing", "aborted"):
                parts = sum(getattr(effect, name) for effect in effects)
                assert parts == getattr(total.effect, name), (seed, name)
            for name, rids in total.effect.examples.items():
                assert len(rids) == min(MOST_EXAMPLES, getattr(total.effect, name))


def test_the_smallest_dataflow_reads_from_101_again():
    (report,) = told(run_dataflow(smallest())).reports
    (again,) = report.re_read
    assert (again.from_, again.to, again.records) == (101, 120, 20)
    assert again.examples[0] == ["source[0]", 101, ""]
    assert report.lost_progress == 120_350 - 100_500
    assert report.strategy == "full"
    assert report.tasks_restarted == 2
    assert report.sentence == (
        "task[0] failed at 120 ms; all 2 tasks went back to checkpoint 1, 19.9 ms before. 20 "
        "records were read again, and after 11.9 ms the sources were where they had been."
    )


def a_failing_run(sink: str, at: int = 20_000, **options: object) -> DataflowRun:
    flow = word_count(2, sink=sink, records=60)
    return run_dataflow(failing(a_run_of(flow, **options), at, "count[0]"))


def test_what_each_kind_of_sink_makes_of_the_same_failure():
    plain, idempotent, two_phase = (
        told(a_failing_run(sink)).sinks[0] for sink in ("plain", "idempotent", "two-phase")
    )
    assert plain.effect.duplicates == plain.effect.repeated > 0
    assert idempotent.effect.duplicates == 0
    assert idempotent.effect.rewritten == idempotent.effect.repeated > 0
    assert 0 < idempotent.effect.rewound <= idempotent.effect.rewritten
    assert two_phase.effect.duplicates == 0
    assert two_phase.effect.repeated > 0
    assert two_phase.effect.aborted == 2
    assert two_phase.visible == 120


def test_at_least_once_the_state_counts_some_records_twice():
    once, twice = (
        told(a_failing_run("two-phase", 45_000, mode=mode, slow={"count[1]": 3.0}))
        for mode in (ALIGNED, AT_LEAST_ONCE)
    )
    assert once.reports[0].guarantee == "exactly-once"
    assert twice.reports[0].guarantee == "at-least-once"
    assert once.reports[0].counted_twice == once.sinks[0].effect.duplicates == 0
    assert twice.reports[0].counted_twice > 0
    assert twice.sinks[0].effect.duplicates > 0
    assert twice.sinks[0].effect.differing > 0


def test_only_the_first_value_that_comes_again_goes_back_behind_newer_ones():
    """With one key, each later value that comes again replaces an older one."""
    run = a_run_of(word_count(1, sink="idempotent", records=60, keys=1), interval=9_000)
    (report,) = told(run_dataflow(failing(run, 25_000, "count[0]"))).reports
    (sink,) = report.sinks
    assert sink.rewritten > 3
    assert sink.rewound == 1


def test_at_least_once_only_what_was_restarted_is_counted_twice():
    """The pipeline that goes on has records behind its barriers, too."""
    one, other = word_count(2, records=60), word_count(2, records=60)
    names = {vertex.id: f"{vertex.id} too" for vertex in other.vertices}
    both = Dataflow(
        (*one.vertices, *(replace(v, id=names[v.id]) for v in other.vertices)),
        (*one.edges, *(replace(e, source=names[e.source], target=names[e.target])
                       for e in other.edges)),
    )  # fmt: skip
    slow = {"count[1]": 5.0, "count too[1]": 5.0}
    run = a_run_of(both, mode=AT_LEAST_ONCE, slow=slow, failover="pipeline", buffer=3)
    failed = failing(run, 33_000, "count[0]")
    recording = assemble(*run_dataflow(failed).log).recording
    (report,) = failovers(recording)
    assert report.restored
    assert report.strategy == "pipeline"
    assert report.counted_twice == behind_barriers(recording, report.restored, report.scope) > 0
    everyone = [process.id for process in recording.topology.processes]
    assert report.counted_twice < behind_barriers(recording, report.restored, everyone)


def behind_barriers(recording, snapshot: str, scope) -> int:
    """Count records that these tasks received before they recorded, sent after their senders
    recorded.
    """
    at = {
        event.process: event.index
        for own in recording.events.values()
        for event in own
        if event.kind == RECORD_STATE and event.snapshot == snapshot
    }
    return sum(
        message.sent_index > at[channel.source]
        and message.received_index is not None
        and message.received_index < at[channel.target]
        for channel in recording.topology.channels
        if channel.source in scope and channel.target in scope
        for message in recording.messages[channel.id]
    )


def test_records_that_no_checkpoint_has_committed_are_pending_and_not_lost():
    """All records have been read and written, and every checkpoint expires."""
    run = run_dataflow(a_run_of(timeout=500, most_events=4_000))
    (sink,) = told(run).sinks
    assert (sink.visible, sink.effect.lost) == (0, 0)
    assert sink.pending == sink.written > 0


def test_transactions_that_time_out_lose_what_they_held():
    run = a_failing_run("two-phase", tx_timeout=9_000)
    (total,) = told(run).sinks
    assert total.timed_out
    assert total.effect.lost == run.counted.lost["sink"] > 0
    visible = {tuple(record.rid) for record in run.counted.visible["sink"]}
    for rid in total.effect.examples["lost"]:
        assert tuple(rid) not in visible


def test_records_that_no_restart_put_back_are_dropped(monkeypatch):
    jump = Lane._jump
    monkeypatch.setattr(Lane, "_jump", lambda lane, item, ahead: jump(lane, item, []))
    found = []
    for seed in range(30):
        rng = Random(seed)
        calm = any_simulation(rng, "unaligned")
        end = run_dataflow(calm).log.events[-1].at
        run = run_dataflow(with_failures(rng, calm, end))
        result = told(run)
        lost = sum(total.effect.lost for total in result.sinks)
        assert bool(lost or result.dropped) <= bool(any(run.counted.lost.values()))
        found.append(bool(lost or result.dropped))
    assert any(found)


def three_pairs() -> Dataflow:
    """Return three sources, each with a sink of its own: three regions, and another pipeline."""
    return Dataflow(
        (
            a_source(parallelism=3, records=60),
            a_sink(parallelism=3, sink="plain", cost=300),
            a_source("other", parallelism=1, records=60),
            a_sink("archive", parallelism=1, sink="plain", cost=300),
        ),
        (Edge("source", "sink", FORWARD), Edge("other", "archive", FORWARD)),
    )


def strategies(simulation: DataflowSimulation) -> list[dict]:
    runs = (replace(simulation, failover=name) for name in ("full", "pipeline", "region"))
    reports = [failovers(assemble(*run_dataflow(run).log).recording)[0] for run in runs]
    return compare(map(as_json, reports))


def test_the_same_failure_under_three_strategies():
    full, pipeline, region = strategies(failing(a_run_of(three_pairs()), 17_000, "sink[1]"))
    rows = (full, pipeline, region)
    assert [row["strategy"] for row in rows] == ["full", "pipeline", "region"]
    assert [row["tasks_restarted"] for row in rows] == [8, 6, 2]
    assert full["records_re_read"] > pipeline["records_re_read"] > region["records_re_read"] > 0
    assert full["duplicates"] > pipeline["duplicates"] > region["duplicates"] > 0
    assert all(row["time_to_catch_up"] > 10_000 for row in rows)


def test_a_committers_events_are_about_the_transactions_of_writers():
    run = a_failing_run("two-phase")
    fates = {"tx_commit", "tx_recover_commit", "tx_abort"}
    topology = run.log.header.topology
    header = replace(
        run.log.header,
        topology=replace(topology, processes=(*topology.processes, Process("committer", "{}"))),
    )
    events = tuple(
        replace(e, index=None, process="committer" if e.kind in fates else e.process)
        for e in run.log.events
    )
    apart = told(run._replace(log=run.log._replace(header=header, events=events)))
    (by_committer,), (by_writer,) = apart.sinks, told(run).sinks
    assert (by_committer.effect.committed_by, by_writer.effect.committed_by) == (
        "committer",
        "writer",
    )
    words = {"committed_by": None, "sentence": ""}
    assert replace(by_committer, effect=replace(by_committer.effect, **words)) == replace(
        by_writer, effect=replace(by_writer.effect, **words)
    )
    assert by_committer.committed > 2


def test_a_job_that_fails_for_its_checkpoints_fails_each_time_anew():
    slow = a_run_of(word_count(2, cost=3_000), timeout=6_000, tolerable_failures=0)
    run = run_dataflow(replace(slow, most_restarts=3, restart_delay=2_000))
    reports = told(run).reports
    failures = run.counted.failures
    assert [(r.process, r.at) for r in reports[:3]] == [(None, f.at) for f in failures]
    assert [r.restarted_at for r in reports[:3]] == [f.restarted_at for f in failures]
    assert reports[0].sentence.startswith("The job failed at ")
    assert len(reports) == 4
    assert reports[3].restarted_at is None


def test_a_log_that_ends_before_anything_came_back():
    run = run_dataflow(replace(smallest(), most_restarts=0))
    (report,) = told(run).reports
    assert report.restored is report.restarted_at is report.time_to_catch_up is None
    assert report.tasks_restarted == 0
    assert report.sentence.endswith("the log ends before anything came back.")


def test_the_report_of_a_failure_says_that_a_wider_one_overtook_it():
    """A task of a batch is about to run again when the driver dies."""
    flow = word_count(1, rate=0.0, records=20)
    query = SparkSimulation(flow, failover="task", retry_delay=4_000)
    at = next(e.at for e in run_spark(query).log.events if e.kind == WRITE) - 500
    failures = (FailAt(at, "count[0]"), FailAt(at + 1_000, "coordinator"))
    first, second = told(run_spark(replace(query, failures=failures))).reports
    assert first.tasks_restarted == 0
    assert first.sentence.endswith(
        "and coordinator failed 1 ms later, before anything came back: that failure shows what "
        "both did."
    )
    assert second.tasks_restarted == 3
    assert "all 3 tasks went back to the beginning" in second.sentence


def test_recordings_without_failures_have_none():
    result = all_failovers(assemble(*two_banks()).recording)
    nothing = {"items": [], "sinks": [], "dropped": [], "total": 0}
    assert as_json(result) == nothing | {"event_time": None, "start": None}


def test_a_log_with_gaps_is_analysed_as_far_as_it_goes():
    rng = Random(7)
    for seed in range(8):
        run = any_run(seed, MODES[seed % 4])
        json.dumps(as_json(told(run._replace(log=garbled(run.log, rng)))))


def test_micro_batches_go_back_to_a_batch():
    """The first batch that was planned and not committed runs again as a whole."""
    found = all_failovers(assemble(*delivered_twice_log()).recording)
    (report,) = found.reports
    assert report.restored == "1"
    assert report.guarantee == "exactly-once"
    assert report.lost_progress > 0
    assert {item.records for item in report.re_read} == {20}
    assert "all 8 tasks went back to batch 1, " in report.sentence
    plain, keyed = report.sinks
    assert (plain.duplicates, keyed.duplicates, keyed.rewritten) == (40, 0, 0)
    assert {total.effect.sink: total.visible for total in found.sinks} == {
        "lines": 180,
        "table": 140,
    }


def test_nothing_is_told_of_the_records_of_a_derived_recording():
    """Such a recording holds no records, so that zeros would be claims about the real run."""
    header, events = counted_twice()
    log = Log(replace(header, extra=header.extra | {"derived": True}), events)
    found = all_failovers(assemble(*log).recording)
    (report,) = found.reports
    untold = (report.discarded, report.counted_twice, report.re_read, report.sinks)
    assert untold == (None, None, None, None)
    assert (report.records_re_read, report.time_to_catch_up) == (None, None)
    assert report.sentence.endswith("is not known, for the engine keeps no records.")
    (row,) = compare(as_json(found)["items"])
    assert (row["duplicates"], row["lost"], row["records_re_read"]) == (None, None, None)
