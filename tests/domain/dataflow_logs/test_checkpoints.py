"""Checkpoints analysed from a log, compared with what the simulator counted while it wrote the log.

Each seed is another dataflow with other parameters; DATAFLOW_EXAMPLES=1000 tries that many in each
mode.
"""

import itertools
import json
import os
from collections import Counter
from random import Random

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints, decisions, files
from snapshots.domain.dataflow_logs.checkpoints.report import COMMIT, STATUSES, CheckpointReport
from snapshots.domain.dataflow_logs.dataflow import Dataflow, Edge
from snapshots.domain.dataflow_logs.kinds import (
    CP_ABORT,
    CP_ACK,
    CP_COMPLETE,
    CP_DECLINE,
    CP_REQUEST,
    CP_TRIGGER,
)
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import Recording
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.dataflows.results import DataflowRun
from snapshots.domain.simulators.flink.simulation import run_dataflow
from snapshots.domain.simulators.protocols.flink_task import ALIGNED, MODES, TIMEOUT, UNALIGNED
from snapshots.domain.simulators.samples import two_banks
from tests.dataflow_damage import garbled
from tests.dataflows import (
    a_run_of,
    a_sink,
    a_source,
    an_operator,
    any_run,
    needed_files,
)
from tests.effort import examples

pytestmark = pytest.mark.slow

SEEDS = range(int(os.environ.get("DATAFLOW_EXAMPLES") or examples(12)))
RAIL = ("source[0]->map[0]", "map[0]->sink[0]")


def recorded(run: DataflowRun) -> Recording:
    return assemble(*run.log).recording


def alignments(reports: tuple[CheckpointReport, ...]) -> dict[tuple[str, int], int]:
    return {
        (task.process, int(report.checkpoint)): task.alignment
        for report in reports
        for task in report.tasks
        if task.alignment is not None
    }


def blocked(reports: tuple[CheckpointReport, ...]) -> dict[str, list[tuple[int, int, int]]]:
    spans: dict[str, list] = {}
    for report in reports:
        for task in report.tasks:
            for span in task.blocked:
                spans.setdefault(span.channel, []).append(
                    (int(report.checkpoint), span.from_, span.to)
                )
    return {channel: sorted(own) for channel, own in spans.items()}


@pytest.mark.parametrize("mode", MODES)
def test_the_analysis_of_the_log_equals_what_the_simulator_counted(mode):
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        run = any_run(seed, mode)
        recording = recorded(run)
        reports = checkpoints(recording)
        counted = run.counted
        found = alignments(reports)
        assert found.keys() == counted.alignment.keys(), seed
        for key, alignment in counted.alignment.items():
            assert found[key] == alignment, (seed, key)
        assert blocked(reports) == {c: sorted(own) for c, own in counted.blocked.items()}, seed
        by_status = {int(report.checkpoint): report for report in reports}
        assert sorted(counted.completed) == sorted(
            cid for cid, report in by_status.items() if report.status == "completed"
        )
        assert counted.aborted == {
            cid: report.reason for cid, report in by_status.items() if report.reason
        }
        kept: Counter[str] = Counter()
        for (channel, cid), numbers in counted.channel_state.items():
            kept[recording.topology.channel_by_id[channel].target, cid] += sum(numbers)
        assert kept == Counter(
            {
                (task.process, int(report.checkpoint)): task.in_flight
                for report in reports
                for task in report.tasks
                if task.in_flight
            }
        )
        seen.update(f"{report.status}" for report in reports)
        seen["aligned"] += any(counted.alignment.values())
        seen["blocked"] += bool(counted.blocked)
        seen["in flight"] += bool(kept)
    assert seen["completed"]
    assert seen["aligned"]
    assert mode != ALIGNED or seen["blocked"]
    assert mode not in (UNALIGNED, TIMEOUT) or seen["in flight"]


@pytest.mark.parametrize("mode", MODES)
def test_the_critical_path_leads_from_the_trigger_to_the_completion(mode):
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        for report in checkpoints(recorded(any_run(seed, mode))):
            path = [segment for segment in report.critical_path if segment.phase != COMMIT]
            assert report.sentence.endswith("."), report
            for one, next_ in itertools.pairwise(path):
                assert one.to == next_.from_, (seed, report.checkpoint, path)
            if report.status != "completed":
                continue
            assert path[0].from_ == report.triggered_at, (seed, report.checkpoint)
            assert path[-1].to == report.completed_at
            assert sum(segment.length for segment in path) == report.duration
            assert sum(task.held_up for task in report.tasks) == report.duration, path
            seen.update(segment.phase for segment in path)
    phases = {"trigger", "travel", "sync", "async", "ack", "alignment"}
    assert phases <= set(seen)


def a_rail(**options: object) -> DataflowRun:
    """Simulate one source, one slow operator and one sink, so that nothing is aligned."""
    flow = Dataflow(
        (
            a_source(records=40, rate=0.0),
            an_operator("map", "map", cost=1_000),
            a_sink(sink="two-phase"),
        ),
        (Edge("source", "map"), Edge("map", "sink")),
    )
    return run_dataflow(a_run_of(flow, **{"interval": 8_000, "buffer": 4, **options}))


def test_the_sentence_names_who_held_the_checkpoint_up():
    first = checkpoints(recorded(a_rail()))[0]
    worst = first.tasks[0]
    assert worst.process == "map[0]"
    (waited,) = (s for s in first.critical_path if s.channel == RAIL[0])
    assert waited.phase == "travel"
    assert waited.behind == 8
    assert f"map[0] waited for the barrier on {RAIL[0]}, behind 8 records." in first.sentence
    assert first.sentence.startswith("It took ")


def test_held_back_is_what_was_sent_behind_the_barrier_while_its_channel_was_blocked():
    recording = recorded(any_run(1, ALIGNED))
    seen = 0
    for report in checkpoints(recording):
        for task in report.tasks:
            for span in task.blocked:
                marker = next(
                    m for m in recording.markers[span.channel] if m.snapshot == report.checkpoint
                )
                sent = [
                    message.received_at
                    for message in recording.messages[span.channel]
                    if message.sent_index > marker.sent_index and message.sent_at < span.to
                ]
                assert span.held_back == len(sent)
                assert all(at is None or at >= span.to for at in sent)
                seen += len(sent)
    assert seen


def test_how_checkpoints_end():
    slow = {"slow": {"map[0]": 8.0}, "timeout": 9_000}
    expired = checkpoints(recorded(a_rail(**slow)))[0]
    assert expired.status == "expired"
    assert expired.sentence == (
        "It was given up after 9 ms, because its time was over: "
        f"map[0] still waited for the barrier on {RAIL[0]}, behind 8 records."
    )
    assert expired.critical_path[-1].to == expired.ended_at
    declined = checkpoints(recorded(a_rail(declines=frozenset({(1, "map[0]")}))))[0]
    assert declined.status == "declined"
    assert declined.sentence.startswith("map[0] did not take part, so it was given up after ")
    cut = checkpoints(recorded(a_rail(most_events=75)))[0]
    assert cut.status == "pending"
    assert cut.duration is None
    assert "still waited for the barrier" in cut.sentence
    failed = checkpoints(recorded(a_rail(failures=(FailAt(9_000, "sink[0]"),))))[0]
    assert (failed.status, failed.reason) == ("aborted", "failover")
    assert failed.sentence == "It was given up after 1 ms, because sink[0] failed meanwhile."


def test_the_report_of_an_aborted_checkpoint_names_what_was_missing_at_its_end():
    """What came later does not matter: here refusals, because newer barriers overtook old ones."""
    settings = {"mode": UNALIGNED, "timeout": 1_500, "interval": 1_500}
    run = run_dataflow(a_run_of(slow={"count[1]": 8.0}, buffer=2, most_events=6_000, **settings))
    refused = {e.snapshot for e in run.log.events if e.kind == CP_DECLINE}
    expired = [report for report in checkpoints(recorded(run)) if report.status == "expired"]
    assert refused & {report.checkpoint for report in expired}
    assert {report.critical_path[-1].to - report.ended_at for report in expired} == {0}


def test_a_checkpoint_aborted_while_all_acknowledgements_are_on_their_way():
    run = a_rail(timeout=11_000, control_delay=1_000)
    late = next(e for e in run.log.events if e.kind == CP_ACK and e.process == "sink[0]")
    begun = next(e for e in run.log.events if e.kind == CP_TRIGGER)
    expired = checkpoints(recorded(a_rail(timeout=late.at - begun.at + 500, control_delay=1_000)))
    assert expired[0].status == "expired"
    assert expired[0].critical_path[0].from_ == expired[0].triggered_at
    assert expired[0].critical_path[-1].to == expired[0].ended_at
    assert expired[0].sentence.endswith(
        "all had acknowledged, sink[0] last, but it was not complete yet."
    )


def test_transactions_whose_notice_was_lost_are_committed_with_the_next_notice():
    heard, lost = (
        next(
            task for task in checkpoints(recorded(a_rail(**how)))[0].tasks if task.vertex == "sink"
        )
        for how in ({}, {"lost_notices": frozenset({1})})
    )
    assert heard.committed_at == heard.notified_at
    assert lost.notified_at is None
    assert lost.committed_at > heard.committed_at


@pytest.mark.parametrize("seed", range(4))
def test_files_are_needed_by_checkpoints_that_are_kept_or_under_way(seed):
    run = any_run(seed, ALIGNED)
    events = run.log.events
    over = {e.snapshot for e in events if e.kind in (CP_COMPLETE, CP_ABORT)}
    expected = {file: set(map(str, needed)) for file, needed in needed_files(events).items()}
    for ack in events:
        if ack.kind == CP_ACK and ack.snapshot not in over:
            for handle in json.loads(ack.extra)["handles"]:
                expected[handle["file"]].add(ack.snapshot)
    found = files(recorded(run))
    assert [item.file for item in found] == sorted(expected)
    for item in found:
        assert set(item.needed_by) == expected[item.file], item
        assert item.since == item.named_by[0]
        assert (item.free_at is None) == bool(item.needed_by)
    assert any(expected.values())
    assert not all(expected.values())


def test_every_request_has_a_decision():
    recording = recorded(any_run(2, ALIGNED))
    told = decisions(recording)
    requests = [e for own in recording.events.values() for e in own if e.kind == CP_REQUEST]
    assert len(told) == len(requests)
    begun = [item.checkpoint for item in told if item.checkpoint]
    assert begun == [report.checkpoint for report in checkpoints(recording)]
    assert all(item.checkpoint or item.dropped or item.waits for item in told)


def test_recordings_without_a_dataflow_have_no_checkpoints():
    assert checkpoints(assemble(*two_banks()).recording) == ()


def test_a_log_with_gaps_is_analysed_as_far_as_it_goes():
    rng = Random(5)
    for seed in range(6):
        run = any_run(seed, MODES[seed % 4])
        for report in checkpoints(assemble(*garbled(run.log, rng)).recording):
            json.dumps(as_json(report))
            assert report.status in STATUSES
            assert report.sentence.endswith(".")
