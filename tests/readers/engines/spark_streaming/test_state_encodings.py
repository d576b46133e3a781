"""State in the codecs that Spark has beside LZ4 and zstd, and keys for a prefix scan."""

import json
import zipfile
from pathlib import Path

import pytest

from snapshots.domain.inventory.restore_check import RESTORABLE
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkStreamingReader
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.state.blocks import unpack
from snapshots.readers.engines.spark_streaming.state.readings import Reading
from snapshots.readers.engines.spark_streaming.state.stored_state import read_partition
from snapshots.readers.engines.spark_streaming.upload import read_upload
from snapshots.readers.formats.cursor import Malformed, NotReadHere
from tests.readers.mutated import mutated

DATA = Path(__file__).resolve().parents[3] / "data" / "spark-state"
CASES = sorted(path.stem for path in DATA.glob("*.zip"))


def unpacked(case: str, folder: Path) -> Path:
    with zipfile.ZipFile(DATA / f"{case}.zip") as package:
        package.extractall(folder)
    return folder / case


def rows_of(root: Path, version: int, operator: int = 0) -> list[dict]:
    (checkpoint,) = read_upload(root, SparkLimits()).checkpoints.values()
    reading = Reading()
    return [
        row | {"partition": partition}
        for partition in (0, 1)
        for row in read_partition(checkpoint, operator, reading, partition, version, SparkLimits())
    ]


@pytest.mark.parametrize("case", CASES)
def test_every_file_is_whole_and_the_query_restorable(case, tmp_path):
    upload = SparkStreamingReader().read(unpacked(case, tmp_path))
    list(upload.entries())
    assert upload.inventory().flaws == ()
    assert {check.answer for check in upload.restore_check().checks} == {RESTORABLE}


def test_sessions_by_key_are_read_from_keys_for_a_prefix_scan(tmp_path):
    root = unpacked("session-rocksdb", tmp_path)
    assert (len(rows_of(root, 4)), len(rows_of(root, 5))) == (8, 4)
    rows = rows_of(root, 5)
    of_a = next(row for row in rows if row["key"]["k"] == "a" and row["value"]["sum"] == 700)
    assert list(of_a["key"]) == ["k", "sessionStartTime"]
    assert of_a["value"]["count"] == 1
    window = of_a["value"]["session_window"]
    assert window["start"] == of_a["key"]["sessionStartTime"]
    assert window["end"] - window["start"] == 25_000


def test_lzf_is_read_as_spark_itself_reads_it(tmp_path):
    root = unpacked("codec-lzf", tmp_path)
    theirs = json.loads((root / "expected.json").read_text())
    ours = {(row["partition"], row["key"]["k"]): row["value"] for row in rows_of(root, 2)}
    assert ours == {(row["partition"], row["key"]["k"]): row["value"] for row in theirs}
    assert len(theirs) == 12


def test_state_in_snappy_has_the_rows_that_spark_reads(tmp_path):
    root = unpacked("codec-snappy", tmp_path)
    assert (len(rows_of(root, 6, 0)), len(rows_of(root, 6, 1))) == (1, 3)


@pytest.mark.parametrize("codec", ["snappy", "lzf"])
def test_mutated_files_of_a_codec_are_refused_or_read(codec, tmp_path):
    folder = unpacked(f"codec-{codec}", tmp_path)
    files = sorted(folder.rglob("*.delta"), key=lambda path: path.stat().st_size)
    for data in mutated([files[-1].read_bytes()], 300):
        try:
            assert len(unpack(data, codec, 100_000)) <= 100_000
        except Malformed:
            continue


def test_a_codec_that_unpacks_to_more_than_the_limit_is_not_read(tmp_path):
    folder = unpacked("codec-lzf", tmp_path)
    file = max(folder.rglob("*.delta"), key=lambda path: path.stat().st_size)
    with pytest.raises(NotReadHere):
        unpack(file.read_bytes(), "lzf", 100)
