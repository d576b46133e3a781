"""A listing of a checkpoint folder tells what is there as far as names and sizes can."""

import gzip
import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from snapshots.domain.answering.sentences import NOT_KNOWN, WATCH, WRONG
from snapshots.domain.inventory.restore_check import (
    AS_LISTED,
    NOT_RESTORABLE,
    RESTORABLE,
    UploadCheck,
)
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines import registry
from snapshots.readers.formats.listings import Listing, paths_in, read_listing
from tests.readers.mutated import mutated

TOOLS = {
    "ls -lR": "ls -lR .",
    "ls -laR in full": "ls -laR --time-style=full-iso .",
    "ls -lisR": "ls -lisR .",
    "find -ls": "find . -ls",
    "find -printf, size first": "find . -type f -printf '%s %p\\n'",
    "find -printf, path first": "find . -printf '%p %s\\n'",
    "find -exec ls": "find . -type f -exec ls -l {} +",
}


def run(command: str, folder: Path) -> bytes:
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    return subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, check=True
    ).stdout


def of_folder(folder: Path) -> dict[str, int]:
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def hdfs(files: dict[str, int]) -> bytes:
    folders = sorted({path.rpartition("/")[0] for path in files} - {""})
    lines = [
        *(f"drwxr-xr-x   - flink users          0 2025-10-09 08:04 /{path}" for path in folders),
        *(
            f"-rw-r--r--   3 flink users {size:10} 2025-10-09 08:04 /{path}"
            for path, size in files.items()
        ),
    ]
    return "\n".join(lines).encode()


def aws(files: dict[str, int]) -> bytes:
    lines = [f"2025-10-09 08:04:20 {size:10} {path}" for path, size in files.items()]
    end = f"\nTotal Objects: {len(files)}\n   Total Size: {sum(files.values())}"
    return "\n".join([*lines, end]).encode()


def gsutil(files: dict[str, int]) -> bytes:
    lines = [f"{size:10}  2025-10-09T08:04:20Z  gs://b/{path}" for path, size in files.items()]
    total = sum(files.values())
    return "\n".join([*lines, f"TOTAL: {len(files)} objects, {total} bytes (1 KiB)"]).encode()


def api(files: dict[str, int]) -> bytes:
    return json.dumps({"Contents": [{"Key": k, "Size": v} for k, v in files.items()]}).encode()


STORES = {"hdfs dfs -ls -R": hdfs, "aws s3 ls": aws, "gsutil ls -l": gsutil, "aws s3api": api}


def read(folder: Path, content: bytes) -> Listing:
    (folder / "listing.txt").write_bytes(content)
    return read_listing(folder, "listing.txt")


def check(folder: Path) -> UploadCheck:
    recognised = registry.recognise(folder, tuple(of_folder(folder)), registry.PACKAGE)
    assert recognised.reader is not None
    upload = recognised.reader.read(folder)
    list(upload.entries())
    upload.inventory()
    return upload.restore_check()


@pytest.fixture
def flink(shared_data) -> Path:
    return shared_data / "flink" / "rocksdb-incremental" / "files"


@pytest.fixture
def spark(shared_data, tmp_path):
    """Return a function that unpacks a case."""

    def unpacked(case: str) -> Path:
        folder = tmp_path / "spark" / case
        zipfile.ZipFile(shared_data / "spark-streaming" / f"{case}.zip").extractall(folder)
        return folder

    return unpacked


@pytest.mark.parametrize("tool", TOOLS)
def test_what_real_tools_list_is_read_back(tool, tmp_path):
    folder = tmp_path / "job"
    for name in ("chk-7/_metadata", "chk-7/a name", "shared/x"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x" * len(name))
    (folder / "chk-7" / "zero").touch()
    listing = read(tmp_path, run(TOOLS[tool], folder))
    assert listing.files == of_folder(folder)
    assert (listing.unread, listing.rough, listing.is_whole) == (0, set(), True)


@pytest.mark.parametrize("store", STORES)
def test_the_documented_forms_of_stores_are_read_back(store, tmp_path):
    files = {"flink/chk-7/_metadata": 1234, "flink/chk-7/a b": 0, "flink/shared/x": 5 * 10**9}
    listing = read(tmp_path, STORES[store](files))
    prefix = "b/" if store == "gsutil ls -l" else ""
    assert listing.files == {f"{prefix}{path}": size for path, size in files.items()}
    assert listing.is_whole


def test_rounded_sizes_are_not_taken_as_exact(tmp_path):
    text = b"2025-10-09 08:04:20    1.2 KiB chk-7/_metadata\n2025-10-09 08:04:20 7 Bytes chk-7/b\n"
    listing = read(tmp_path, text)
    assert listing.rough == {"chk-7/_metadata"}
    assert listing.files["chk-7/b"] == 7


def test_a_listing_that_says_it_is_a_part_or_that_has_other_lines_is_not_whole(tmp_path):
    part = {"Contents": [{"Key": "chk-7/_metadata", "Size": 1}], "IsTruncated": True}
    assert not read(tmp_path, json.dumps(part).encode()).is_whole
    denied = b"-rw-r--r-- 1 a b 1 Oct  9 08:04 x\nls: cannot open directory './chk-7': denied\n"
    assert not read(tmp_path, denied).is_whole


def test_a_metadata_beside_a_listing_tells_that_all_is_there_by_name_and_size(flink, answers):
    (metadata,) = flink.glob("*/chk-4/_metadata")
    for name in ("_metadata", "chk-4/_metadata"):
        (said,) = answers({"l.txt": run("ls -lR .", flink), name: metadata.read_bytes()})
        assert said["state"].level == NOT_KNOWN
        assert "all 5 files that it needs are there" in said["state"].text
        assert "whose content is not known" in said["restorable"].text


def test_a_metadata_beside_a_listing_tells_what_is_missing(flink, answers):
    (metadata,) = flink.glob("*/chk-4/_metadata")
    listing = run("find . -type f -printf '%s %p\\n' | grep -v /shared/", flink)
    (said,) = answers({"l.txt.gz": gzip.compress(listing), "_metadata": metadata.read_bytes()})
    assert said["state"].level == WRONG
    assert "Checkpoint 4 cannot be restored: 4 files" in said["state"].text
    (said,) = answers({"l.txt": listing + b"?\n", "_metadata": metadata.read_bytes()})
    assert "cannot be restored" not in said["state"].text  # the line may be one of the files


def test_a_file_of_another_size_than_its_handle_names_is_missing(flink, answers):
    (metadata,) = flink.glob("*/chk-4/_metadata")
    files = of_folder(flink) | {path: 1 for path in of_folder(flink) if "/shared/" in path}
    (said,) = answers({"l.txt": aws(files), "_metadata": metadata.read_bytes()})
    assert "Checkpoint 4 cannot be restored: 4 files" in said["state"].text


def test_a_listing_alone_says_what_only_the_metadata_could(flink, answers):
    (said,) = answers({"l.txt": hdfs(of_folder(flink))})
    assert said["restorable"].level == NOT_KNOWN
    assert "written in the _metadata alone" in said["state"].text


def test_a_listed_folder_without_metadata_cannot_be_restored(flink, answers):
    files = {path: size for path, size in of_folder(flink).items() if "chk-4/_m" not in path}
    folder = next(path.partition("/")[0] for path in files)
    files[f"{folder}/chk-4/0f9c6a1e-0000-0000-0000-000000000000"] = 0
    (said,) = answers({"l.txt": aws(files)})
    assert said["state"].level == WRONG
    assert "There is no _metadata in the folder" in said["state"].text
    (said,) = answers({"l.txt": aws(files) + b"\n?"})
    assert said["state"].level == NOT_KNOWN


def test_a_listed_metadata_of_zero_bytes_cannot_be_restored(flink, answers):
    files = {path: size * ("chk-4/_m" not in path) for path, size in of_folder(flink).items()}
    (said,) = answers({"l.txt": hdfs(files)})
    assert "Checkpoint 4 cannot be restored" in said["state"].text


def test_a_listing_of_folders_alone_is_refused_with_the_command(flink, tmp_path):
    (folder,) = flink.iterdir()
    (tmp_path / "l.txt").write_bytes(run("ls -l", folder))
    with pytest.raises(InputRefused, match="ls -R"):
        check(tmp_path)


@pytest.mark.parametrize(
    "case",
    [
        "damaged-empty-commit", "damaged-missing-delta", "damaged-truncated-offset",
        "incident-recovered", "incident-state-ahead", "join-inner-hdfs", "purged-history",
        "stateless-rate-to-json", "window-agg-rocksdb-full",
    ],
)  # fmt: skip
def test_a_listing_never_contradicts_the_folder_itself(case, spark, tmp_path):
    folder = spark(case)
    listed = tmp_path / "listed"
    listed.mkdir()
    (listed / "l.txt").write_bytes(run("find . -ls", folder))
    real = {one.path: one for one in check(folder).checks if one.decides}
    told = {one.path: one for one in check(listed).checks if one.decides}
    assert told.keys() == real.keys()
    for path, own in told.items():
        assert own.answer != RESTORABLE  # a listing shows no content
        assert "amaged" not in own.headline.replace(case, "")
        if own.answer == NOT_RESTORABLE:
            assert real[path].answer == NOT_RESTORABLE


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ("offsets/11", "offsets/11: It is absent, so that nothing tells"),
        ("offsets/10", "offsets/10: It is absent, and Spark reads it"),
        ("metadata", "metadata: It is absent. Spark 4.3 does not start"),
    ],
)
def test_a_file_that_a_restart_needs_and_no_listing_names_is_missing(gone, said, spark, answers):
    files = {
        path: size
        for path, size in of_folder(spark("window-agg-hdfs")).items()
        if not path.endswith(f"checkpoint/{gone}")
    }
    (sentences,) = answers({"l.txt": hdfs(files)})
    assert sentences["restart"].level == WRONG
    assert said in sentences["restart"].text
    (sentences,) = answers({"l.txt": hdfs(files) + b"\nls: denied"})
    assert sentences["restart"].level == NOT_KNOWN


def test_a_gap_in_the_state_is_told(spark, answers):
    (said,) = answers({"l.txt": run("ls -lR .", spark("damaged-missing-delta"))})
    assert said["shown"].level == WATCH
    assert "has a gap: version 3 of the state is not there" in said["shown"].text
    assert AS_LISTED in said["restart"].text  # the newest state does not need it


def test_of_partitions_that_are_not_listed_the_first_ones_are_named(spark, answers):
    files = of_folder(spark("window-agg-hdfs"))
    moved = {path.replace("/state/0/1/", "/state/0/100000/"): files[path] for path in files}
    (said,) = answers({"l.txt": hdfs(moved)})
    assert said["restart"].level == WRONG
    text = said["restart"].text
    assert text.endswith(
        "/state/0/1: No file of state of this partition is there. And 99 more reasons."
    )


def test_a_batch_without_a_commit_is_in_flight(spark, answers):
    (said,) = answers({"l.txt": run("find . -ls", spark("incident-planned-only"))})
    assert "was planned and not committed" in said["last-batch"].text
    assert "no partition wrote its state" in said["last-batch"].text


def test_a_listing_of_one_folder_tells_nothing_of_the_others(spark, answers):
    files = {p: n for p, n in of_folder(spark("window-agg-hdfs")).items() if "/offsets/" in p}
    (said,) = answers({"l.txt": aws(files)})
    assert said["restart"].level == NOT_KNOWN


def test_a_listing_beside_the_folder_that_it_lists_adds_no_second_answer(spark, answers):
    folder = spark("stateless-rate-to-json")
    files = {path: (folder / path).read_bytes() for path in of_folder(folder)}
    assert len(answers(files | {"l.txt": run("find . -ls", folder)})) == 1
    some = {path: data for path, data in files.items() if not path.endswith("/metadata")}
    own, listed = answers(some | {"l.txt": run("find . -ls", folder)})
    assert {own["restart"].level, listed["restart"].level} == {WRONG, NOT_KNOWN}


def test_seatunnels_newest_file_is_the_one_that_a_restore_takes(shared_data, tmp_path, answers):
    name = "synthetic-two-pipelines-idle-reader"
    zipfile.ZipFile(shared_data / "seatunnel" / f"{name}.zip").extractall(tmp_path / "s")
    files = of_folder(tmp_path / "s")
    (said,) = answers({"l.txt": hdfs(files)})
    assert "in pipeline 1 from checkpoint 4" in said["restorable"].text
    assert said["restorable"].level == NOT_KNOWN
    newest = max(path for path in files if path.endswith("-1-4.ser"))
    (said,) = answers({"l.txt": hdfs(files | {newest: 0})})
    assert said["restorable"].level == WRONG


@pytest.mark.parametrize(
    "text",
    [
        b"", b"12 /a\n", b"hello\nworld\n", b"total 0\n", b"chk-7/_metadata\n",
        b"2025-10-09 08:04:20,001 INFO  o.a.f.Checkpoint [] - chk-7/_metadata\n" * 3,
        b"-rw-r--r-- 1 a b 5 Oct  9 08:04 notes.txt\n",
    ],
)  # fmt: skip
def test_other_texts_and_other_listings_are_no_engines(text, tmp_path):
    (tmp_path / "a.txt").write_bytes(text)
    reader = registry.recognise(tmp_path, ("a.txt",), registry.PACKAGE).reader
    assert reader is None or b"INFO" in text


def test_a_listing_whose_last_line_has_no_end_is_recognised_by_that_line():
    line = b"-rw-r--r--   3 flink users 9 2025-10-09 08:04 /7/chk-1/_metadata"
    assert paths_in(b"Found 1 items\n" + line) == ("7/chk-1/_metadata",)
    assert paths_in(b"Found 1 items\n" + line + b"\n-rw-r--r--   3 fl") == ("7/chk-1/_metadata",)


def test_mutated_listings_are_read_or_refused(flink, spark, tmp_path):
    files = of_folder(flink)
    seeds = [
        run("ls -lR .", flink), aws(files), api(files), hdfs(files),
        run("find . -ls", spark("incident-state-ahead")), gzip.compress(hdfs(files)),
        b"-rw-r--r-- 1 a b 5 Oct  9 08:04 1714521600000-7-1-4.ser\n",
    ]  # fmt: skip
    for number, data in enumerate(mutated(seeds)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "l.txt").write_bytes(data)
        paths_in(data)
        for reader in registry.READERS.values():
            try:
                upload = reader.read(folder)
                upload.inventory()
                upload.restore_check()
                list(upload.recording()[1])
            except InputRefused:
                continue
