"""Spark's micro-batches, simulated: plan, tasks, commit; retries, restarts, and what sinks make of
them. DATAFLOW_EXAMPLES=1000 tries that many dataflows with random failures."""

import os
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.dataflow import IDEMPOTENT, PLAIN, TWO_PHASE, DataflowRefused
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import KINDS, RECORD_STATE
from snapshots.domain.model.values import parsed
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.micro_batches.samples import SPARK_SAMPLES, delivered_twice
from snapshots.domain.simulators.micro_batches.simulation import SparkSimulation, run_spark
from snapshots.domain.simulators.protocols import spark_epochs
from snapshots.domain.simulators.protocols.spark_epochs import BatchSettings, RunTask
from tests.dataflows import any_dataflow, differences, word_count

pytestmark = pytest.mark.slow

SEEDS = range(int(os.environ.get("DATAFLOW_EXAMPLES") or 25))
NONE = frozenset()
CHAIN = {"source": NONE, "task": frozenset({"source"})}


def a_query(flow=None, *, failures=(), **options) -> SparkSimulation:
    names = BatchSettings.__dataclass_fields__
    settings = {name: options.pop(name) for name in list(options) if name in names}
    failures = tuple(FailAt(*failure) for failure in failures)
    return SparkSimulation(
        flow or word_count(), BatchSettings(**settings), failures=failures, **options
    )


def of_kind(run, *kinds):
    return [(event, parsed(event.extra)) for event in run.log.events if event.kind in kinds]


def reports(run):
    assembly = assemble(*run.log)
    assert assembly.defects == ()
    return {report.snapshot: report for report in judge(assembly.recording)}


# --- the driver's step functions -----------------------------------------------------------------


def planned(**settings):
    driver = spark_epochs.start(BatchSettings(**settings), CHAIN, ("source",))
    return spark_epochs.on_trigger(driver, {"source": 11})


def test_a_batch_is_planned_and_then_its_first_tasks_run():
    driver, effects = planned()
    assert effects[0] == spark_epochs.Plan(driver.batch)
    assert effects[1:] == (RunTask("source", driver.batch),)
    assert driver.batch.ranges == {"source": (1, 11)}


def test_nothing_is_planned_while_a_batch_runs_or_where_nothing_is_new():
    driver, _ = planned()
    assert spark_epochs.on_trigger(driver, {"source": 50}) == (driver, ())
    idle = spark_epochs.start(BatchSettings(), CHAIN, ("source",))
    assert spark_epochs.on_trigger(idle, {"source": 1}) == (idle, ())


def test_a_batch_takes_no_more_of_a_split_than_allowed():
    driver, _ = planned(most_per_split=4)
    assert driver.batch.ranges == {"source": (1, 5)}


def test_a_task_runs_when_those_before_it_have_ended_and_sinks_when_all_have():
    driver, _ = planned()
    driver, effects = spark_epochs.on_task_end(driver, "source")
    assert effects == (RunTask("task", driver.batch),)
    driver, effects = spark_epochs.on_task_end(driver, "task")
    assert effects == (spark_epochs.Deliver(driver.batch),)


def test_no_more_tasks_run_at_once_than_there_are_cores():
    wide = dict.fromkeys("abc", NONE)
    driver = spark_epochs.start(BatchSettings(cores=2), wide, ("a",))
    driver, effects = spark_epochs.on_trigger(driver, {"a": 2})
    assert [effect.task for effect in effects[1:]] == ["a", "b"]
    _, effects = spark_epochs.on_task_end(driver, "a")
    assert [effect.task for effect in effects] == ["c"]


def test_the_commit_moves_the_ranges_and_the_watermark():
    driver, _ = planned(watermark_delay=30)
    batch = driver.batch
    driver, effects = spark_epochs.on_delivered(driver, latest=100)
    assert effects == (spark_epochs.Commit(batch, 70),)
    driver, _ = spark_epochs.on_trigger(driver, {"source": 15})
    assert driver.batch == spark_epochs.Batch(1, {"source": (11, 15)}, 70)


def test_a_restart_runs_the_same_ranges_under_the_same_number():
    driver, _ = planned()
    before = driver.batch
    driver, _ = spark_epochs.on_task_end(driver, "source")
    driver, effects = spark_epochs.on_restart(driver)
    assert driver.batch == replace(before, attempt=2)
    assert effects[1:] == (RunTask("source", driver.batch),)


def test_a_task_that_fails_too_often_fails_the_query():
    driver, _ = planned(task_attempts=2)
    driver, effects = spark_epochs.on_task_failure(driver, "source")
    assert effects == (RunTask("source", driver.batch, again=True),)
    _, (effect,) = spark_epochs.on_task_failure(driver, "source")
    assert isinstance(effect, spark_epochs.FailQuery)


# --- runs ----------------------------------------------------------------------------------------


def test_a_seed_gives_one_run_whose_log_has_known_kinds_in_order():
    query = a_query(failures=((12_000, "count[0]"), (27_000, "coordinator")))
    one, same, other = (run_spark(item) for item in (query, query, replace(query, seed=2)))
    assert one == same != other
    assert one.log.header.extra["engine"] == "spark"
    assert {event.kind for event in one.log.events} <= set(KINDS)
    assert [event.line for event in one.log.events] == list(range(2, len(one.log.events) + 2))
    assert all(before.at <= after.at for before, after in pairwise(one.log.events))


def test_every_batch_is_planned_before_it_runs_and_its_versions_are_one_higher():
    run = run_spark(a_query(interval=5_000))
    kinds = ("batch_plan", "task_end", "sink_write", "batch_commit")
    steps = [(event.snapshot, event.kind) for event, _ in of_kind(run, *kinds)]
    for batch in map(str, run.counted.completed):
        own = [kind for snapshot, kind in steps if snapshot == batch]
        assert own == ["batch_plan", *["task_end"] * 6, "sink_write", "batch_commit"]
    assert len(run.counted.completed) > 2
    for _, extra in of_kind(run, "task_end"):
        assert extra["state_version"] == extra["batch"] + 1


def test_the_snapshot_of_a_batch_holds_the_offsets_at_its_end_and_empty_channels():
    run = run_spark(a_query(interval=5_000))
    plans = {event.snapshot: extra["ranges"] for event, extra in of_kind(run, "batch_plan")}
    for event, _ in of_kind(run, RECORD_STATE):
        if event.process.startswith("source"):
            assert parsed(event.state) == {"offset": plans[event.snapshot][event.process][1]}
    for report in reports(run).values():
        assert report.verdict == "consistent"
        assert not any(report.in_flight.values())


def ended_before_commit(**options):
    """Simulate a driver that dies while it writes the commit of batch 0, after the sink tasks
    ended.
    """
    calm = run_spark(a_query(**options))
    at = of_kind(calm, "sink_write")[0][0].at + 100
    return a_query(failures=((at, "coordinator"),), **options)


@pytest.mark.parametrize(
    ("sink", "duplicates", "skipped"),
    [(PLAIN, 40, None), (IDEMPOTENT, 0, True), (TWO_PHASE, 0, True)],
)
def test_a_batch_delivered_and_not_committed_is_delivered_again(sink, duplicates, skipped):
    flow = word_count(sink=sink, records=20, rate=0.0)
    run = run_spark(ended_before_commit(flow=flow))
    assert run.counted.duplicates == {"sink": duplicates}
    assert run.counted.lost == {"sink": 0}
    plans = [extra for _, extra in of_kind(run, "batch_plan")]
    assert [plan["attempt"] for plan in plans] == [1, 2]
    assert plans[0]["ranges"] == plans[1]["ranges"]
    deliveries = [extra.get("skipped") for _, extra in of_kind(run, "sink_write")]
    assert deliveries == [None, skipped]
    assert len(of_kind(run, "write")) == (40 if sink == IDEMPOTENT else 80)


def test_a_planned_batch_is_incomplete_until_its_second_attempt_is_committed():
    query = ended_before_commit()
    (report,) = list(reports(run_spark(replace(query, most_restarts=0))).values())[-1:]
    assert report.snapshot == "0"
    assert set(report.counts) == {"incomplete"}
    assert all(found.verdict == "consistent" for found in reports(run_spark(query)).values())


def test_a_failed_task_alone_runs_again_and_reads_again_what_it_had_read():
    query = a_query(word_count(1, rate=0.0, records=20), failover="task")
    at = next(event.at for event, _ in of_kind(run_spark(query), "write")) - 500
    run = run_spark(replace(query, failures=(FailAt(at, "count[0]"),)))
    assert [event.process for event, _ in of_kind(run, "restore", "restart")] == ["count[0]"]
    restored = [event for event, extra in of_kind(run, "send") if extra.get("restored")]
    assert len(restored) == 20
    assert run.counted.states == run_spark(query).counted.states
    assert run.counted.completed == [0]


def test_a_task_that_fails_too_often_brings_the_query_down():
    query = a_query(word_count(1, rate=0.0), failover="task", task_attempts=1)
    run = run_spark(replace(query, failures=(FailAt(1_000, "source[0]"),)))
    ((_, crash),) = of_kind(run, "crash")
    assert "has failed 1 times" in crash["cause"]
    assert len(of_kind(run, "restart")) == 3
    assert run.counted.finished


def test_after_too_many_restarts_the_run_ends_unfinished():
    run = run_spark(a_query(most_restarts=0, failures=((10_000, "sink[0]"),)))
    assert not run.counted.finished
    assert run.log.events[-1].kind == "crash"


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("batches.cores", {"cores": 0}),
        ("batches.interval", {"interval": -1}),
        ("batches.most_per_split", {"most_per_split": 0}),
        ("batches.task_attempts", {"task_attempts": 1.5}),
        ("commit_time", {"commit_time": -1}),
        ("failover", {"failover": "region"}),
        ("failures[0].process", {"failures": ((1, "nobody"),)}),
        ("failures[0].at", {"failures": ((-1, "coordinator"),)}),
        ("slow.nobody", {"slow": {"nobody": 2}}),
    ],
)
def test_impossible_values_are_refused_at_their_fields(field, options):
    with pytest.raises(DataflowRefused) as refused:
        a_query(**options)
    assert refused.value.field == field


@pytest.mark.parametrize("sample", SPARK_SAMPLES, ids=lambda sample: sample.slug)
def test_samples_have_no_defects_and_are_consistent(sample):
    assembly = assemble(*sample.log())
    assert assembly.defects == ()
    assert {report.verdict for report in judge(assembly.recording)} == {"consistent"}


def test_the_sample_shows_a_batch_twice_at_the_sink_that_ignores_its_number():
    duplicates = run_spark(delivered_twice()).counted.duplicates
    assert duplicates["table"] == 0
    assert duplicates["lines"] > 0


# --- failures at random moments ------------------------------------------------------------------


def any_query(rng, failover):
    return a_query(
        any_dataflow(rng),
        interval=rng.choice((0, 3_000)),
        most_per_split=rng.choice((None, 5)),
        cores=rng.choice((1, 4)),
        seed=rng.randrange(2**32),
        commit_time=rng.choice((0, 3_000)),
        restart_delay=rng.choice((0, 4_000)),
        failover=failover,
        most_restarts=50,
    )


def both_runs(seed, failover, steps=None):
    """Simulate the same run without a failure and with one to three."""
    rng = Random(seed)
    calm = any_query(rng, failover)
    expected = run_spark(calm)
    end = expected.log.events[-1].at
    who = [*calm.dataflow.subtask_by_id, "coordinator"]
    failures = tuple(FailAt(rng.randint(0, end), rng.choice(who)) for _ in range(rng.randint(1, 3)))
    return expected, run_spark(replace(calm, failures=failures), steps=steps)


def sinks_of(run, *kinds):
    vertices = run.log.header.extra["dataflow"]["vertices"]
    return [vertex["id"] for vertex in vertices if vertex.get("sink") in kinds
            and vertex["kind"] == "sink"]  # fmt: skip


def seen_at(run, sink):
    return Counter(record.rid for record in run.counted.visible[sink])


def is_as_without_failure(expected, failed):
    exact = sinks_of(failed, IDEMPOTENT, TWO_PHASE)
    return failed.counted.states == expected.counted.states and all(
        seen_at(failed, sink) == seen_at(expected, sink) for sink in exact
    )


@pytest.mark.parametrize("failover", ["task", "query"])
def test_a_failure_changes_neither_states_nor_what_exact_sinks_show(failover):
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        expected, failed = both_runs(seed, failover)
        assert expected.counted.finished
        assert failed.counted.finished
        assert is_as_without_failure(expected, failed), seed
        assert not any(failed.counted.lost.values()), seed
        assert differences(failed) == [], seed
        found = reports(failed)
        assert list(found) == list(map(str, failed.counted.completed)), seed
        assert {report.verdict for report in found.values()} <= {"consistent"}, seed
        seen["failed"] += bool(failed.counted.failures)
        seen["read again"] += any(item.re_read for item in failed.counted.failures)
        seen["batch again"] += any(extra["attempt"] > 1 for _, extra in of_kind(failed, "task_end"))
        plain = sinks_of(failed, PLAIN)
        seen["duplicates"] += any(failed.counted.duplicates[sink] for sink in plain)
        assert not any(failed.counted.duplicates[sink] for sink in
                       sinks_of(failed, IDEMPOTENT, TWO_PHASE))  # fmt: skip
    assert seen["failed"]
    assert seen["read again"]
    assert failover == "task" or seen["batch again"]
    assert failover == "task" or seen["duplicates"]


class Broken:
    """Step functions of the driver, some of them wrong."""

    def __init__(self, **wrong):
        self.wrong = wrong

    def __getattr__(self, name):
        return self.wrong.get(name) or getattr(spark_epochs, name)


def forgets_the_plan(driver):
    return replace(driver, batch=None), ()


def takes_the_plan_for_done(driver):
    if driver.batch is None:
        return driver, ()
    ends = {split: end for split, (_, end) in driver.batch.ranges.items()}
    return replace(driver, batch=None, ends=ends), ()


def too_early(driver, task):
    """Deliver the batch to the sinks, and commit, while the last task still runs."""
    driver, effects = spark_epochs.on_task_end(driver, task)
    if len(driver.ended) == len(driver.before) - 1:
        return driver, (*effects, spark_epochs.Deliver(driver.batch))
    return driver, tuple(item for item in effects if not isinstance(item, spark_epochs.Deliver))


def test_where_a_planned_batch_is_taken_for_done_records_are_lost():
    steps = Broken(on_restart=takes_the_plan_for_done)
    runs = [both_runs(seed, "query", steps) for seed in range(40)]
    assert any(any(failed.counted.lost.values()) for _, failed in runs)


def test_where_the_plan_is_forgotten_other_ranges_run_under_the_same_number():
    """The sink skips the batch because of its number, although the records are new."""
    steps = Broken(on_restart=forgets_the_plan)
    flow = word_count(sink=IDEMPOTENT, records=60)
    query = ended_before_commit(flow=flow)
    assert any(run_spark(query, steps=steps).counted.lost.values())
    assert not any(run_spark(query).counted.lost.values())


def test_where_a_batch_is_committed_before_it_has_drained_the_check_says_so():
    steps = Broken(on_task_end=too_early)
    run = run_spark(a_query(word_count(1)), steps=steps)
    verdicts = Counter()
    for report in judge(assemble(*run.log).recording):
        verdicts.update(report.counts)
    assert verdicts["lost"] or verdicts["orphan"]
