"""The first answers to checkpoints of Spark as people bring them: ``tests/data/spark-logs``."""

from pathlib import Path

import pytest

from snapshots.domain.answering.sentences import WATCH, WRONG
from tests.answers.first_answers import answered

DATA = Path(__file__).parents[1] / "data/spark-logs"
ALL = sorted(path.stem for path in DATA.glob("*.zip"))
THREW_AWAY = (
    "The log of the file sink in sink-new-checkpoint/sink already had batches 0 to 2 when this "
    "query planned them: its entries are older than the query's plan. The sink throws away what "
    "they wrote, and output appears from batch 12 on."
)
SAID = {
    "2.1-offsets": "Batch 1 gained source 1 without an offset.",
    "delta-no-new-data": "No-data batch 38 was in flight and reads nothing new: the offset of its "
    "source is that of the batch before.",
    "kafka-reset-in-flight": "Batch 1 is to go back from 500 to 300 in test-topic-0.",
    "kafka-shaped": "A restart goes on behind it.",
    "rate-one-batch-in-flight": "Batch 0, the last one, was planned",
    "rate-real": "Batch 2, the last one, was committed, and so were all before it from 0 on",
    "sink-new-checkpoint": THREW_AWAY,
    "stopped-in-first-batch": "The batch was planned, and no partition wrote its state.",
}


def texts(name: str) -> list[str]:
    subjects = answered(DATA / f"{name}.zip").subjects
    return [one.text for subject in subjects for one in subject.sentences]


@pytest.mark.parametrize("name", ALL)
def test_none_of_these_inputs_is_called_damaged(name):
    subjects = answered(DATA / f"{name}.zip").subjects
    assert {one.code for subject in subjects for one in subject.sentences}.isdisjoint({"damage"})


@pytest.mark.parametrize("name", SAID)
def test_the_answer_says_what_the_logs_show(name):
    assert SAID[name] in " ".join(texts(name))


@pytest.mark.parametrize(
    ("name", "level"), [("sink-new-checkpoint", WRONG), ("kafka-reset-in-flight", WATCH)]
)
def test_what_the_logs_show_is_said_first(name, level):
    assert answered(DATA / f"{name}.zip").subjects[0].sentences[0].level == level


def test_a_query_inside_of_another_has_an_answer_of_its_own():
    names = {subject.name for subject in answered(DATA / "nested-checkpoints.zip").subjects}
    assert names == {"outer", "per_key", "per_minute"}


def test_the_flows_of_a_pipeline_are_named_and_their_common_sink_is():
    answer = answered(DATA / "pipeline-store.zip")
    names = {subject.name for subject in answer.subjects}
    flows = {"counts of counts", "orders of orders", "live of merged", "backfill of merged"}
    assert names == {f"flow {flow}" for flow in flows}
    shared = [
        one.text
        for subject in answer.subjects
        for one in subject.sentences
        if one.level == WRONG and "both committed batch 0" in one.text
    ]
    assert len(shared) == 2
