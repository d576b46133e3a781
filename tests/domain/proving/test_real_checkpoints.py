"""The checker derives from the data of real checkpoints what Cutline says of them."""

import copy
import zipfile
from functools import reduce
from operator import getitem

import pytest

from snapshots.domain.archive import absence
from snapshots.domain.archive.model import (
    COMPLETED,
    FAILED,
    CheckpointFacts,
    SubtaskFacts,
    VertexFacts,
)
from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints as reports_of
from snapshots.domain.model.as_json import as_json
from snapshots.domain.proving import checkpoints
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.seatunnel.adapter.reader import SeaTunnelReader
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkStreamingReader
from snapshots.reviews import proving
from tests.domain.proving.checking import a_checker
from tests.domain.proving.test_agreement import document_of

QUICK = ("failures", "bank-unaligned")


@pytest.fixture(scope="module")
def checker():
    with a_checker() as process:
        yield process


@pytest.mark.parametrize("case", QUICK)
def test_what_the_report_of_a_flink_checkpoint_says_is_derived_again(shared_data, checker, case):
    reports, _ = read(shared_data / "flink" / case)
    items = [(checkpoints.reported_says(r), checkpoints.reported_data(r)) for r in reports]
    assert differences(checker, items) == [[]] * len(items)
    assert len(items) > 1


@pytest.mark.parametrize("case", QUICK)
def test_what_the_archive_says_of_a_flink_checkpoint_is_derived_again(shared_data, checker, case):
    _, facts = read(shared_data / "flink" / case)
    items = [(checkpoints.archived_says(f), checkpoints.archived_data(f)) for f in facts]
    assert differences(checker, items) == [[]] * len(items)
    assert any(says["last_known"] for says, _ in items)


@pytest.mark.slow
def test_every_real_flink_upload_agrees(shared_data, checker):
    seen = 0
    for case in sorted(path for path in (shared_data / "flink").iterdir() if path.is_dir()):
        reports, facts = read(case)
        items = [(checkpoints.reported_says(r), checkpoints.reported_data(r)) for r in reports]
        items += [(checkpoints.archived_says(f), checkpoints.archived_data(f)) for f in facts]
        assert differences(checker, items) == [[]] * len(items), case.name
        seen += len(items)
    assert seen > 100


def test_the_log_and_the_archive_say_alike_who_acknowledged_in_time(shared_data):
    reports, facts = read(shared_data / "flink" / "failures")
    of_log = {int(r["checkpoint"]): checkpoints.reported_says(r) for r in reports}
    of_archive = {f.number: checkpoints.archived_says(f) for f in facts}
    names = ("tasks", "acknowledged_in_time", "not_in_time")
    for number in (3, 14):
        log, archive = of_log[number], of_archive[number]
        assert {name: log[name] for name in names} == {name: archive[name] for name in names}
        assert archive["acknowledged_in_time"] == archive["stated_acknowledged"]


def test_pages_and_claims_name_the_same_that_were_not_in_time(shared_data):
    seen = set()
    for case in sorted(path for path in (shared_data / "flink").iterdir() if path.is_dir()):
        for facts in read(case)[1]:
            if facts.status != FAILED:
                continue
            claimed = set(checkpoints.archived_says(facts)["not_in_time"])
            assert claimed == set(absence.missing(facts)), (case.name, facts.number)
            if claimed:
                assert claimed == set(absence.blame(facts).names)
                seen.add((case.name, facts.number))
    assert ("failures", 14) in seen


def test_a_late_task_of_which_no_word_says_that_it_acknowledged_is_claimed(checker):
    task = SubtaskFacts(0, acknowledged=None, duration=9)
    own = (VertexFacts("a", "sink", 1, (task,)),)
    facts = CheckpointFacts(number=1, status=FAILED, duration=5, subtasks=1, vertices=own)
    says = checkpoints.archived_says(facts)
    assert says["not_in_time"] == list(absence.missing(facts)) == ["sink[0]"]
    assert differences(checker, [(says, checkpoints.archived_data(facts))]) == [[]]


def test_tasks_that_the_engine_does_not_list_are_not_known():
    facts = CheckpointFacts(number=1, status=COMPLETED, duration=10, subtasks=8, acknowledged=8)
    says = checkpoints.archived_says(facts)
    assert (says["tasks"], says["listed"], says["acknowledged_in_time"]) == (8, [], None)
    assert says["stated_acknowledged"] == 8
    assert says["together"]["bytes"] == {"sum": None, "known": 0, "of": 0}


def leaves_of(value, path=()):
    """Yield the path of each number, text and truth value in some JSON."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves_of(item, (*path, key))
    elif value is not None:
        yield path


def changed(data, path):
    """Return the data with another value at a path."""
    other = copy.deepcopy(data)
    holder = reduce(getitem, path[:-1], other)
    last = holder[path[-1]]
    is_text = isinstance(last, str)
    holder[path[-1]] = f"{last}x" if is_text else (not last if last is True else last + 1)
    return other


def test_each_changed_fact_of_a_task_is_noticed(shared_data, checker):
    _, facts = read(shared_data / "flink" / "failures")
    failed = next(item for item in facts if item.number == 14)
    says, data = checkpoints.archived_says(failed), checkpoints.archived_data(failed)
    for path in leaves_of(data):
        assert differences(checker, [(says, changed(data, path))]) != [[]], path


def test_each_changed_fact_of_a_reported_checkpoint_is_noticed(shared_data, checker):
    reports, _ = read(shared_data / "flink" / "failures")
    patterns = [item["path"].split("/")[2:] for item in proving.NOT_CLAIMED]
    for number in ("2", "14"):
        report = next(item for item in reports if item["checkpoint"] == number)
        says, data = checkpoints.reported_says(report), checkpoints.reported_data(report)
        for path in leaves_of(data):
            parts = ["*" if isinstance(part, int) else part for part in path]
            if parts not in patterns:
                assert differences(checker, [(says, changed(data, path))]) != [[]], path


def test_the_times_of_a_named_task_are_claimed_and_derived_again(shared_data, checker):
    reports, facts = read(shared_data / "flink" / "failures")
    report = next(item for item in reports if item["checkpoint"] == "2")
    archived = next(item for item in facts if item.number == 2)
    for says, data in (
        (checkpoints.reported_says(report), checkpoints.reported_data(report)),
        (checkpoints.archived_says(archived), checkpoints.archived_data(archived)),
    ):
        name = data["tasks"][0]["name"]
        says["of_tasks"][name] = checkpoints.task_says(data, name)
        assert differences(checker, [(says, data)]) == [[]]
        for field in checkpoints.TIMES:
            other = copy.deepcopy(says)
            other["of_tasks"][name][field] = "another"
            [[wrong]] = differences(checker, [(other, data)])
            assert field in wrong
    assert checkpoints.task_says(data, "nobody") is None


@pytest.mark.parametrize(
    ("engine", "reader", "timed"),
    [("seatunnel", SeaTunnelReader, 12), ("spark-streaming", SparkStreamingReader, 0)],
)
def test_what_uploads_of_other_engines_say_is_derived_again(
    shared_data, tmp_path, checker, engine, reader, timed
):
    seen = 0
    for case in sorted((shared_data / engine).glob("*.zip")):
        with zipfile.ZipFile(case) as packed:
            packed.extractall(tmp_path / case.stem)
        recording = recording_of(reader().read(tmp_path / case.stem))
        document = document_of(recording)
        answers = [answer["differences"] for answer in checker.checked(document)]
        assert answers == [[]] * len(document["claims"]), case.name
        assert len(answers) > 1, "the log and a snapshot"
        reports = [as_json(report) for report in reports_of(recording)]
        items = [(checkpoints.reported_says(r), checkpoints.reported_data(r)) for r in reports]
        assert differences(checker, items) == [[]] * len(items), case.name
        seen += len(items)
    assert seen == timed, "Spark's files have no times of tasks"


def recording_of(upload):
    header, events = upload.recording()
    return assemble(header, tuple(events)).recording


def read(case):
    upload = FlinkReader().read(case)
    recording = recording_of(upload)
    facts = [facts for job in upload.archive_facts() for facts in job.checkpoints]
    return [as_json(report) for report in reports_of(recording)], facts


def differences(checker, items):
    document = {
        "claims": [
            {"kind": "checkpoint", "evidence": str(place), "says": says}
            for place, (says, _) in enumerate(items)
        ],
        "checkpoints": {str(place): data for place, (_, data) in enumerate(items)},
    }
    return [answer["differences"] for answer in checker.checked(document)]
