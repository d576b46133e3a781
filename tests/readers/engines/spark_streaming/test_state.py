"""State files without Spark: blocks, rows, schemas, chains of versions, and the private copy."""

import io
import json
import struct
import zipfile
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.readers.engines.spark_streaming.files import DamagedFile, FileNotRead, list_files
from snapshots.readers.engines.spark_streaming.state.blocks import unpack as unpack_blocks
from snapshots.readers.engines.spark_streaming.state.private_copy import PrivateCopy
from snapshots.readers.engines.spark_streaming.state.readings import readings_of
from snapshots.readers.engines.spark_streaming.state.rocksdb_zips import read_zip
from snapshots.readers.engines.spark_streaming.state.sql_types import (
    Array,
    Column,
    Map,
    Plain,
    Struct,
    parse_type,
    told_apart,
)
from snapshots.readers.engines.spark_streaming.state.store_files import (
    DELTA,
    SNAPSHOT,
    PartitionFiles,
    VersionFile,
    chain,
)
from snapshots.readers.engines.spark_streaming.state.unsafe_rows import decimal_text, read_row
from snapshots.readers.engines.spark_streaming.upload import read_checkpoint
from snapshots.readers.formats.cursor import Malformed
from tests.effort import examples
from tests.readers.engines.spark_streaming.cases import LIMITS, reading_called, unpack
from tests.readers.engines.spark_streaming.rows import lz4_stream, records, row

LONG, TEXT, TIME = Plain("long", 8), Plain("string", None), Plain("timestamp", 8)


def test_a_flipped_byte_in_a_block_is_found():
    data = lz4_stream(b"some state")
    assert unpack_blocks(data, "lz4", 100).content == b"some state"
    flipped = unpack_blocks(data.replace(b"some", b"somf"), "lz4", 100)
    assert flipped.content == b""
    assert "checksum" in str(flipped.damage)


def test_blocks_are_not_unpacked_beyond_the_limit():
    huge = struct.pack("<8sBiiI", b"LZ4Block", 0x25, 1, 2**25, 0) + b"\0"
    with pytest.raises(Malformed, match="at most 100 read"):
        unpack_blocks(huge + lz4_stream(b""), "lz4", 100)


def test_aggregation_buffers_of_one_name_get_unique_names():
    assert told_apart(["count", "sum", "count", "count"]) == ("count", "sum", "count#2", "count#3")


def test_decimals_keep_their_digits():
    cases = [decimal_text(-5, 2), decimal_text(12345, 2), decimal_text(7, 0)]
    assert cases == ["-0.05", "123.45", "7"]


def _struct(parts):
    return Struct.of(tuple(Column(f"c{index}", part) for index, part in enumerate(parts)))


plain_types = st.sampled_from([LONG, TEXT, Plain("boolean", 1), Plain("integer", 4)])
types = st.recursive(
    plain_types,
    lambda inner: st.one_of(
        inner.map(Array),
        st.builds(Map, st.sampled_from([LONG, TEXT]), inner),
        st.lists(inner, min_size=1, max_size=3).map(_struct),
    ),
    max_leaves=6,
)


def _values(type):
    """Return values as the encoder expects them."""
    if isinstance(type, Struct):
        return st.tuples(*(_values(column.type) | st.none() for column in type.columns)).map(list)
    if isinstance(type, Array):
        return st.lists(_values(type.element) | st.none(), max_size=4)
    if isinstance(type, Map):
        keys = st.lists(_values(type.key), max_size=3, unique=True)
        return keys.flatmap(
            lambda keys: st.tuples(*(_values(type.value) for _ in keys)).map(
                lambda inner: list(zip(keys, inner, strict=True))
            )
        )
    return {
        "long": st.integers(-(2**63), 2**63 - 1),
        "integer": st.integers(-(2**31), 2**31 - 1),
        "boolean": st.booleans(),
        "string": st.text(max_size=9),
    }[type.name]


def _as_read(value, type):
    if value is None:
        return None
    if isinstance(type, Struct):
        pairs = zip(type.names, type.columns, value, strict=True)
        return {name: _as_read(inner, column.type) for name, column, inner in pairs}
    if isinstance(type, Array):
        return [_as_read(inner, type.element) for inner in value]
    if isinstance(type, Map):
        return {json.dumps(k): _as_read(v, type.value) for k, v in value}
    return value


def _maps_as_dicts(value, type):
    """Sort the pairs of maps, which have no order."""
    if value is None:
        return None
    if isinstance(type, Struct):
        pairs = zip(type.names, type.columns, strict=True)
        return {name: _maps_as_dicts(value[name], column.type) for name, column in pairs}
    if isinstance(type, Array):
        return [_maps_as_dicts(inner, type.element) for inner in value]
    if isinstance(type, Map):
        return {json.dumps(k): _maps_as_dicts(v, type.value) for k, v in value}
    return value


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_a_row_is_read_as_it_was_written(data):
    schema = data.draw(st.lists(types, min_size=1, max_size=70).map(_struct))
    values = data.draw(_values(schema))
    decoded = read_row(row(values, schema), schema)
    assert _maps_as_dicts(decoded, schema) == _as_read(values, schema)


@pytest.mark.parametrize("width", [33, 64, 65])
def test_wide_rows_have_more_null_bits(width):
    schema = _struct([LONG] * width)
    values = [None if index % 3 else index for index in range(width)]
    assert list(read_row(row(values, schema), schema).values()) == values


def test_an_offset_beyond_the_row_is_refused():
    schema = _struct([TEXT])
    data = bytes(8) + struct.pack("<q", 16 << 32 | 9) + bytes(8)
    with pytest.raises(Malformed, match="more than the row has"):
        read_row(data, schema)


def test_values_that_overlap_too_often_are_refused():
    """Every element of an array is the one array behind it: 30 to the power of 4 numbers."""
    schema = _struct([Array(Array(Array(Array(LONG))))])
    count, size = 30, 8 + 8 + 8 * 30
    data = bytes(8) + struct.pack("<q", 16 << 32 | 4 * size)
    for level in range(4):
        behind = size << 32 | (3 - level) * size if level < 3 else 7
        data += struct.pack("<q", count) + bytes(8) + struct.pack("<q", behind) * count
    with pytest.raises(Malformed, match="overlap"):
        read_row(data, schema)


def test_times_are_milliseconds_with_a_fraction_only_if_needed():
    schema = _struct([TIME, TIME])
    assert read_row(row([1_714_521_600_000_000, 1_500], schema), schema) == {
        "c0": 1_714_521_600_000,
        "c1": 1.5,
    }


def test_a_user_defined_type_is_read_as_its_sql_type():
    assert parse_type({"type": "udt", "class": "x.Y", "sqlType": "long"}) == LONG


def _files(*names: str) -> PartitionFiles:
    files = []
    for name in names:
        stem, kind = name.split(".")
        version, _, unique = stem.partition("_")
        files.append(VersionFile(int(version), kind, unique or None, name))
    return PartitionFiles(0, tuple(files))


def test_a_version_begins_with_the_newest_snapshot_before_it():
    files = _files("1.delta", "2.delta", "2.snapshot", "3.delta", "4.delta")
    assert [file.path for file in chain(files, 3).files] == ["2.snapshot", "3.delta"]
    assert [file.path for file in chain(files, 1).files] == ["1.delta"]


def test_the_first_missing_file_is_named_and_the_others_counted():
    needed = chain(_files("1.delta", "4.delta", "9.delta"), 10**15)
    assert (needed.missing, needed.lacking) == ("2.delta", 10**15 - 3)


def test_only_the_ids_of_the_commit_log_count():
    files = _files("1_a.changelog", "1_b.changelog", "2_c.changelog")
    needed = chain(files, 2, {1: "b", 2: "c"})
    assert [file.path for file in needed.files] == ["1_b.changelog", "2_c.changelog"]


def test_kinds_of_files_are_what_the_names_end_with():
    assert {file.kind for file in _files("1.delta", "1.snapshot").files} == {DELTA, SNAPSHOT}


@pytest.fixture
def checkpoint_of(shared_data, tmp_path):
    def read_case(name: str):
        folder, _ = unpack(shared_data / "spark-streaming" / f"{name}.zip", tmp_path)
        return read_checkpoint(folder)

    return read_case


@pytest.mark.parametrize(
    ("case", "labels"),
    [
        ("window-agg-hdfs", ["default"]),
        ("join-inner-rocksdb-vcf", ["joinSide=left", "joinSide=right"]),
        ("spark40-tws-pandas", ["stateVarName=seen"]),
        ("tws-pandas-ttl", ["stateVarName=seen", "timers"]),
    ],
)
def test_the_ways_to_read_an_operator(checkpoint_of, case, labels):
    checkpoint = checkpoint_of(case)
    readings = readings_of(checkpoint.operators[0], checkpoint.versions)
    assert [reading.label for reading in readings] == labels
    assert [reading_called(label) for label in labels] == list(readings)


def test_a_copy_leaves_out_a_damaged_file_and_reports_it(checkpoint_of, tmp_path):
    checkpoint = checkpoint_of("window-agg-hdfs")
    path = checkpoint.files.root / "state/0/0/2.delta"
    path.write_bytes(path.read_bytes()[:-30])
    copy = PrivateCopy(checkpoint, tmp_path / "copy", LIMITS)
    (damaged,) = copy.add_state(0, 1, 3)
    assert damaged.file == "state/0/0/2.delta"
    there = {file.name for file in (tmp_path / "copy/state/0/0").iterdir()}
    assert {"1.delta", "3.delta"} <= there
    assert "2.delta" not in there


def test_a_row_that_points_outside_itself_never_reaches_the_copy(checkpoint_of, tmp_path):
    checkpoint = checkpoint_of("global-agg-no-key")
    value = bytes(8) + struct.pack("<q", 3) * 2  # one field too short
    path = checkpoint.files.root / "state/0/0/1.delta"
    path.write_bytes(lz4_stream(records((b"", value))))
    copy = PrivateCopy(checkpoint, tmp_path / "copy", LIMITS)
    (damaged,) = copy.add_state(0, 1, 1)
    assert isinstance(damaged, FileNotRead)
    assert "A row is not read here" in damaged.what


def test_a_copy_points_at_its_own_schemas_and_drops_the_stale_checksum(checkpoint_of, tmp_path):
    checkpoint = checkpoint_of("tws-value-list-map-timers")
    folder = tmp_path / "copy"
    PrivateCopy(checkpoint, folder, LIMITS)
    metadata = folder / "state/0/_metadata/v2/0"
    document = json.loads(metadata.read_text().split("\n")[1])
    (url,) = document["stateStoreInfo"][0]["stateSchemaFilePaths"]
    assert url.startswith(folder.as_uri())
    assert not metadata.with_name(".0.crc").exists()
    assert "/data/spark-cases/" in (checkpoint.files.root / "state/0/_metadata/v2/0").read_text()


def test_a_copy_needs_a_path_that_spark_can_read(checkpoint_of, tmp_path):
    with pytest.raises(ValueError, match="no plain path"):
        PrivateCopy(checkpoint_of("window-agg-hdfs"), tmp_path / "a b", LIMITS)


def _zip(entries: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in entries.items():
            packed.writestr(name, data)
    return file.getvalue()


def _tables(local: str) -> bytes:
    table = {"localFileName": local, "dfsSstFileName": "8-a.sst", "sizeBytes": 1}
    return b"v1\n" + json.dumps({"sstFiles": [table], "numKeys": 2}).encode()


def test_a_snapshot_of_rocksdb_names_its_tables(tmp_path):
    (tmp_path / "1.zip").write_bytes(_zip({"metadata": _tables("000008.sst"), "CURRENT": b"x"}))
    snapshot = read_zip(list_files(tmp_path, 10), "1.zip", LIMITS)
    assert (snapshot.keys, snapshot.tables) == (2, ("SSTs/8-a.sst",))


@pytest.mark.parametrize(
    "entries",
    [
        {"metadata": _tables("../../../etc/cron.d/x")},
        {"metadata": _tables("000008.sst"), "../CURRENT": b"x"},
        {"metadata": _tables("000008.sst"), "/etc/passwd": b"x"},
        {"metadata": b"v1\n{}"},
        {"CURRENT": b"x"},
    ],
)
def test_a_snapshot_of_rocksdb_that_leads_elsewhere_is_refused(tmp_path, entries):
    (tmp_path / "1.zip").write_bytes(_zip(entries))
    with pytest.raises(DamagedFile):
        read_zip(list_files(tmp_path, 10), "1.zip", LIMITS)


def test_a_bomb_in_a_snapshot_of_rocksdb_is_refused(tmp_path):
    data = _zip({"metadata": _tables("000008.sst"), "CURRENT": bytes(2**20)})
    (tmp_path / "1.zip").write_bytes(data)
    with pytest.raises(DamagedFile, match="more than the limit"):
        read_zip(list_files(tmp_path, 10), "1.zip", replace(LIMITS, state_bytes=2**19))
