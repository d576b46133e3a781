"""Two sequences are aligned: what both share is equal, and the gaps are all the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.domain.comparing import aligning
from snapshots.domain.comparing.aligning import Alignment, Effort, Gap, Stretch, align

SEQUENCES = st.one_of(
    st.lists(st.integers(0, 3), max_size=30),
    st.lists(st.integers(0, 40), max_size=30),
)


def longest_common(left, right) -> int:
    """Count the items of the longest common subsequence, by the textbook's table."""
    row = [0] * (len(right) + 1)
    for one in left:
        before = row
        row = [0]
        for place, other in enumerate(right):
            best = before[place] + 1 if one == other else max(row[-1], before[place + 1])
            row.append(best)
    return row[-1]


def applied(left, right, alignment: Alignment) -> list:
    """Make the right side out of the left one and of what the gaps say is only on the right."""
    made = {item.right: left[slice(item.left, item.end[0])] for item in alignment.stretches}
    only_right = (gap.right for gap in alignment.gaps)
    made |= {begin: right[begin:end] for begin, end in only_right if begin < end}
    return [item for place in sorted(made) for item in made[place]]


@given(SEQUENCES, SEQUENCES)
def test_the_gaps_explain_all_that_differs(left, right):
    alignment = align(left, right)
    assert applied(left, right, alignment) == right
    assert sum(gap.size for gap in alignment.gaps) + 2 * alignment.shared == len(left) + len(right)
    assert all(gap.size and gap.is_searched for gap in alignment.gaps)


@given(SEQUENCES)
def test_a_sequence_is_aligned_with_itself_as_a_whole(left):
    stretches = (Stretch(0, 0, len(left)),) if left else ()
    assert align(left, left) == Alignment(stretches, ())


@given(st.lists(st.integers(0, 1), max_size=25), st.lists(st.integers(0, 1), max_size=25))
def test_without_events_that_occur_once_nothing_longer_is_shared(left, right):
    doubled, others = left + left + [0, 1, 0, 1], right + right + [0, 1, 0, 1]
    assert align(doubled, others).shared == longest_common(doubled, others)
    assert align(others, doubled).shared == longest_common(doubled, others)


@given(SEQUENCES, SEQUENCES, st.integers(1, 6), st.integers(0, 60))
def test_a_bounded_search_still_explains_all(left, right, edits, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aligning, "MOST_EDITS", edits)
        alignment = align(left, right, Effort(steps=steps))
        unbounded = align(left, right)
    assert applied(left, right, alignment) == right
    assert sum(gap.size for gap in alignment.gaps) + 2 * alignment.shared == len(left) + len(right)
    assert all(gap.is_searched for gap in unbounded.gaps)


def test_beyond_the_most_edits_the_search_goes_on_from_where_it_got_farthest(monkeypatch):
    left = [number % 7 for number in range(3_000)]
    right = [item for place, item in enumerate(left) if place % 50]
    monkeypatch.setattr(aligning, "MOST_EDITS", 10)
    alignment = align(left, right)
    assert applied(left, right, alignment) == right
    assert all(gap.is_searched for gap in alignment.gaps)
    assert alignment.shared > 0.9 * len(right)


def test_the_search_ends_when_its_steps_are_used_up():
    left, right = [0, 1] * 40 + [2] * 9, [1, 1, 0] * 30 + [2] * 9
    exhausted = align(left, right, Effort(steps=50))
    assert [gap.is_searched for gap in exhausted.gaps].count(False) == 1
    assert not exhausted.gaps[-1].is_searched
    assert exhausted.shared < align(left, right).shared


def test_twenty_thousand_events_with_a_few_changes_take_few_steps():
    left = [number % 7 for number in range(20_000)]
    right = left[:500] + [9] + left[500:6_000] + left[6_010:]
    effort = Effort()
    alignment = align(left, right, effort)
    assert aligning.MOST_STEPS - effort.steps < 200_000
    assert alignment.shared == 19_990
    assert alignment.gaps[0] == Gap((500, 500), (500, 501))
