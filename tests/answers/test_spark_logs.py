"""The first answers to checkpoints of Spark as people bring them: ``tests/data/spark-logs``."""

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from snapshots.domain.answering.sentences import WATCH, WELL, WRONG
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
    "real-time-between-plans": "nothing was in flight, unless the query runs in real-time mode",
    "real-time-not-committed": "If the query runs in real-time mode, which its files do not tell, "
    "the batch had read all of this and was about to be committed.",
    "real-time-state-ahead": "What was in flight behind it is not known.",
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


@pytest.mark.parametrize("name", ["rate-real", "stopped-in-first-batch", "nested-checkpoints"])
def test_where_the_files_exclude_real_time_mode_nothing_is_said_of_it(name):
    assert "real-time" not in " ".join(texts(name))


SETTING = b'"spark.sql.streaming.stateStore.rowChecksum.enabled":"false",'
OF_DELTA = b'{"reservoirVersion": 4, "index": 2}'
ORDERS = re.compile(rb'\{"orders": .*\}')
OFFSETS, COMMITS = "/offsets/", re.compile(r"/commits/\d+$")


@pytest.fixture
def copied(tmp_path):
    """Return a function that packs a copy without checksums, with the content that is wanted."""

    def packed(name: str, wanted: Callable[[str, bytes], bytes | None]) -> Path:
        package = tmp_path / "copy.zip"
        with (
            zipfile.ZipFile(DATA / f"{name}.zip") as source,
            zipfile.ZipFile(package, "w") as target,
        ):
            for path in source.namelist():
                content = None if path.endswith(".crc") else wanted(path, source.read(path))
                if content is not None:
                    target.writestr(path, content)
        return package

    return packed


@pytest.mark.parametrize(
    ("change", "may_be"),
    [
        (lambda data: data, True),
        (lambda data: data.replace(SETTING, b""), False),  # as Spark 4.0 writes it
        (lambda data: ORDERS.sub(OF_DELTA, data), False),
    ],
    ids=["Kafka", "Kafka in Spark 4.0", "Delta"],
)
def test_a_plan_tells_whether_the_query_may_be_in_real_time_mode(copied, change, may_be):
    package = copied("kafka-shaped", lambda path, data: change(data) if OFFSETS in path else data)
    (only,) = answered(package).subjects
    said = " ".join(one.text for one in only.sentences)
    assert ("unless the query runs in real-time mode" in said) == may_be
    assert "A restart goes on behind it." in said


def test_a_batch_before_one_that_wrote_state_was_not_about_to_be_committed(copied):
    whole = DATA / "real-time-state-ahead.zip"
    newest = max(path for path in zipfile.ZipFile(whole).namelist() if COMMITS.search(path))
    package = copied(whole.stem, lambda path, data: None if path == newest else data)
    said = " ".join(one.text for one in answered(package).subjects[0].sentences)
    assert "is the last one in the logs, and there is state of a later one" in said
    assert "not committed" in said
    assert "about to be committed" not in said


def test_a_query_inside_of_another_has_an_answer_of_its_own():
    whole, *queries = answered(DATA / "nested-checkpoints.zip").subjects
    assert {subject.name for subject in queries} == {"outer", "per_key", "per_minute"}
    assert whole.name == "All 3 queries"
    assert whole.sentences[0].level == WELL
    assert whole.sentences[0].text.startswith("Of the 3 queries in the upload a restart ")


def test_the_flows_of_a_pipeline_are_named_and_their_common_sink_is():
    answer = answered(DATA / "pipeline-store.zip")
    names = {subject.name for subject in answer.subjects[1:]}
    flows = {"counts of counts", "orders of orders", "live of merged", "backfill of merged"}
    assert names == {f"flow {flow}" for flow in flows}
    shared = [
        one.text
        for subject in answer.subjects
        for one in subject.sentences
        if one.level == WRONG and "both committed batch 0" in one.text
    ]
    assert len(shared) == 2


@pytest.fixture
def root(tmp_path):
    """Return a function that packs copies of one checkpoint, each without the files given."""

    def packed(lacking: list[str | None], **beside: bytes) -> Path:
        package = tmp_path / "root.zip"
        with (
            zipfile.ZipFile(DATA / "stopped-in-first-batch.zip") as source,
            zipfile.ZipFile(package, "w") as target,
        ):
            for number, lacks in enumerate(lacking):
                for name in source.namelist():
                    inside = name.partition("/checkpoint/")[2] or name
                    if lacks is None or not inside.startswith(lacks):
                        target.writestr(f"root/q{number}/{inside}", source.read(name))
            for name, data in beside.items():
                target.writestr(name, data)
        return package

    return packed


def test_a_root_with_many_queries_has_an_answer_for_each_and_for_the_whole(root):
    whole, *queries = answered(root([None] * 11 + ["metadata"])).subjects
    assert len(queries) == 12
    first, wrong, *_ = whole.sentences
    assert first.level == wrong.level == WRONG
    assert first.text == (
        "Of the 12 queries in the upload a restart can go on for 11 and cannot go on for 1 "
        "(root/q11)."
    )
    assert wrong.text == "Not well: 1 of 12 queries (root/q11)."


def test_one_query_has_no_answer_about_the_whole(root):
    (only,) = answered(root([None])).subjects
    assert only.sentences[0].code != "whole"
