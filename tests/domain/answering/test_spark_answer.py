"""The first answer about a batch of Spark that was planned and not committed."""

import pytest

from snapshots.domain.answering import spark
from snapshots.domain.inventory.batches import PlannedBatch, WrittenState

PARTLY = "Some partitions wrote the state of the batch and others did not."


def state(operator: str, wrote: str, lacking: str) -> WrittenState:
    counts = (len(text.split(",")) if text else 0 for text in (wrote, lacking))
    return WrittenState(operator, None, *counts, wrote, lacking)


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        (
            [state("save", "0, 1", "2, 3"), state("dedupe", "0, 1, 2, 3", "")],
            f"{PARTLY} Of save partitions 0, 1 did, 2, 3 did not.",
        ),
        (
            [state("save", "", "0, 1"), state("dedupe", "0, 1", "")],
            f"{PARTLY} All of dedupe did, none of save.",
        ),
        ([], PARTLY),
    ],
)
def test_the_answer_names_the_partitions_that_wrote_their_state(written, sentence):
    batch = PlannedBatch("partial", PARTLY, "It runs again.", None, None, (), tuple(written))
    assert spark._how_far(batch) == sentence
