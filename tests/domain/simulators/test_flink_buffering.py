"""Data buffered during an alignment, as in Flink before 1.11, and failures of one region."""

from dataclasses import replace

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints
from snapshots.domain.dataflow_logs.dataflow import Dataflow, DataflowRefused, Edge
from snapshots.domain.dataflow_logs.failovers.reference import failovers
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.flink.samples import pressed
from snapshots.domain.simulators.flink.simulation import run_dataflow
from snapshots.domain.simulators.protocols.flink_task import ALIGNED, UNALIGNED
from tests.dataflows import a_run_of, a_sink, a_source, an_operator, two_pipelines


def buffering(**options):
    calm = pressed(ALIGNED)
    return replace(calm, checkpoints=replace(calm.checkpoints, buffers=True), **options)


def test_the_analysis_counts_the_records_that_the_simulator_buffered():
    run = run_dataflow(buffering())
    recording = assemble(*run.log).recording
    reports = checkpoints(recording)
    found = {
        (span.channel, int(report.checkpoint)): span.buffered
        for report in reports
        for task in report.tasks
        for span in task.blocked
        if span.buffered
    }
    assert found == run.counted.buffered
    assert found
    spans = [span for report in reports for task in report.tasks for span in task.blocked]
    assert all(span.buffered is not None for span in spans)
    assert all(span.buffered <= span.held_back for span in spans)
    assert {report.verdict for report in judge(recording)} == {"consistent"}
    assert run.counted.states == run_dataflow(pressed(ALIGNED)).counted.states


def test_what_was_buffered_is_processed_before_anything_else_when_channels_open():
    run = run_dataflow(buffering())
    waiting: dict[str, int] = {}
    seen = 0
    for event in run.log.events:
        if event.kind == "unblock" and '"buffered":0' not in event.extra:
            waiting[event.channel] = run.counted.buffered[event.channel, int(event.snapshot)]
        elif event.kind == "block":
            waiting.pop(event.channel, None)
        elif event.kind == "receive" and any(
            left and channel.endswith(f"->{event.process}") for channel, left in waiting.items()
        ):
            assert waiting.get(event.channel)
            waiting[event.channel] -= 1
            seen += 1
    assert seen > 3


def test_a_sender_goes_on_while_its_receiver_buffers():
    def sent_while_blocked(simulation):
        blocked, number = set(), 0
        for event in run_dataflow(simulation).log.events:
            if event.kind == "block":
                blocked.add(event.channel)
            elif event.kind == "unblock":
                blocked.discard(event.channel)
            number += event.kind == "send" and event.channel in blocked
        return number

    tight = {"buffer": 1}
    without = sent_while_blocked(replace(pressed(ALIGNED), **tight))
    assert sent_while_blocked(buffering(**tight)) > without


def test_a_log_without_buffers_says_nothing_of_them():
    recording = assemble(*run_dataflow(pressed(ALIGNED)).log).recording
    reports = checkpoints(recording)
    spans = [span for report in reports for task in report.tasks for span in task.blocked]
    assert spans
    assert {span.buffered for span in spans} == {None}


def test_a_failure_in_the_middle_of_an_alignment_loses_nothing_that_was_buffered():
    run = run_dataflow(buffering(failures=(FailAt(46_000, "count[1]"),)))
    assert run.counted.finished
    assert not any(run.counted.lost.values())
    assert not any(run.counted.duplicates.values())


def test_only_aligned_checkpoints_buffer():
    calm = pressed(UNALIGNED)
    with pytest.raises(DataflowRefused) as refused:
        replace(calm.checkpoints, buffers=True)
    assert refused.value.field == "checkpoints.buffers"


def test_a_failure_of_a_region_says_who_went_back_and_who_went_on():
    straight = Dataflow(
        (a_source(parallelism=3), an_operator("map", "map", parallelism=3), a_sink(parallelism=3)),
        (Edge("source", "map"), Edge("map", "sink")),
    )
    failed = {"failures": (FailAt(15_000, "map[1]"),), "interval": 5_000}

    def report_of(strategy):
        run = run_dataflow(a_run_of(straight, failover=strategy, **failed))
        (report,) = failovers(assemble(*run.log).recording)
        return report, run

    report, run = report_of("region")
    assert "; the 3 tasks of its region went back to checkpoint" in report.sentence
    assert " before, and 6 other tasks went on. " in report.sentence
    restored = {event.process for event in run.log.events if event.kind == "restore"}
    assert restored == {"source[1]", "map[1]", "sink[1]"}
    assert report.went_on == 6
    over = a_run_of(two_pipelines(), failover="pipeline", failures=(FailAt(29_000, "other[0]"),))
    (report,) = failovers(assemble(*run_dataflow(over).log).recording)
    assert report.strategy == "pipeline"
    assert report.went_on == 0  # source and sink have read all
    report, _ = report_of("full")
    assert report.went_on == 0
    assert "went on" not in report.sentence
