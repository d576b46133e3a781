"""The kernels with which Spark judges agree with the reference; here they run without Spark."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.simulators.script import Log
from tasks.spark.judge import job
from tasks.spark.judge.job import Judge
from tasks.spark.stages import StagesHere
from tests.builders import recorded, runs
from tests.domain.judging.edges import EDGES, two_of_three_scopes
from tests.effort import examples
from tests.spark.agreement import assert_same_reports, silent
from tests.store.folders import stored


def judged_here(log: Log, scattered: int | None = None) -> tuple[SnapshotReport, ...]:
    """Judge a stored recording with Spark's kernels, in this process."""
    with stored(recorded(log), scattered=scattered) as opened:
        judging = Judge(opened.folder)
        return judging.reports(*judging.facts(StagesHere(), silent))


@pytest.mark.parametrize("rows", [job.ROWS_PER_TASK, 1], ids=["one task", "a task each"])
@pytest.mark.parametrize("edge", EDGES, ids=lambda edge: edge.__name__)
def test_the_kernels_agree_with_the_reference_at_the_edges(monkeypatch, edge, rows):
    monkeypatch.setattr(job, "ROWS_PER_TASK", rows)
    assert_same_reports(judged_here(edge()), judge(recorded(edge())))


@pytest.mark.parametrize("engine", ["spark", "flink", "another"])
def test_the_kernels_use_the_words_of_the_engine(engine):
    header, events = two_of_three_scopes()
    extra = {"derived": True, "engine": engine, "how_far": {"s1": {"2 q": "wrote"}}}
    log = Log(replace(header, extra=extra), events)
    assert_same_reports(judged_here(log), judge(recorded(log)))


@settings(max_examples=examples(40), deadline=None)
@given(log=runs(max_processes=6), scattered=st.integers(0, 99))
def test_the_kernels_agree_with_the_reference_on_generated_runs(log, scattered):
    assert_same_reports(judged_here(log, scattered), judge(recorded(log)))
