"""Limits hold for the whole upload: a small file may cause much work, and many files more."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from snapshots.readers.engines.spark_streaming.adapter.entries import Wanted, rows_by_files
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files, list_files
from snapshots.readers.engines.spark_streaming.inputs import MOST_ALIKE, match_inputs
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.sources import SeenFile
from snapshots.readers.engines.spark_streaming.progress import MOST_DAMAGED, read_progress
from snapshots.readers.engines.spark_streaming.state.readings import readings_of
from snapshots.readers.engines.spark_streaming.state.rocksdb_tables import read_tables
from snapshots.readers.engines.spark_streaming.state.stored_state import Left, read_partition
from snapshots.readers.engines.spark_streaming.upload import read_checkpoint, read_upload
from tests.readers.engines.spark_streaming.cases import MAIN, unpack
from tests.readers.engines.spark_streaming.test_engine_limits import checkpoint

LIMITS = SparkLimits()


@pytest.fixture
def case(shared_data, tmp_path):
    def unpacked(name: str) -> Path:
        return unpack(shared_data / "spark-streaming" / f"{name}.zip", tmp_path)[0]

    return unpacked


def _source_log(folder: Path, count: int) -> None:
    """Write the log of source 0, with a file for each of its own counts 0 .. count - 1."""
    (folder / "sources" / "0").mkdir(parents=True)
    for number in range(count):
        entry = {"path": f"file:///in/{number}", "timestamp": 1, "batchId": number}
        (folder / "sources" / "0" / str(number)).write_text(f"v1\n{json.dumps(entry)}")


def test_offsets_that_go_back_do_not_repeat_files(tmp_path):
    """Without the check every batch could name every file."""
    ends = [4, 9, 0, 9, 0, 9]
    lines = {batch: [json.dumps({"logOffset": end})] for batch, end in enumerate(ends)}
    folder = checkpoint(tmp_path / "c", lines)
    _source_log(folder, 10)
    batches = read_checkpoint(folder).batches
    named = [b.sources[0].files and len(b.sources[0].files) for b in batches]
    assert named == [5, 5, None, None, None, None]


def test_logs_are_bounded_together(tmp_path):
    lines = {batch: ['{"a":"' + "x" * 1000 + '"}'] for batch in range(20)}
    folder = checkpoint(tmp_path / "c", lines)
    limited = read_checkpoint(folder, replace(LIMITS, all_log_bytes=10_000))
    read = [batch.sources is not None for batch in limited.batches]
    assert 5 < sum(read) < 10
    assert "at most 10,000" in limited.batches[-1].problem
    assert all(batch.sources for batch in read_checkpoint(folder).batches)


def test_entries_of_logs_of_files_are_bounded_together_and_counted_once(tmp_path):
    folder = checkpoint(tmp_path / "c", {0: ['{"logOffset":3}']})
    _source_log(folder, 10)
    limited = read_checkpoint(folder, replace(LIMITS, source_entries=10))
    assert len(limited.source_logs["0"].files) == 10
    limited = read_checkpoint(folder, replace(LIMITS, source_entries=6))
    assert len(limited.source_logs["0"].files) == 6
    assert len(limited.damaged) == 4


def test_the_partitions_of_all_operators_are_bounded(case):
    folder = case("window-agg-hdfs") / MAIN
    for number in range(1, 5):
        shutil.copytree(folder / "state/0/_metadata", folder / f"state/{number}/_metadata")
        path = folder / f"state/{number}/_metadata/metadata"
        text = path.read_text().replace('"operatorId":0', f'"operatorId":{number}')
        path.write_text(text.replace('"numPartitions":2', '"numPartitions":90000'))
        path.with_name(".metadata.crc").unlink(missing_ok=True)
    limited = read_checkpoint(folder, replace(LIMITS, partitions=200_000))
    assert [operator.id for operator in limited.operators] == [0, 1, 2]
    assert {damage.file for damage in limited.damaged} == {"state/3", "state/4"}


def test_reports_and_damaged_lines_are_bounded(tmp_path):
    report = b'{"batchId":1,"runId":"r","sources":[]}\n'
    (tmp_path / "a.json").write_bytes(report * 30)
    (tmp_path / "b.json").write_bytes(report * 30 + b"nonsense\n" * 5000)
    files = list_files(tmp_path, 10)
    few = replace(LIMITS, reports=40)
    assert len(read_progress(files, "a.json", few)[0]) == 30
    reports, damaged = read_progress(files, "b.json", few)
    assert (len(reports), len(damaged)) == (10, 1)
    assert len(read_progress(list_files(tmp_path, 10), "b.json", LIMITS)[1]) == MOST_DAMAGED + 1


def test_comparing_files_of_one_name_is_bounded(tmp_path):
    entries = {f"{n}/part.json": None for n in range(MOST_ALIKE + 1)}
    seen = [SeenFile("file:///in/7/part.json", 1)]
    assert match_inputs(Files(tmp_path, entries), seen) == {}
    entries.popitem()
    assert match_inputs(Files(tmp_path, entries), seen) == {seen[0].url: "7/part.json"}


@pytest.mark.parametrize("bound", ["state_bytes", "state_records", "all_state_bytes"])
def test_state_is_bounded_in_all_partitions_together(case, bound):
    """Each partition alone stays within the bound; both do not."""
    folder = case("window-agg-hdfs")
    read = _wanted(SparkUpload(folder))
    state = (read.job.checkpoint, read.operator, read.reading)
    taken = []
    for partition in (0, 1):
        left = Left(10**9, 10**9)
        read_partition(*state, partition, read.batch + 1, LIMITS, left)
        taken.append(10**9 - (left.records if bound == "state_records" else left.bytes))
    most = max(taken)
    assert min(taken) > 0
    read = _wanted(SparkUpload(folder))
    rows = rows_by_files(read, replace(LIMITS, **{bound: most}))
    assert set(rows.by_partition) == {0}
    assert not rows.complete
    assert f"{most:,}" in rows.reason or "are packed" in rows.reason
    assert set(rows_by_files(read, LIMITS).by_partition) == {0, 1}


def _wanted(upload: SparkUpload) -> Wanted:
    [job] = upload.jobs
    [operator] = job.checkpoint.operators
    reading = readings_of(operator, job.checkpoint.versions)[0]
    return Wanted(job, job.batches[-1].batch, operator.id, reading)


def test_a_snapshot_cannot_name_a_table_twice_or_more_than_may_be_read(case):
    folder = case("plain-agg-rocksdb-v2") / MAIN
    files = read_upload(folder).checkpoints[""].files
    tables = [path for path in files.entries if path.endswith(".sst")][:2]
    assert read_tables(files, tables[:1], LIMITS)
    with pytest.raises(DamagedFile, match="named twice"):
        read_tables(files, [tables[0]] * 2, LIMITS)
    size = files.entries[tables[0]].size
    with pytest.raises(DamagedFile, match="named twice"):
        read_tables(files, tables, replace(LIMITS, state_bytes=size + 10))


def test_tables_without_checksums_are_kept_from_spark(case):
    """Spark would follow every length in them without a check."""
    folder = case("plain-agg-rocksdb-v2") / MAIN
    files = read_upload(folder).checkpoints[""].files
    path = next(path for path in files.entries if path.endswith(".sst"))
    data = bytearray((folder / path).read_bytes())
    assert (data[-53], len(read_tables(files, [path], LIMITS)) > 0) == (4, True)  # XXH3
    data[-53] = 0
    (folder / path).write_bytes(data)
    with pytest.raises(DamagedFile, match="no checksums"):
        read_tables(files, [path], LIMITS)
