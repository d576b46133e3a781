"""Runs of Flink that start from the checkpoint of an earlier run with another parallelism."""

from collections import Counter
from dataclasses import replace

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints
from snapshots.domain.dataflow_logs.dataflow import DataflowRefused
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.inventory.in_flight_plan import receivers_of
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.key_groups import key_group, owning_subtask
from snapshots.domain.model.values import parsed
from snapshots.domain.simulators.dataflows.functions import expected_rids
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.flink.rescaling import dealt_lists
from snapshots.domain.simulators.flink.simulation import (
    FAILED,
    SAVED,
    StartFrom,
    run_dataflow,
)
from snapshots.domain.simulators.protocols.flink_task import ALIGNED, UNALIGNED
from tests.dataflows import a_run_of, word_count
from tests.domain.dataflow_logs.test_event_time import TIMES, windowed

BEFORE = {"source": 3, "count": 3, "sink": 3}


def started(parallelism=2, *, at=9_000, ending=SAVED, mode=ALIGNED, sink="two-phase", **options):
    """Return a run that starts from an earlier one of three subtasks each."""
    start = StartFrom(at, BEFORE, ending)
    options = {"interval": 4_000, "slow": {"count[0]": 4.0}, "buffer": 6, **options}
    return a_run_of(word_count(parallelism, sink=sink), mode=mode, start_from=start, **options)


def restores(run):
    """Return the first event of each task, which says what it starts with."""
    return {
        event.process: (event, parsed(event.extra))
        for event in reversed(run.log.events)
        if event.kind == "restore" and event.at == 0
    }


def totals(run):
    """Return the final counts of all keys, wherever they lie."""
    states = [run.counted.states[name] for name in run.counted.states if name.startswith("count")]
    return Counter({key: count for state in states for key, count in state.items()})


@pytest.mark.parametrize("parallelism", [1, 2, 5])
@pytest.mark.parametrize("mode", [ALIGNED, UNALIGNED])
@pytest.mark.parametrize("ending", [SAVED, FAILED])
def test_a_run_goes_on_with_another_parallelism_as_if_nothing_had_happened(
    parallelism, mode, ending
):
    run = run_dataflow(started(parallelism, mode=mode, ending=ending, at=20_000))
    whole = run_dataflow(a_run_of(word_count(3)))
    assert run.counted.finished
    assert totals(run) == totals(whole)
    assert not run.counted.lost["sink"]
    assert not run.counted.duplicates["sink"]
    assert {record.rid for record in run.counted.visible["sink"]} == {
        record.rid for record in whole.counted.visible["sink"]
    }
    assembly = assemble(*run.log)
    assert assembly.defects == ()
    first = int(next(iter(restores(run).values()))[0].snapshot)
    assert all(int(report.checkpoint) > first for report in checkpoints(assembly.recording))
    assert {report.verdict for report in judge(assembly.recording)} <= {"consistent", "incomplete"}


def test_key_groups_splits_and_counts_are_dealt_by_the_rules_of_the_restore_plan():
    run = run_dataflow(started(2))
    found = restores(run)
    splits = [sorted(found[f"source[{n}]"][1]["positions"]) for n in (0, 1)]
    dealt = dealt_lists({"splits": [(n, f"source[{n}]") for n in range(3)]}, 3, 2)
    assert splits == [[name for _, name in dealt[n]["splits"]] for n in (0, 1)]
    assert splits == [["source[0]", "source[1]"], ["source[2]"]]
    for n in (0, 1):
        own = next(
            parsed(e.state)
            for e in run.log.events
            if e.process == f"count[{n}]" and e.label == "restored"
        )
        extra = found[f"count[{n}]"][1]
        assert extra["keys"] == len(own) > 0
        groups = {key: key_group(key, 128) for key in own}
        assert {owning_subtask(group, 2, 128) for group in groups.values()} == {n}
        holders = {f"count[{owning_subtask(group, 3, 128)}]" for group in groups.values()}
        assert extra["from"] == sorted(holders)


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_records_in_flight_go_where_the_restore_plan_sends_them(parallelism):
    run = run_dataflow(started(parallelism, mode=UNALIGNED, ending=FAILED, at=20_000))
    put_back = [
        event
        for event in run.log.events
        if event.kind == "send" and parsed(event.extra).get("restored")
    ]
    counted = Counter(event.channel for event in put_back)
    logged = Counter()
    for _, extra in restores(run).values():
        logged.update(extra.get("in_flight") or {})
    assert counted == logged
    assert counted
    for event in put_back:
        record = parsed(event.value)
        if event.channel.startswith("source"):
            group = key_group(record["key"], 128)
            new, old = (owning_subtask(group, n, 128) for n in (parallelism, 3))
            assert event.channel.endswith(f"->count[{new}]")
            assert new in receivers_of("HASH", old, 3, parallelism)


def test_transactions_that_the_checkpoint_names_are_committed_again_and_all_others_aborted():
    run = run_dataflow(started(2, ending=FAILED, at=20_000))
    kinds = Counter(event.kind for event in run.log.events if event.at == 0)
    assert kinds["tx_recover_commit"] == 3
    assert kinds["tx_abort"] >= 3
    begun = [parsed(e.extra)["tx"] for e in run.log.events if e.kind == "tx_begin"]
    settled = [parsed(e.extra)["tx"] for e in run.log.events if e.at == 0 and e.kind != "tx_begin"
               and e.kind.startswith("tx_")]  # fmt: skip
    assert not set(begun) & set(settled)


def test_a_plain_sink_shows_twice_what_was_written_after_the_checkpoint():
    run = run_dataflow(started(2, ending=FAILED, at=20_000, sink="plain"))
    assert run.counted.duplicates["sink"] > 0
    assert not run.counted.lost["sink"]


def test_a_failure_soon_after_the_start_goes_back_to_the_checkpoint_of_the_earlier_run():
    calm = started(2, mode=UNALIGNED, ending=FAILED, at=20_000)
    run = run_dataflow(replace(calm, failures=(FailAt(500, "count[1]"),)))
    assert totals(run) == totals(run_dataflow(calm))
    (failure,) = run.counted.failures
    assert str(failure.snapshot) == next(iter(restores(run).values()))[0].snapshot


def test_the_union_of_kept_watermarks_gives_each_new_window_the_smallest():
    start = StartFrom(30_000, {"window": 3, "source": 3}, FAILED)
    times = replace(TIMES, is_kept=True)
    simulation = a_run_of(windowed("two-phase"), interval=8_000, event_time=times, start_from=start)
    run = run_dataflow(simulation)
    marks = {found[1].get("watermark") for name, found in restores(run).items() if "window" in name}
    assert len(marks) == 1
    assert isinstance(marks.pop(), int)
    assert run.counted.finished


def test_splits_keep_their_names_when_a_run_starts_from_an_earlier_one():
    run = run_dataflow(started(2))
    split = {parsed(event.extra)["split"] for event in run.log.events if event.kind == "read"}
    assert split == {f"source[{n}]" for n in range(3)}
    assert {rid.split for rids in expected_rids(word_count(3)).values() for rid in rids} == split


def test_the_analysis_of_the_log_says_who_got_what():
    run = run_dataflow(started(2, mode=UNALIGNED, ending=FAILED, at=20_000))
    start = all_failovers(assemble(*run.log).recording).start
    found = restores(run)
    assert start.checkpoint == found["count[0]"][0].snapshot
    assert (start.ending, start.before) == (FAILED, BEFORE)
    assert start.after == {"source": 2, "count": 2, "sink": 2}
    shares = {share.process: share for share in start.shares}
    assert {name: list(share.origins) for name, share in shares.items()} == {
        name: extra["from"] for name, (_, extra) in found.items()
    }
    put_back = [e for e in run.log.events if e.kind == "send" and '"restored":true' in e.extra]
    assert sum(share.in_flight for share in shares.values()) == len(put_back) > 0
    keys = sum(share.keys or 0 for share in shares.values())
    assert start.sentence == (
        f"It began from checkpoint {start.checkpoint} of an earlier run: source with 2 subtasks in "
        f"place of 3, count with 2 subtasks in place of 3 and sink with 2 subtasks in place of 3. "
        f"{keys} keys went with their key groups, and 3 splits of the sources were dealt out. "
        f"{len(put_back)} records that were in flight were put back into channels."
    )
    assert all_failovers(assemble(*run_dataflow(a_run_of()).log).recording).start is None


@pytest.mark.parametrize(
    ("field", "start"),
    [
        ("start_from.at", StartFrom(-1)),
        ("start_from.at", StartFrom(10**9, BEFORE)),
        ("start_from.at", StartFrom(10**9, BEFORE, FAILED)),
        ("start_from.at", StartFrom(1, BEFORE, FAILED)),
        ("start_from.ending", StartFrom(9_000, BEFORE, "luck")),
        ("start_from.parallelism.nobody", StartFrom(1, {"nobody": 1})),
        ("start_from.parallelism", StartFrom(1, {"count": 129})),
    ],
    ids=str,
)
def test_a_start_that_is_not_possible_is_refused(field, start):
    with pytest.raises(DataflowRefused) as refused:
        run_dataflow(a_run_of(word_count(), start_from=start))
    assert refused.value.field == field
