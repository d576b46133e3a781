"""Flink's task, step by step: barriers, alignment, overtaking and ends of channels."""

import pytest

from snapshots.domain.simulators.protocols import flink_task, flink_tracker
from snapshots.domain.simulators.protocols.flink_task import (
    ALIGNED,
    AT_LEAST_ONCE,
    TIMEOUT,
    UNALIGNED,
    Barrier,
    Block,
    RecordChannel,
    SendCancel,
    Snapshot,
)
from tests.domain.simulators.effects import of_type

pytestmark = pytest.mark.slow


def test_aligned_the_first_barrier_blocks_and_the_last_one_records():
    task, effects = flink_task.on_barrier(flink_task.start(("a", "b")), "a", Barrier(1, ALIGNED))
    assert effects == (Block("a", 1),)
    task, effects = flink_task.on_barrier(task, "b", Barrier(1, ALIGNED))
    assert [type(effect).__name__ for effect in effects] == [
        *("AlignEnd", "RecordChannel", "RecordChannel", "Snapshot", "Unblock")
    ]


def test_unaligned_the_first_barrier_records_and_nothing_is_blocked():
    task, effects = flink_task.on_barrier(flink_task.start(("a", "b")), "a", Barrier(1, UNALIGNED))
    (snapshot,) = of_type(effects, Snapshot)
    assert snapshot.unaligned
    assert snapshot.collecting == ("a", "b")
    assert of_type(effects, RecordChannel) == [RecordChannel("a", 1)]
    _, later = flink_task.on_barrier(task, "b", Barrier(1, UNALIGNED))
    assert not of_type((*effects, *later), Block)


def test_after_the_timeout_what_is_blocked_stays_so_and_the_rest_is_collected():
    task, _ = flink_task.on_barrier(flink_task.start(("a", "b")), "a", Barrier(1, TIMEOUT, 50))
    task, effects = flink_task.on_timeout(task, 1)
    (snapshot,) = of_type(effects, Snapshot)
    assert snapshot.collecting == ("b",)
    assert task.blocked == ("a",)
    assert flink_task.on_timeout(task, 1) == (task, ())


def test_a_newer_barrier_ends_the_alignment_for_an_older_one():
    task, _ = flink_task.on_barrier(flink_task.start(("a", "b")), "a", Barrier(1, ALIGNED))
    task, effects = flink_task.on_barrier(task, "b", Barrier(2, ALIGNED))
    names = [type(effect).__name__ for effect in effects]
    assert names == ["AlignAbort", "Unblock", "SendCancel", "Decline", "Block"]
    assert flink_task.on_barrier(task, "b", Barrier(1, ALIGNED)) == (task, ())


def test_an_end_stands_for_the_barrier():
    task, _ = flink_task.on_barrier(flink_task.start(("a", "b")), "a", Barrier(1, ALIGNED))
    task, effects = flink_task.on_end(task, "b")
    assert of_type(effects, Snapshot)
    _, effects = flink_task.on_barrier(task, "a", Barrier(2, ALIGNED))
    assert of_type(effects, Snapshot)


def test_a_channel_that_has_ended_is_not_blocked():
    task, _ = flink_task.on_barrier(flink_task.start(("a", "b", "c")), "a", Barrier(1, ALIGNED))
    task, effects = flink_task.on_end(task, "b")
    assert effects == ()
    assert task.blocked == ("a",)


def test_a_checkpoint_called_off_is_cancelled_downstream():
    task, _ = flink_task.on_barrier(flink_task.start(("a", "b")), "a", Barrier(1, ALIGNED))
    task, _ = flink_task.on_aborted(task, 1)
    task, effects = flink_task.on_barrier(task, "b", Barrier(1, ALIGNED))
    assert of_type(effects, SendCancel)
    assert not of_type(effects, Snapshot)
    waiting, _ = flink_task.on_barrier(flink_task.start(("a", "b")), "a", Barrier(1, ALIGNED))
    waiting, effects = flink_task.on_cancel(waiting, 1)
    assert of_type(effects, SendCancel) == [SendCancel(1)]
    assert waiting.barrier is None


def test_at_least_once_counts_and_drops_older_ones_with_the_newer():
    tracker = flink_tracker.start(("a", "b"))
    tracker, effects = flink_tracker.on_barrier(tracker, "a", Barrier(1, AT_LEAST_ONCE))
    assert effects == ()
    for channel in ("a", "b"):
        barrier = Barrier(2, AT_LEAST_ONCE)
        tracker, effects = flink_tracker.on_barrier(tracker, channel, barrier)
    assert of_type(effects, Snapshot)
    assert flink_tracker.on_barrier(tracker, "b", Barrier(1, AT_LEAST_ONCE)) == (tracker, ())


def test_at_least_once_a_checkpoint_called_off_is_cancelled_downstream():
    tracker, _ = flink_tracker.on_barrier(
        flink_tracker.start(("a", "b")), "a", Barrier(1, AT_LEAST_ONCE)
    )
    tracker, _ = flink_tracker.on_aborted(tracker, 1)
    tracker, effects = flink_tracker.on_barrier(tracker, "b", Barrier(1, AT_LEAST_ONCE))
    assert effects == (SendCancel(1),)
    assert not tracker.aborted


def test_at_least_once_the_oldest_of_too_many_is_followed_no_longer():
    tracker = flink_tracker.start(("fast", "slow"))
    for cid in range(1, flink_tracker.MOST_PENDING + 2):
        tracker, _ = flink_tracker.on_barrier(tracker, "fast", Barrier(cid, AT_LEAST_ONCE))
    assert len(tracker.pending) == flink_tracker.MOST_PENDING
    assert flink_tracker.on_barrier(tracker, "slow", Barrier(1, AT_LEAST_ONCE)) == (tracker, ())
    _, effects = flink_tracker.on_barrier(tracker, "slow", Barrier(2, AT_LEAST_ONCE))
    assert isinstance(effects[-1], Snapshot)
