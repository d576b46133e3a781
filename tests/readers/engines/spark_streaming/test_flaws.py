"""Damaged and missing files of a Spark checkpoint are listed with what they spoil."""

import shutil

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from tests.readers.engines.spark_streaming.cases import DAMAGED, MAIN, case_paths, unpack


def told(folder) -> list[tuple[str, str | None]]:
    """Return the path of every flaw, and what it spoils."""
    upload = SparkUpload(folder)
    list(upload.entries())
    inventory = upload.inventory()
    assert inventory.flaws_total == len(inventory.flaws)
    return [(flaw.path.removeprefix(f"{MAIN}/"), flaw.spoils) for flaw in inventory.flaws]


def flawed_snapshots(folder) -> dict[str, list[str]]:
    """Return the findings of each snapshot besides that it is not judged."""
    header, events = SparkUpload(folder).recording()
    reports = judge(assemble(header, events).recording)
    assert all(one.verdict in ("unknown", "incomplete") for one in reports)
    said = {one.snapshot: [each.sentence for each in one.findings] for one in reports}
    known = ("Not judged", "never recorded")
    return {
        name: found
        for name, sentences in said.items()
        if (found := [one for one in sentences if not any(word in one for word in known)])
    }


@pytest.mark.parametrize(
    ("name", "path", "spoils", "snapshots"),
    [
        ("damaged-missing-delta", "state/0/0/3.delta", "batches 2 to 10", range(2, 11)),
        ("damaged-no-schema", "state/0/0/_metadata/schema", "batches 0 to 11", range(12)),
        ("damaged-truncated-offset", "offsets/11", "batch 11", [11]),
    ],
)
def test_a_damaged_case_names_the_file_and_the_batches_that_it_spoils(
    case, name, path, spoils, snapshots
):
    folder = case(name)
    assert told(folder) == [(path, spoils)]
    flawed = flawed_snapshots(folder)
    assert sorted(flawed, key=int) == [str(batch) for batch in snapshots]
    assert all(path in one for [one] in flawed.values())


def test_cases_that_are_whole_have_no_flaw(shared_data, tmp_path):
    whole = 0
    for path in case_paths(shared_data):
        folder, expected = unpack(path, tmp_path)
        if expected["schema"] != DAMAGED:
            assert told(folder) == [], folder.name
            whole += 1
    assert whole > 25


def test_a_folder_of_a_partition_that_is_missing_spoils_all_batches(case):
    shutil.rmtree((folder := case("window-agg-hdfs")) / MAIN / "state/0/1")
    assert told(folder) == [("state/0/1", "batches 0 to 11")]


def test_a_state_file_that_cannot_be_read_is_a_flaw_once_its_entries_were_read(case):
    path = (folder := case("window-agg-hdfs")) / MAIN / "state/0/0/2.delta"
    path.write_bytes(path.read_bytes()[:20])
    assert told(folder) == [("state/0/0/2.delta", "batches 1 to 10")]


def test_state_that_spark_removed_is_not_missing(case):
    folder = case("window-agg-hdfs")
    for partition in (0, 1):
        for version in range(1, 12):
            (folder / MAIN / f"state/0/{partition}/{version}.delta").unlink()
    assert told(folder) == []


def test_a_batch_in_flight_says_how_far_it_came(case):
    flawed = flawed_snapshots(case("incident-state-ahead"))
    assert list(flawed) == ["2"]
    assert "it was never committed" in flawed["2"][-1]


def test_partitions_that_wrote_and_those_that_did_not_are_named(case):
    last = SparkUpload(case("incident-partial-partitions")).inventory().checkpoints[-1]
    [written] = last.planned.written
    assert (written.wrote_text, written.lacking_text) == ("0 and 1", "2")
    assert (last.planned.rows, last.planned.files) == (7, 1)
    [source] = last.planned.sources
    assert (source.start, source.end) == ('{"logOffset":1}', '{"logOffset":2}')
    assert source.files == ("c02.json",)
    assert "the same batch again, with the same offsets" in last.planned.restart
    assert last.settings["spark.sql.shuffle.partitions"] == "3"


def test_a_store_without_changes_lacks_the_snapshot_of_the_version_itself(case):
    """RocksDB writes a zip for every version while its changelog is off."""
    folder = case("window-agg-rocksdb-full")
    for path in folder.glob(f"{MAIN}/state/0/1/[23].zip"):
        path.unlink()
    named = [path for path, _ in told(folder)]
    assert named == ["state/0/1/2.zip", "state/0/1/3.zip"]
    inventory = SparkUpload(folder).inventory()
    missing = {one.id: [file.path for file in one.missing] for one in inventory.checkpoints}
    assert missing[1] == [f"{MAIN}/state/0/1/2.zip"]
    assert missing[2] == [f"{MAIN}/state/0/1/3.zip"]
