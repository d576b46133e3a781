"""Words that the answers of all engines share."""

from snapshots.domain.answering.wording import MOST_NUMBERED, quoted_reasons


def test_each_reason_names_the_checkpoints_that_had_it():
    reasons = [("Expired.", 3), ("Failed.", 2), ("Failed.", 6), ("Failed.", 1_400)]
    assert quoted_reasons(reasons) == (
        "“Failed.” (3 checkpoints: 2, 6 and 1400) and “Expired.” (checkpoint 3)"
    )


def test_checkpoints_beyond_those_that_are_named_are_counted():
    numbers = range(1, MOST_NUMBERED + 1_006)
    words = quoted_reasons([("Failed.", number) for number in numbers])
    assert words == ("“Failed.” (1,015 checkpoints: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 1,005 more)")


def test_a_single_checkpoint_is_not_named_again():
    assert quoted_reasons([("Failed.", 2)]) == "“Failed.”"
