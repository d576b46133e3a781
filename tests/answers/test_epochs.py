"""What is said of a checkpoint that continuous mode has written, with files taken away."""

import shutil
from pathlib import Path

import pytest

from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from tests.answers.first_answers import answered
from tests.readers.engines.spark_streaming.cases import unpack

MAIN = "checkpoint"


@pytest.fixture
def epochs(shared_data, tmp_path):
    """Return a function that takes files from a checkpoint of epochs 0 to 3, all committed."""
    folder, _ = unpack(shared_data / "spark-streaming/continuous-rate-to-memory.zip", tmp_path)

    def without(*paths: str) -> Path:
        for path in paths:
            taken = folder / MAIN / path
            taken.unlink()
            taken.with_name(f".{taken.name}.crc").unlink(missing_ok=True)
        shutil.copytree(folder / MAIN, tmp_path / "case" / "files" / MAIN)
        return tmp_path / "case"

    return without


def said(case: Path) -> dict[str, str]:
    (subject,) = answered(case).subjects
    return {sentence.code: sentence.text for sentence in subject.sentences}


def upload(case: Path) -> SparkUpload:
    return SparkUpload(case / "files")


def test_epochs_that_ended_and_were_not_committed_were_not_planned(epochs):
    sentences = said(epochs("commits/2", "commits/3"))
    assert sentences["last-batch"] == (
        "Epoch 3, the last one, ended at every reader and was not committed. In continuous mode "
        "offsets are written at the end of an epoch: every reader had finished it, and it was not "
        "committed."
    )
    assert sentences["in-flight"] == (
        "What the readers had read in epoch 3 counts only when it is committed; the number "
        "of these rows is not known. 1 earlier epoch had ended without a commit, too."
    )
    assert "planned" not in " ".join(sentences.values())
    assert "batch" not in sentences["restart"]


def test_a_restart_needs_the_newest_committed_epoch_only(epochs):
    case = epochs("commits/2", "commits/3")
    assert said(case)["restart"] == (
        "A restart begins at the offsets of the last epoch that was committed, and reads what came "
        "after it again; without any commit it begins anew."
    )
    last = upload(case).inventory().checkpoints[-1]
    assert last.id == 3
    (case / "files" / MAIN / "offsets/1").unlink()
    assert "offsets/1" in said(case)["restart"]
    assert "cannot go on" in said(case)["restart"]


def test_without_a_commit_a_restart_begins_anew(epochs):
    sentences = said(epochs(*(f"commits/{number}" for number in range(4))))
    assert "last epoch that was committed" not in " ".join(sentences.values())
    assert sentences["restorable"] == "No epoch is known to be committed."
    assert sentences["restart"] == (
        "Whether a restart can go on is not known. No epoch is committed: a start reads the source "
        "from where a new query begins."
    )


def test_an_epoch_between_committed_ones_may_have_been_given_up(epochs):
    case = epochs("commits/1", "commits/2")
    (first, *gap, last) = upload(case).inventory().checkpoints
    assert (first.status, last.status) == ("completed", "completed")
    assert {epoch.status for epoch in gap} == {"unknown"}
    assert {epoch.problem for epoch in gap} == {
        "A later epoch is committed. Either the commit of this one is not in the upload, or a "
        "restart gave the epoch up."
    }
    _, events = upload(case).recording()
    commits = [event.snapshot for event in events if event.kind == "batch_commit"]
    assert commits == ["0", "3"]


def test_offsets_that_go_back_show_that_a_restart_kept_files_of_an_earlier_run(epochs):
    case = epochs()
    logs = case / "files" / MAIN / "offsets"
    (logs / "3").write_bytes((logs / "0").read_bytes())
    assert (logs / "1").read_bytes() != (logs / "0").read_bytes()
    *_, before, last = upload(case).inventory().checkpoints
    assert any("go back" in note for note in last.notes), last.notes
    assert not any("go back" in note for note in before.notes)
