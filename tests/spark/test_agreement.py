"""Spark and the reference agree, table by table and report by report.

AGREEMENT_EXAMPLES says how many generated recordings are tried.
"""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from snapshots.domain.model.recording import RECORD_CHANNEL
from snapshots.domain.simulators.samples import SAMPLES
from snapshots.domain.simulators.script import Log
from snapshots.store.reader import StoredRecording
from tests import damage
from tests.builders import a_run, runs, side_by_side, simulated
from tests.domain.judging.edges import EDGES
from tests.domain.judging.restored import RESTORED
from tests.spark.agreement import agree, written
from tests.spark.ingest import disorder

EXAMPLES = int(os.environ.get("AGREEMENT_EXAMPLES", "15"))
DAMAGES = (
    damage.lose_recorded_message,
    damage.duplicate_recorded_message,
    damage.wrong_state,
    damage.marker_sent_late,
    damage.record_late,
    damage.overtake,
)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(log=disorder.logs())
def test_spark_and_the_reference_agree_on_generated_recordings(spark, log):
    with tempfile.TemporaryDirectory() as folder:
        agree(written(log, Path(folder, "log.jsonl")), Path(folder), spark)


@settings(
    max_examples=max(EXAMPLES // 3, 5),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(one=runs(), other=runs())
def test_spark_and_the_reference_agree_on_runs_in_scopes_of_their_own(spark, one, other):
    with tempfile.TemporaryDirectory() as folder:
        agree(written(side_by_side(one, other), Path(folder, "log.jsonl")), Path(folder), spark)


@pytest.mark.parametrize("step", ["send_marker", "receive_marker", "record_channel"])
def test_spark_and_the_reference_agree_on_a_snapshot_without_states(spark, tmp_path, step):
    """The scope of a snapshot follows from its markers, also without a send, and its records."""
    run = getattr(a_run(), step)("p->q", "s1")
    log = side_by_side(run.log(), simulated())
    agree(written(log, tmp_path / "log.jsonl"), tmp_path, spark)
    snapshot = StoredRecording.open(tmp_path / "spark").snapshot("1 s1")
    assert list(snapshot.states) == ["1 p", "1 q"]


@pytest.mark.parametrize("spoil", DAMAGES, ids=lambda spoil: spoil.__name__)
def test_spark_and_the_reference_agree_on_every_damage(spark, tmp_path, spoil):
    log = spoil(simulated(seed=2)).log
    agree(written(log, tmp_path / "log.jsonl"), tmp_path, spark)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.slug)
def test_spark_and_the_reference_agree_on_every_sample(spark, tmp_path, sample):
    agree(written(sample.log(), tmp_path / "log.jsonl"), tmp_path, spark)


@pytest.mark.parametrize("edge", EDGES, ids=lambda edge: edge.__name__)
def test_spark_and_the_reference_agree_at_the_edges(spark, tmp_path, edge):
    agree(written(edge(), tmp_path / "log.jsonl"), tmp_path, spark)


@pytest.mark.parametrize("make", RESTORED, ids=lambda make: make.__name__)
def test_spark_and_the_reference_agree_on_runs_with_a_restore(spark, tmp_path, make):
    agree(written(make(), tmp_path / "log.jsonl"), tmp_path, spark)


def test_spark_and_the_reference_agree_where_channel_states_were_not_recorded(spark, tmp_path):
    log = damage.without(simulated(seed=3), RECORD_CHANNEL)
    agree(written(log, tmp_path / "log.jsonl"), tmp_path, spark)


def test_spark_and_the_reference_agree_on_a_derived_recording(spark, tmp_path):
    run = a_run().internal("p", "works", state=None).internal("q", "works", state=None)
    run = run.record("p", "s1", state={"bytes": 4}).record("q", "s1", state=5)
    run = run.internal("p", "read", state=7).record("p", "s2", state=7).record("q", "s2")
    header, events = run.log()
    flaws = {"sentences": ["A file is gone."], "snapshots": {"s2": [0]}}
    log = Log(replace(header, extra={"derived": True, "flaws": flaws}), events)
    agree(written(log, tmp_path / "log.jsonl"), tmp_path, spark)


@pytest.mark.parametrize("engine", ["spark", "flink", "another"])
def test_spark_and_the_reference_use_the_same_words_of_an_engine(spark, tmp_path, engine):
    run = a_run().record("p", "s1").send_marker("p->q", "s1").record("q", "s1").record("p", "s2")
    header, events = run.log()
    extra = {"derived": True, "engine": engine, "how_far": {"s2": {"q": "wrote"}}}
    log = Log(replace(header, extra=extra), events)
    agree(written(log, tmp_path / "log.jsonl"), tmp_path, spark)


def test_spark_and_the_reference_agree_where_an_id_is_used_several_times(spark, tmp_path):
    run = a_run().send("p->q", "m", 1).receive("p->q", "m").send("p->q", "m", 2)
    run = run.send("p->q", "m", 4).send("p->q", "n", 8).record("p", "s1").record("q", "s1")
    run = run.record_channel("p->q", "s1", "m", "m", "n", "m")
    agree(written(run.log(), tmp_path / "log"), tmp_path / "store", spark)
