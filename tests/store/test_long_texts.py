"""Texts that are too long for an answer are shortened, and say how long they are."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.store.long_texts import (
    bytes_of,
    excerpt_of_json,
    excerpt_of_text,
    most_kept,
    read_shortened,
    shortened,
)
from snapshots.store.mapped import Picked

TEXTS = ["short", None, "ü" * 1_000, "x" * 500]


class Table:
    """A table of one part with one column."""

    def __init__(self, column: pa.Array) -> None:
        self.batches = [pa.record_batch({"state": column})]


def picked(column: pa.Array, rows: list[int]) -> Picked:
    return Picked(Table(column), len(rows), [(0, slice(None), np.array(rows, np.int64))])


@given(st.lists(st.integers(0, 10_000)), st.integers(1_000, 100_000))
def test_what_is_kept_of_texts_fits_into_the_budget_and_uses_it(lengths, budget):
    most = most_kept(lengths, budget)
    kept = sum(min(length, most) for length in lengths)
    assert kept <= max(budget, 16 * len(lengths))
    if sum(lengths) > budget > 16 * len(lengths):
        assert kept > budget - len(lengths)


@pytest.mark.parametrize("type_", [pa.large_string(), pa.string()], ids=str)
@pytest.mark.parametrize("is_packed", [False, True])
def test_lengths_are_known_without_reading(type_, is_packed):
    column = pa.array(TEXTS, type_)
    column = column.dictionary_encode() if is_packed else column
    assert bytes_of(picked(column, [3, 2, 1, 0]), "state").tolist() == [500, 2_000, 0, 5]
    assert bytes_of(picked(column[1:], [0, 1]), "state").tolist() == [0, 2_000]


@pytest.mark.parametrize("is_packed", [False, True])
def test_only_long_texts_are_shortened(is_packed):
    column = pa.array(TEXTS, pa.large_string())
    column = column.dictionary_encode() if is_packed else column
    rows = picked(column, [0, 1, 2, 3])
    assert read_shortened(rows, "state", 10_000, excerpt_of_text) == TEXTS
    found = read_shortened(rows, "state", 1_005, excerpt_of_json)
    assert found[:2] == ["short", None]
    assert found[3] == "x" * 500
    assert json.loads(found[2]) == {"$excerpt": "ü" * 250, "$bytes": 2_000}


def test_a_beginning_does_not_end_inside_a_character():
    [found] = read_shortened(picked(pa.array(["ü" * 50]), [0]), "state", 33, excerpt_of_text)
    assert found == "ü" * 16 + "… (the first 33 of 100 bytes)"


def test_texts_with_the_same_beginning_have_different_digests():
    long = "1" * 5_000
    first, same, other = (json.loads(text) for text in shortened([long, long, long + "2"], 3_000))
    assert first == same
    assert first["$digest"] != other["$digest"]
    assert first["$excerpt"] == "1" * 1_000
    assert first["$bytes"] == 5_000
    assert shortened(["1", None], 3_000) == ["1", None]
