"""A short soak, and the parts of a long one that tell growth from none.

``python -m tests.soak`` runs a long one and draws its curves.
"""

from xml.etree import ElementTree

import pytest

from tests.soak.curves import picture, table
from tests.soak.judging import growing, slope, unequal
from tests.soak.running import SHORT_KINDS, Soak

SVG = "{http://www.w3.org/2000/svg}"
STORE = "disk: uploads and store"
FLAT = {"memory/web1": 100e6, "open files/web1": 40, "rows/snapshots_job": 9, "disk/store": 5e6}


EVERYTHING_EXPIRES = 40 * 24  # hours: longer than anything is kept that is kept for a time


@pytest.mark.long
@pytest.mark.spark
def test_an_hour_of_work_leaves_nothing_behind(tmp_path):
    soak = Soak(
        tmp_path,
        hours=2,
        webs=1,
        workers=1,
        kinds=SHORT_KINDS,
        restarts=("nothing",),
        age_hours=EVERYTHING_EXPIRES,
        tell=print,
    )
    report = soak.run()
    assert report.faults == []
    assert unequal(*report.samples[-2:]) == []


def hours(count: int = 25, **changes) -> list[dict]:
    """Samples of a flat soak, with other quantities as functions of the hour."""
    return [
        FLAT | {name.replace("__", "/"): change(hour) for name, change in changes.items()}
        for hour in range(count)
    ]


def test_a_flat_soak_grows_nowhere():
    assert growing(hours()) == []


@pytest.mark.parametrize(
    ("name", "change", "is_growth"),
    [
        ("memory__web1", lambda hour: 100e6 + 2 * 2**20 * hour, True),
        ("memory__web1", lambda hour: 100e6 + 20e6 * min(hour, 8), False),  # a cache is full
        ("memory__web1", lambda hour: 100e6 + 20e6 * (hour == 20), False),  # a bad sample
        ("memory__web1", lambda hour: 100e6 - 2e6 * hour, False),
        ("rows__snapshots_job", lambda hour: 9 + hour // 3, True),  # one row in three hours
        ("rows__snapshots_job", lambda hour: 9 + (hour > 18), False),
        ("threads__web1", lambda hour: 20 + hour, True),
        ("rows__accounts_auditentry", lambda hour: 50 * hour, False),  # kept by design
    ],
)
def test_growth_is_told_from_a_full_cache_and_from_a_bad_sample(name, change, is_growth):
    assert bool(growing(hours(**{name: change}))) == is_growth


def test_a_slope_is_the_median_of_all_pairs():
    assert slope([1, 2, 3, 4]) == 1
    assert slope([1, 2, 30, 4]) == 1
    assert slope([4, 2, 1]) == -1.5
    assert slope([5]) == slope([]) == 0


def test_counts_that_differ_are_named_and_bytes_are_not():
    after = FLAT | {"memory/web1": 9e9, "open files/web1": 44, "rows/new": 1}
    assert unequal(FLAT, after) == [
        "open files/web1 was 40 and is 44",
        "rows/new was 0 and is 1",
    ]


def test_the_picture_and_the_table_have_a_curve_for_each_quantity_that_was_measured():
    samples = hours(memory__web1=lambda hour: (10 + hour) * 2**20)
    drawn = ElementTree.fromstring(picture(samples))
    titles = [text.text for text in drawn.iter(f"{SVG}text") if text.get("style")]
    assert titles == ["web process", "open files of all", "rows without the audit log", STORE]
    head, _, web, *_ = table(samples).splitlines()
    assert head == "|  | at start | after 8 h | after 16 h | after 24 h | slope, an hour |"
    assert web == "| web process | 10.0 MiB | 18.0 MiB | 26.0 MiB | 34.0 MiB | +1.0 MiB |"
    assert len(table(samples).splitlines()) == 2 + len(titles)
