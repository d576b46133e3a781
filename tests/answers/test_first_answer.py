"""The first answer to each real case says what a person has read and compared with the case."""

import json
import zipfile

import pytest

from snapshots.domain.answering.sentences import KINDS, LEVELS, FirstAnswer
from tests.answers.first_answers import SUITES, answered, cases, golden, named, text_of
from tests.readers.engines.flink.cases import CASES


@pytest.mark.parametrize("suite", SUITES)
def test_each_case_gets_the_sentences_that_were_read(shared_data, suite):
    expected = golden(suite)
    found = {named(case): answered(case) for case in cases(shared_data, suite)}
    assert {name: text_of(answer) for name, answer in found.items()} == expected
    for answer in found.values():
        _require_form(answer)


def _require_form(answer: FirstAnswer) -> None:
    """Require three to seven whole sentences for each job, each with evidence or a command."""
    for subject in answer.subjects:
        least = 1 if subject.sentences[0].code == "whole" else 3
        assert least <= len(subject.sentences) <= 7, subject.name
        for item in subject.sentences:
            assert item.level in LEVELS
            assert not item.text[0].islower(), item.text
            assert item.text.endswith((".", "?")), item.text
            assert ".." not in item.text.replace("...", ""), item.text
            assert "  " not in item.text, item.text
            assert item.evidence or item.upload, item.text
            assert {one.kind for one in item.evidence} <= set(KINDS)


@pytest.mark.parametrize("name", CASES)
def test_flinks_own_numbers_stand_in_the_sentences(shared_data, name):
    """Compare bytes and channels in flight with what Flink's own classes read."""
    folder = shared_data / "flink" / name
    answer = answered(folder)
    text = text_of(answer)
    snapshots = json.loads((folder / "expected.json").read_text())["snapshots"]
    newest = max(snapshots, key=lambda item: item["flink"]["checkpointId"])
    total = (newest.get("inFlight") or {}).get("bytes", 0)
    assert ("were in flight at" in text) == (total > 0)
    last = newest["flink"]["checkpointId"]
    assert f"The newest point with all its files in the upload is {_kind(newest)} {last}" in text
    if not (folder / "rest").exists():
        assert "Whether the job runs well, who is slow and why it restarted is not known" in text
        return
    counts = json.loads((folder / "rest/checkpoints.json").read_text())["counts"]
    told = f"{counts['failed']} of {counts['total']} checkpoints failed"
    assert (told in text) == (counts["failed"] > 0)


def _kind(snapshot: dict) -> str:
    return "savepoint" if "savepoint-" in snapshot["path"] else "checkpoint"


def test_the_batch_in_flight_of_an_incident_is_the_expected_one(shared_data):
    for case in cases(shared_data, "spark-streaming"):
        if not named(case).startswith("incident-") or named(case) == "incident-recovered":
            continue
        with zipfile.ZipFile(case) as package:
            names = package.namelist()
        planned = max(
            int(n.rpartition("/")[2]) for n in names if "/offsets/" in n and n[-1].isdigit()
        )
        committed = {n.rpartition("/")[2] for n in names if "/commits/" in n}
        assert str(planned) not in committed
        first = answered(case).subjects[0].sentences[0]
        assert first.text.startswith(f"Batch {planned}, the last one, was planned")
        assert "and not committed" in first.text
