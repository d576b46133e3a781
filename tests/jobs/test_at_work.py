"""A long phase says what it is at, and still has its share of the job."""

import pytest

from snapshots.jobs import at_work
from snapshots.jobs.at_work import LONGEST, AtWork
from snapshots.models import LONGEST_PHASE, Job
from snapshots.payloads.progress import SHARES, reached


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(at_work.time, "monotonic", lambda: now[0])
    return now


def test_what_a_phase_is_at_is_reported_about_once_a_second(clock):
    reports = []
    report = AtWork(lambda *words: reports.append(words), "unpacking")
    for number in range(12):
        clock[0] += 0.25
        report("file", f"chk-7/{number}")
    assert reports == [
        ("unpacking: file 5, chk-7/4", 0, 0),
        ("unpacking: file 10, chk-7/9", 0, 0),
    ]


def test_words_fit_the_column_of_a_job(clock):
    reports = []
    report = AtWork(lambda words, *_: reports.append(words), "keeping the inventory")
    clock[0] = 2.0
    report("entry", "x" * 100)
    assert len(reports[0]) == LONGEST
    assert reports[0].endswith("x…")


@pytest.mark.parametrize("phase", SHARES)
def test_words_do_not_move_the_progress(phase):
    assert reached(f"{phase}: file 3, a:b", 0, 0) == reached(phase, 0, 0)


def test_a_phase_says_in_full_for_what_it_waits_and_where_to_look():
    words = (
        "reading: waiting for executors (0 of 12) since 14:35:19 UTC; see the page of "
        f"spark://{'a-long-name-of-a-machine.' * 3}example:7077"
    )
    assert len(words) <= LONGEST_PHASE
    assert Job._meta.get_field("phase").max_length == LONGEST_PHASE
