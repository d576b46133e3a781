"""Slow against healthy: where the difference comes from."""

from snapshots.domain.archive.comparison import compare
from snapshots.domain.archive.model import CheckpointFacts, SubtaskFacts, VertexFacts


def a_checkpoint(number: int, own: dict[str, list[tuple]], **fields) -> CheckpointFacts:
    """own: by vertex, of each subtask start delay, alignment, sync, async."""
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


def test_back_pressure_is_a_late_barrier_and_nobody_else_slower():
    slow = a_checkpoint(12, {"map": [(5, 0, 1, 4), (6, 0, 1, 3)], "sink": [(690, 10, 2, 5)]})
    found = compare(slow, HEALTHY)
    assert found.more == 670
    assert found.last == "sink[0]"
    assert found.shares[0].phase == "start_delay"
    assert sum(share.more for share in found.shares) == found.more
    assert found.sentence == (
        "Checkpoint 12 took 707 ms, 670 ms longer than 9 (37 ms). The last was sink[0]: 670 ms "
        "more for the barrier’s way to it (start delay). No other subtask took longer in "
        "alignment, copy or upload by as much: the barrier waited behind records, which is back "
        "pressure."
    )


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
        "acknowledged in time by sink[0]."
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
