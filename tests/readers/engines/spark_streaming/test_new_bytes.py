"""How many bytes of a version of Spark's state no earlier version needs."""

import pytest

from snapshots.readers.engines.spark_streaming.adapter.sizes import StoredVersions
from snapshots.readers.engines.spark_streaming.state.store_files import (
    CHANGELOG,
    DELTA,
    SNAPSHOT,
    ZIP,
    VersionFile,
)

SIZES = {DELTA: 10, CHANGELOG: 10, SNAPSHOT: 100, ZIP: 1_000}
TABLES = {"a.sst": 7, "b.sst": 70, "c.sst": 700}


def stored(*files: tuple[int, str], tables: dict[int, tuple[str, ...] | None] | None = None):
    listed = tuple(VersionFile(version, kind, None, f"{version}.{kind}") for version, kind in files)
    sizes = {file.path: SIZES[file.kind] for file in listed} | TABLES
    named = {f"{version}.{ZIP}": names for version, names in (tables or {}).items()}
    return StoredVersions(listed, sizes, [version for version, _ in files], named)


def test_of_a_chain_of_changes_the_last_one_is_new():
    versions = stored((1, DELTA), (2, DELTA), (3, DELTA))
    assert versions.load(3).new == {"changes": 10}
    assert versions.load(3).bytes == 30


def test_a_snapshot_is_new_and_changes_before_it_are_not_needed():
    versions = stored((1, DELTA), (2, DELTA), (2, SNAPSHOT), (3, DELTA))
    assert versions.load(2).new == {"changes": 0, "snapshot": 100}
    assert versions.load(3).new == {"changes": 10, "snapshot": 0}


def test_a_change_that_is_missing_has_no_known_size():
    assert stored((1, DELTA), (3, DELTA)).load(2).new == {"changes": None}


def test_a_table_is_new_with_the_first_snapshot_that_names_it():
    tables = {1: ("a.sst",), 2: ("a.sst", "b.sst"), 3: ("b.sst", "c.sst")}
    versions = stored((1, ZIP), (2, ZIP), (3, ZIP), tables=tables)
    news = [versions.load(version).new["tables"] for version in (1, 2, 3)]
    assert news == [7, 70, 700]


@pytest.mark.parametrize(
    ("files", "tables", "new"),
    [
        (((4, ZIP), (5, ZIP)), {4: ("a.sst",), 5: ("a.sst", "b.sst")}, [None, 70]),
        (((1, CHANGELOG), (2, ZIP)), {2: ("a.sst",)}, [7]),
        (((1, ZIP), (2, ZIP)), {1: None, 2: ("a.sst",)}, [None, None]),
    ],
)
def test_tables_are_not_known_to_be_new_if_earlier_snapshots_are_not_known(files, tables, new):
    versions = stored(*files, tables=tables)
    zips = [version for version, kind in files if kind == ZIP]
    assert [versions.load(version).new["tables"] for version in zips] == new
