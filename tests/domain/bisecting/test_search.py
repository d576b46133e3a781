"""The first state at which a condition holds, compared with a scan of generated series."""

import math
from collections.abc import Sequence
from functools import partial
from random import Random

import pytest

from snapshots.domain.bisecting import search
from snapshots.domain.bisecting.search import KEPT, OPEN, REFUTED, Bisection, Limits, bisect

PLENTY = Limits(10_000)
LONGEST = 1_000


def asked(answers, *, is_stable: bool, limits: Limits = PLENTY) -> Bisection:
    return bisect(
        len(answers), lambda places: [answers[n] for n in places], limits, is_stable=is_stable
    )


def stable_series(random: Random) -> list[bool | None]:
    """Return a series that is false, then true; some of its answers may not be known."""
    total = random.randint(1, LONGEST)
    first = random.choice([0, total, random.randint(0, total)])
    answers: list[bool | None] = [place >= first for place in range(total)]
    for place in random.sample(range(total), random.choice([0, 0, min(total, 5), total // 3])):
        answers[place] = None
    return answers


def any_series(random: Random) -> list[bool | None]:
    total = random.randint(0, 200)
    return random.choices([False, True, None], [8, 1, 1], k=total)


def held_from(first: int, places: Sequence[int]) -> list[bool]:
    return [place >= first for place in places]


def scanned(answers) -> int | None:
    """Return the first place that is true, found the simplest way."""
    return next((place for place, answer in enumerate(answers) if answer is True), None)


@pytest.mark.parametrize("seed", range(10))
def test_a_search_agrees_with_a_scan_on_500_generated_series(seed):
    random = Random(seed)
    for _ in range(50):
        answers = stable_series(random)
        found, whole = (asked(answers, is_stable=is_stable) for is_stable in (True, False))
        assert found.first == whole.first == scanned(answers)
        assert found.is_searched
        assert not whole.is_searched
        last_false = max((n for n, answer in enumerate(answers) if answer is False), default=None)
        assert found.before == whole.before == last_false
        possible = 0 if last_false is None else last_false + 1
        assert found.earliest == (possible if possible < len(answers) else None)
        assert list(whole.answers.values()) == answers


@pytest.mark.parametrize("seed", range(10))
def test_a_series_that_changes_back_is_answered_as_a_scan_answers_it(seed):
    random = Random(seed)
    refuted = 0
    for _ in range(50):
        answers = any_series(random)
        whole, declared = (asked(answers, is_stable=is_stable) for is_stable in (False, True))
        first = scanned(answers)
        assert whole.first == first
        doubtful = [n for n, a in enumerate(answers[:first]) if a is None]
        assert whole.earliest == (doubtful[0] if doubtful else first)
        if declared.stability == REFUTED:
            refuted += 1
            assert declared == whole
            held, ceased = declared.ceased
            assert (answers[held], answers[ceased]) == (True, False)
        elif declared.first is not None:
            assert answers[declared.first] is True
    assert refuted > 10


@pytest.mark.parametrize("total", [1, 2, 10, 100, 1_000, 100_000, 10_000_000])
def test_a_search_evaluates_a_logarithm_of_the_series(total):
    random = Random(total)
    for first in (0, total, *(random.randint(0, total) for _ in range(10))):
        found = bisect(total, partial(held_from, first), PLENTY, is_stable=True)
        assert found.first == (first if first < total else None)
        assert len(found.answers) <= 16 + 1.5 * math.log2(total)


def test_a_sample_finds_that_a_declared_condition_is_not_stable():
    answers = [False] * 50 + [True] * 20 + [False] * 30 + [True] * 100
    found = asked(answers, is_stable=True)
    assert (found.first, found.before, found.stability) == (50, 49, REFUTED)
    assert found.ceased == (69, 70)
    assert not found.is_searched


@pytest.mark.parametrize(
    ("answers", "is_stable", "first", "earliest", "before", "stability"),
    [
        ([], True, None, None, None, KEPT),
        ([True, True], True, 0, 0, None, KEPT),
        ([False, False], True, None, None, 1, KEPT),
        ([False, None, True], True, 2, 1, 0, OPEN),
        ([None, False, True], True, 2, 2, 1, OPEN),
        ([None, False, True], False, 2, 0, 1, OPEN),
        ([False, True, None], True, 1, 1, 0, OPEN),
        ([False, None], True, None, 1, 0, OPEN),
        ([None, None], True, None, 0, None, OPEN),
        ([True, False], False, 0, 0, None, REFUTED),
    ],
)
def test_what_is_not_known_is_never_taken_for_false(
    answers, is_stable, first, earliest, before, stability
):
    found = asked(answers, is_stable=is_stable)
    assert (found.first, found.earliest, found.before) == (first, earliest, before)
    assert found.stability == stability
    assert found.is_exact == (first == earliest)


def test_a_limit_leaves_the_rest_open():
    answers = [False] * 500
    found = asked(answers, is_stable=False, limits=Limits(120))
    assert (len(found.answers), found.first, found.earliest) == (120, None, 120)
    assert found.stability == OPEN
    searched = asked(answers[:-1] + [True], is_stable=True, limits=Limits(4))
    assert len(searched.answers) == 4
    assert not searched.is_exact


def test_a_search_ends_when_there_is_no_time_left():
    rounds = iter([True, True, False])
    limits = Limits(1_000, lambda: next(rounds, False))
    found = asked([False] * 1_000, is_stable=False, limits=limits)
    assert len(found.answers) == 2 * search.BATCH
    assert found.earliest == 2 * search.BATCH
