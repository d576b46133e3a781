"""State in every encoding that real queries were seen to write, as Spark's own reader gives it."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from snapshots.domain.inventory.restore_check import NOT_KNOWN, RESTORABLE
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkStreamingReader
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.state.blocks import Unpacked, unpack
from snapshots.readers.engines.spark_streaming.state.readings import (
    JOIN_SIDE,
    TIMERS,
    Reading,
)
from snapshots.readers.engines.spark_streaming.state.schemas import EVENT_TIME
from snapshots.readers.engines.spark_streaming.state.stored_state import read_partition
from snapshots.readers.engines.spark_streaming.upload import read_upload
from snapshots.readers.formats.cursor import Malformed, NotReadHere
from tests.readers.engines.spark_streaming.rows import lz4_stream, records
from tests.readers.mutated import mutated

DATA = Path(__file__).resolve().parents[3] / "data" / "spark-state"
CASES = sorted(path.stem for path in DATA.glob("*.zip"))


EXPECTED = [
    case
    for case in CASES
    if case != "codec-lzf"
    and f"{case}/expected.json" in zipfile.ZipFile(DATA / f"{case}.zip").namelist()
]


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


CHANGELOGS = {
    "lz4": "pandas-rocksdb",
    "zstd": "agg-zstd-changelog",
    "snappy": "agg-snappy-changelog",
    "lzf": "agg-lzf-changelog",
}
"""A case with changelogs of RocksDB in each codec."""


def reading_of(name: str) -> Reading:
    """Return the reading that the option of Spark's reader stands for."""
    if name == "readRegisteredTimers":
        return Reading(TIMERS)
    kind, _, value = name.partition("=")
    return Reading(kind, value or None)


def texts(rows: list[dict]) -> list[str]:
    """Return rows in an order, without the event time that Spark misreads."""
    for row in rows:
        row["key"].pop(EVENT_TIME, None)
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


@pytest.mark.parametrize("case", EXPECTED)
def test_the_rows_of_every_batch_are_those_that_spark_reads(case, tmp_path):
    root = unpacked(case, tmp_path)
    (checkpoint,) = read_upload(root, SparkLimits()).checkpoints.values()
    compared = 0
    for read in json.loads((root / "expected.json").read_text())["state"]:
        operator, reading = read["operator"], reading_of(read["read"])
        stores = checkpoint.versions[operator]
        for partition in stores[reading.store_in(stores)]:
            if not checkpoint.has_partition(partition, read["batch"]):
                assert str(partition) not in read["partitions"]
                continue
            place = (checkpoint, operator, reading, partition, read["batch"] + 1, SparkLimits())
            theirs = read["partitions"].get(str(partition), [])
            assert texts(read_partition(*place)) == texts(theirs), (read, partition)
            compared += len(theirs)
    assert compared


def test_event_times_of_joins_of_format_4_are_those_of_their_rows(tmp_path):
    root = unpacked("join-full-4", tmp_path)
    (checkpoint,) = read_upload(root, SparkLimits()).checkpoints.values()
    for side, column in (("left", "ts"), ("right", "us")):
        rows = read_partition(checkpoint, 0, Reading(JOIN_SIDE, side), 0, 3, SparkLimits())
        assert rows
        for row in rows:
            assert row["key"][EVENT_TIME] == row["value"][column] * 1000


def test_session_keys_are_read_without_the_metadata_that_spark_up_to_3_5_did_not_write(tmp_path):
    root = unpacked("session-rocksdb", tmp_path)
    rows = rows_of(root, 5)
    shutil.rmtree(root / "checkpoint/state/0/_metadata")
    assert rows_of(root, 5) == rows
    assert SparkStreamingReader().read(root).inventory().flaws == ()


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
            assert len(unpack(data, codec, 100_000).content) <= 100_000
        except Malformed:
            continue


def test_a_codec_that_unpacks_to_more_than_the_limit_is_not_read(tmp_path):
    folder = unpacked("codec-lzf", tmp_path)
    file = max(folder.rglob("*.delta"), key=lambda path: path.stat().st_size)
    with pytest.raises(NotReadHere):
        unpack(file.read_bytes(), "lzf", 100)


@pytest.mark.parametrize("codec", ["snappy", "lzf", "zstd", "lz4"])
def test_what_spark_does_not_read_behind_the_end_is_no_damage(codec, tmp_path):
    """PySpark 4.3.0 read such files: its reader stops at the mark of the end."""
    root = unpacked(CHANGELOGS[codec], tmp_path)
    rows = rows_of(root, 2)
    for file in root.glob("checkpoint/state/0/*/2*.changelog"):
        data = file.read_bytes()
        file.write_bytes((data[:-21] if codec == "lz4" else data) + b"behind the end")
        file.with_name(f".{file.name}.crc").unlink()
    assert rows_of(root, 2) == rows
    assert rows


def test_a_stream_of_snappy_java_may_begin_anew_and_have_another_version():
    stream = b"\x82SNAPPY\0" + (2).to_bytes(4, "big") + (1).to_bytes(4, "big")
    block = pa.Codec("snappy").compress(b"state", asbytes=True)
    part = stream + len(block).to_bytes(4, "big") + block
    assert unpack(part + part, "snappy", 100) == Unpacked(b"statestate")
    assert unpack(block, "snappy", 100) == Unpacked(b"state")


ODD = {
    "a newer changelog": lambda root: changed(root, "state/0/*/2*.changelog", newer_changelog),
    "a newer schema": lambda root: changed(root, "state/0/0/_metadata/schema", newer_schema),
    "an unknown type": lambda root: changed(
        root, "state/0/0/_metadata/schema", lambda data: data.replace(b'"long"', b'"leng"')
    ),
    "newer metadata": lambda root: changed(
        root, "state/0/_metadata/metadata", lambda data: b"v9" + data[2:]
    ),
    "an odd row": lambda root: changed(root, "state/0/*/2*.changelog", odd_rows),
}


def newer_changelog(data: bytes) -> bytes:
    content = unpack(data, "lz4", 10**6).content
    assert content.startswith(b"\0\2v2")
    return lz4_stream(b"\0\2v9" + content[4:])


def newer_schema(data: bytes) -> bytes:
    return data.replace(b"\0\2v2", b"\0\2v9", 1)


def odd_rows(data: bytes) -> bytes:
    return lz4_stream(records((b"\0key", b"\0value")))


def changed(root: Path, pattern: str, change: Callable[[bytes], bytes]) -> None:
    """Change files as another program would write them, with no checksums beside them."""
    for file in root.glob(f"checkpoint/{pattern}"):
        file.write_bytes(change(file.read_bytes()))
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


@pytest.mark.parametrize("kind", ODD)
def test_what_is_not_known_here_is_not_read_and_not_damaged(kind, tmp_path):
    root = unpacked("tws-ttl" if kind == "a newer changelog" else "pandas-rocksdb", tmp_path)
    ODD[kind](root)
    upload = SparkStreamingReader().read(root)
    list(upload.entries())
    inventory = upload.inventory()
    assert inventory.flaws == ()
    assert inventory.notes
    assert "amaged" not in " ".join(inventory.notes)
    newest = [check for check in upload.restore_check().checks if check.decides]
    assert [check.answer for check in newest] == [NOT_KNOWN]
    assert not newest[0].witnesses


def test_a_row_without_its_checksum_is_damaged(tmp_path):
    root = unpacked("session-rowsum", tmp_path)
    changed(root, "state/0/*/2*.changelog", flipped_rows)
    upload = SparkStreamingReader().read(root)
    list(upload.entries())
    flaws = upload.inventory().flaws
    assert flaws
    assert {"A row does not have its checksum" in flaw.what for flaw in flaws} == {True}, flaws


def flipped_rows(data: bytes) -> bytes:
    content = bytearray(unpack(data, "lz4", 10**6).content)
    is_deletion = content[-8:-4] == b"\xff" * 4
    content[-9 if is_deletion else -5] ^= 1
    return lz4_stream(bytes(content))


REPARTITIONED = {
    "repartitioned-more": [2, 2, 2, 3, 3, 3],
    "repartitioned-fewer": [3, 3, 3, 2, 2, 2],
}


@pytest.mark.parametrize("case", REPARTITIONED)
def test_each_batch_of_repartitioned_state_has_its_own_partitions(case, tmp_path):
    upload = SparkStreamingReader().read(unpacked(case, tmp_path))
    entries = list(upload.entries())
    inventory = upload.inventory()
    operators = [batch.operators[0] for batch in inventory.checkpoints]
    assert [operator.parallelism for operator in operators] == REPARTITIONED[case]
    assert all(state.complete for operator in operators for state in operator.states)
    assert {batch.missing for batch in inventory.checkpoints} == {()}
    assert inventory.flaws == ()
    assert {check.answer for check in upload.restore_check().checks} == {RESTORABLE}
    for batch, count in enumerate(REPARTITIONED[case]):
        assert {one.subtask for one in entries if one.checkpoint == batch} <= set(range(count))
