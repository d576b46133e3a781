"""Who did not acknowledge, who was last, and what they did when the checkpoint failed."""

import pytest

from snapshots.domain.archive.absence import Blame, blame, missing, sentence, slowest, times_missing
from snapshots.domain.archive.causes import phase_of
from snapshots.domain.archive.model import CheckpointFacts, SubtaskFacts, VertexFacts

EXPIRED = "Checkpoint expired before completing."


def a_checkpoint(status: str, *subtasks: SubtaskFacts, **fields) -> CheckpointFacts:
    own = (VertexFacts("a", "sink", len(subtasks), subtasks),)
    return CheckpointFacts(3, status=status, vertices=own, **fields)


def came(index: int, duration: int, **fields) -> SubtaskFacts:
    return SubtaskFacts(index, True, duration=duration, **fields)


def test_who_acknowledged_after_the_end_was_missing():
    failed = a_checkpoint("failed", came(0, 2_699), came(1, 99), duration=2_002)
    assert list(missing(failed)) == ["sink[0]"]
    assert slowest(failed) == "sink[0]"
    assert sentence(failed) == "Acknowledged too late by sink[0] (697 ms)."


def test_who_never_acknowledged_comes_before_who_was_late():
    gone = SubtaskFacts(2, acknowledged=False)
    failed = a_checkpoint("failed", came(0, 213), came(1, 215), gone, duration=211)
    assert list(missing(failed)) == ["sink[2]", "sink[1]", "sink[0]"]
    assert slowest(failed) == "sink[2], sink[1] and sink[0]"
    assert sentence(failed) == (
        "Not acknowledged by sink[2]; too late by sink[1] (4 ms) and sink[0] (2 ms)."
    )


def test_a_checkpoint_in_progress_has_no_slowest_subtask():
    begun = a_checkpoint("in progress", came(0, 115), SubtaskFacts(1, False), duration=115)
    assert slowest(begun) == ""
    assert sentence(begun) == "Not yet acknowledged by sink[1]."


def test_many_are_counted_not_named():
    gone = [SubtaskFacts(index, acknowledged=False) for index in range(5)]
    failed = a_checkpoint("failed", *gone)
    assert sentence(failed) == "Not acknowledged by sink[0], sink[1], sink[2] and 2 more."


def test_the_slowest_is_who_acknowledged_last():
    completed = a_checkpoint("completed", came(0, 5), came(1, 9), came(2, 8))
    assert slowest(completed) == "sink[1]"
    assert blame(completed) == Blame(("sink[1]",), ("sink[1]",), after=9)
    assert blame(completed).sentence == "sink[1] acknowledged last."
    assert sentence(completed) == ""
    assert slowest(CheckpointFacts(1)) == ""
    assert blame(CheckpointFacts(1)).sentence == ""


def test_a_tie_is_said_as_a_tie():
    completed = a_checkpoint("completed", came(0, 5), came(1, 9), came(2, 9))
    assert blame(completed).names == ("sink[1]", "sink[2]")
    assert slowest(completed) == "sink[1] and sink[2]"
    assert blame(completed).sentence == (
        "sink[1] and sink[2] acknowledged last, at the same time, after 9 ms."
    )
    late = a_checkpoint("failed", came(0, 215), came(1, 213), came(2, 215), duration=211)
    assert blame(late) == Blame(
        ("sink[0]", "sink[2]", "sink[1]"), ("sink[0]", "sink[2]"), is_missing=True, after=215
    )
    gone = [SubtaskFacts(index, acknowledged=False) for index in range(2)]
    failed = a_checkpoint("failed", came(2, 215), *gone, duration=211)
    assert blame(failed).sentence == (
        "Not acknowledged in time by sink[0], sink[1] and sink[2]; sink[2] acknowledged too late."
    )
    assert blame(failed).most == ("sink[0]", "sink[1]")
    assert not blame(failed).is_tie


def test_who_is_missing_is_counted_over_all_failures():
    late = a_checkpoint("failed", came(0, 215), came(1, 9), duration=211)
    gone = a_checkpoint("failed", came(0, 5), SubtaskFacts(1, False), duration=211)
    assert times_missing([late, gone, late]) == {"sink[0]": 2, "sink[1]": 1}


@pytest.mark.parametrize(
    ("start", "alignment", "sync", "upload", "unaligned", "phase"),
    [
        (94, 0, 2_601, 1, False, "sync"),
        (2_100, 0, 500, 1, False, "start delay"),
        (94, 2_500, 1, 1, False, "alignment"),
        (94, 2_500, 10, 2_000, True, "async"),
        (94, 2_500, 1_950, 0, True, "sync"),
        (94, 0, 1, 2_000, False, "async"),
        (94, 0, 1, 1, False, "acknowledgement"),
        (94, None, 2_601, 1, False, "acknowledgement"),
    ],
)
def test_an_expired_checkpoint_failed_in_the_phase_of_the_late_subtask(
    start, alignment, sync, upload, unaligned, phase
):
    times = {"start_delay": start, "alignment": alignment, "sync": sync, "async_": upload}
    late = came(0, 2_699, unaligned=unaligned, **times)
    failed = a_checkpoint("failed", late, came(1, 9), duration=2_002, failure=EXPIRED)
    assert phase_of(failed) == phase


def test_what_a_silent_subtask_did_is_not_known():
    late = came(0, 2_699, start_delay=94, alignment=0, sync=2_601, async_=1)
    failed = a_checkpoint("failed", late, SubtaskFacts(1, False), duration=2_002, failure=EXPIRED)
    assert phase_of(failed) == "acknowledgement"
