"""Tables that RocksDB wrote itself (rocks_tables.txt, by RocksTables.java) are read as it does."""

import base64
from functools import cache
from pathlib import Path

import pytest

from snapshots.readers.engines.flink.handles import BackendFile, Incremental, Inline
from snapshots.readers.engines.flink.keyed.entries import Limits, Notes
from snapshots.readers.engines.flink.keyed.keyed_meta import read_keyed_meta
from snapshots.readers.engines.flink.keyed.table_files import TableFiles
from snapshots.readers.formats.budget import Room
from snapshots.readers.formats.cursor import Cursor, Malformed
from snapshots.readers.formats.rocksdb.table_merging import NamedTable, merged
from snapshots.readers.formats.rocksdb.tables import Table, block_entries
from tests.readers.engines.flink.types import varint
from tests.readers.mutated import MANY, mutated

_SEQUENCE = (7 << 8 | 1).to_bytes(8, "little")


@cache
def cases() -> dict[str, tuple[list[bytes], list[tuple[bytes, bytes]]]]:
    """Return for each name the tables, and what RocksDB itself finds in them."""
    lines = Path(__file__).with_name("rocks_tables.txt").read_text().splitlines()
    return {
        name: (
            [base64.b64decode(table) for table in tables.split()],
            [tuple(map(bytes.fromhex, pair.split("="))) for pair in found.split()],
        )
        for name, tables, found in zip(lines[::3], lines[1::3], lines[2::3], strict=True)
    }


def opened(data: bytes, block_bytes: int = 2**20, table_bytes: int = 2**24) -> NamedTable:
    return NamedTable("a table", Table(data, block_bytes, table_bytes))


def found_in(tables: list[NamedTable], lost: list[str] | None = None):
    found = merged(tables, lambda name, malformed: lost.append(malformed.what))
    return [(stored.key, stored.value) for stored in found]


@pytest.mark.parametrize("name", cases())
def test_values_deletions_ranges_and_merges_are_as_rocksdb_reads_them(name):
    tables, expected = cases()[name]
    assert len(tables) == 3
    assert found_in([opened(table) for table in tables]) == expected
    assert {opened(table).table.column_family for table in tables} == {"counts"}


@pytest.mark.parametrize("name", cases())
def test_a_table_has_as_many_versions_as_it_says(name):
    for data in cases()[name][0]:
        table = opened(data).table
        versions = [version for block in table.blocks() for version in table.versions(block)]
        assert len(versions) + len(list(table.ranges())) == table._number("rocksdb.num.entries")


def test_an_older_table_alone_gives_older_values():
    tables, expected = cases()["snappy 5 two levels"]
    oldest = max(tables, key=len)
    assert dict(found_in([opened(oldest)]))[b"key-001"] == b"first value of 1"
    assert dict(expected)[b"key-001"] == b"second value of 1"


def test_a_damaged_block_is_left_out_and_reported():
    tables, _expected = cases()["zlib 4 plain"]
    table = opened(max(tables, key=len)).table
    blocks = list(table.blocks())
    assert len(blocks) > 2
    data = bytearray(max(tables, key=len))
    for place in range(blocks[1].offset + 2, blocks[1].offset + blocks[1].size):
        data[place] ^= 0xFF
    lost: list[str] = []
    found = found_in([opened(bytes(data))], lost)
    assert lost == ["A block is damaged"]
    assert 0 < len(found) < 62


def test_bytes_that_are_not_a_table_are_refused():
    for data in (b"", b"no table", bytes(100)):
        with pytest.raises(Malformed, match="does not end as one"):
            opened(data)


def test_a_table_of_a_later_format_is_refused():
    data = bytearray(cases()["none 2 plain"][0][0])
    data[-12] = 7
    with pytest.raises(Malformed, match="format 7"):
        opened(bytes(data))


@pytest.mark.parametrize("name", cases())
def test_a_block_larger_than_the_limit_is_refused_before_it_is_inflated(name):
    data = max(cases()[name][0], key=len)
    with pytest.raises(Malformed, match="are read|read here"):
        opened(data, block_bytes=100)


def test_all_blocks_of_a_table_are_bounded_together():
    table = opened(max(cases()["zlib 4 plain"][0], key=len), table_bytes=2_000).table
    with pytest.raises(Malformed, match="read here"):
        [version for block in table.blocks() for version in table.versions(block)]


def test_no_block_is_read_twice():
    data = max(cases()["none 2 plain"][0], key=len)
    _first, second = list(opened(data).table.blocks())[:2]
    written = varint(second.offset) + varint(second.size)
    assert data.count(written) == 1
    overlapping = data.replace(written, varint(second.offset - 1) + varint(second.size))
    with pytest.raises(Malformed, match="overlap"):
        list(opened(overlapping).table.blocks())


def test_a_key_can_repeat_the_one_before_it():
    block = b"\x00\x0b\x01abc" + _SEQUENCE + b"1" + b"\x02\x09\x01x" + _SEQUENCE + b"2"
    found = list(block_entries(block + bytes(4) + b"\x01\0\0\0"))
    assert found == [(b"abc" + _SEQUENCE, b"1"), (b"abx" + _SEQUENCE, b"2")]


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\xff\xff\xff\xff",  # restart points that do not fit
        b"\x01\x00\x00" + bytes(4) + b"\x01\0\0\0",  # shares what there is not
        b"\x00\x50\x00" + bytes(4) + b"\x01\0\0\0",  # longer than the block
        b"\xff\xff\xff\xff\xff\xff\x00" + bytes(4) + b"\x01\0\0\0",  # a length without end
    ],
)
def test_a_block_that_does_not_fit_is_refused(block):
    with pytest.raises(Malformed):
        list(block_entries(block))


def test_keys_that_only_repeat_each_other_are_bounded():
    long = 20_000
    first = b"\x00" + b"\xa0\x9c\x01" + b"\x00" + b"k" * long
    repeated = b"\xa0\x9c\x01" + b"\x00\x00"
    block = first + repeated * 2_000 + bytes(4) + b"\x01\0\0\0"
    with pytest.raises(Malformed, match="does not fit"):
        list(block_entries(block))


def test_damaged_tables_are_read_or_refused():
    seeds = [table for tables, _ in cases().values() for table in tables]
    for data in mutated(seeds, MANY):
        try:
            table = opened(data)
        except Malformed:
            continue
        found_in([table], [])


def test_a_handle_that_names_one_table_many_times_costs_no_more_than_the_room():
    """A checkpoint of a few hundred bytes can name the same table a thousand times."""
    data = max(cases()["zlib 4 plain"][0], key=len)
    named = tuple(BackendFile(f"{n}.sst", Inline("", data)) for n in range(40))
    handle = Incremental(0, 128, 1, "", Inline("", b""), named, ())
    meta = read_keyed_meta(Cursor(b""))

    def read(limits):
        notes, asked = Notes(), []

        def content(stream):
            asked.append(stream)
            return stream.data

        files = TableFiles(handle, meta, content, 128, limits, notes)
        return len(list(files.entries())), len(asked), notes.sentences

    whole, asked, _ = read(Limits())
    assert (whole > 10, asked) == (True, 40)
    room = Room("bytes of state", 3 * len(data))
    found, asked, said = read(Limits(room=room))
    assert 0 < found < whole + 40
    assert room.left < len(data)
    assert any("read here" in sentence or "are read" in sentence for sentence in said)
    _, asked, said = read(Limits(tables=5))
    assert (asked, said[0]) == (5, "Of 40 tables the first 5 are read.")
    _, _, said = read(Limits(alive_bytes=40 * 100))
    assert any("read here" in sentence or "are read" in sentence for sentence in said)


@pytest.mark.parametrize("points", [b"\x05\0\0\0", b"\x04\0\0\0\x00\0\0\0"])
def test_restart_points_lie_in_their_block_and_in_order(points):
    block = b"\x00\x01\x00k" + points + (len(points) // 4).to_bytes(4, "little")
    with pytest.raises(Malformed, match="restart points"):
        list(block_entries(block))
