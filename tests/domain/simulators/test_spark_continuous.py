"""Spark's continuous mode, simulated: epochs, markers, commits, restarts, and what sinks show.
DATAFLOW_EXAMPLES=1000 tries that many queries with random failures."""

import os
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints
from snapshots.domain.dataflow_logs.dataflow import (
    FORWARD,
    HASH,
    IDEMPOTENT,
    PLAIN,
    REBALANCE,
    TWO_PHASE,
    Dataflow,
    DataflowRefused,
    Edge,
)
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import KINDS, MARKER_RECEIVE, RECORD_STATE
from snapshots.domain.model.values import parsed
from snapshots.domain.simulators.continuous.samples import taken_not_committed
from snapshots.domain.simulators.continuous.simulation import (
    ContinuousSimulation,
    run_continuous,
)
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.protocols import continuous_driver, continuous_task
from snapshots.domain.simulators.protocols.continuous_driver import (
    CommitEpoch,
    EndEpoch,
    EpochSettings,
    LogOffsets,
)
from snapshots.domain.simulators.protocols.continuous_task import EndTask
from snapshots.domain.simulators.protocols.flink_task import AlignEnd, Block, RecordChannel, Unblock
from tests.dataflows import SINKS, a_sink, a_source, an_operator, differences, word_count

SEEDS = range(int(os.environ.get("DATAFLOW_EXAMPLES") or 12))


def a_chain(function="map", *, sink=PLAIN, wide=2, last=None, exchange=FORWARD, **source):
    """Return source -> operator -> sink, of which the last two may gather all partitions."""
    last = last or wide
    return Dataflow(
        (
            a_source(parallelism=wide, **source),
            an_operator(function, function, parallelism=last, cost=80),
            a_sink(parallelism=last, sink=sink),
        ),
        (Edge("source", function, exchange), Edge(function, "sink")),
    )


def a_query(flow=None, *, failures=(), **options) -> ContinuousSimulation:
    names = EpochSettings.__dataclass_fields__
    settings = {name: options.pop(name) for name in list(options) if name in names}
    settings = {"interval": 8_000, "poll_interval": 500, **settings}
    failures = tuple(FailAt(*failure) for failure in failures)
    return ContinuousSimulation(
        flow or a_chain(), EpochSettings(**settings), failures=failures, **options
    )


def of_kind(run, *kinds):
    return [(event, parsed(event.extra)) for event in run.log.events if event.kind in kinds]


def recording_of(run):
    assembly = assemble(*run.log)
    assert assembly.defects == ()
    return assembly.recording


# --- the step functions --------------------------------------------------------------------------


def a_driver():
    driver = continuous_driver.start(frozenset({"r0", "r1"}), frozenset({"w"}))
    return continuous_driver.on_trigger(driver)[0]


def test_a_trigger_ends_the_epoch_though_earlier_ones_wait_for_their_commits():
    driver, effects = continuous_driver.on_trigger(a_driver())
    assert effects == (EndEpoch(1),)
    assert driver.epoch == 2


def test_offsets_are_logged_with_the_last_reader_and_committed_with_the_last_writer():
    driver, effects = continuous_driver.on_offset(a_driver(), "r0", 0, 5)
    assert effects == ()
    driver, effects = continuous_driver.on_offset(driver, "r1", 0, 7)
    assert effects == (LogOffsets(0, {"r0": 5, "r1": 7}),)
    driver, effects = continuous_driver.on_written(driver, "w", 0)
    assert effects == (CommitEpoch(0),)
    assert driver.committing == 0


def whole(driver, epoch):
    """Return the driver after all reports of an epoch."""
    driver, _ = continuous_driver.on_written(driver, "w", epoch)
    driver, _ = continuous_driver.on_offset(driver, "r0", epoch, 1)
    return continuous_driver.on_offset(driver, "r1", epoch, 1)


def test_an_epoch_that_is_whole_too_early_waits_for_the_one_before_it():
    driver, effects = whole(a_driver(), 1)
    assert [type(effect) for effect in effects] == [LogOffsets]
    driver, effects = whole(driver, 0)
    assert effects[1:] == (CommitEpoch(0),)
    driver, effects = continuous_driver.on_committed(driver, 0)
    assert effects == (CommitEpoch(1),)
    assert driver.offsets.keys() == driver.written.keys() == {1}


def test_a_restart_takes_a_number_that_no_epoch_had_before():
    driver, _ = whole(a_driver(), 0)
    driver, _ = continuous_driver.on_committed(driver, 0)
    driver, _ = continuous_driver.on_trigger(driver)
    driver, _ = whole(driver, 1)
    driver = continuous_driver.on_restart(driver)
    assert (driver.epoch, driver.committed) == (2, 1)
    assert whole(driver, 2)[1][1:] == (CommitEpoch(2),)


def test_a_task_that_gathers_partitions_takes_nothing_behind_a_marker():
    task = continuous_task.start(("a", "b"))
    task, effects = continuous_task.on_marker(task, "b", 3)
    assert effects == (Block("b", 3),)
    task, effects = continuous_task.on_marker(task, "a", 3)
    records = (RecordChannel("a", 3), RecordChannel("b", 3))
    assert effects == (AlignEnd(3), *records, EndTask(3), Unblock("b", 3))
    assert task == continuous_task.start(("a", "b"))


# --- runs ----------------------------------------------------------------------------------------


def test_a_seed_gives_one_run_whose_log_has_known_kinds_in_order():
    query = a_query(failures=((12_000, "map[0]"), (27_000, "coordinator")))
    one, same, other = (run_continuous(item) for item in (query, query, replace(query, seed=2)))
    assert one == same != other
    assert one.log.header.extra["engine"] == "spark"
    assert {event.kind for event in one.log.events} <= set(KINDS)
    assert all(before.at <= after.at for before, after in pairwise(one.log.events))


def test_the_snapshot_of_an_epoch_holds_the_logged_offsets_and_empty_channels():
    run = run_continuous(a_query())
    logged = {event.snapshot: extra["positions"] for event, extra in of_kind(run, "cp_stored")}
    assert len(logged) > 3
    for event, _ in of_kind(run, RECORD_STATE):
        if event.process.startswith("source"):
            assert parsed(event.state) == {"offset": logged[event.snapshot][event.process]}
    for report in judge(recording_of(run)):
        assert report.verdict == "consistent"
        assert not any(report.in_flight.values())


def test_markers_reach_every_task_of_the_chain():
    run = run_continuous(a_query())
    reached = {event.process for event, _ in of_kind(run, MARKER_RECEIVE)}
    assert reached == {"map[0]", "map[1]", "sink[0]", "sink[1]"}


def test_offsets_come_first_then_the_sink_then_the_commit():
    run = run_continuous(a_query(a_chain(sink=TWO_PHASE)))
    kinds = ("cp_trigger", "cp_stored", "sink_write", "cp_complete")
    steps = [(event.snapshot, event.kind) for event, _ in of_kind(run, *kinds)]
    for epoch in map(str, run.counted.completed):
        assert [kind for snapshot, kind in steps if snapshot == epoch] == list(kinds)


def test_a_source_reads_on_while_its_epoch_waits_for_the_commit():
    run = run_continuous(a_query(commit_time=20_000, slow={"sink[0]": 20}))
    trigger, complete = (of_kind(run, kind)[0][0].at for kind in ("cp_trigger", "cp_complete"))
    between = [event for event, _ in of_kind(run, "read") if trigger < event.at < complete]
    assert between
    assert [int(event.snapshot) for event, _ in of_kind(run, "cp_trigger")][:2] == [0, 1]
    assert of_kind(run, "cp_trigger")[1][0].at < complete


def test_the_analysis_of_the_log_finds_the_alignments_that_the_run_counted():
    run = run_continuous(
        a_query(a_chain(wide=3, last=1, exchange=REBALANCE), slow={"source[0]": 9}, buffer=2)
    )
    found = {
        (task.process, int(item.checkpoint)): task.alignment
        for item in checkpoints(recording_of(run))
        for task in item.tasks
        if task.alignment is not None
    }
    acknowledging = {key: time for key, time in run.counted.alignment.items() if "sink" in key[0]}
    assert found == acknowledging
    gathered = [time for key, time in run.counted.alignment.items() if key[0] == "map[0]"]
    assert max(gathered) > 0
    assert of_kind(run, "block")
    assert {item.kind for item in checkpoints(recording_of(run))} == {"epoch"}


def taken_and_not_committed(sink):
    """Simulate a driver that dies while it writes a commit, after the sink has taken the epoch."""
    query = a_query(a_chain(sink=sink, records=60), commit_time=2_000)
    taken = of_kind(run_continuous(query), "sink_write")[2][0]
    return run_continuous(replace(query, failures=(FailAt(taken.at + 1_000, "coordinator"),)))


@pytest.mark.parametrize("sink", SINKS)
def test_what_no_commit_names_is_delivered_again_in_another_epoch(sink):
    run = taken_and_not_committed(sink)
    read_again = sum(sum(item.re_read.values()) for item in run.counted.failures)
    assert read_again > 0
    assert run.counted.aborted == {2: "failover"}
    assert run.counted.completed[:3] == [0, 1, 3]
    assert run.counted.lost == {"sink": 0}
    repeated = run.counted.rewritten if sink == IDEMPOTENT else run.counted.duplicates
    assert 0 < repeated["sink"] <= read_again
    (report,) = all_failovers(recording_of(run)).reports
    assert report.guarantee == "at-least-once"
    assert report.restored == "1"
    assert "went back to epoch 1" in report.sentence
    assert differences(run) == []


def test_an_epoch_that_was_given_up_is_an_incomplete_snapshot_or_a_consistent_one():
    query = a_query(slow={"sink[0]": 30}, failures=((9_500, "map[1]"),))
    run = run_continuous(query)
    given_up = {str(epoch) for epoch in run.counted.aborted}
    assert given_up
    verdicts = {report.snapshot: report.verdict for report in judge(recording_of(run))}
    assert {verdicts[name] for name in given_up} == {"incomplete"}
    assert {verdicts[str(epoch)] for epoch in run.counted.completed} == {"consistent"}


def test_after_too_many_restarts_the_run_ends_unfinished():
    run = run_continuous(a_query(most_restarts=0, failures=((10_000, "sink[0]"),)))
    assert not run.counted.finished
    assert run.log.events[-1].kind == "crash"


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("epochs.interval", {"interval": 0}),
        ("epochs.poll_interval", {"poll_interval": -1}),
        ("commit_time", {"commit_time": -1}),
        ("failures[0].process", {"failures": ((1, "nobody"),)}),
        ("slow.nobody", {"slow": {"nobody": 2}}),
        ("dataflow.vertices[1].function", {"flow": word_count()}),
        ("dataflow.edges[0].exchange", {"flow": a_chain(exchange=HASH)}),
        (
            "dataflow.vertices[0]",
            {"flow": Dataflow(
                (a_source(), a_sink("one"), a_sink("two")),
                (Edge("source", "one"), Edge("source", "two")),
            )},
        ),
        (
            "dataflow.vertices[2]",
            {"flow": Dataflow(
                (a_source(), a_sink(), a_source("other"), a_sink("archive")),
                (Edge("source", "sink"), Edge("other", "archive")),
            )},
        ),
    ],
)  # fmt: skip
def test_what_continuous_mode_cannot_run_is_refused_at_its_field(field, options):
    with pytest.raises(DataflowRefused) as refused:
        a_query(**options)
    assert refused.value.field == field


def test_the_sample_shows_every_record_of_the_uncommitted_epoch_twice():
    run = run_continuous(taken_not_committed())
    assert run.counted.aborted == {2: "failover"}
    assert run.counted.completed == [0, 1, 3, 4]
    assert run.counted.duplicates["table"] > 0
    assert {report.verdict for report in judge(recording_of(run))} == {"consistent"}


# --- failures at random moments ------------------------------------------------------------------


def any_query(rng):
    wide = rng.randint(1, 3)
    last = rng.choice((wide, 1))
    flow = a_chain(
        rng.choice(("map", "filter", "flatmap")),
        sink=rng.choice(SINKS),
        wide=wide,
        last=last,
        exchange=FORWARD if last == wide else rng.choice((HASH, REBALANCE)),
        records=rng.randint(0, 40),
        rate=rng.choice((0.0, 1_000.0, 4_000.0)),
    )
    return a_query(
        flow,
        interval=rng.choice((1_000, 4_000)),
        poll_interval=rng.choice((200, 3_000)),
        seed=rng.randrange(2**32),
        buffer=rng.choice((1, 8)),
        commit_time=rng.choice((0, 3_000)),
        restart_delay=rng.choice((0, 4_000)),
        most_restarts=50,
    )


def both_runs(seed):
    """Simulate the same run without a failure and with one to three."""
    rng = Random(seed)
    calm = any_query(rng)
    expected = run_continuous(calm)
    end = expected.log.events[-1].at
    who = [*calm.dataflow.subtask_by_id, "coordinator"]
    failures = tuple(FailAt(rng.randint(0, end), rng.choice(who)) for _ in range(rng.randint(1, 3)))
    return expected, run_continuous(replace(calm, failures=failures))


@pytest.mark.slow
def test_a_failure_loses_nothing_and_the_log_tells_all_that_the_run_counted():
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        expected, failed = both_runs(seed)
        assert expected.counted.finished
        assert failed.counted.finished
        assert not any(expected.counted.duplicates.values()), seed
        assert not any(failed.counted.lost.values()), seed
        assert differences(failed) == [], seed
        verdicts = {report.snapshot: report.verdict for report in judge(recording_of(failed))}
        complete = map(str, failed.counted.completed)
        assert {verdicts[name] for name in complete} <= {"consistent"}, seed
        assert set(verdicts.values()) <= {"consistent", "incomplete"}, seed
        numbers = [*failed.counted.completed, *failed.counted.aborted]
        assert sorted(numbers) == list(range(len(numbers))), seed
        seen["failed"] += bool(failed.counted.failures)
        seen["read again"] += any(item.re_read for item in failed.counted.failures)
        seen["given up"] += bool(failed.counted.aborted)
        seen["duplicates"] += any(failed.counted.duplicates.values())
    assert all(seen[name] for name in ("failed", "read again", "given up", "duplicates")), seen
