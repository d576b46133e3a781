"""Flink's coordinator, step by step: when checkpoints begin, wait, complete and fail."""

import pytest

from snapshots.domain.simulators.protocols import flink_coordinator as coordinating
from snapshots.domain.simulators.protocols.flink_coordinator import (
    CheckpointSettings,
    Coordinator,
    Plan,
)
from tests.domain.simulators.effects import of_type

pytestmark = pytest.mark.slow

PLAN = Plan(("source",), ("source", "task"))


def requested(coordinator, now, reason="periodic"):
    return coordinating.on_request(coordinator, reason, now, PLAN)


def acknowledged(coordinator, cid, now):
    for task in PLAN.to_ack:
        coordinator, effects = coordinating.on_ack(coordinator, cid, task, now)
    return coordinator, effects


def test_a_checkpoint_is_complete_with_the_last_acknowledgement():
    coordinator, _ = requested(Coordinator(CheckpointSettings()), 0)
    coordinator, effects = coordinating.on_ack(coordinator, 1, "task", 10)
    assert effects == ()
    coordinator, effects = coordinating.on_ack(coordinator, 1, "source", 11)
    assert effects[0] == coordinating.Complete(1, (1,))
    assert coordinating.on_ack(coordinator, 1, "source", 12) == (coordinator, ())


def test_a_request_within_the_minimum_pause_is_put_off():
    coordinator, _ = requested(Coordinator(CheckpointSettings(min_pause=50)), 0)
    coordinator, _ = acknowledged(coordinator, 1, 100)
    _, effects = requested(coordinator, 120)
    assert effects[1] == coordinating.RequestAgain(150)
    coordinator, effects = requested(coordinator, 150)
    assert of_type(effects, coordinating.Trigger)
    coordinator, _ = acknowledged(coordinator, 2, 200)
    _, effects = requested(coordinator, 249)
    assert effects[1] == coordinating.RequestAgain(250)


def test_too_many_under_way_wait_but_a_savepoint_does_not():
    coordinator, _ = requested(Coordinator(CheckpointSettings()), 0)
    coordinator, effects = requested(coordinator, 10)
    assert effects == (coordinating.Decide(waits=True),)
    _, effects = requested(coordinator, 20)
    assert effects == (coordinating.Decide(dropped="waiting already"),)
    coordinator, effects = requested(coordinator, 20, "savepoint")
    assert of_type(effects, coordinating.Trigger)
    _, effects = acknowledged(coordinator, 1, 30)
    assert effects[-1] == coordinating.RequestAgain(30)


def test_a_newer_checkpoint_subsumes_older_ones_but_no_savepoint():
    coordinator = Coordinator(CheckpointSettings(max_concurrent=3))
    for now, reason in ((0, "periodic"), (1, "savepoint"), (2, "periodic")):
        coordinator, _ = requested(coordinator, now, reason)
    coordinator, effects = acknowledged(coordinator, 3, 10)
    assert of_type(effects, coordinating.Abort) == [coordinating.Abort(1, "subsumed")]
    assert set(coordinator.pending) == {2}
    coordinator, effects = acknowledged(coordinator, 2, 20)
    assert coordinator.retained == (3,)
    assert not of_type(effects, coordinating.Notify)


def test_tasks_hear_of_what_a_newer_checkpoint_replaces():
    coordinator = Coordinator(CheckpointSettings(retained=2))
    for cid in (1, 2, 3):
        coordinator, _ = requested(coordinator, cid)
        coordinator, effects = acknowledged(coordinator, cid, cid)
    told = [(item.cid, item.what) for item in of_type(effects, coordinating.Notify)]
    assert told == [(3, "complete"), (1, "subsumed")]
    assert coordinator.retained == (2, 3)


def test_only_failures_in_a_row_fail_the_job():
    coordinator = Coordinator(CheckpointSettings(tolerable_failures=1))
    for cid, ends_well in ((1, False), (2, True), (3, False)):
        coordinator, _ = requested(coordinator, cid)
        step = acknowledged if ends_well else coordinating.on_expiry
        coordinator, effects = step(coordinator, cid, cid)
        assert not of_type(effects, coordinating.FailJob)
    coordinator, _ = requested(coordinator, 4)
    _, effects = coordinating.on_decline(coordinator, 4, "declined", 4)
    assert of_type(effects, coordinating.FailJob)


def test_what_is_subsumed_or_given_up_for_a_failover_is_no_failure():
    coordinator, _ = requested(Coordinator(CheckpointSettings()), 0)
    coordinator, effects = coordinating.on_decline(coordinator, 1, "subsumed", 1)
    assert not of_type(effects, coordinating.FailJob)
    coordinator, _ = requested(coordinator, 2)
    _, effects = coordinating.on_failover(coordinator)
    assert effects[0] == coordinating.Abort(2, "failover")
    assert not of_type(effects, coordinating.FailJob)


def test_a_failover_is_no_success_either():
    coordinator, _ = requested(Coordinator(CheckpointSettings(tolerable_failures=1)), 0)
    coordinator, _ = coordinating.on_expiry(coordinator, 1, 1)
    coordinator, _ = coordinating.on_failover(coordinator)
    coordinator, _ = requested(coordinator, 2)
    coordinator, effects = coordinating.on_expiry(coordinator, 2, 3)
    assert of_type(effects, coordinating.FailJob)
    assert coordinator.failures == 0


def test_what_waited_when_tasks_failed_waits_no_longer():
    coordinator, _ = requested(Coordinator(CheckpointSettings()), 0)
    coordinator, _ = requested(coordinator, 1)
    coordinator, _ = coordinating.on_failover(coordinator)
    coordinator, _ = requested(coordinator, 2)
    _, effects = acknowledged(coordinator, 2, 3)
    assert not of_type(effects, coordinating.RequestAgain)
