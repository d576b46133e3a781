"""Texts that are too long for an answer are shortened, and say how long they are."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from snapshots.store.long_texts import (
    excerpt_of_json,
    excerpt_of_text,
    excerpt_with_digest,
    has_more,
    read_shortened,
    shortened,
)

TEXTS = ["short", None, "ü" * 1_000, "x" * 500]


class Table:
    """A table of one run with one column, which counts the rows that are read at once."""

    def __init__(self, texts: list[str | None]) -> None:
        self.kept, self.read = texts, []

    def pick(self, codes, offsets):
        self.read.append(len(offsets))
        return SimpleNamespace(texts=lambda column: [self.kept[place] for place in offsets])

    def rows(self):
        return self, np.zeros(len(self.kept), np.int64), np.arange(len(self.kept)), "state"


def test_only_long_texts_are_shortened():
    rows = Table(TEXTS).rows()
    assert read_shortened(*rows, 2_505, excerpt_of_text) == TEXTS
    found = read_shortened(*rows, 2_004, excerpt_of_json)
    assert found[:2] == ["short", None]
    assert found[3] == "x" * 500
    assert json.loads(found[2]) == {"$excerpt": "ü" * 250, "$bytes": 2_000}


def test_a_text_that_is_shortened_keeps_at_most_2_000_bytes():
    [found] = read_shortened(*Table(["1" * 9_000]).rows(), 8_000, excerpt_of_json)
    assert json.loads(found) == {"$excerpt": "1" * 2_000, "$bytes": 9_000}


def test_a_beginning_does_not_end_inside_a_character():
    [found] = read_shortened(*Table(["ü" * 50]).rows(), 33, excerpt_of_text)
    assert found == "ü" * 16 + "… (the first 33 of 100 bytes)"


@pytest.mark.parametrize("most", [2_504, 2_505])
def test_bytes_are_counted_and_not_characters(most):
    assert has_more(*Table(TEXTS).rows(), most) is (most < 2_505)


def test_long_texts_are_read_few_at_a_time_and_only_as_far_as_needed():
    table = Table(["x" * 500_000] * 300)
    assert has_more(*table.rows(), 2_000_000)
    assert sum(table.read) < 100
    table = Table(["x" * 500_000] * 100)
    found = read_shortened(*table.rows(), 2_000_000, excerpt_of_json)
    assert len(found) == 100
    assert sorted(table.read)[:-2][-1] <= 2  # but for the first of each of two readings


def test_short_texts_are_read_many_at_a_time():
    table = Table(["1"] * 20_000)
    assert not has_more(*table.rows(), 2_000_000)
    assert len(table.read) < 10


def test_texts_with_the_same_beginning_have_different_digests():
    long = "1" * 5_000
    first, same, other = (json.loads(text) for text in shortened([long, long, long + "2"], 3_000))
    assert first == same
    assert first["$digest"] != other["$digest"]
    assert first["$excerpt"] == "1" * 1_000
    assert first["$bytes"] == 5_000
    assert shortened(["1", None], 3_000) == ["1", None]


def test_texts_that_are_read_differ_though_they_begin_alike():
    rows = Table(["1" * 5_000 + end for end in "223"]).rows()
    first, same, other = read_shortened(*rows, 3_000, excerpt_with_digest)
    assert first == same != other
