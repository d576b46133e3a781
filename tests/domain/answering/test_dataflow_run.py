"""What went wrong in a run of a dataflow is said before anything else, and nothing is well then."""

import json
from dataclasses import replace

import pytest

from snapshots.domain.answering.dataflow_run import AskedFailure, troubles
from snapshots.domain.answering.log import JudgedSnapshot, subject
from snapshots.domain.answering.sentences import WATCH, WELL, WRONG
from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.model.as_json import as_json
from snapshots.domain.simulators.dataflow_samples import SAMPLES_OF_DATAFLOWS
from snapshots.domain.simulators.flink.samples import smallest
from snapshots.domain.simulators.flink.simulation import run_dataflow
from tests.dataflows import a_run_of, failing, word_count

CONSISTENT = JudgedSnapshot("1", "consistent", None)
SLUGS = [sample.slug for sample in SAMPLES_OF_DATAFLOWS]
QUIET = {"back-pressure", "overtaking-barriers"}  # nothing fails and nothing is lost in these


def stored(log) -> dict:
    return json.loads(
        json.dumps(as_json(all_failovers(assemble(log.header, log.events).recording)))
    )


def told(simulation) -> list[tuple[str, str]]:
    found = troubles(stored(run_dataflow(simulation, "a run").log), "us")
    return [(item.level, item.text) for item in found]


@pytest.mark.parametrize("slug", SLUGS)
def test_no_sample_with_a_failure_is_well(slug):
    log = next(sample for sample in SAMPLES_OF_DATAFLOWS if sample.slug == slug).log()
    found = troubles(stored(log), "us")
    answer = subject("run", {"consistent": 2}, CONSISTENT, 0, [{"status": "completed"}], found)
    levels = [item.level for item in answer.sentences]
    if slug in QUIET:
        assert levels[0] == WELL
    else:
        assert levels[0] in (WRONG, WATCH)
        assert WELL not in levels


def test_records_of_transactions_that_timed_out_are_lost():
    level, text = told(a_run_of(word_count(), tx_timeout=1, interval=50_000))[0]
    assert level == WRONG
    assert "lost at sink, which shows 0." in text
    assert "timed out before the commit." in text


def test_a_crash_is_told_with_what_it_repeated():
    run = failing(a_run_of(word_count(sink="plain", records=100)), 25_000, "count[0]")
    found = told(run)
    assert found[0][0] == WATCH
    assert any("there twice at sink: a write that is repeated" in text for _, text in found)
    assert any(text.startswith("count[0] failed at 25 ms") for _, text in found)


def test_a_failure_that_ends_the_run_is_wrong():
    run = replace(smallest(), most_restarts=0)
    assert told(run)[0][0] == WRONG
    assert "before anything came back" in told(run)[0][1]


def test_a_failure_that_hits_nobody_is_told():
    run = failing(a_run_of(word_count(records=2)), 900_000, "count[0]")
    log = run_dataflow(run, "a run").log
    (first, *_) = troubles(stored(log), "us", [AskedFailure("count[0]", 900_000)])
    assert (first.level, first.code) == (WATCH, "no-failure")
    assert "(count[0] at 900 ms) hit nobody" in first.text
    assert not troubles(stored(log), "us")


def test_a_run_without_trouble_stays_well():
    assert told(a_run_of(word_count())) == []
