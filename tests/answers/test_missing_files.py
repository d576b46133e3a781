"""No checkpoint is called whole that lacks a byte, and what a missing file held is not known."""

import shutil
from pathlib import Path

import pytest

from snapshots.domain.answering.sentences import NOT_KNOWN, WRONG, Sentence
from snapshots.readers.engines import registry
from tests.answers.first_answers import answered


@pytest.fixture
def copy(shared_data, tmp_path) -> Path:
    """Return a copy of an unaligned case, whose newest checkpoint is 2."""
    return Path(shutil.copytree(shared_data / "flink/bank-unaligned", tmp_path / "case"))


def sentences(case: Path) -> dict[str, Sentence]:
    (subject,) = answered(case).subjects
    return {item.code: item for item in subject.sentences}


@pytest.mark.parametrize("kept", [None, 0.5], ids=["removed", "half"])
def test_a_checkpoint_that_lacks_a_byte_is_not_the_newest_whole_one(copy, kept):
    (folder,) = copy.glob("files/*/chk-2")
    files = sorted(folder.iterdir())
    assert len(files) == 7
    for path in files:
        content = path.read_bytes()
        path.unlink()
        if kept is not None:
            path.write_bytes(content[: int(len(content) * kept)])
        text = sentences(copy)["restorable"].text
        path.write_bytes(content)
        assert text.startswith("The newest point with all its files in the upload is checkpoint 1")
        assert "Checkpoint 2 is newer. " in text, path.name
    whole = sentences(copy)["restorable"].text
    assert whole.startswith("The newest point with all its files in the upload is checkpoint 2")


def test_data_in_flight_whose_file_is_missing_is_not_known(copy):
    (folder,) = copy.glob("files/*/chk-2")
    max(folder.iterdir(), key=lambda path: path.stat().st_size).unlink()
    found = sentences(copy)["in-flight"]
    assert found.level == NOT_KNOWN
    assert found.text == (
        "What was in flight at checkpoint 2 is not known. No such file lies beside the "
        "_metadata, where Flink looks for it. The engine says that it stored 96.4 kB of data in "
        "flight."
    )


def test_a_lone_metadata_cannot_be_restored_and_proves_nothing_else(copy):
    (metadata,) = copy.glob("files/*/chk-2/_metadata")
    content = metadata.read_bytes()
    shutil.rmtree(copy / "files")
    shutil.rmtree(copy / "rest")
    (copy / "files").mkdir()
    (copy / "files/_metadata").write_bytes(content)
    found = sentences(copy)
    state = found.pop("state")
    assert state.level == WRONG
    assert state.text.startswith(
        "Checkpoint 2 cannot be restored: 6 files that it needs are not there as a whole. Whether"
    )
    assert {item.level for item in found.values()} == {NOT_KNOWN}
    assert "6 files that it needs are not there as a whole" in found["restorable"].text


def test_without_the_plan_the_bytes_are_known_and_their_other_ends_are_not(copy):
    shutil.rmtree(copy / "rest")
    assert sentences(copy)["in-flight"].text == (
        "96.3 kB were in flight at checkpoint 2, in 10 halves of channels: 55.9 kB behind "
        "withdraw, 32.8 kB behind to-request, 5.14 kB before deposit and 1 more."
    )


def test_files_are_looked_for_beside_their_metadata_and_nowhere_else(shared_data, tmp_path):
    source = shared_data / "flink/savepoint-native/files"
    (savepoint,) = source.glob("savepoint-*")
    shutil.copytree(savepoint, tmp_path / "case/files" / savepoint.name)
    for other in ("chk-3", "savepoint-d2d1e2-000000000000", "backup"):
        folder = tmp_path / "case/files" / "d2d1e258ad309fdbbb2adbacceb6bdf7" / other
        folder.mkdir(parents=True)
        shutil.copy(savepoint / "_metadata", folder)
    state = sentences(tmp_path / "case")["state"]
    assert state.level == WRONG
    assert "cannot be restored (2 others neither): 12 files that it needs" in state.text


def test_a_newer_point_hides_no_checkpoint_that_lacks_a_file(shared_data, tmp_path):
    case = Path(shutil.copytree(shared_data / "flink/rocksdb-incremental", tmp_path / "case"))
    max(case.glob("files/*/shared/*"), key=lambda path: path.stat().st_size).unlink()
    found = sentences(case)
    assert found["state"].level == WRONG
    assert "cannot be restored" in found["state"].text
    assert "1 file that it needs is not there as a whole" in found["state"].text
    assert found["restorable"].text.startswith("The newest point with all its files")


def test_folders_without_metadata_are_checkpoints_that_cannot_be_restored(tmp_path):
    for number in (6, 7):
        state = tmp_path / "case/files" / ("ab" * 16) / f"chk-{number}"
        state.mkdir(parents=True)
        (state / f"6e6d6c3a-0000-4000-8000-00000000000{number}").write_bytes(b"x" * 100)
    found = sentences(tmp_path / "case")
    assert found["state"].level == WRONG
    assert found["state"].text.startswith("Checkpoint 7 cannot be restored (1 other neither):")
    assert found["restorable"].text.startswith("No checkpoint in the upload can be restored.")


def test_nothing_is_said_to_be_empty_where_what_is_in_flight_is_not_known(copy):
    (metadata,) = copy.glob("files/*/chk-2/_metadata")
    for path in metadata.parent.iterdir():
        if path != metadata:
            path.unlink()
    shutil.rmtree(copy / "rest")
    checkpoints = registry.READERS["flink"].read(copy).inventory().checkpoints
    assert None in [checkpoint.in_flight for checkpoint in checkpoints]
    for checkpoint in checkpoints:
        assert checkpoint.in_flight is not None or checkpoint.why_empty is None
