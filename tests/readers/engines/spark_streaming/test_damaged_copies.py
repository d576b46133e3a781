"""Damaged copies of a real checkpoint are answered as the table of the document says."""

import io
import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from django.conf import settings

from snapshots.readers.engines.registry import READERS
from snapshots.readers.engines.spark_streaming.adapter import restore_state
from tests.readers.engines.needed_files import NO, NOT_KNOWN, YES
from tests.readers.engines.spark_streaming.damaged_copies import DAMAGES, Copy, answer_about

DOCUMENT = Path(settings.BASE_DIR) / "docs" / "formats" / "completeness.md"
ROW = re.compile(r"^\| (.+?) \| (.+?) \| (restorable|not restorable|not known) \|$", re.MULTILINE)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.title)
def test_damaged_copies_are_answered_as_the_table_says(case, tmp_path, damage):
    original = case("purged-history") / "checkpoint"
    for number, change in enumerate(damage.changes):
        copy = Copy(shutil.copytree(original, tmp_path / str(number)))
        change(copy)
        assert answer_about(copy.root) == damage.answer, number


def test_the_document_has_every_damage_with_what_spark_did():
    rows = [(title, did, answer.replace(" ", "-")) for title, did, answer in _rows()]
    assert rows == [(damage.title, damage.did, damage.answer) for damage in DAMAGES]


def _rows() -> list[tuple[str, ...]]:
    table = DOCUMENT.read_text().partition("| what Spark did |")[2].partition("\n## ")[0]
    return ROW.findall(table)


NEWEST, OLDER = "state/0/0/12.zip", ("state/0/0/4.zip", "state/0/0/8.zip")
CHANGES_BEFORE = [f"state/0/0/{version}.changelog" for version in range(1, 13)]
METADATA = "state/0/_metadata/metadata"


def cut(root: Path, paths: Iterable[str]) -> None:
    for path in paths:
        content = (root / path).read_bytes()
        (root / path).write_bytes(content[: len(content) // 2])


def remove(root: Path, paths: Iterable[str]) -> None:
    for path in paths:
        (root / path).unlink()


def tables(root: Path) -> list[str]:
    """Return the paths of the tables that the newest snapshot names."""
    with zipfile.ZipFile(root / NEWEST) as package:
        listed = json.loads(package.read("metadata").partition(b"\n")[2])["sstFiles"]
    return [f"state/0/0/SSTs/{table['dfsSstFileName']}" for table in listed]


def without_other_way(root: Path) -> None:
    cut(root, [NEWEST])
    remove(root, [*OLDER, *CHANGES_BEFORE])


def without_changes(root: Path) -> None:
    cut(root, [NEWEST, "state/0/0/11.changelog"])


def of_spark_3(root: Path) -> None:
    cut(root, [NEWEST])
    remove(root, [METADATA])


def of_newer_version(root: Path) -> None:
    """Write the list of tables in the newest snapshot as a newer Spark may do."""
    packed = io.BytesIO()
    with zipfile.ZipFile(root / NEWEST) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, b"v9" + content[2:] if name == "metadata" else content)
    (root / NEWEST).write_bytes(packed.getvalue())


def tables_cut_of_spark_3(root: Path) -> None:
    cut(root, tables(root))
    remove(root, [METADATA])


def tables_removed_of_spark_3(root: Path) -> None:
    remove(root, tables(root))
    remove(root, [METADATA])


REPAIRS: dict[str, tuple[Callable[[Path], None], str, bool]] = {
    "the newest snapshot is cut": (lambda root: cut(root, [NEWEST]), YES, True),
    "its tables are cut": (lambda root: cut(root, tables(root)), YES, True),
    "its tables are removed": (lambda root: remove(root, tables(root)), YES, True),
    "all snapshots are cut": (lambda root: cut(root, [NEWEST, *OLDER]), YES, True),
    "it is cut, and older files are removed": (without_other_way, NO, False),
    "it is cut, and so are changes behind the one before": (without_changes, NO, True),
    "it is cut, and Spark 3 wrote the state": (of_spark_3, NOT_KNOWN, False),
    "its list of tables is of a newer version": (of_newer_version, NOT_KNOWN, False),
    "its tables are cut, and Spark 3 wrote the state": (tables_cut_of_spark_3, NOT_KNOWN, False),
    "its tables are removed, and Spark 3 wrote it": (tables_removed_of_spark_3, NOT_KNOWN, False),
}
"""Changes to a query on RocksDB with changelog: the answer, and whether it tells of the repair.

PySpark 4.3.0 was let start copies with the first five, and did as the answer says.
"""


@pytest.mark.parametrize("name", REPAIRS)
def test_a_snapshot_that_spark_repairs_by_itself_is_no_obstacle(case, name):
    root = case("window-agg-rocksdb-changelog") / "checkpoint"
    for checksums in root.rglob(".*.crc"):
        checksums.unlink()
    change, answer, tells = REPAIRS[name]
    change(root)
    checks = READERS["spark-streaming"].read(root).restore_check().checks
    (check,) = (one for one in checks if one.decides)
    assert check.answer == answer
    assert any("automatic snapshot repair" in note for note in check.notes) == tells


def test_more_changes_than_spark_repairs_with_leave_the_answer_open(case, monkeypatch):
    monkeypatch.setattr(restore_state, "MOST_REPLAYED", 3)
    root = case("window-agg-rocksdb-changelog") / "checkpoint"
    for checksums in root.rglob(".*.crc"):
        checksums.unlink()
    cut(root, [NEWEST])
    assert answer_about(root) == NOT_KNOWN


# --- what a real Spark 4.3 did with other checkpoints (bench/real_spark_restarts.py) -----------


def test_column_families_need_a_snapshot_though_all_changes_are_there(case, tmp_path):
    root = shutil.copytree(case("join-inner-rocksdb-vcf"), tmp_path / "copy")
    for snapshot in (root / "checkpoint/state/0/0").glob("*.zip"):
        snapshot.unlink()

    check = READERS["spark-streaming"].read(root).restore_check()

    assert check.answer == NO
    assert "column families" in check.checks[-1].witnesses[0]


@pytest.mark.parametrize("log", ["offsets", "commits", "sources/0"])
def test_a_log_that_differs_from_its_checksums_leaves_the_answer_open(case, tmp_path, log):
    """Spark reads it by Hadoop's FileContext, which does not look at them."""
    root = shutil.copytree(case("purged-history") / "checkpoint", tmp_path / "copy")
    newest = max((int(p.name), p) for p in (root / log).iterdir() if p.name.isdigit())[1]
    newest.write_text(newest.read_text() + " ")

    check = READERS["spark-streaming"].read(root).restore_check()

    assert check.answer == NOT_KNOWN
    assert "reads it without looking at them" in check.checks[-1].unknown[0]


def test_an_id_that_differs_from_its_checksums_keeps_spark_from_starting(case, tmp_path):
    root = shutil.copytree(case("purged-history") / "checkpoint", tmp_path / "copy")
    (root / "metadata").write_text((root / "metadata").read_text() + " ")

    assert answer_about(root) == NO


def test_column_families_are_not_repaired_from_changes_alone(case, tmp_path):
    root = shutil.copytree(case("join-inner-rocksdb-vcf"), tmp_path / "copy")
    cut(root / "checkpoint", ["state/0/0/1.zip"])

    (check,) = (
        one for one in READERS["spark-streaming"].read(root).restore_check().checks if one.decides
    )

    assert check.answer == NO
    assert "state/0/0/1.zip: It is no zip file" in check.witnesses[0]
    assert not any("automatic snapshot repair" in note for note in check.notes)


@pytest.mark.parametrize("pattern", ["*.zip", "SSTs/*.sst"])
def test_what_rocksdb_stored_has_to_have_its_checksums(case, tmp_path, pattern):
    """Spark reads it by Hadoop's FileSystem, which compares them."""
    root = shutil.copytree(case("window-agg-rocksdb-full") / "checkpoint", tmp_path / "copy")
    for file in (root / "state/0/0").glob(pattern):
        checksums = file.with_name(f".{file.name}.crc")
        checksums.write_bytes(checksums.read_bytes()[:-1] + b"?")

    assert answer_about(root) == NO


def test_changes_have_to_have_the_size_that_sparks_own_checksums_say(case, tmp_path):
    root = shutil.copytree(case("plain-agg-rocksdb-v2") / "checkpoint", tmp_path / "copy")
    for file in root.glob("state/0/0/*.changelog"):
        file.with_name(f".{file.name}.crc").unlink()
        file.write_bytes(file.read_bytes() + b"?")

    assert answer_about(root) == NO


def test_state_without_a_key_lacks_no_partition_where_its_schema_lacks(case, tmp_path):
    root = shutil.copytree(case("global-agg-no-key"), tmp_path / "copy")
    for schema in root.rglob("*schema*"):
        schema.unlink()

    upload = READERS["spark-streaming"].read(root)

    assert upload.restore_check().answer != NO
    assert not upload.jobs[0].checkpoint.missing_partitions
