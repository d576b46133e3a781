"""How fast something grows, and when it ends, is said from measurements and never from too few."""

from webapp.operating.rates import LEAST_SECONDS, outlook

HOUR = 3600
DAY = 24 * HOUR
NOW = 1_800_000_000.0


def every_half_hour(hours: float, used) -> list[tuple[float, float]]:
    """Measure up to half an hour ago; ``used`` takes how many hours ago that was."""
    ages = [index / 2 for index in range(int(hours * 2), 0, -1)]
    return [(NOW - age * HOUR, used(age)) for age in ages]


def ends(found) -> list[tuple[float, float | None]]:
    """Return the length of each time in hours, with the hours after which it ends."""
    return [
        (rate.seconds / HOUR, None if rate.ends_in is None else rate.ends_in / HOUR)
        for rate in found.rates
    ]


def test_without_a_measurement_it_is_not_known():
    found = outlook([], NOW, 10, 10)
    assert found.rates == []
    assert found.unknown == (
        "nothing was measured yet; workers and web processes do so every 30 min"
    )


def test_too_short_a_time_says_how_long_was_measured_and_how_long_it_takes():
    found = outlook([(NOW - 20 * 60, 5)], NOW, 10, 10)
    assert (found.rates, found.first) == ([], None)
    assert found.unknown == "measured for 20 min; a forecast needs 6 h"
    almost = outlook([(NOW - LEAST_SECONDS + 1, 5)], NOW, 10, 10)
    assert almost.rates == []
    assert outlook([(NOW - LEAST_SECONDS, 5)], NOW, 10, 10).rates != []


def test_six_hours_give_one_rate():
    found = outlook(every_half_hour(6, lambda age: 60 - 2 * age), NOW, 60, 30)
    assert found.unknown == ""
    assert ends(found) == [(6, 15)]


def test_a_week_gives_three_rates_and_the_earliest_end_counts():
    """It grew by 1 an hour for a week, and by 10 an hour in the last six hours."""
    series = every_half_hour(7 * 24, lambda age: -age - 9 * min(age, 6))
    found = outlook(series, NOW, 0, 100)
    assert ends(found)[0] == (6, 10)
    assert [round(hours) for hours, _ in ends(found)] == [6, 24, 168]
    assert found.first == found.rates[0]
    slower_of_late = every_half_hour(7 * 24, lambda age: -10 * max(age, 6))
    found = outlook(slower_of_late, NOW, -60, 100)
    assert found.rates[0].ends_in is None
    assert found.first == found.rates[2]


def test_what_gets_less_or_stays_does_not_end():
    shrinking = outlook(every_half_hour(30, lambda age: age), NOW, 0, 5)
    assert [end for _, end in ends(shrinking)] == [None] * 3
    assert shrinking.first is None
    still = outlook(every_half_hour(30, lambda age: 4), NOW, 4, 5)
    assert still.first is None


def test_what_ends_in_more_than_ten_years_is_not_said_to_end():
    found = outlook([(NOW - DAY, 0)], NOW, 1, 10 * 365)
    assert found.first is None
    assert outlook([(NOW - DAY, 0)], NOW, 1, 10 * 365 - 1).first is not None


def test_a_gap_makes_the_time_longer_and_not_the_rate_higher():
    """Nothing was measured for two days: the last sample before the six hours is that old."""
    found = outlook([(NOW - 2 * DAY, 0), (NOW - HOUR, 47)], NOW, 48, 24)
    assert ends(found) == [(48, 24)]
