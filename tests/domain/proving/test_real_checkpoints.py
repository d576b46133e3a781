"""The checker derives from the data of real checkpoints what Cutline says of them."""

import zipfile

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints as reports_of
from snapshots.domain.model.as_json import as_json
from snapshots.domain.proving import checkpoints
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.seatunnel.adapter.reader import SeaTunnelReader
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkStreamingReader
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
    assert any(says["waited_for"] for says, _ in items)


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
