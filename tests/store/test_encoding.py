"""Columns come back as they were written, by rows and by slices, in as few bytes as they need."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.store import blocks, encoding, text_columns
from snapshots.store.decoding import StoredPart, open_part
from snapshots.store.errors import StoreDamaged
from snapshots.store.layout import EVENT_COLUMNS, EVENTS, IN_FLIGHT, NONE
from snapshots.store.packing import pack, unpack
from snapshots.store.parts import write_batch, write_events
from tests.effort import examples

NUMBERS = pa.schema([("it", pa.int64())])
TEXTS = pa.schema([("it", pa.large_string())])

some_numbers = st.integers(-3, 300) | st.integers(-(2**63), 2**63 - 1)
extreme = st.sampled_from([-(2**63), 2**63 - 1, 2**63 - 2, NONE, 0, 2**32, 2**24 - 1, 2**40])
nullable = st.none() | some_numbers | extreme


@st.composite
def number_lists(draw) -> list[int | None]:
    """Numbers of one kind: any, close together, nearly all the same, or in runs."""
    shape = draw(st.sampled_from(["any", "close", "rare", "runs", "in flight"]))
    if shape == "any":
        return draw(st.lists(nullable, max_size=60))
    base = draw(extreme.filter(lambda number: abs(number) < 2**62))
    if shape == "close":
        span = draw(st.sampled_from([1, 255, 256, 2**16, 2**24, 2**40, 2**56]))
        return [base + n for n in draw(st.lists(st.integers(0, span), max_size=60))]
    if shape == "in flight":
        return draw(st.lists(st.sampled_from([base, base + 1, IN_FLIGHT]), max_size=60))
    usual = draw(st.none() | st.just(base))
    if shape == "runs":
        runs = draw(st.lists(st.integers(0, 5), max_size=3))
        return [base + value for value in runs for _ in range(40)]
    rows = [usual] * draw(st.integers(1, 200))
    rows[draw(st.integers(0, len(rows) - 1))] = draw(nullable)
    return rows


words = st.text(max_size=6) | st.sampled_from(
    ["", "0", "-0", "007", "1e3", "+5", " 5", "0x1F", "0xFFFFFFFF", "4294967295", "-1", "null"]
    + ["😀", "é" * 40, "\0", "1.0", "9223372036854775807", "9223372036854775808", "٣"]
)


@st.composite
def text_lists(draw) -> list[str | None]:
    """Texts of one kind: any, numbers after a prefix, a few names, or mostly none."""
    shape = draw(st.sampled_from(["any", "numbers", "names", "rare"]))
    if shape == "any":
        return draw(st.lists(st.none() | words, max_size=60))
    if shape == "numbers":
        prefix = draw(st.sampled_from(["", "m", "p-", "\0", "1.", "é"]) | words)
        odd = draw(st.lists(st.none() | words, max_size=1))
        return [f"{prefix}{n}" for n in draw(st.lists(some_numbers, max_size=60))] + odd
    if shape == "names":
        names = draw(st.lists(st.none() | words, min_size=1, max_size=3))
        return [names[n % len(names)] for n in range(draw(st.integers(0, 200)))]
    return [None] * draw(st.integers(0, 100)) + draw(st.lists(words, max_size=3))


def part_of(values: list, schema: pa.Schema, tmp_path) -> StoredPart:
    """Write one column to a file and map it, as a part is."""
    file = tmp_path / f"{abs(hash(tuple(values)))}.arrow"
    write_batch(file, encoding.encode(pa.table([values], schema), schema))
    return StoredPart(file, columns_of(file))


def columns_of(file) -> pa.RecordBatch:
    return pa.ipc.open_file(pa.memory_map(str(file))).get_batch(0)


def some_rows(count: int, seed: int) -> np.ndarray:
    chance = np.random.default_rng(seed)
    return chance.integers(0, count, 20) if count else np.zeros(0, np.int64)


@settings(max_examples=examples(300), deadline=None)
@given(number_lists(), st.integers(0, 9))
def test_numbers_come_back_as_they_were(tmp_path_factory, values, seed):
    part = part_of(values, NUMBERS, tmp_path_factory.getbasetemp())
    assert part.num_rows == len(values)
    assert part.table(NUMBERS)["it"].to_pylist() == values
    rows = some_rows(len(values), seed)
    expected = [NONE if values[row] is None else values[row] for row in rows]
    assert part.numbers("it", rows).tolist() == expected
    nulls = part.nulls("it", rows)
    is_null = [values[row] is None for row in rows]
    assert (any(is_null) and nulls is None) is False
    assert nulls is None or nulls.tolist() == is_null
    begin, end = sorted(some_rows(len(values) + 1, seed + 1)[:2].tolist())
    assert part.numbers("it", slice(begin, end)).tolist() == [
        NONE if value is None else value for value in values[begin:end]
    ]


@settings(max_examples=examples(300), deadline=None)
@given(text_lists(), st.integers(0, 9), st.sampled_from([1, 2**16]))
def test_texts_come_back_as_they_were(tmp_path_factory, values, seed, block):
    with pytest.MonkeyPatch.context() as patch:  # also in compressed blocks, and in many of them
        if block == 1:
            patch.setattr(encoding, "_SMALL", 0)
            patch.setattr(encoding, "_BLOCK_BYTES", 7)
            patch.setattr(blocks, "_kept", blocks.KeptBlocks(100))
        part = part_of(values, TEXTS, tmp_path_factory.getbasetemp())
        rows = some_rows(len(values), seed)
        assert part.table(TEXTS)["it"].to_pylist() == values
        assert part.texts("it", rows).to_pylist() == [values[row] for row in rows]
        assert part.listed("it", rows) == [values[row] for row in rows]
        begin, end = sorted(some_rows(len(values) + 1, seed + 1)[:2].tolist())
        assert part.texts("it", slice(begin, end)).to_pylist() == values[begin:end]
        assert part.listed("it", slice(begin, end)) == values[begin:end]
        wanted = list(dict.fromkeys([*filter(None, values[::2]), "1", "07", "m1", "x"]))
        assert part.find("it", rows, pa.array(wanted, pa.large_string())).tolist() == [
            wanted.index(values[row]) if values[row] in wanted else NONE for row in rows
        ]
        assert part.matching("it", rows, _has_one).tolist() == [
            "1" in (values[row] or "") for row in rows
        ]


def test_long_texts_are_tested_and_found_block_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "_kept", blocks.KeptBlocks(0))
    texts = [f"{n} " * 10**5 for n in range(20)]
    values = [text for text in texts for _ in range(2)]
    part = part_of(values, TEXTS, tmp_path)
    sizes = []

    def starts_with_1(column: pa.Array) -> np.ndarray:
        sizes.append(column.nbytes)
        return np.array([text.startswith("1") for text in column.to_pylist()])

    for rows in (slice(0, 40), slice(1, 39), np.arange(40), np.arange(40)[::-3]):
        expected = [text.startswith("1") for text in np.array(values, object)[rows]]
        assert part.matching("it", rows, starts_with_1).tolist() == expected
    assert max(sizes) < 4 * 10**5
    assert part.find("it", slice(5, 40), pa.array(texts[3:4], pa.large_string())).tolist() == (
        [NONE, 0, 0] + [NONE] * 32
    )


def _has_one(texts: pa.Array) -> np.ndarray:
    return np.array(["1" in (text or "") for text in texts.to_pylist()], bool)


@pytest.mark.parametrize(
    ("values", "expected", "most"),
    [
        (["m1", "m22", "m333"] * 999, "numerals", 9_000),
        ([f"m{n}" for n in range(60_000)], "numerals", 130_000),
        ([*"abc"] * 999, "named", 4_000),
        (["a" * 10**5, "b"] * 99, "packed", 100_000),
        ([f'{{"balance":{n},"name":"somebody"}}' for n in range(9_999)], "packed", 80_000),
        ([None] * 9_999, "rare", 700),
        ([None] * 9_999 + ["x"], "rare", 700),
        (["a", "b", "c"], "plain", 999),
    ],
)
def test_texts_take_few_bytes(values, expected, most):
    batch = encoding.encode(pa.table([values], TEXTS), TEXTS)
    assert batch.schema.field("it").metadata[b"encoding"] == expected.encode()
    assert batch.nbytes < most


@pytest.mark.parametrize(
    ("values", "expected", "most"),
    [
        (list(range(1000)), "narrow", 2_200),
        (list(range(2**40, 2**40 + 70_000)), "narrow", 3 * 70_000 + 99),
        ([7] * 1000, "rare", 99),
        ([-1] * 1000 + [2**62], "rare", 99),
        ([None] * 1000, "rare", 99),
        ([5] * 500 + [6] * 500, "runs", 99),
        ([-(2**63), 2**63 - 1, None], "plain", 99),
    ],
)
def test_numbers_take_few_bytes(values, expected, most):
    batch = encoding.encode(pa.table([values], NUMBERS), NUMBERS)
    assert batch.schema.field("it").metadata[b"encoding"] == expected.encode()
    assert batch.nbytes < most


def test_numbers_whose_bytes_are_too_many_for_one_array_stay_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "_LONGEST", 2 * 1000 + encoding.PADDING)
    encodings = []
    for count in (1000, 1001):
        batch = encoding.encode(pa.table([range(count)], NUMBERS), NUMBERS)
        encodings.append(batch.schema.field("it").metadata[b"encoding"])
    assert encodings == [b"narrow", b"plain"]
    part = part_of(list(range(1001)), NUMBERS, tmp_path)
    assert part.numbers("it", slice(999, 1001)).tolist() == [999, 1000]


def test_a_neighbour_of_a_long_text_is_read_without_it(tmp_path, monkeypatch):
    texts = ["short one", *("x" * n + str(n) for n in range(1, 2_000)), "y" * 10**6, "short two"]
    part = part_of(texts, TEXTS, tmp_path)
    sizes = []

    def noted(packed: pa.Buffer) -> pa.Buffer:
        sizes.append(len(content := unpack(packed)))
        return content

    monkeypatch.setattr(text_columns, "unpack", noted)
    assert part.listed("it", np.array([len(texts) - 1, 0, len(texts) - 3])) == [
        "short two",
        "short one",
        texts[-3],
    ]
    assert max(sizes) < 2**17
    assert part.listed("it", np.array([len(texts) - 2])) == ["y" * 10**6]


# --- parts that are not what they say ------------------------------------------------------------


def _event_rows(count: int) -> pa.Table:
    steps = np.arange(count)
    text = pa.large_string()
    return pa.table(
        {
            "process": pa.array(np.zeros(count), pa.int32()),
            "kind": pa.array(steps % 3, pa.uint16()),
            "at": steps * 1000,
            "step": steps,
            "line": steps + 2,
            "channel": pa.array(steps % 300, pa.int32()),
            "snapshot": pa.array(np.full(count, NONE), pa.int32()),
            "message": pa.array([f"m{n}" for n in range(count)], text),
            "value": pa.array([f'{{"amount": {n}, "of": "it"}}' for n in range(count)], text),
            "state": pa.array(["up", "down", "away", None] * (count // 4), text),
            "label": pa.nulls(count, text),
            "extra": pa.nulls(count, text),
            "logged_at": pa.nulls(count, pa.int64()),
        }
    )


def _changed(folder, change):
    """Write a part of the events with other metadata or contents of its pieces."""
    [part] = write_events(folder, _event_rows(4_000))
    file = folder / part.file
    batch = columns_of(file)
    pieces = {
        field.name: (dict(field.metadata), batch.column(field.name)) for field in batch.schema
    }
    rows = change(pieces) or 4_000
    fields = [pa.field(name, array.type, metadata=facts) for name, (facts, array) in pieces.items()]
    schema = pa.schema(fields, metadata={"rows": str(rows)})
    arrays = [array for _, array in pieces.values()]
    write_batch(folder / "other.arrow", pa.RecordBatch.from_arrays(arrays, schema=schema))
    return folder / "other.arrow"


def _fact(name: str, fact: str, value: str):
    return lambda pieces: pieces[name][0].update({fact.encode(): value.encode()})


def _cut(name: str, keep):
    """Replace the content of a piece by a part of it, or by something else."""

    def change(pieces):
        facts, array = pieces[name]
        content = keep(array.values)
        lists = pa.LargeListArray.from_arrays(np.array([0, len(content)]), content)
        pieces[name] = facts, lists

    return change


def _scrambled(blocks: pa.Array) -> pa.Array:
    return pa.array([block.as_py()[:-9] for block in blocks], pa.large_binary())


def _of_other_length(blocks: pa.Array) -> pa.Array:
    other = pa.record_batch([pa.array(["x"], pa.large_string())], ["text"]).serialize()
    return pa.array([pack(other)] * len(blocks), pa.large_binary())


@pytest.mark.parametrize(
    "change",
    [
        _fact("at", "base", "much"),
        _fact("at", "base", str(2**70)),
        _fact("at", "width", "0"),
        _fact("at", "width", "9"),
        _fact("at", "width", "2"),
        _fact("at", "encoding", "of the future"),
        _fact("snapshot", "usual", "one"),
        _fact("line", "of", "nothing"),
        _fact("line", "of", "line"),
        _fact("at", "encoding", "shifted"),
        _fact("snapshot", "usual", str(2**40)),
        _fact("state", "encoding", "of the future"),
        _fact("message", "encoding", "narrow"),
        _cut("kind", lambda content: content.slice(0, 900)),
        _cut("channel", lambda content: content.slice(0, 3)),
        _cut("state", lambda names: names.slice(0, 1)),
        _cut("value", _scrambled),
        _cut("value", _of_other_length),
        _cut("value", lambda blocks: pa.nulls(len(blocks), blocks.type)),
        _cut("value", lambda blocks: pa.array(np.arange(len(blocks)))),
        _cut("value", lambda blocks: pa.array([pack(b"no texts")] * len(blocks), blocks.type)),
        _cut("value", lambda blocks: blocks.slice(1)),
        _cut("value.packed", lambda ends: ends.slice(0, 9)),
        lambda pieces: pieces.pop("message.numerals"),
        lambda pieces: 4_001,
        lambda pieces: 3_999,
    ],
)
def test_a_part_that_is_not_what_it_says_is_named(tmp_path, change):
    def read(part: StoredPart) -> None:
        part.table(EVENT_COLUMNS)
        for column in EVENT_COLUMNS:
            is_text = pa.types.is_large_string(column.type)
            rows = np.arange(part.num_rows)
            (part.texts if is_text else part.numbers)(column.name, rows)

    read(open_part(_changed(tmp_path, lambda pieces: None), EVENTS))
    file = _changed(tmp_path, change)
    with pytest.raises(StoreDamaged, match="cannot be decoded") as caught:
        read(open_part(file, EVENTS))
    assert caught.value.where == "other.arrow"


def test_a_part_without_a_column_is_refused(tmp_path):
    file = _changed(tmp_path, lambda pieces: pieces.pop("label") and None)
    with pytest.raises(StoreDamaged, match="Its columns are not the layout's"):
        open_part(file, EVENTS)


@pytest.mark.parametrize("content", [b"", b"x", b"it " * 10**5])
def test_packed_bytes_come_back(content):
    assert unpack(pa.py_buffer(pack(content))).to_pybytes() == content
    with pytest.raises(ValueError, match="cannot be unpacked"):
        unpack(pa.py_buffer(pack(content)[:5]))
