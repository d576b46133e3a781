"""Events are put in order on whole columns, and wrong indexes are reported."""

import itertools

import numpy as np
import pytest

from tasks.spark.ingest.order import Order, OrderTask
from tasks.spark.ingest.parse import stable_order
from tasks.spark.ingest.schemas import ranges


def ordered(*processes: list[int | None]) -> Order:
    """Return the order of the events of p0, p1 … with these indexes, in lines 2, 3, 4 …"""
    indexes = [-1 if index is None else index for process in processes for index in process]
    starts = np.cumsum([0, *map(len, processes)])
    names = tuple(f"p{code}" for code in range(len(processes)))
    task = OrderTask("", "", "", (), 0, len(processes), names)
    return Order(starts, np.array(indexes, np.int64), np.arange(2, 2 + len(indexes)), task)


def defects_of(order: Order) -> list[tuple]:
    return [(item.code, item.process, item.line, item.count) for item in order.defects.listed]


def test_indexes_that_rise_leave_the_rows_where_they_are():
    order = ordered([0, 1, 2], [0, 1])
    assert order.in_step
    assert not defects_of(order)


def test_rows_are_sorted_by_index_within_their_process():
    order = ordered([2, 0, 1], [1, 0])
    assert order.place.tolist() == [1, 2, 0, 4, 3]
    assert not defects_of(order)


def test_without_indexes_the_order_of_the_file_counts():
    assert ordered([None, None], []).in_step


def test_if_some_rows_lack_an_index_the_order_of_the_file_counts_with_a_defect():
    order = ordered([1, None, 0], [1, 0])
    assert order.place.tolist() == [0, 1, 2, 4, 3]
    assert defects_of(order) == [("index-gap", "p0", 3, 1)]


def test_a_gap_is_reported_with_its_first_line_and_the_number_of_missing_events():
    assert defects_of(ordered([0, 3, 4])) == [("index-gap", "p0", 3, 2)]


def test_an_index_used_twice_is_refused_at_its_second_line():
    order = ordered([0, 1, 1])
    assert defects_of(order) == [("index-twice", "p0", 4, 1)]
    assert order.defects.refused_total == 1


def test_the_new_index_has_no_gaps():
    assert ordered([0, 5], [7]).index.tolist() == [0, 1, 0]


@pytest.mark.parametrize("codes", [[2, 0, 2, 0], [70_000, 5_000, 70_000]])
def test_equal_codes_stay_in_their_order(codes):
    order = stable_order(np.array(codes))
    assert order.tolist() == sorted(range(len(codes)), key=lambda n: (codes[n], n))


def test_ranges_are_balanced_and_cover_all_that_counts():
    found = ranges([0, 500_000, 500_000, 0, 1_000_000, 0], 1_000_000)
    assert found[0][0] == 0
    assert found[-1][1] > 4
    assert all(one[1] == other[0] for one, other in itertools.pairwise(found))
    assert len(found) == 3


def test_a_small_recording_is_one_range_and_nothing_is_none():
    assert ranges([3, 0, 4], 1_000_000) == [(0, 3)]
    assert ranges([0, 0], 1_000_000) == []
    assert ranges([], 1_000_000) == []
