"""SeaTunnel's coordinator and tasks, step by step."""

import pytest

from snapshots.domain.simulators.protocols import seatunnel, seatunnel_task
from snapshots.domain.simulators.protocols.flink_task import Block, Unblock
from snapshots.domain.simulators.protocols.seatunnel import (
    CHECKPOINT,
    COMPLETED_POINT,
    SAVEPOINT,
    PipelineSettings,
    Plan,
)
from snapshots.domain.simulators.protocols.seatunnel_task import Barrier

pytestmark = pytest.mark.slow

PLAN = Plan(("source.enumerator",), ("source.enumerator", "task"))


def running(**settings):
    return seatunnel.start(PipelineSettings(**settings), PLAN)


def acknowledged(coordinator, cid):
    for task in PLAN.tasks:
        coordinator, effects = seatunnel.on_ack(coordinator, cid, task)
    return coordinator, effects


def confirmed(coordinator, cid, next_cid=9):
    for task in PLAN.tasks:
        coordinator, effects = seatunnel.on_confirmed(coordinator, cid, task, next_cid)
    return coordinator, effects


def test_a_checkpoint_is_stored_then_complete_then_confirmed_and_only_then_over():
    coordinator, (trigger,) = seatunnel.on_timer(running(), 1)
    assert trigger.pending.type == CHECKPOINT
    coordinator, effects = acknowledged(coordinator, 1)
    assert effects == (seatunnel.Store(1),)
    assert coordinator.to_restore is None
    coordinator, effects = seatunnel.on_stored(coordinator, 1)
    assert effects == (seatunnel.Complete(1), seatunnel.Notify(1))
    assert coordinator.to_restore == 1
    _, effects = seatunnel.on_timer(coordinator, 2)
    assert effects == (seatunnel.RequestAgain(5_000),)
    coordinator, effects = confirmed(coordinator, 1)
    assert effects == ()
    _, (trigger,) = seatunnel.on_timer(coordinator, 2)
    assert (trigger.pending.cid, trigger.pending.number) == (2, 2)


def test_the_completed_point_has_a_number_of_its_own_is_not_stored_and_closes():
    coordinator, (trigger,) = seatunnel.on_ready_to_close(running(), "source.enumerator", 4)
    assert (trigger.pending.type, trigger.pending.number) == (COMPLETED_POINT, 2**63 - 1)
    coordinator, effects = acknowledged(coordinator, 4)
    assert effects[0] == seatunnel.Complete(4)
    coordinator, effects = confirmed(coordinator, 4)
    assert effects == (seatunnel.Close("finished"),)
    assert seatunnel.on_timer(coordinator, 5) == (coordinator, ())


def test_a_savepoint_waits_for_the_checkpoint_under_way_and_nothing_comes_between():
    coordinator, _ = seatunnel.on_timer(running(), 1)
    coordinator, effects = seatunnel.on_savepoint(coordinator, 2)
    assert effects == ()
    assert names(seatunnel.on_timer(coordinator, 2)[1]) == ["RequestAgain"]
    coordinator, _ = acknowledged(coordinator, 1)
    coordinator, _ = seatunnel.on_stored(coordinator, 1)
    coordinator, (trigger,) = confirmed(coordinator, 1, next_cid=2)
    assert trigger.pending.type == SAVEPOINT
    coordinator, _ = acknowledged(coordinator, 2)
    coordinator, _ = seatunnel.on_stored(coordinator, 2)
    assert confirmed(coordinator, 2)[1] == (seatunnel.Close("suspended"),)


def test_one_failed_checkpoint_fails_the_pipeline():
    coordinator, _ = seatunnel.on_timer(running(), 1)
    coordinator, effects = seatunnel.on_timeout(coordinator, 1)
    assert isinstance(effects[0], seatunnel.FailPipeline)
    coordinator, effects = seatunnel.on_failure(coordinator)
    assert effects == (seatunnel.Drop(1, "failover"), seatunnel.Restore(None))


def test_what_is_complete_is_gone_back_to_also_where_not_all_know_of_it():
    coordinator, _ = seatunnel.on_timer(running(), 1)
    coordinator, _ = acknowledged(coordinator, 1)
    coordinator, _ = seatunnel.on_stored(coordinator, 1)
    assert seatunnel.on_failure(coordinator)[1] == (seatunnel.Restore(1),)


def test_what_is_complete_times_out_no_more():
    coordinator, _ = seatunnel.on_timer(running(), 1)
    coordinator, _ = acknowledged(coordinator, 1)
    assert names(seatunnel.on_timeout(coordinator, 1)[1]) == ["FailPipeline"]
    coordinator, _ = seatunnel.on_stored(coordinator, 1)
    assert seatunnel.on_timeout(coordinator, 1) == (coordinator, ())


def test_a_savepoint_that_a_failure_has_spoiled_is_taken_after_the_restore():
    for steps in range(2):
        coordinator, _ = seatunnel.on_savepoint(running(), 1)
        if steps:
            coordinator, _ = acknowledged(coordinator, 1)
            coordinator, _ = seatunnel.on_stored(coordinator, 1)
        coordinator, _ = seatunnel.on_failure(coordinator)
        _, (trigger,) = seatunnel.on_restored(coordinator, 2)
        assert trigger.pending.type == SAVEPOINT


def test_a_pipeline_is_restored_only_so_often():
    coordinator, effects = seatunnel.on_failure(running(retries=1))
    assert effects == (seatunnel.Restore(None),)
    coordinator, effects = seatunnel.on_failure(coordinator)
    assert effects == (seatunnel.GiveUp(),)
    assert coordinator.status == seatunnel.FAILED


def names(effects):
    return [type(effect).__name__ for effect in effects]


def test_a_task_with_one_input_passes_the_barrier_on():
    _, effects = seatunnel_task.on_barrier(seatunnel_task.start(("a",)), "a", Barrier(1, "x"))
    assert names(effects) == ["AlignEnd", "RecordChannel", "Take"]


def test_behind_a_shuffle_the_first_barrier_blocks_and_the_last_one_records():
    task, effects = seatunnel_task.on_barrier(
        seatunnel_task.start(("a", "b")), "a", Barrier(1, "x")
    )
    assert effects == (Block("a", 1),)
    task, effects = seatunnel_task.on_barrier(task, "b", Barrier(1, "x"))
    assert names(effects) == ["AlignEnd", "RecordChannel", "RecordChannel", "Take", "Unblock"]
    assert effects[-1] == Unblock("a", 1)
    assert task.barrier is None


def test_a_committer_counts_a_barrier_of_every_writer_and_blocks_nobody():
    counter = seatunnel_task.start(("a", "b"), blocking=False)
    counter, effects = seatunnel_task.on_barrier(counter, "a", Barrier(1, "x"))
    assert effects == ()
    _, effects = seatunnel_task.on_barrier(counter, "b", Barrier(1, "x"))
    assert names(effects)[-1] == "Take"


def test_a_split_goes_to_the_reader_that_has_fewest():
    found = seatunnel_task.owners(("s", "t", "u"), {"r0": 2, "r1": 0})
    assert found == (("s", "r1"), ("t", "r1"), ("u", "r0"))
