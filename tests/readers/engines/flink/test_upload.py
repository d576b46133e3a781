"""A whole upload: the job of each checkpoint, the files it needs, and an account of every file."""

import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines.flink import checkpoint_state
from snapshots.readers.engines.flink import handles as h
from snapshots.readers.engines.flink import upload as upload_module
from snapshots.readers.engines.flink.channels.elements import RECORD
from snapshots.readers.engines.flink.files import Files, Missing, Place
from snapshots.readers.engines.flink.upload import FlinkLimits, FlinkUpload, read_upload
from tests.readers.engines.flink.cases import CASES, LEGACY, agreement, load
from tests.readers.mutated import MANY, mutated

JOB = "ab" * 16


@pytest.fixture
def tree(tmp_path):
    """Return a function that makes a folder with the files {path: bytes}."""

    def build(files: dict[str, bytes]) -> Path:
        for path, data in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(data)
        return tmp_path

    return build


def _copied(case_folder: Path, to: Path, *parts: str) -> Path:
    for part in parts:
        shutil.copytree(case_folder / part, to / part)
    return to


# Real uploads


@pytest.mark.parametrize("name", [*CASES, *LEGACY])
def test_every_compared_fact_agrees(shared_data, name):
    counts = agreement(load(shared_data, name))
    assert counts["agreed"] == counts["compared"] > 70


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_missing_and_every_file_is_accounted_for_once(shared_data, name):
    case = load(shared_data, name)
    upload = case.upload
    assert not any(checkpoint.missing for checkpoint in upload.checkpoints())
    rooms = [set(upload.usage.used), set(upload.answers), set(upload.unread)]
    assert sum(map(len, rooms)) == len(set.union(*rooms)) == len(upload.files.sizes)
    written = {path for path in upload.files.sizes if path.startswith("files/")}
    idle = {path for path in written if path in upload.unread}
    assert not idle or all("/taskowned/" in path for path in idle)
    assert all(path.startswith("rest") for path in upload.answers)


@pytest.mark.parametrize("name", CASES)
def test_each_checkpoint_belongs_to_its_job(shared_data, name):
    case = load(shared_data, name)
    ids = {job["jobId"] for job in case_json(case.folder)["jobs"]}
    for snapshot, stored in case.snapshots():
        assert stored.job in ids
        assert (stored.rest is not None) == (snapshot.get("restSizes") is not None)
        if case.has_graph:
            operators = {operator.id for operator in stored.metadata.operators}
            assert stored.vertices.keys() == operators
    known = [job for job in case.upload.jobs if job.id in ids]
    assert sum(len(job.checkpoints) for job in known) == len(case.snapshots())


def case_json(folder: Path) -> dict:
    return json.loads((folder / "case.json").read_text())


def test_incremental_checkpoints_share_files(shared_data):
    case = load(shared_data, "forst-async-state")
    (first, second) = (stored.path for _, stored in case.snapshots())
    shared = {path: by for path, by in case.upload.usage.used.items() if "/shared/" in path}
    assert {by for by in shared.values() if len(by) > 1} == {(first, second)}


def test_a_lone_checkpoint_says_what_is_missing(shared_data, tmp_path):
    case = load(shared_data, "rocksdb-incremental")
    _, stored = case.snapshots()[-1]
    shutil.copytree(case.folder / stored.folder, tmp_path / "chk-4")
    upload = read_upload(tmp_path)
    (alone,) = upload.checkpoints()
    assert (alone.job, alone.rest, alone.metadata) == (None, None, stored.metadata)
    needed = {stream.path for stream in stored.metadata.streams() if isinstance(stream, h.File)}
    assert {missing.path for missing in alone.missing} == needed
    assert {each.reason for each in alone.missing} == {"No file of that name is in the upload."}
    assert upload.unread == {}


def test_the_job_of_a_lone_checkpoint_follows_from_its_answers(shared_data, tmp_path):
    case = load(shared_data, "bank-unaligned")
    _, stored = case.snapshots()[1]
    shutil.copytree(case.folder / stored.folder, tmp_path / "chk-2")
    _copied(case.folder, tmp_path, "rest")
    upload = read_upload(tmp_path)
    (alone,) = upload.checkpoints()
    assert (alone.job, alone.rest.id) == (stored.job, 2)
    (tmp_path / "chk-2").rename(tmp_path / "chk-1")
    (other,) = read_upload(tmp_path).checkpoints()
    assert (other.job, other.rest) == (None, None)


@pytest.mark.parametrize("name", ["savepoint-native", "rescaled"])
def test_the_job_of_a_savepoint_follows_from_its_folder(shared_data, tmp_path, name):
    case = load(shared_data, name)
    (stored,) = (
        checkpoint for _, checkpoint in case.snapshots() if "/savepoint-" in checkpoint.path
    )
    _copied(case.folder, tmp_path, *(["rest-before"] if name == "rescaled" else ["rest"]))
    shutil.copytree(case.folder / stored.folder, tmp_path / stored.folder)
    (checkpoint,) = read_upload(tmp_path).checkpoints()
    assert checkpoint.job == stored.job
    assert checkpoint.vertices.keys() == {operator.id for operator in checkpoint.metadata.operators}


def test_a_checkpoint_that_fits_two_jobs_belongs_to_none(shared_data, tmp_path):
    case = load(shared_data, "bank-unaligned")
    _, stored = case.snapshots()[1]
    shutil.copytree(case.folder / stored.folder, tmp_path / "chk-2")
    _copied(case.folder, tmp_path, "rest")
    (tmp_path / "copy").mkdir()
    for path in (tmp_path / "rest").iterdir():
        text = path.read_text().replace(stored.job, JOB)
        (tmp_path / "copy" / path.name).write_text(text)
    upload = read_upload(tmp_path)
    assert {job.id for job in upload.jobs} == {stored.job, JOB, None}
    assert [checkpoint.job for checkpoint in upload.checkpoints()] == [None]


def test_answers_alone_are_an_upload(shared_data, tmp_path):
    case = load(shared_data, "failures")
    upload = read_upload(_copied(case.folder, tmp_path, "rest"))
    (job,) = upload.jobs
    assert (len(job.rest.checkpoints), job.checkpoints) == (15, ())


def test_a_damaged_checkpoint_is_listed_beside_the_others(shared_data, tmp_path):
    case = load(shared_data, "bank-aligned")
    upload = read_upload(_copied(case.folder, tmp_path, "files"))
    path = next(checkpoint.path for checkpoint in upload.checkpoints())
    whole = (tmp_path / path).read_bytes()
    (tmp_path / path).write_bytes(whole[: len(whole) // 2])
    upload = read_upload(tmp_path)
    damaged = [checkpoint for checkpoint in upload.checkpoints() if checkpoint.metadata is None]
    assert [checkpoint.path for checkpoint in damaged] == [path]
    assert "at byte" in damaged[0].problem
    assert upload.unread[path] == damaged[0].problem
    assert damaged[0].job == case.upload.jobs[0].id


# Hostile ones


def test_an_upload_without_files_of_flink_is_refused(tree):
    with pytest.raises(InputRefused, match="has neither a _metadata"):
        read_upload(tree({"a.json": b"{}", "b": b"x"}))


def test_an_upload_with_only_a_damaged_metadata_is_refused(tree):
    with pytest.raises(InputRefused, match="is not a _metadata of Flink"):
        read_upload(tree({f"{JOB}/chk-1/_metadata": b"nothing"}))


def test_limits_are_kept(shared_data, tmp_path):
    root = _copied(load(shared_data, "bank-aligned").folder, tmp_path, "files")
    with pytest.raises(InputRefused, match="more than 3 files"):
        read_upload(root, FlinkLimits(files=3))
    with pytest.raises(InputRefused, match="larger than 0 MiB"):
        read_upload(root, FlinkLimits(metadata_bytes=100))


def test_links_are_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")
    root = tmp_path / "root"
    (root / "shared").mkdir(parents=True)
    (root / "shared" / "link").symlink_to(outside)
    (root / "folder").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    files = Files(root)
    assert files.sizes == {}
    link = "It is a link, and links are not followed."
    assert files.refused == {
        "shared/link": link, "folder": link, "pipe": "It is not a regular file.",
    }  # fmt: skip
    missing = files.read(h.File("file:/x/shared/link", 6), "")
    assert isinstance(missing, Missing)
    (root / "later").write_bytes(b"secret")
    files = Files(root)
    (root / "later").unlink()
    (root / "later").symlink_to(outside)
    assert isinstance(files.read(h.File("later", 6), ""), Missing)


def test_names_that_are_not_text_are_refused(tmp_path):
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))).write_bytes(b"x")
    files = Files(tmp_path)
    assert files.sizes == {}
    assert list(files.refused) == ["?"]


@pytest.mark.parametrize(
    "path",
    ["../x", "/etc/passwd", "file:/../../x", "chk-1/../../x", "", "/", "..", ".", "a\0b", "x/"],
)
def test_a_path_from_a_file_never_leaves_the_upload(tree, path):
    (root := tree({"root/a": b"12345"})).joinpath("x").write_bytes(b"12345")
    files = Files(root / "root")
    for stream in (h.File(path, 5), h.RelativeFile(path, 5), h.Segment(path, 0, 5, h.SHARED, "")):
        assert isinstance(files.read(stream, "a"), Missing)


def test_the_longest_tail_of_a_path_decides(tree):
    files = Files(tree({"j/shared/u": b"1", "j/taskowned/u": b"22", "k": b"4", "n/m": b"5"}))
    assert files.locate(h.File("hdfs://h:9/x/j/shared/u", 1), "") == Place("j/shared/u", 0, 1)
    assert files.locate(h.File("s3://b/j/taskowned/u", 2), "") == Place("j/taskowned/u", 0, 2)
    assert files.locate(h.File("/elsewhere/k", 1), "") == Place("k", 0, 1)
    assert files.locate(h.RelativeFile("m", 1), "n") == Place("n/m", 0, 1)
    ambiguous = files.locate(h.File("/elsewhere/u", 1), "")
    assert "2 files of the upload fit" in ambiguous.reason
    assert "has 1 bytes; needed are 9 bytes" in files.locate(h.File("k", 9), "").reason


def test_many_files_of_one_name_and_many_handles_take_linear_time(tree):
    files = Files(tree({f"d{number}/u": b"1" for number in range(2_000)}))
    began = time.process_time()
    for number in range(20_000):
        assert isinstance(files.locate(h.File(f"/x{number}/u", 1), ""), Missing)
    assert files.locate(h.File("/job/d7/u", 1), "") == Place("d7/u", 0, 1)
    assert time.process_time() - began < 2


def test_segments_lie_inside_their_file(tree):
    files = Files(tree({"f": b"0123456789"}))
    assert bytes(files.read(h.Segment("f", 2, 3, h.SHARED, ""), "")) == b"234"
    assert bytes(files.read(h.Segment("f", 10, 0, h.SHARED, ""), "")) == b""
    for start, size in ((8, 3), (11, 0), (2**62, 2**62)):
        assert "needed are" in files.read(h.Segment("f", start, size, h.SHARED, ""), "").reason


def test_large_files_are_mapped(tree):
    data = random.Random(1).randbytes(2**20 + 7)
    content = Files(tree({"large": data})).read(h.File("large", len(data)), "")
    assert isinstance(content, memoryview)
    assert content == data


def test_folders_that_are_too_deep_are_reported(tmp_path):
    (deep := tmp_path.joinpath(*["d"] * 60)).mkdir(parents=True)
    (deep / "f").write_bytes(b"x")
    files = Files(tmp_path)
    assert (files.sizes, len(files.refused)) == ({}, 1)


def _everything(upload: FlinkUpload) -> Iterator[int]:
    """Visit all that a page could show."""
    for checkpoint in upload.checkpoints():
        for state in checkpoint_state.operator_states(upload, checkpoint):
            yield len(state.contents.states)
        for edge in checkpoint_state.channels(upload, checkpoint).edges:
            yield sum(each.elements.count(RECORD) for each in edge.channels if each.elements)
        yield len(checkpoint_state.state_types(upload, checkpoint))
        for keyed in checkpoint_state.keyed_states(upload, checkpoint):
            yield sum(1 for _ in keyed.state.entries)


@pytest.mark.parametrize("name", ["bank-unaligned", "file-merging", "changelog-files"])
def test_a_damaged_upload_is_read_or_refused(shared_data, tmp_path, name):
    case = load(shared_data, name)
    root = _copied(case.folder, tmp_path, "files", "rest")
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    refused = 0
    for number, path in enumerate(_chosen(paths, MANY // 10)):
        whole = path.read_bytes()
        (data,) = mutated([whole], 1, number)
        path.write_bytes(data)
        try:
            upload = read_upload(root)
            assert sum(_everything(upload)) >= 0
            rooms = {*upload.usage.used, *upload.answers, *upload.unread}
            assert rooms == upload.files.sizes.keys()
            if all(one.metadata is not None for one in upload.checkpoints()):
                needed_and_whole = upload.usage.used.keys() - upload.usage.damaged.keys()
                assert not needed_and_whole & upload.unread.keys()
        except InputRefused:
            refused += 1
        path.write_bytes(whole)
    assert refused == 0


def _chosen(paths: list[Path], count: int) -> Iterator[Path]:
    chance = random.Random(count)
    for _ in range(count):
        yield chance.choice(paths)


def test_the_reader_names_no_path_of_the_machine(tree):
    root = tree({f"{JOB}/chk-1/_metadata": b"nothing"})
    with pytest.raises(InputRefused) as refused:
        read_upload(root)
    assert str(root) not in str(refused.value)
    assert upload_module.METADATA in str(refused.value)
