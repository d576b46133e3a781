"""Watermarks, windows and late records of Flink's simulator, and the analysis of its log."""

from dataclasses import replace
from random import Random

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints
from snapshots.domain.dataflow_logs.dataflow import Dataflow, DataflowRefused, Edge
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.values import parsed
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.flink.event_time import EventTimeSettings
from snapshots.domain.simulators.flink.simulation import run_dataflow
from snapshots.domain.simulators.micro_batches.simulation import SparkSimulation
from snapshots.domain.simulators.protocols.flink_task import ALIGNED, MODES, UNALIGNED
from snapshots.domain.simulators.protocols.flink_watermarks import END_OF_TIME
from snapshots.domain.simulators.seatunnel.simulation import SeaTunnelSimulation
from tests.dataflows import a_run_of, a_sink, a_source, an_operator, differences

TIMES = EventTimeSettings(interval=500, delay=0, disorder=9_000, window=10_000)


def windowed(sink: str = "plain", **source: object) -> Dataflow:
    """Return source =hash=> window =rebalance=> sink, each with two subtasks."""
    return Dataflow(
        (
            a_source(parallelism=2, **{"records": 60, "rate": 1_000.0, "keys": 4, **source}),
            an_operator("window", "window", parallelism=2),
            a_sink(parallelism=2, sink=sink),
        ),
        (Edge("source", "window", "hash"), Edge("window", "sink", "rebalance")),
    )


def a_windowed_run(**options):
    given = {"dataflow": windowed(), "event_time": TIMES, "slow": {"window[1]": 9.0}}
    return a_run_of(**given | options)


def events(run, kind, process=None):
    return [
        (event, parsed(event.extra) or {})
        for event in run.log.events
        if event.kind == kind and process in (None, event.process)
    ]


def report_of(run):
    return all_failovers(assemble(*run.log).recording).event_time


@pytest.mark.parametrize("mode", MODES)
def test_the_analysis_of_the_log_comes_to_what_the_simulator_counted(mode):
    seen = {"late": 0, "again": 0, "regained": 0}
    for seed in range(3):
        rng = Random(seed)
        failures = (FailAt(rng.randint(20_000, 50_000), rng.choice(("window[0]", "source[1]"))),)
        times = replace(TIMES, is_kept=bool(seed % 2), idle_after=rng.choice((None, 700)))
        run = run_dataflow(
            a_windowed_run(mode=mode, seed=seed, failures=failures, event_time=times)
        )
        found, counted = report_of(run), run.counted
        assert {task.process: task.late for task in found.tasks if task.late} == counted.late
        assert sum(task.fired for task in found.tasks) == len(counted.fired)
        for restart, failure in zip(found.restarts, counted.failures, strict=True):
            assert {lost.process: lost.before for lost in restart.tasks} == failure.watermarks
            assert {
                lost.process: lost.regained_at
                for lost in restart.tasks
                if lost.regained_at is not None
            } == failure.regained
            assert restart.fired_again == failure.fired_again
            seen["again"] += restart.fired_again
            seen["regained"] += len(failure.regained)
        assert all(task.has_ended for task in found.tasks)
        assert differences(run) == []
        seen["late"] += sum(counted.late.values())
    assert all(seen.values()), seen


def test_windows_hold_each_timely_record_once_and_snapshots_agree_with_the_log():
    run = run_dataflow(a_windowed_run())
    (late,) = {sum(run.counted.late.values())}
    assert late
    read = [extra["rid"] for _, extra in events(run, "read")]
    dropped = [extra["rid"] for _, extra in events(run, "late")]
    values = {
        tuple(extra["rid"]): parsed(event.value)["value"] for event, extra in events(run, "read")
    }
    timely = sum(values[tuple(rid)] for rid in read if rid not in dropped)
    assert sum(record.value for record in run.counted.visible["sink"]) == timely
    assembly = assemble(*run.log)
    assert assembly.defects == ()
    assert {report.verdict for report in judge(assembly.recording)} == {"consistent"}


def test_a_window_fires_when_the_smallest_watermark_of_its_inputs_has_passed_its_end():
    run = run_dataflow(a_windowed_run())
    newest: dict[tuple[str, str], int] = {}
    seen = 0
    for event in run.log.events:
        extra = parsed(event.extra) or {}
        if event.kind == "watermark_in":
            mark = extra["watermark"]
            newest[event.process, event.channel] = END_OF_TIME if mark == "end" else mark
        elif event.kind == "watermark" and extra.get("fired"):
            least = min(mark for (process, _), mark in newest.items() if process == event.process)
            assert all(start + TIMES.window - 1 <= least for start, _ in extra["fired"])
            seen += 1
    assert seen > 4


def test_an_idle_source_holds_no_window_up():
    slow = {"rate": 1_000.0, "records": 60}
    dataflow = Dataflow(
        (
            a_source("fast", **slow),
            a_source("rare", rate=20.0, records=3),
            an_operator("window", "window"),
            a_sink(),
        ),
        (Edge("fast", "window"), Edge("rare", "window"), Edge("window", "sink")),
    )

    def first_fired(idle_after):
        times = replace(TIMES, idle_after=idle_after)
        run = run_dataflow(a_windowed_run(dataflow=dataflow, event_time=times, slow={}))
        fired = [e.at for e, extra in events(run, "watermark", "window[0]") if extra.get("fired")]
        return fired[0], any(extra.get("idle") for _, extra in events(run, "watermark", "rare[0]"))

    (waits, never), (goes_on, was_idle) = first_fired(None), first_fired(2_000)
    assert not never
    assert was_idle
    assert goes_on < 30_000 < waits


def test_a_restart_begins_without_watermarks_so_what_was_late_may_be_taken():
    failed = {"failures": (FailAt(48_000, "window[0]"),), "seed": 1, "interval": 15_000}
    run = run_dataflow(a_windowed_run(**failed))
    late, taken = [], set()
    restored_at = events(run, "restore")[0][0].line
    for event in run.log.events:
        extra = parsed(event.extra) or {}
        if event.kind == "late" and event.line < restored_at:
            late.append(tuple(extra["rid"]))
        if event.kind == "receive" and event.process.startswith("window"):
            taken.add((tuple(extra["rid"]), event.line))
    again = {rid for rid, line in taken if line > restored_at}
    still = {
        tuple(extra["rid"]) for event, extra in events(run, "late") if event.line > restored_at
    }
    assert set(late) & (again - still)
    kept = run_dataflow(a_windowed_run(**failed, event_time=replace(TIMES, is_kept=True)))
    restores = [extra for event, extra in events(kept, "restore") if "window" in event.process]
    assert [type(extra["watermark"]) for extra in restores] == [int, int]
    assert len({extra["watermark"] for extra in restores}) == 1
    (restart,) = report_of(run).restarts
    assert restart.sentence.startswith("6 tasks began again without a watermark")
    assert "results once more" in restart.sentence
    (restart,) = report_of(kept).restarts
    assert restart.sentence.startswith(
        "4 tasks began again without a watermark, which is not part of their state, and 2 tasks "
        "had kept"
    )


def test_watermarks_that_a_barrier_overtook_are_part_of_the_checkpoint():
    run = run_dataflow(a_windowed_run(mode=UNALIGNED, failures=(FailAt(50_000, "window[0]"),)))
    held = [extra.get("watermarks", 0) for _, extra in events(run, "record_channel")]
    assert sum(held)
    aligned = run_dataflow(a_windowed_run(mode=ALIGNED))
    assert not sum(extra.get("watermarks", 0) for _, extra in events(aligned, "record_channel"))


def test_a_checkpoint_says_where_the_watermark_of_each_task_stood():
    run = run_dataflow(a_windowed_run())
    logged: dict[tuple[str, str], int | None] = {}
    current: dict[str, int | None] = {}
    for event in run.log.events:
        extra = parsed(event.extra) or {}
        if event.kind == "watermark":
            current[event.process] = extra["watermark"]
        elif event.kind == "record_state" and event.process != "coordinator":
            logged[event.process, event.snapshot] = current.get(event.process)
    reports = checkpoints(assemble(*run.log).recording)
    stood = {
        (task.process, report.checkpoint): "end" if task.has_ended else task.watermark
        for report in reports
        for task in report.tasks
    }
    assert len({mark for mark in stood.values() if mark is not None}) > 4
    assert stood == {place: logged[place] for place in stood}


def test_a_run_without_watermarks_has_none():
    run = run_dataflow(a_run_of())
    assert report_of(run) is None
    assert all(
        task.watermark is None
        for r in checkpoints(assemble(*run.log).recording)
        for task in r.tasks
    )


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: a_run_of(windowed()), "event_time.interval"),
        (lambda: a_windowed_run(event_time=EventTimeSettings(interval=0)), "event_time.interval"),
        (lambda: SparkSimulation(windowed()), "dataflow.vertices[1].function"),
        (lambda: SeaTunnelSimulation(windowed()), "dataflow.vertices[1].function"),
    ],
    ids=["no watermarks", "no time between them", "Spark", "SeaTunnel"],
)
def test_windows_without_watermarks_are_refused(make, field):
    with pytest.raises(DataflowRefused) as refused:
        make()
    assert refused.value.field == field
