"""SeaTunnel's jobs under random failures; DATAFLOW_EXAMPLES=1000 tries that many of them."""

import os
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from snapshots.domain.dataflow_logs.dataflow import PLAIN, TWO_PHASE
from snapshots.domain.simulators.dataflows.lanes import BARRIER, Item
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.protocols import seatunnel_task
from snapshots.domain.simulators.seatunnel.barriers import Barriers
from snapshots.domain.simulators.seatunnel.simulation import run_seatunnel
from snapshots.domain.simulators.seatunnel.tasks import COMMITTER, ENUMERATOR
from tests.dataflows import any_dataflow, differences, word_count
from tests.domain.simulators.seatunnel import a_job, merged, of_kind, reports, seen_at, splits_in

pytestmark = pytest.mark.slow

SEEDS = range(int(os.environ.get("DATAFLOW_EXAMPLES") or 20))


def sinks_of(run, *kinds):
    vertices = run.log.header.extra["dataflow"]["vertices"]
    return [vertex["id"] for vertex in vertices if vertex.get("sink") in kinds
            and vertex["kind"] == "sink"]  # fmt: skip


def any_job(rng):
    return a_job(
        any_dataflow(rng),
        interval=rng.choice((1_500, 4_000)),
        seed=rng.randrange(2**32),
        buffer=rng.choice((1, 2, 8)),
        mean_delay=rng.choice((50, 1_000)),
        assign_every=rng.choice((0, 1_000, 4_000)),
        store_time=rng.choice((0, 2_000)),
        restart_delay=rng.choice((0, 4_000)),
    )


def both_runs(seed, steps=None):
    """The same run without a failure and with one or two."""
    rng = Random(seed)
    calm = any_job(rng)
    expected = run_seatunnel(calm)
    end = expected.log.events[-1].at
    who = [name for name in calm.topology().process_by_id if not name.startswith("coordinator")]
    failures = tuple(FailAt(rng.randint(0, end), rng.choice(who)) for _ in range(rng.randint(1, 2)))
    return expected, run_seatunnel(replace(calm, failures=failures), steps=steps)


def is_as_without_failure(expected, failed):
    return merged(failed) == merged(expected) and all(
        seen_at(failed, sink) == seen_at(expected, sink) for sink in sinks_of(failed, TWO_PHASE)
    )


def test_a_failure_changes_neither_states_nor_committed_output():
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        expected, failed = both_runs(seed)
        assert expected.counted.finished, seed
        assert failed.counted.finished, seed
        assert is_as_without_failure(expected, failed), seed
        assert not any(failed.counted.lost.values()), seed
        assert differences(failed) == [], seed
        found = reports(failed)
        for cid in failed.counted.completed:
            assert found[cid].counts == {"consistent": 1}, (seed, cid)
        seen["restored"] += any(item.snapshot for item in failed.counted.failures)
        seen["read again"] += any(item.re_read for item in failed.counted.failures)
        seen["recovered"] += bool(of_kind(failed, "tx_recover_commit"))
        seen["blocked"] += any(failed.counted.blocked.values())
        seen["duplicates"] += any(failed.counted.duplicates[sink] for sink in
                                  sinks_of(failed, PLAIN))  # fmt: skip
        exact = sinks_of(failed, TWO_PHASE)
        assert not any(failed.counted.duplicates[sink] for sink in exact), seed
    assert all(seen[name] for name in ("restored", "read again", "blocked", "duplicates"))


class NotBlocking:
    """The tasks' functions with a broken rule: behind a shuffle, nothing waits."""

    def __getattr__(self, name):
        step = getattr(seatunnel_task, name)
        if name != "start":
            return step
        return lambda inputs, blocking=True: step(inputs, blocking=False)


def test_without_alignment_the_check_finds_orphans_and_ends_differ():
    runs = [both_runs(seed, NotBlocking()) for seed in range(15)]
    found = (report for _, failed in runs for report in reports(failed).values())
    assert any("orphan" in report.counts for report in found)
    assert not all(is_as_without_failure(expected, failed) for expected, failed in runs)


def test_a_split_handed_out_between_state_and_barrier_is_in_a_checkpoint_twice(monkeypatch):
    take = Barriers._take

    def outside_its_lock(self, task, barrier):
        if task.role != ENUMERATOR or not task.state["splits"]:
            take(self, task, barrier)
            return
        outputs, task.outputs = task.outputs, {}
        take(self, task, barrier)
        task.outputs = outputs
        ((split, reader),) = seatunnel_task.owners(list(task.state["splits"])[:1], task.loads)
        self.machine.splits.hand_out(task, split, reader)
        for lane in outputs.values():
            snapshot = str(barrier.cid)
            self.log.add(task.id, "marker_send", channel=lane.id, snapshot=snapshot)
            lane.put(Item(BARRIER, barrier=barrier))

    monkeypatch.setattr(Barriers, "_take", outside_its_lock)
    run = run_seatunnel(a_job(word_count(3), interval=1_500, assign_every=3_000))
    found = [splits_in(run, cid) for cid in run.counted.completed]
    assert any(2 in splits.values() for splits in found)
    assert "marker-rule" in {verdict for report in reports(run).values()
                             for verdict in report.counts}  # fmt: skip


def test_a_committer_that_does_not_wait_for_the_word_commits_twice(monkeypatch):
    take = Barriers._take

    def at_once(self, task, barrier):
        take(self, task, barrier)
        if task.role == COMMITTER:
            self._commit(task, task.commit_info.get(barrier.cid, []), barrier.cid)

    monkeypatch.setattr(Barriers, "_take", at_once)
    runs = [run_seatunnel(a_job(failures=((at, "sink[0]"),))) for at in range(7_000, 20_000, 1_000)]
    assert any(any(run.counted.duplicates.values()) for run in runs)


def test_the_bound_on_committed_output_holds_without_a_broken_rule():
    runs = [run_seatunnel(a_job(failures=((at, "sink[0]"),))) for at in range(7_000, 20_000, 1_000)]
    assert not any(any(run.counted.duplicates.values()) for run in runs)
