"""What values of a state add up to, and which sums would mean nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from snapshots.domain.inventory.model import BROADCAST, TIMERS
from snapshots.domain.inventory.sums import EXACT, MOST_FIELDS, Adding, leaves, why_not
from tests.effort import examples


def added(*values: object) -> Adding:
    adding = Adding()
    for value in values:
        adding.add(value)
    return adding


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ((), 0),
        ((1, 2.5), 3.5),
        ((1, True), None),
        ((1, "2"), None),
        ((1, None, 2), None),
        ((EXACT - 1, 1), None),
        (({"a": 1},), None),
    ],
)
def test_numbers_are_added_up_if_all_are_numbers(values, total):
    assert added(*values).total == total


@pytest.mark.parametrize(
    ("values", "sums"),
    [
        (({"count": 2, "sum": 14}, {"count": 1, "sum": 0.5}), {"count": 3, "sum": 14.5}),
        (({"groupState": {"n": 3, "name": "x"}}, {"groupState": {"n": 4}}),
         {"groupState": {"n": 7}}),
        (({"a": 1}, {"b": 2}), {"a": 1, "b": 2}),
        (({"a": 1}, {"a": None}), {}),
        (({"a": 1}, {"a": {"b": 2}}), {"a": {"b": 2}}),
        (({"a": [1, 2], "b": True, "c": "7"},), {}),
        (({"a": 1}, 5), {}),
        (({"a": {"b": {"c": 1}}},), {"a": {"b": {"c": 1}}}),
        (({"a": {"b": {"c": {"d": 1}}}},), {}),
        (({"x" * 200: 1, "a": 1},), {"a": 1}),
        (({str(n): n for n in range(MOST_FIELDS + 1)},), {}),
        ((), {}),
    ],
)  # fmt: skip
def test_fields_of_objects_are_added_up_by_name(values, sums):
    assert added(*values).sums == sums


@pytest.mark.parametrize(
    ("kind", "names", "values", "words"),
    [
        (TIMERS, ("timers",), (7,), "points in time"),
        ("map", ("expiresAt",), (1_714_521_600_000, 1_714_521_637_200), "points in time"),
        ("value", ("x", "timeoutTimestamp"), (3,), "points in time"),
        ("split list", ("rules-offset",), (4,), "positions"),
        ("value", ("kafka_offsets",), (4,), "positions"),
        ("value", ("lastRate",), (1.375,), "single readings"),
        ("store", ("default", "max"), (25,), "single readings"),
        (BROADCAST, ("rules", "apple"), (10, 10), "each subtask keeps the whole"),
        ("map", ("orders", "customerId"), (7, 8), "numbers that name something"),
        ("map", ("orders", "userid"), (7, 8), "numbers that name something"),
        ("split list", ("kafka", "topic", "partition"), (0, 1), "positions"),
        ("value", ("eventWatermark",), (7,), "points in time"),
        ("value", ("accState", "arity"), (1, 1), "shape of a row"),
        ("value", ("v_pojo", "age"), (20, 30), "single readings"),
        ("store", ("right-keyWithIndexToValue", "cost"), (5, 7), None),
        ("store", ("right-keyWithIndexToValue", "cts"), (1_714_521_600_000,), "points in time"),
        ("value", ("paid",), (5,), None),
        ("value", ("bid",), (5,), None),
        ("value", ("balance",), (383, -500), None),
        ("value", ("credited",), (5,), None),
        ("store", ("default", "count"), (2, 3), None),
        ("store", ("default", "sum"), (14,), None),
        ("value", ("endowment",), (5,), None),
        ("value", ("total", "amount"), (587,), None),
        ("value", ("overtime",), (3,), None),
    ],
)
def test_what_is_not_additive_is_recognised_by_name_or_size(kind, names, values, words):
    why = why_not(kind, len(values), names, sum(values))
    assert why is None if words is None else words in why


AMOUNTS = some.fixed_dictionaries({"n": some.integers(-999, 999), "amount": some.integers(0, 99)})


@settings(max_examples=examples(50), deadline=None)
@given(some.lists(AMOUNTS), some.randoms())
def test_the_order_of_entries_does_not_matter_and_nothing_is_lost(values, random):
    shuffled = values.copy()
    random.shuffle(shuffled)
    found = dict(leaves(added(*values).sums))
    assert found == dict(leaves(added(*shuffled).sums))
    wanted = {(name,): sum(one[name] for one in values) for name in ("n", "amount")}
    assert found == (wanted if values else {})
