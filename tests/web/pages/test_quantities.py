"""Writing numbers, times and values."""

import pytest

from snapshots import quantities


@pytest.mark.parametrize(
    ("amount", "unit", "written"),
    [
        (0, "us", "0 µs"),
        (999, "us", "999 µs"),
        (12400, "us", "12.4 ms"),
        (1_234_567, "us", "1.23 s"),
        (90, "s", "1.5 min"),
        (7, "ticks", "7 ticks"),
    ],
)
def test_a_duration_is_in_the_largest_unit_with_three_digits(amount, unit, written):
    assert quantities.duration(amount, unit) == written


@pytest.mark.parametrize(
    ("at", "unit", "written"),
    [
        (0, "us", "0 µs"),
        (1_234_567, "us", "1.234567 s"),
        (1_000_001, "us", "1.000001 s"),
        (-1500, "us", "-1.5 ms"),
        (95, "s", "95 s"),
        (5, "min", "5 min"),
        (1200, "ticks", "1,200 ticks"),
    ],
)
def test_an_instant_keeps_every_digit_that_the_log_holds(at, unit, written):
    assert quantities.instant(at, unit) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"balance": 9000}, "balance: 9,000"),
        ([1, "a"], '[1, "a"]'),
        ({"a": {"b": 1, "c": {}}, "d": 2}, "a (b: 1, c ()), d: 2"),
        (True, "true"),
        (None, "null"),
        (0.00012, "0.00012"),
        (2**70, "1,180,591,620,717,411,303,424"),
        ("a b", "a b"),
    ],
)
def test_a_value_is_written_whole_on_one_line(value, written):
    assert quantities.value(value) == written


@pytest.mark.parametrize(
    ("number", "unit", "written"),
    [
        (1_795_188_546_004, "epoch ms", "2026-11-20 15:29:06.004 UTC"),
        (180_000, "ms", "3 min"),
        (2**63 - 1, "ms", "106,751,991,167 d"),
        (102_589, "bytes", "103 kB"),
        (1_234_567, "count", "1,234,567"),
        (20_261_120, None, "20261120"),
        ("CHECKPOINT", None, "CHECKPOINT"),
        ("many", "count", "many"),
        (0.5, "ms", "0.5 ms"),
    ],
)
def test_an_amount_is_written_by_its_unit(number, unit, written):
    assert quantities.amount(number, unit) == written


def test_sizes_and_counts_are_words():
    assert quantities.file_size(812) == "812 B"
    assert quantities.file_size(1_070_000_000) == "1.07 GB"
    assert quantities.counted(1, "event") == "1 event"
    assert quantities.counted(2000, "process", "processes") == "2,000 processes"


@pytest.mark.parametrize(
    ("milliseconds", "written"),
    [
        (1_795_188_546_004, "2026-11-20 15:29:06.004 UTC"),
        (0, "1970-01-01 00:00:00.000 UTC"),
        (-1, "1969-12-31 23:59:59.999 UTC"),
        (2**62, "4,611,686,018,427,387,904 ms"),
    ],
)
def test_a_moment_of_the_calendar(milliseconds, written):
    assert quantities.epoch(milliseconds) == written
