"""Runs that go on after a restore; the reference and Spark judge them alike."""

from snapshots.domain.simulators.script import Log, Script
from tests.builders import a_run


def before(run: Script | None = None) -> Script:
    """Two banks of 10 and 5 with the snapshot s1, in which 3 are under way; then p is killed.

    m1 was in the channel and received later, m2 was under way at the end, m3 answered it.
    """
    run = (run or a_run()).send("p->q", "m1", 3, state=7)
    run = run.record("p", "s1").send_marker("p->q", "s1").record("q", "s1")
    run = run.send_marker("q->p", "s1").receive("p->q", "m1", state=8)
    run = run.receive_marker("p->q", "s1").record_channel("p->q", "s1", "m1")
    run = run.receive_marker("q->p", "s1").record_channel("q->p", "s1")
    return run.send("p->q", "m2", 2, state=5).send("q->p", "m3", 1, state=7)


def back_to_s1(run: Script, epoch: int = 1) -> Script:
    run = run.restore("p", epoch, "s1", state=7).restore("q", epoch, "s1", state=5)
    return run.receive("p->q", "m1", state=8)


def snapshot(run: Script, name: str, *in_channel: str) -> Script:
    """Take a snapshot at once; in the channel from p to q are these messages."""
    run = run.record("p", name).send_marker("p->q", name).record("q", name)
    run = run.send_marker("q->p", name).receive_marker("q->p", name).record_channel("q->p", name)
    return run.receive_marker("p->q", name).record_channel("p->q", name, *in_channel)


def after_a_restore() -> Log:
    """What was under way is gone, and m1 is received twice: once in each epoch."""
    run = back_to_s1(before()).send("p->q", "n1", 4, state=3)
    return snapshot(run.receive("p->q", "n1", state=12), "s2").log()


def in_flight_after_a_restore() -> Log:
    run = back_to_s1(before()).send("p->q", "n1", 4, state=3)
    run = run.record("p", "s2").send_marker("p->q", "s2").record("q", "s2")
    run = run.send_marker("q->p", "s2").receive("p->q", "n1", state=12)
    run = run.receive_marker("p->q", "s2").record_channel("p->q", "s2", "n1")
    return run.receive_marker("q->p", "s2").record_channel("q->p", "s2").log()


def a_message_from_before_the_restore() -> Log:
    """m2 was sent in the first epoch and arrives in the second: the system has 2 too much."""
    run = back_to_s1(before()).receive("p->q", "m2", state=10)
    return snapshot(run, "s2").log()


def never_received_before() -> Log:
    """q is killed before it receives m1 for the first time, twice."""
    run = a_run(fifo=False).send("p->q", "m1", 3, state=7)
    run = snapshot(run, "s1", "m1").restore("p", 1, "s1").restore("q", 1, "s1")
    run = run.restore("p", 2, "s1").restore("q", 2, "s1").receive("p->q", "m1", state=8)
    return snapshot(run, "s2").log()


def back_to_an_earlier_snapshot() -> Log:
    """m1 is under way in s2 and not in s1, to which the system goes back in the end."""
    run = snapshot(a_run(fifo=False), "s1").send("p->q", "m1", 3, state=7)
    run = snapshot(run, "s2", "m1").restore("p", 1, "s2").restore("q", 1, "s2")
    run = run.restore("p", 2, "s1", state=10).restore("q", 2, "s1")
    return snapshot(run, "s3").log()


def back_to_the_start() -> Log:
    run = a_run().send("p->q", "m1", 3, state=7).receive("p->q", "m1", state=8)
    run = run.send("p->q", "m2", 3, state=4).send_marker("p->q", "s0")
    run = run.restore("p", 0, state=10).restore("q", 0, state=5)
    return snapshot(run, "s1").log()


def a_marker_taken_back() -> Log:
    """The marker of s2 is under way at the restore; messages pass behind it."""
    run = before().record("p", "s2").send_marker("p->q", "s2")
    run = back_to_s1(run).send("p->q", "n1", 4, state=3).receive("p->q", "n1", state=12)
    return snapshot(run, "s3").log()


def restored_apart() -> Log:
    """p goes back to s1 and q to the start; then q goes back in an epoch that it had before."""
    run = before().restore("p", 1, "s1", state=7).restore("q", 1, state=5)
    return snapshot(run, "s2").restore("q", 1, state=5).log()


def recorded_across_a_restore() -> Log:
    run = before().record("p", "s2").restore("p", 1, "s1", state=7)
    return run.restore("q", 1, "s1", state=5).record("q", "s2").log()


def a_marker_from_before_the_restore() -> Log:
    run = back_to_s1(before().record("p", "s2").send_marker("p->q", "s2"))
    return run.receive_marker("p->q", "s2").record("q", "s2").log()


def ids_used_again() -> Log:
    """The ids count from 1 in each epoch, as in a system that forgets them."""
    run = a_run().send("p->q", "m1", 3, state=7).receive("p->q", "m1", state=8)
    run = run.send("p->q", "m2", 1, state=6).restore("p", 1, state=10).restore("q", 1, state=5)
    run = run.send("p->q", "m1", 2, state=8).receive("p->q", "m1", state=7)
    run = run.send("p->q", "m2", 1, state=7).receive("p->q", "m2", state=8)
    return snapshot(run, "s1").log()


def a_slow_sender() -> Log:
    """The process p sends m9 in its old epoch, when q has gone back already."""
    run = before().restore("q", 1, "s1", state=5).receive("p->q", "m1", state=8)
    run = run.send("p->q", "m9", 4, state=1).restore("p", 1, "s1", state=7)
    return snapshot(run, "s2").log()


def begun_before_the_other_is_back() -> Log:
    run = before().restore("p", 1, "s1", state=7).record("p", "s2").send_marker("p->q", "s2")
    run = run.restore("q", 1, "s1", state=5).receive("p->q", "m1", state=8)
    run = run.receive_marker("p->q", "s2").record("q", "s2").send_marker("q->p", "s2")
    run = run.record_channel("p->q", "s2").receive_marker("q->p", "s2")
    return run.record_channel("q->p", "s2").log()


def recorded_before_all_came_again() -> Log:
    """The process q records s2 between the restore and m1, which s1 held for it."""
    run = before().restore("p", 1, "s1", state=7).restore("q", 1, "s1", state=5)
    run = run.record("p", "s2").send_marker("p->q", "s2").record("q", "s2")
    run = run.send_marker("q->p", "s2").receive("p->q", "m1", state=8)
    run = run.receive_marker("p->q", "s2").record_channel("p->q", "s2", "m1")
    return run.receive_marker("q->p", "s2").record_channel("q->p", "s2").log()


def never_came_again() -> Log:
    run = before().restore("p", 1, "s1", state=7).restore("q", 1, "s1", state=5)
    return snapshot(run, "s2").log()


def came_again_twice() -> Log:
    return snapshot(back_to_s1(before()).receive("p->q", "m1", state=11), "s2").log()


def back_to_an_unknown_snapshot() -> Log:
    run = before().restore("p", 1, "nope", state=7).restore("q", 1, "nope", state=5)
    return snapshot(run, "s2").log()


def back_to_an_incomplete_snapshot() -> Log:
    run = before().record("p", "s9").restore("p", 1, "s9", state=5)
    return snapshot(run.restore("q", 1, "s9", state=7), "s2").log()


def back_to_an_inconsistent_snapshot() -> Log:
    run = a_run().record("p", "o").send("p->q", "m", 3, state=7).receive("p->q", "m", state=8)
    run = run.record("q", "o").record_channel("p->q", "o").record_channel("q->p", "o")
    run = run.restore("p", 1, "o", state=10).restore("q", 1, "o", state=8)
    return snapshot(run, "s2").log()


def back_to_another_state() -> Log:
    run = before().restore("p", 1, "s1", state=70).restore("q", 1, "s1", state=5)
    return snapshot(run.receive("p->q", "m1", state=8), "s2").log()


def only_one_goes_back() -> Log:
    """The money is doubled: p is as at the start, and q has what p sent."""
    run = a_run().send("p->q", "m", 3, state=7).receive("p->q", "m", state=8)
    run = run.restore("p", 1, state=10).record("p", "x").record("q", "x")
    return run.record_channel("p->q", "x").record_channel("q->p", "x").log()


def only_one_goes_back_and_no_snapshot_follows() -> Log:
    return before().restore("q", 1, "s1", state=5).receive("p->q", "m1", state=8).log()


def killed_while_all_go_back() -> Log:
    """q is killed before it can go back in epoch 1; both go back in epoch 2."""
    run = before().restore("p", 1, "s1", state=7)
    return snapshot(back_to_s1(run, 2), "s2").log()


def late_in_an_epoch_that_is_undone() -> Log:
    run = back_to_s1(before()).receive("p->q", "m2", state=10)
    return snapshot(back_to_s1(run, 2), "s2").log()


def received_in_both_epochs() -> Log:
    """What was sent and received behind s1 arrives once more: the system has 1 too much."""
    run = back_to_s1(before().receive("q->p", "m3", state=6))
    return snapshot(run.receive("q->p", "m3", state=8), "s2").log()


def late_with_an_id_used_again() -> Log:
    run = back_to_s1(before().receive("p->q", "m2", state=9)).send("p->q", "m2", 2, state=5)
    return snapshot(back_to_s1(run, 2).receive("p->q", "m2", state=10), "s2").log()


def _with_m1_in_s1(run: Script) -> Script:
    run = snapshot(run.send("p->q", "m1", 3, state=7), "s1", "m1").receive("p->q", "m1", state=8)
    return back_to_s1(run)


def a_held_id_used_again() -> Log:
    run = _with_m1_in_s1(a_run(fifo=False)).send("q->p", "k", 1, state=7)
    run = run.receive("q->p", "k", state=8).send("p->q", "m1", 3, state=5)
    return snapshot(run.receive("p->q", "m1", state=10), "s2").log()


def a_held_id_under_way_again() -> Log:
    run = _with_m1_in_s1(a_run(fifo=False)).send("p->q", "m1", 2, state=5)
    return snapshot(run, "s2", "m1").log()


def held_by_a_later_restore() -> Log:
    """s1 holds m1; the system goes back to s0, which does not, and after that to s1."""
    run = snapshot(a_run(fifo=False), "s0").send("p->q", "m1", 3, state=7)
    run = snapshot(run, "s1", "m1").restore("p", 1, "s0", state=10).restore("q", 1, "s0", state=5)
    return snapshot(back_to_s1(snapshot(run, "s2"), 2), "s3").log()


def sent_twice_and_held_once() -> Log:
    run = a_run(fifo=False).send("p->q", "m", 1, state=9)
    run = snapshot(run, "s1", "m").send("p->q", "m", 1, state=8)
    run = run.restore("p", 1, "s1", state=9).restore("q", 1, "s1", state=5)
    return snapshot(run.receive("p->q", "m", state=6), "s2").log()


def held_and_overtaken_by_nothing() -> Log:
    """On a FIFO channel, m2 is taken back before it or m1 is received."""
    run = a_run().send("p->q", "m1", 3, state=7).record("p", "s1").record("q", "s1")
    run = run.record_channel("p->q", "s1", "m1").record_channel("q->p", "s1")
    run = back_to_s1(run.send("p->q", "m2", 2, state=5))
    return snapshot(run, "s2").log()


def epochs_that_fall() -> Log:
    run = a_run().restore("q", 5).send("q->p", "x", 1, state=4).restore("p", 5)
    run = run.receive("q->p", "x", state=11).restore("p", 3).send("p->q", "m", 1, state=10)
    return snapshot(run.restore("q", 3), "s", "m").log()


RESTORED = (
    after_a_restore,
    in_flight_after_a_restore,
    a_message_from_before_the_restore,
    never_received_before,
    back_to_an_earlier_snapshot,
    back_to_the_start,
    a_marker_taken_back,
    restored_apart,
    recorded_across_a_restore,
    a_marker_from_before_the_restore,
    ids_used_again,
    a_slow_sender,
    begun_before_the_other_is_back,
    recorded_before_all_came_again,
    never_came_again,
    came_again_twice,
    back_to_an_unknown_snapshot,
    back_to_an_incomplete_snapshot,
    back_to_an_inconsistent_snapshot,
    back_to_another_state,
    only_one_goes_back,
    only_one_goes_back_and_no_snapshot_follows,
    killed_while_all_go_back,
    late_in_an_epoch_that_is_undone,
    received_in_both_epochs,
    late_with_an_id_used_again,
    a_held_id_used_again,
    a_held_id_under_way_again,
    held_by_a_later_restore,
    sent_twice_and_held_once,
    held_and_overtaken_by_nothing,
    epochs_that_fall,
)
