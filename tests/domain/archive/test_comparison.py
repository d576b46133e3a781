"""A slow checkpoint is compared with a healthy one: where does the difference come from?"""

from snapshots.domain.archive.busy import busy
from snapshots.domain.archive.comparison import compare
from snapshots.domain.archive.model import CheckpointFacts, SubtaskFacts, VertexFacts


def a_checkpoint(number: int, own: dict[str, list[tuple]], **fields) -> CheckpointFacts:
    """Return a checkpoint.

    ``own``: by vertex, each subtask's start delay, alignment, sync and async.
    """
    vertices = tuple(
        VertexFacts(
            name,
            name,
            len(rows),
            tuple(
                SubtaskFacts(
                    index,
                    True,
                    start_delay=row[0],
                    alignment=row[1],
                    sync=row[2],
                    async_=row[3],
                    duration=sum(row),
                )
                for index, row in enumerate(rows)
            ),
        )
        for name, rows in sorted(own.items())
    )
    longest = max(sum(row) for rows in own.values() for row in rows)
    return CheckpointFacts(
        number,
        **{"status": "completed", "duration": longest, "vertices": vertices} | fields,
    )


HEALTHY = a_checkpoint(9, {"map": [(5, 0, 1, 4), (6, 0, 1, 3)], "sink": [(20, 10, 2, 5)]})


SLOW = a_checkpoint(
    12,
    {"map": [(5, 0, 1, 4), (6, 0, 1, 3)], "sink": [(690, 10, 2, 5)]},
    triggered_at=100_000,
)


def an_earlier(number: int, at: int | None, sync: int, **fields) -> CheckpointFacts:
    """Return a checkpoint whose sink[0] began to copy 100 ms after the trigger."""
    own = {"map": [(5, 0, 1, 4), (6, 0, 1, 3)], "sink": [(90, 10, sync, 5)]}
    return a_checkpoint(number, own, triggered_at=at, **fields)


def test_a_late_barrier_with_nobody_else_slower_has_no_cause():
    found = compare(SLOW, HEALTHY)
    assert found.more == 670
    assert found.last == "sink[0]"
    assert found.shares[0].phase == "start_delay"
    assert sum(share.more for share in found.shares) == found.more
    assert found.sentence == (
        "Checkpoint 12 took 707 ms, 670 ms longer than 9 (37 ms). The last was sink[0]: 670 ms "
        "more for the time until its first barrier (start delay). No other subtask took longer "
        "in alignment, copy or upload by as much: what held its barrier up is not known."
    )
    assert compare(SLOW, HEALTHY, [an_earlier(11, 99_000, sync=900)]).sentence == found.sentence


def test_a_copy_for_an_earlier_checkpoint_holds_the_barrier_up():
    expired = an_earlier(11, 98_000, sync=2_580, status="failed")
    done = an_earlier(10, 97_900, sync=2_050)
    assert compare(SLOW, HEALTHY, [done, expired]).sentence.endswith(
        "more for the time until its first barrier (start delay). It was busy with the copy for "
        "checkpoint 11 until 680 ms after the trigger, and took up no barrier before."
    )


def test_a_copy_that_explains_a_part_leaves_the_rest_open():
    short = an_earlier(11, 98_000, sync=2_100)
    told = compare(SLOW, HEALTHY, [short]).sentence
    assert "until 200 ms after the trigger" in told
    assert "is not known" not in told
    upstream = a_checkpoint(
        12,
        {"map": [(5, 0, 400, 4), (6, 0, 1, 3)], "sink": [(690, 10, 2, 5)]},
        triggered_at=100_000,
    )
    told = compare(upstream, HEALTHY, [short]).sentence
    assert "until 200 ms after the trigger" in told
    assert "Elsewhere map[0] took 399 ms more for the copy of state (sync)." in told


def test_another_subtask_that_was_busy_is_named():
    own = {"map": [(5, 0, 1, 4), (6, 0, 1_300, 3)], "sink": [(20, 10, 2, 5)]}
    told = compare(SLOW, HEALTHY, [a_checkpoint(11, own, triggered_at=99_300)]).sentence
    assert "map[1] was busy with the copy for checkpoint 11 until 606 ms after the trigger." in told
    assert "is not known" not in told


def test_an_earlier_checkpoint_without_times_explains_nothing():
    bare = CheckpointFacts(11, status="failed", triggered_at=98_000)
    unplaced = an_earlier(10, None, sync=9_000)
    later = an_earlier(13, 100_700, sync=9_000)
    told = compare(SLOW, HEALTHY, [bare, unplaced, later]).sentence
    assert told == compare(SLOW, HEALTHY).sentence


def test_an_unaligned_copy_begins_with_the_first_barrier():
    own = (SubtaskFacts(0, True, True, start_delay=90, alignment=1_000, sync=800, duration=1_900),)
    earlier = CheckpointFacts(
        11, triggered_at=99_000, vertices=(VertexFacts("sink", "sink", 1, own),)
    )
    assert not busy(SLOW, [earlier]), "890 ms and not 1,890"


def test_a_slow_copy_upstream_is_named():
    slow = a_checkpoint(12, {"map": [(5, 0, 1, 4), (6, 0, 500, 3)], "sink": [(520, 10, 2, 5)]})
    found = compare(slow, HEALTHY)
    assert (found.rises[0].subtask, found.rises[0].phase) == ("sink[0]", "start_delay")
    assert (found.rises[1].subtask, found.rises[1].phase) == ("map[1]", "sync")
    assert "Elsewhere map[1] took 499 ms more for the copy of state (sync)." in found.sentence


def test_a_long_upload_of_a_larger_state():
    slow = a_checkpoint(12, {"sink": [(20, 10, 2, 905)]}, bytes=3000)
    healthy = a_checkpoint(9, {"sink": [(20, 10, 2, 5)]}, bytes=1000)
    sentence = compare(slow, healthy).sentence
    assert "900 ms more for the upload (async)" in sentence
    assert "Its state was 200% more." in sentence


def test_who_never_acknowledged_is_named():
    gone = VertexFacts("sink", "sink", 1, (SubtaskFacts(0, acknowledged=False),))
    slow = CheckpointFacts(3, status="failed", duration=2_002, vertices=(gone,))
    found = compare(slow, HEALTHY)
    assert found.absent == ("sink[0]",)
    assert found.sentence == (
        "Checkpoint 3 is failed; it took 2,002 ms, 1,965 ms longer than 9 (37 ms). Not "
        "acknowledged by sink[0]."
    )


def test_a_checkpoint_in_progress_has_no_duration_yet():
    gone = VertexFacts("sink", "sink", 1, (SubtaskFacts(0, acknowledged=False),))
    begun = CheckpointFacts(15, status="in progress", duration=115, vertices=(gone,))
    found = compare(begun, HEALTHY)
    assert (found.more, found.last) == (None, "")
    assert found.sentence == (
        "Checkpoint 15 is in progress: how long it takes is not known yet. Not yet acknowledged "
        "by sink[0]."
    )


def test_what_is_not_known_is_said():
    found = compare(CheckpointFacts(1, status="completed"), CheckpointFacts(2))
    assert found.more is None
    assert found.shares == ()
    assert found.sentence == (
        "How long 1 and 2 took is not known of both. What single subtasks took is not known of "
        "both."
    )


def test_the_same_twice_has_no_difference():
    found = compare(HEALTHY, HEALTHY)
    assert found.more == 0
    assert not found.rises
    assert "no phase of it took longer" in found.sentence
