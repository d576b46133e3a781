"""Columns of many parts are read in one step, with the values that each part has on its own."""

import numpy as np
import pyarrow as pa
import pytest

from bench.synthetic_store import write_synthetic
from snapshots.store import mapped as store_mapped
from snapshots.store.decoding import StoredPart
from snapshots.store.encoding import encode
from snapshots.store.errors import StoreDamaged
from snapshots.store.joined import BLOCK, JoinedColumn, JoinedNumerals
from snapshots.store.layout import IN_FLIGHT, NONE
from snapshots.store.mapped import ragged
from snapshots.store.pages import MappedFiles, pages_of
from snapshots.store.parts import batch_of, write_batch, write_table
from snapshots.store.reader import StoredRecording

NUMBERS = pa.schema([("number", pa.int64())])
TEXTS = pa.schema([("text", pa.large_string())])

DICE = np.random.default_rng(1)


def mapped(folder, written: list[tuple[pa.RecordBatch | pa.Table, bool]]):
    """Write batches as files, and map them into one memory as a table does."""
    paths = [folder / f"{number}.arrow" for number in range(len(written))]
    for path, (rows, is_encoded) in zip(paths, written, strict=True):
        if is_encoded:
            write_batch(path, rows)
        else:
            write_table(path, rows, rows.schema)
    sizes = [path.stat().st_size for path in paths]
    memory = MappedFiles.reserve(sum(map(pages_of, sizes)) + 8 * BLOCK)
    parts, begin = [], 0
    for path, size in zip(paths, sizes, strict=True):
        parts.append(StoredPart(path, batch_of(memory.add(path, begin, size))))
        begin += pages_of(size)
    return memory, parts


def numbers(values: list) -> tuple[pa.RecordBatch, bool]:
    return encode(pa.table([values], NUMBERS), NUMBERS), True


def spread(width: int, *others: int | None) -> list:
    """Return numbers that need so many bytes, with others among them."""
    high = 2 ** (8 * width - 1) - 1
    values = [int(value) for value in DICE.integers(-(high // 2), high // 2, 60)]
    return [*values, -(high // 2), high // 2, *others, *values[:5], *others]


def test_numbers_of_every_width_are_those_that_each_part_has(tmp_path):
    columns = [
        *(spread(width) for width in range(1, 9)),
        *(spread(width, None) for width in range(1, 8)),
        *(spread(width, IN_FLIGHT) for width in (1, 3, 5)),
        [5, 5, 5, 5, None, 7] * 9,
        [NONE, None, 3, 4] * 16,
    ]
    written = [*map(numbers, columns), (pa.table([spread(6)], NUMBERS), False)]
    memory, parts = mapped(tmp_path, written)
    joined = JoinedColumn(memory, [part.flat("number") for part in parts])
    assert joined.has_all
    places = [(n, row) for n, part in enumerate(parts) for row in range(part.num_rows)]
    DICE.shuffle(places)
    part, rows = np.array(places).T
    expected = [parts[n].numbers("number", np.array([row]))[0] for n, row in places]
    assert joined.take(part, rows).tolist() == expected
    nulls = [parts[n].nulls("number", np.array([row])) for n, row in places]
    tops = joined.tops(part, rows)
    assert [bool(top) for top, value in zip(tops, expected, strict=True) if value != IN_FLIGHT] == [
        is_null is not None and bool(is_null[0])
        for is_null, value in zip(nulls, expected, strict=True)
        if value != IN_FLIGHT
    ]


def test_blocks_of_rows_are_those_that_each_part_has(tmp_path):
    columns = [spread(2), spread(5, None), spread(8), spread(5, IN_FLIGHT)]
    memory, parts = mapped(tmp_path, [*map(numbers, columns)])
    joined = JoinedColumn(memory, [part.flat("number") for part in parts])
    part = np.repeat(np.arange(len(parts)), 3)
    first = np.array([row for stored in parts for row in (0, 7, stored.num_rows - 3)])
    blocks = joined.take_blocks(part, first)
    for number, begin, block in zip(part.tolist(), first.tolist(), blocks, strict=True):
        rows = np.arange(begin, min(begin + BLOCK, parts[number].num_rows))
        assert block[: len(rows)].tolist() == parts[number].numbers("number", rows).tolist()


def test_a_column_that_is_held_in_another_way_is_not_known(tmp_path):
    rare, plain = [0] * 100 + [9], pa.table([[1, None, 3]], NUMBERS)
    memory, parts = mapped(tmp_path, [numbers(spread(3)), numbers(rare), (plain, False)])
    joined = JoinedColumn(memory, [part.flat("number") for part in parts])
    assert joined.known.tolist() == [True, False, False]


def test_texts_with_the_prefixes_of_their_parts_and_nulls(tmp_path):
    columns = [[f"{prefix}{n}" for n in range(300)] for prefix in ("m", "", "order ")]
    columns[1][7] = columns[1][299] = None
    written = [(encode(pa.table([column], TEXTS), TEXTS), True) for column in columns]
    memory, parts = mapped(tmp_path, written)
    prefixes, flats = zip(*(part.flat_numerals("text") for part in parts), strict=True)
    joined = JoinedNumerals(prefixes, JoinedColumn(memory, flats))
    part, rows = np.array([2, 1, 0, 1, 1]), np.array([12, 7, 299, 299, 8])
    assert joined.listed(part, rows) == ["order 12", None, "m299", None, "8"]


@pytest.fixture(scope="module")
def opened(tmp_path_factory) -> StoredRecording:
    folder = tmp_path_factory.mktemp("synthetic")
    write_synthetic(folder, 20_000)
    return StoredRecording.open(folder)


def test_a_seek_asks_no_part_on_its_own(opened, monkeypatch):
    extent = opened.manifest.extent
    middle = (extent.from_ + extent.to) // 2
    cut = opened.cut(opened.positions_at(at=middle))
    expected = cut.depths.tolist(), cut.states
    assert len(opened.tables.events.parts) > 1

    def refuse(*_) -> None:
        raise AssertionError("a part was asked on its own")

    for name in ("numbers", "listed", "texts"):
        monkeypatch.setattr(StoredPart, name, refuse)
    cut = opened.cut(opened.positions_at(at=middle))
    assert (cut.depths.tolist(), cut.states) == expected


@pytest.mark.parametrize("least", [1, 64])
def test_stretches_of_runs_are_what_their_rows_are(opened, monkeypatch, least):
    monkeypatch.setattr(store_mapped, "_ROWS_OF_A_STRETCH", least)
    messages = opened.tables.messages
    codes = np.array([2, 0, 1, 5])
    lengths = messages.table.length[codes]
    for first, end in (
        (np.zeros(4, np.int64), lengths),
        (np.zeros(4, np.int64), np.minimum(lengths, 1)),
        (np.minimum(lengths, 3), lengths - 1),
        (lengths, np.zeros(4, np.int64)),
    ):
        for column in ("sent_index", "received_reach"):
            found = messages.table.stretches(column, codes, first, end)
            expected = messages.table.values(column, *ragged(codes, first, end))
            assert found.tolist() == expected.tolist()
    every = np.arange(len(messages.table.length))
    both = np.zeros(len(every), np.int64), messages.table.length
    found = messages.table.stretches("sent_index", every, *both)
    assert found.tolist() == messages.table.values("sent_index", *ragged(every, *both)).tolist()


def test_a_stretch_behind_the_end_of_its_run_is_damage(opened, monkeypatch):
    monkeypatch.setattr(store_mapped, "_ROWS_OF_A_STRETCH", 1)
    table = opened.tables.messages.table
    code = table.length[:-1].argmax()  # rows of another run follow
    for lane in (np.array([code]), np.array([code, code + 1])):
        with pytest.raises(StoreDamaged):
            table.stretches("sent_index", lane, 0 * lane, table.length[lane] + 1)
