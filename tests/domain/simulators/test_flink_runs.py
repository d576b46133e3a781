"""Whole simulated runs of Flink: modes, transactions, files and failures."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.dataflow import Dataflow, Edge
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import KINDS, MARKER_RECEIVE, RECORD_CHANNEL, RECORD_STATE
from snapshots.domain.model.values import parsed
from snapshots.domain.simulators.dataflow_samples import SAMPLES_OF_DATAFLOWS
from snapshots.domain.simulators.flink.failover import scope_of
from snapshots.domain.simulators.flink.samples import pressed, smallest
from snapshots.domain.simulators.flink.simulation import run_dataflow
from snapshots.domain.simulators.protocols.flink_task import (
    ALIGNED,
    AT_LEAST_ONCE,
    MODES,
    TIMEOUT,
    UNALIGNED,
)
from tests.dataflows import a_run_of, a_sink, a_source, failing, needed_files, word_count

pytestmark = pytest.mark.slow


def events(run, *kinds, process=None):
    return [
        event
        for event in run.log.events
        if event.kind in kinds and process in (None, event.process)
    ]


def extra(event):
    return parsed(event.extra) or {}


def reports(run):
    assembly = assemble(*run.log)
    assert assembly.defects == ()
    return {int(report.snapshot): report for report in judge(assembly.recording)}


@pytest.mark.parametrize("mode", MODES)
def test_a_seed_gives_one_run_whose_log_has_known_kinds_in_order(mode):
    simulation = failing(a_run_of(mode=mode), 15_000, "count[0]")
    one, same, other = (
        run_dataflow(item) for item in (simulation, simulation, replace(simulation, seed=2))
    )
    assert one == same != other
    assert {event.kind for event in one.log.events} <= set(KINDS)
    assert [event.line for event in one.log.events] == list(range(2, len(one.log.events) + 2))
    assert all(before.at <= after.at for before, after in pairwise(one.log.events))


def test_the_smallest_dataflow_is_the_one_of_the_issue():
    run = run_dataflow(smallest())
    recorded = {event.process: parsed(event.state) for event in events(run, RECORD_STATE)}
    assert recorded["source[0]"] == {"offset": 101}
    assert recorded["task[0]"] == {"users": 100, "times": 100_000}
    (crash,) = events(run, "crash")
    received = [event for event in events(run, "receive") if event.line < crash.line]
    assert extra(received[-1])["rid"][1] == 119
    again = [event for event in events(run, "read") if event.line > crash.line]
    assert extra(again[0])["offset"] == 101
    assert run.counted.failures[0].re_read == {"source[0]": 20}
    assert run.counted.states == run_dataflow(replace(smallest(), failures=())).counted.states


@pytest.mark.parametrize("sample", SAMPLES_OF_DATAFLOWS, ids=lambda sample: sample.slug)
def test_samples_have_no_defects_and_show_what_they_say(sample):
    assembly = assemble(*sample.log())
    assert assembly.defects == ()
    verdicts = {report.verdict for report in judge(assembly.recording)}
    expected = {"orphan", "incomplete", "consistent"} if "twice" in sample.slug else {"consistent"}
    assert verdicts == expected


def test_back_pressure_blocks_aligned_barriers_and_does_not_hold_up_those_that_overtake():
    aligned, unaligned = (run_dataflow(pressed(mode)) for mode in (ALIGNED, UNALIGNED))
    longest = {mode: max(run.counted.alignment.values()) for mode, run in
               (("aligned", aligned), ("unaligned", unaligned))}  # fmt: skip
    assert longest["aligned"] > 5 * longest["unaligned"]
    assert any(aligned.counted.blocked.values())
    assert not unaligned.counted.blocked
    assert not aligned.counted.channel_state
    assert any(out for _, out in unaligned.counted.channel_state.values())


def test_channels_are_taken_from_again_when_the_state_has_been_copied():
    run = run_dataflow(a_run_of(sync_time=350))
    recorded = {(e.process, e.snapshot): e.at for e in events(run, RECORD_STATE)}
    opened = events(run, "unblock")
    assert opened
    assert {e.at - recorded[e.process, e.snapshot] for e in opened} == {350}


def test_a_blocked_channel_delivers_nothing():
    run = run_dataflow(pressed(ALIGNED))
    blocked, seen = set(), Counter()
    for event in run.log.events:
        if event.kind == "block":
            blocked.add(event.channel)
        elif event.kind == "unblock":
            blocked.discard(event.channel)
        elif event.kind == "receive":
            assert event.channel not in blocked
            seen["received beside a blocked channel"] += bool(blocked)
    assert seen["received beside a blocked channel"]


@pytest.mark.parametrize("mode", MODES)
def test_what_is_counted_follows_from_the_log(mode):
    calm = pressed(ALIGNED)
    settings = replace(calm.checkpoints, mode=mode, align_timeout=2_000)
    run = run_dataflow(failing(replace(calm, checkpoints=settings), 60_000, "count[0]"))
    spans, since = {}, {}
    for event in events(run, "block", "unblock"):
        if event.kind == "block":
            since[event.channel] = event.at
        else:
            span = (int(event.snapshot), since.pop(event.channel), event.at)
            spans.setdefault(event.channel, []).append(span)
    assert spans == {
        channel: [span for span in counted if span[2] != 60_000]
        for channel, counted in run.counted.blocked.items()
    }
    kept = {
        (event.channel, int(event.snapshot)): (extra(event)["in"], extra(event)["out"])
        for event in events(run, RECORD_CHANNEL)
        if event.messages
    }
    assert kept == run.counted.channel_state
    arrivals = {}
    for event in events(run, MARKER_RECEIVE):
        arrivals.setdefault((event.process, int(event.snapshot)), []).append(event.at)
    for event in events(run, "align_end"):
        key = (event.process, int(event.snapshot))
        before = [at for at in arrivals[key] if at <= event.at]
        assert run.counted.alignment[key] == before[-1] - before[0]
    tables = {"sink": Counter(extra(event)["rid"][1] for event in events(run, "write"))}
    assert tables["sink"].total() == len(run.counted.written["sink"])


def test_a_timeout_turns_some_tasks_unaligned_in_one_checkpoint():
    slow = pressed(ALIGNED)
    settings = replace(slow.checkpoints, mode=TIMEOUT, align_timeout=2_000)
    run = run_dataflow(replace(slow, checkpoints=settings))
    modes = {
        (event.snapshot, extra(event).get("mode"))
        for event in events(run, RECORD_STATE)
        if "mode" in extra(event)
    }
    assert {("1", "aligned"), ("1", "unaligned")} <= modes
    assert events(run, "announce")
    assert events(run, "switch_unaligned")
    assert all(report.verdict == "consistent" for report in reports(run).values())


def test_a_savepoint_is_aligned_and_no_point_to_restore_from():
    run = run_dataflow(failing(a_run_of(mode=UNALIGNED, interval=50_000, savepoints=(5_000,)),
                               12_000, "count[0]"))  # fmt: skip
    modes = {extra(event)["mode"] for event in events(run, RECORD_STATE) if "mode" in
             extra(event) and event.snapshot == "1"}  # fmt: skip
    assert modes == {"aligned"}
    assert run.counted.completed[0] == 1
    assert run.counted.failures[0].snapshot is None
    assert events(run, "restart")


def test_an_expired_checkpoint_is_aborted_and_too_many_of_them_fail_the_job():
    slow = a_run_of(word_count(cost=800), timeout=1_500, tolerable_failures=1, most_restarts=2)
    run = run_dataflow(slow)
    assert set(run.counted.aborted.values()) == {"expired"}
    assert len(run.counted.aborted) >= 4
    assert events(run, "job_fail")
    assert not run.counted.finished


def test_a_task_that_declines_cancels_the_checkpoint_downstream():
    run = run_dataflow(a_run_of(declines=frozenset({(1, "count[0]")})))
    assert run.counted.aborted[1] == "declined"
    assert events(run, "cp_decline")
    assert events(run, "cancel_in")
    found = reports(run)
    assert found[1].verdict == "incomplete"
    assert found[2].verdict == "consistent"


def test_a_lost_notice_is_covered_by_the_next_one():
    calm = a_run_of()
    run = run_dataflow(replace(calm, lost_notices=frozenset({1, 2})))
    first = min(int(event.snapshot) for event in events(run, "tx_commit"))
    assert first == 3
    assert len(run.counted.visible["sink"]) == len(run_dataflow(calm).counted.visible["sink"])


def test_a_transaction_whose_word_was_lost_is_committed_by_the_restore():
    simulation = replace(a_run_of(), lost_notices=frozenset({1}))
    run = run_dataflow(failing(simulation, 19_000, "sink[0]"))
    assert events(run, "tx_recover_commit")
    assert events(run, "tx_abort")
    assert run.counted.duplicates == run.counted.lost == {"sink": 0}


def test_a_transaction_that_a_restore_commits_names_the_checkpoint_it_restores():
    """A restore commits a transaction that was pre-committed for an aborted checkpoint, too."""
    calm = a_run_of(declines=frozenset({(1, "sink[1]")}), lost_notices=frozenset({2}))
    done = events(run_dataflow(calm), "cp_complete")[0]
    run = run_dataflow(failing(calm, done.at + 1_000, "sink[0]"))
    assert [event.snapshot for event in events(run, "cp_abort")][:1] == ["1"]
    own = {"process": "sink[0]"}
    owners = {extra(event)["tx"]: event.snapshot for event in events(run, "tx_precommit", **own)}
    recovered = events(run, "tx_recover_commit", **own)
    assert {owners[extra(event)["tx"]] for event in recovered} == {"1", "2"}
    (restored,) = events(run, "restore", **own)
    assert {event.snapshot for event in recovered} == {restored.snapshot} == {"2"}


def test_a_transaction_of_a_checkpoint_that_did_not_complete_is_aborted_by_the_restore():
    calm = a_run_of()
    own = {"process": "sink[0]"}
    done = events(run_dataflow(calm), "tx_precommit", **own)[0]
    run = run_dataflow(failing(calm, done.at + 300, "count[0]"))
    precommitted = extra(events(run, "tx_precommit", **own)[0])["tx"]
    assert precommitted in {extra(event)["tx"] for event in events(run, "tx_abort", **own)}


def test_a_transaction_that_expires_before_the_restore_is_lost():
    simulation = replace(a_run_of(), lost_notices=frozenset({1}), tx_timeout=15_000)
    run = run_dataflow(failing(simulation, 19_000, "sink[0]"))
    assert events(run, "tx_timeout")
    assert run.counted.lost["sink"] > 0


@pytest.mark.parametrize("mode", MODES)
def test_checkpoints_go_on_when_some_tasks_have_finished(mode):
    sources = (a_source("short", records=4), a_source("long", records=80))
    edges = (Edge("short", "sink", "hash"), Edge("long", "sink", "hash"))
    run = run_dataflow(a_run_of(Dataflow((*sources, a_sink(parallelism=2)), edges), mode=mode))
    triggers = events(run, "cp_trigger")
    assert "short[0]" in extra(triggers[-1])["finished"]
    found = reports(run)
    allowed = {"consistent", "orphan"} if mode == AT_LEAST_ONCE else {"consistent"}
    assert {found[cid].verdict for cid in run.counted.completed} <= allowed
    assert extra(triggers[-1])["to_trigger"][0] != "short[0]"
    assert run.counted.lost == {"sink": 0}
    assert run.counted.finished


@pytest.mark.parametrize("mode", MODES)
def test_who_was_asked_for_a_checkpoint_records_before_it_finishes(mode):
    run = run_dataflow(a_run_of(mode=mode, interval=700, control_delay=600))
    done = {event.process: event.line for event in events(run, "finish")}
    late = [e for e in events(run, RECORD_STATE) if e.line > done.get(e.process, e.line)]
    assert late
    assert all(extra(event).get("finished") for event in late)


def test_files_are_shared_until_their_key_group_changes():
    flow = word_count(1, keys=30, skew=3.0, records=60)
    shared, full = (run_dataflow(a_run_of(flow, incremental=yes)) for yes in (True, False))
    handles = [handle for event in events(shared, "cp_ack") for handle in extra(event)["handles"]]
    assert any(handle["shared"] for handle in handles)
    assert all(handle["since_cid"] < int(event.snapshot) for event in events(shared, "cp_ack")
               for handle in extra(event)["handles"] if handle["shared"])  # fmt: skip
    uploaded = [sum(extra(event)["bytes"] for event in events(run, "snap_async"))
                for run in (shared, full)]  # fmt: skip
    assert uploaded[0] < uploaded[1]


def test_a_file_is_needed_as_long_as_a_retained_checkpoint_names_it():
    flow = word_count(1, keys=30, skew=3.0, records=60)
    run = run_dataflow(a_run_of(flow, retained=2))
    needed = needed_files(run.log.events)
    last = run.counted.completed[-2:]
    assert {cid for cids in needed.values() for cid in cids} == set(last)
    assert any(not cids for cids in needed.values())
    older = [file for file, cids in needed.items() if cids and int(file.split("/")[1]) < last[0]]
    assert older


def crossing(topology, scope):
    """Return the channels between the scope and the rest.

    If there is one, a restart of the scope alone loses or repeats what lies in it.
    """
    inside = set(scope)
    return tuple(
        channel
        for channel in topology.channels
        if (channel.source in inside) != (channel.target in inside)
    )


def test_a_region_is_smaller_than_a_pipeline_and_that_than_all():
    parallel = {"parallelism": 2}
    flow = Dataflow(
        (a_source(**parallel), a_sink(**parallel), a_source("other"), a_sink("archive")),
        (Edge("source", "sink"), Edge("other", "archive")),
    )
    scopes = [scope_of(flow, failover, "sink[1]") for failover in ("region", "pipeline", "full")]
    assert [len(scope) for scope in scopes] == [2, 4, 6]
    topology = flow.expand(one_coordinator=True)
    assert [crossing(topology, scope) for scope in scopes] == [(), (), ()]
    (channel,) = crossing(topology, ("sink[1]",))
    assert channel.id == "source[1]->sink[1]"


def test_who_is_outside_the_scope_keeps_running():
    parallel = {"parallelism": 2}
    flow = Dataflow((a_source(**parallel), a_sink(**parallel)), (Edge("source", "sink"),))
    calm = a_run_of(flow)
    run = run_dataflow(replace(failing(calm, 15_000, "sink[1]"), failover="region"))
    assert {event.process for event in events(run, "restore")} == {"source[1]", "sink[1]"}
    during = [event for event in events(run, "read", process="source[0]")
              if 15_000 < event.at < 25_000]  # fmt: skip
    assert during
    assert run.counted.states == run_dataflow(calm).counted.states
