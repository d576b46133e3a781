"""What a search through a series showed, in sentences."""

import pytest

from snapshots.domain.bisecting.search import Limits, bisect
from snapshots.domain.bisecting.wording import (
    DECLARED,
    NONE,
    THEORY,
    Words,
    answer_sentences,
    effort_sentence,
    outcome,
    stability_sentence,
)

T, F, U = True, False, None


def found(answers, *, is_stable=False, most=1_000):
    return bisect(
        len(answers), lambda places: [answers[n] for n in places], Limits(most), is_stable=is_stable
    )


def words(total: int) -> Words:
    return Words("checkpoint", "checkpoints", [f"checkpoint {n}" for n in range(total)])


@pytest.mark.parametrize(
    ("answers", "word", "sentences"),
    [
        ([], "empty", "There is no checkpoint, so there is nothing to search."),
        ([F, T], "exact", "It holds for the first time in checkpoint 1. In checkpoint 0, the one "
         "before, it does not hold."),
        ([T, T], "at-start", "It holds already in checkpoint 0, the first checkpoint of the "
         "series. There is none before it to compare it with."),
        ([F, F], "never", "It holds in none of the 2 checkpoints."),
        ([F], "never", "It does not hold in checkpoint 0, the only checkpoint."),
        ([F, U, U, U, U, T], "between", "The first checkpoint in which it is known to hold is "
         "checkpoint 5. It is known not to hold in checkpoint 0. What it comes to in checkpoint "
         "1, checkpoint 2, checkpoint 3 and 1 more is not known."),
        ([F, U], "not-known", "No checkpoint is known in which it holds. It is known not to hold "
         "in checkpoint 0. What it comes to in checkpoint 1 is not known."),
    ],
)  # fmt: skip
def test_each_outcome_has_its_sentences(answers, word, sentences):
    result = found(answers)
    assert outcome(result) == word
    assert " ".join(answer_sentences(result, words(len(answers)))) == sentences


def test_what_is_not_known_is_never_called_false():
    result = found([U, U, F], is_stable=True)
    assert list(answer_sentences(result, words(3))) == [
        "It does not hold in checkpoint 2, the last of 3 checkpoints. If it is stable, it holds in "
        "none of them."
    ]
    said = stability_sentence(result, words(3), DECLARED)
    assert "not checked in the checkpoints that are not known:" in said


def test_what_was_not_evaluated_is_never_called_false():
    result = found([F] * 1_000, is_stable=True)
    (sentence,) = answer_sentences(result, words(1_000))
    assert sentence == (
        "It does not hold in checkpoint 999, the last of 1,000 checkpoints. If it is stable, it "
        "holds in none of them."
    )
    cut_short = found([F] * 1_000, most=60)
    said = " ".join(answer_sentences(cut_short, words(1_000)))
    assert said.endswith("940 checkpoints that may be the first were not evaluated.")
    assert effort_sentence(cut_short, words(1_000)) == "60 of 1,000 checkpoints were evaluated."


@pytest.mark.parametrize(
    ("answers", "basis", "part"),
    [
        ([F, T, T], NONE, "From checkpoint 1 on it holds in every checkpoint of the series. That "),
        ([F, T, T], THEORY, "as it must if it is stable."),
        ([F, T, T], DECLARED, "as you said."),
        ([F, F, T], DECLARED, "It is the last checkpoint, so nothing shows whether it stays true."),
        ([F, F], NONE, "It never held"),
        ([T, F], NONE, "It does not stay true once it holds: it holds in checkpoint 0 and does "),
        ([T, F], THEORY, "The property is stable by its theory, but the recorded states "),
        ([F, U, T], NONE, "is not known: not all checkpoints have an answer."),
    ],
)
def test_stability_is_claimed_only_as_far_as_it_was_seen(answers, basis, part):
    result = found(answers, is_stable=basis != NONE)
    assert part in stability_sentence(result, words(len(answers)), basis)
