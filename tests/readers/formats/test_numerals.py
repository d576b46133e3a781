"""Texts are held as numbers only where the numbers give back exactly the texts."""

import pyarrow as pa
import pytest

from snapshots.readers.formats.numerals import (
    Numerals,
    alike,
    numerals_of,
    prefix_in,
    written,
    written_out,
)
from snapshots.store.encoding import encode

EVERY_TEXT = pa.schema([("text", pa.large_string())])

NUMBERS = [
    ["0", "7", None, "-3"],
    ["9223372036854775807", "-9223372036854775808"],
    ["m1", "m0", "m10", None],
    ["ü-٣ 5", "ü-٣ 6"],
    ["m-3", "m-0"],
    ["1.5", "1.7"],
]
TEXTS = [
    ["1", "007"],
    ["1", "1e3"],
    ["5", "-0"],
    ["5", "+5"],
    ["5", " 5"],
    ["16", "0x10"],
    ["9223372036854775807", "9223372036854775808"],
    ["m1", "n1"],
    ["m1", "m-3"],
    ["m1", "m01"],
    ["1", "٣"],
    ["٣"],
    ["1", ""],
    ["m"],
    [None, None],
    [],
]


def large(texts: list[str | None]) -> pa.Array:
    return pa.array(texts, pa.large_string())


def table(column: pa.Array | Numerals) -> pa.Table:
    if isinstance(column, Numerals):
        return pa.table([column.numbers], pa.schema([column.field("text")]))
    return pa.table([column], EVERY_TEXT)


@pytest.mark.parametrize("texts", NUMBERS, ids=str)
def test_numbers_give_back_the_texts(texts):
    found = numerals_of(large(texts))
    assert written(found.numbers, found.prefix).to_pylist() == texts
    assert written_out(table(found), EVERY_TEXT) == table(large(texts))


@pytest.mark.parametrize("texts", TEXTS, ids=str)
def test_texts_that_numbers_would_change_stay_texts(texts):
    assert numerals_of(large(texts)) is None


@pytest.mark.parametrize("texts", NUMBERS, ids=str)
@pytest.mark.parametrize("nulls", [0, 100])
def test_a_part_has_the_same_bytes_whichever_way_its_texts_are_held(texts, nulls):
    texts = texts + [None] * nulls
    found = numerals_of(large(texts))
    for begin in range(len(texts)):
        rows, numbers = table(large(texts)).slice(begin), table(found).slice(begin)
        of_texts, of_numbers = encode(rows, EVERY_TEXT), encode(numbers, EVERY_TEXT)
        assert of_numbers.schema.equals(of_texts.schema, check_metadata=True)
        assert of_numbers.serialize() == of_texts.serialize()


def test_tables_that_hold_a_column_differently_are_joined_as_texts():
    held = [table(numerals_of(large(texts))) for texts in (["m1"], ["m2"])]
    assert [prefix_in(item.schema.field(0)) for item in alike(held, EVERY_TEXT)] == ["m", "m"]
    mixed = [*held, table(numerals_of(large(["n1"]))), table(large(["007"]))]
    joined = pa.concat_tables(alike(mixed, EVERY_TEXT))
    assert joined["text"].to_pylist() == ["m1", "m2", "n1", "007"]
