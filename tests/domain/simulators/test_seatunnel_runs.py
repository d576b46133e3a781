"""Whole simulated jobs of SeaTunnel: pipelines, splits, committers and final points."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints, decisions
from snapshots.domain.dataflow_logs.dataflow import FORWARD, HASH, Dataflow, DataflowRefused, Edge
from snapshots.domain.dataflow_logs.failovers.reference import failovers
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import KINDS, RECORD_STATE
from snapshots.domain.model.values import parsed
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.protocols.seatunnel import CHECKPOINT, COMPLETED_POINT, SAVEPOINT
from snapshots.domain.simulators.seatunnel.samples import SEATUNNEL_SAMPLES
from snapshots.domain.simulators.seatunnel.simulation import StartFrom, run_seatunnel
from tests.dataflows import a_sink, a_source, an_operator, two_pipelines, word_count
from tests.domain.simulators.seatunnel import a_job, merged, of_kind, reports, seen_at, splits_in

pytestmark = pytest.mark.slow


def test_a_seed_gives_one_run_whose_log_has_known_kinds_in_order():
    job = a_job(failures=((12_000, "count[0]"),), savepoint=22_000)
    one, same, other = (run_seatunnel(item) for item in (job, job, replace(job, seed=2)))
    assert one == same != other
    assert one.log.header.extra["engine"] == "seatunnel"
    assert {event.kind for event in one.log.events} <= set(KINDS)
    assert [event.line for event in one.log.events] == list(range(2, len(one.log.events) + 2))
    assert all(before.at <= after.at for before, after in pairwise(one.log.events))


def test_a_checkpoint_goes_from_the_enumerator_to_the_committer_and_is_committed_when_stored():
    run = run_seatunnel(a_job())
    own = [event for event in run.log.events if event.snapshot == "1"]
    trigger = next(event for event in own if event.kind == "cp_trigger")
    assert parsed(trigger.extra)["to_trigger"] == ["source.enumerator"]
    recorded = [event.process for event in own if event.kind == RECORD_STATE]
    assert recorded[:2] == ["coordinator", "source.enumerator"]
    assert recorded[-1] == "sink.committer"
    of_sink = [event.kind for event in own if event.process == "sink[0]"]
    assert of_sink.index("tx_precommit") + 1 == of_sink.index("record_state")
    steps = [event.kind for event in own if event.kind in
             ("cp_stored", "cp_complete", "cp_notify", "tx_commit")]  # fmt: skip
    assert steps == ["cp_stored", "cp_complete", "cp_notify", "tx_commit", "tx_commit"]
    assert {event.process for event in own if event.kind == "tx_commit"} == {"sink.committer"}
    pending = next(extra["pending"] for event, extra in of_kind(run, RECORD_STATE)
                   if event.process == "sink.committer")  # fmt: skip
    assert sorted(pending) == ["sink[0]-t1", "sink[1]-t1"]


def test_a_pipeline_has_one_checkpoint_at_a_time():
    run = run_seatunnel(a_job(interval=1_000))
    waiting = set()
    for event, extra in of_kind(run, "cp_trigger", "cp_notified"):
        if event.kind == "cp_trigger":
            assert not waiting
            waiting = set(extra["to_ack"])
        else:
            waiting.discard(event.process)
    assert {"one is under way"} <= {
        extra.get("dropped") for _, extra in of_kind(run, "cp_decision")
    }


def test_a_job_ends_with_the_completed_point_which_is_not_stored():
    run = run_seatunnel(a_job())
    triggers = [(event.snapshot, extra) for event, extra in of_kind(run, "cp_trigger")]
    last, extra = triggers[-1]
    assert extra["type"] == COMPLETED_POINT
    assert extra["checkpoint"] == str(2**63 - 1)
    assert extra["prepare_close"] == extra["to_ack"]
    stored = {event.snapshot for event, _ in of_kind(run, "cp_stored")}
    assert stored == {snapshot for snapshot, _ in triggers[:-1]}
    assert run.counted.completed[-1] == int(last)
    assert run.counted.lost == run.counted.duplicates == {"sink": 0}
    assert run.counted.finished


def test_a_job_without_an_interval_has_only_the_completed_point():
    run = run_seatunnel(a_job(interval=None))
    assert [extra["type"] for _, extra in of_kind(run, "cp_trigger")] == [COMPLETED_POINT]
    assert run.counted.finished


def test_a_savepoint_ends_the_job_and_leaves_nothing_uncommitted():
    run = run_seatunnel(a_job(savepoint=10_000))
    *_, (_, extra) = of_kind(run, "cp_trigger")
    assert extra["type"] == SAVEPOINT
    read = len(of_kind(run, "read"))
    assert 0 < read < 80
    assert len(run.counted.visible["sink"]) == read
    assert run.counted.lost == {"sink": 0}
    assert not run.counted.finished
    assert len(of_kind(run, "finish")) == 8


def test_a_pipeline_that_fails_leaves_the_other_alone():
    run = run_seatunnel(
        a_job(two_pipelines(), failures=((12_500, "sink[0]"),), restart_delay=10_000)
    )
    back = {event.process for event, _ in of_kind(run, "restore", "restart")}
    assert back == {"source.enumerator", "source[0]", "sink[0]", "sink.committer"}
    during = {event.process for event, _ in of_kind(run, "read") if 12_500 < event.at < 22_500}
    assert during == {"other[0]"}
    triggers = {extra["pipeline"] for event, extra in of_kind(run, "cp_trigger")
                if 12_500 < event.at < 22_500}  # fmt: skip
    assert triggers == {2}
    assert {report.verdict for cid, report in reports(run).items()
            if cid in run.counted.completed} == {"consistent"}  # fmt: skip
    assert run.counted.finished
    (failover,) = failovers(assemble(*run.log).recording)
    assert (failover.strategy, failover.tasks_restarted) == ("pipeline", 4)


def test_a_pipeline_without_retries_left_stays_down():
    run = run_seatunnel(a_job(two_pipelines(), retries=0, failures=((12_000, "source[0]"),)))
    assert not run.counted.finished
    assert run.counted.lost["sink"] > 0
    assert run.counted.lost["archive"] == 0
    assert {event.process for event, _ in of_kind(run, "finish")} == {
        *("other.enumerator", "other[0]", "archive[0]", "archive.committer")
    }


def test_a_checkpoint_that_times_out_fails_its_pipeline_and_nobody_is_told():
    run = run_seatunnel(a_job(timeout=500, retries=1))
    assert len(of_kind(run, "job_fail")) == 2
    assert set(run.counted.aborted.values()) == {"expired"}
    assert not of_kind(run, "cp_notify")
    report = checkpoints(assemble(*run.log).recording)[0]
    assert report.status == "expired"
    assert report.sentence.startswith("It was given up after 500 µs, because its time was over: ")


def test_a_transaction_complete_but_not_committed_is_committed_by_the_restore():
    calm = run_seatunnel(a_job())
    at = of_kind(calm, "cp_complete")[0][0].at + 50
    run = run_seatunnel(a_job(failures=((at, "sink.committer"),)))
    assert {event.process for event, _ in of_kind(run, "tx_recover_commit")} == {"sink.committer"}
    assert run.counted.duplicates == run.counted.lost == {"sink": 0}


def test_a_file_of_a_checkpoint_that_was_dropped_meanwhile_is_not_told():
    acks = of_kind(run_seatunnel(a_job(store_time=2_000)), "cp_ack")
    stored_from = max(event.at for event, _ in acks if event.snapshot == "1") + 500
    run = run_seatunnel(a_job(store_time=2_000, failures=((stored_from, "sink[0]"),)))
    assert "1" in {event.snapshot for event, _ in of_kind(run, "cp_abort")}
    assert "1" not in {event.snapshot for event, _ in of_kind(run, "cp_stored")}


def test_a_committer_commits_again_when_it_is_back_itself():
    run = run_seatunnel(a_job(failures=((8_800, "sink[0]"),)))
    recovered, back = of_kind(run, "tx_recover_commit"), of_kind(run, "restore")
    assert recovered
    (committer,) = (event for event, _ in back if event.process == "sink.committer")
    assert all(event.index > committer.index for event, _ in recovered)


def test_every_request_has_its_answer():
    """A savepoint is answered, too, that has to wait, or finds its pipeline down or ending."""
    told = Counter()
    for at in range(5_000, 60_000, 2_500):
        job = a_job(savepoint=at, failures=((12_000, "sink[0]"),), interval=1_500)
        recording = assemble(*run_seatunnel(job).log).recording
        found = decisions(recording)
        kinds = [event.kind for event in recording.events["coordinator"]]
        assert kinds.count("cp_request") == len(found)
        assert all(item.checkpoint or item.dropped or item.waits for item in found)
        reports = {report.checkpoint: report for report in checkpoints(recording)}
        for item in found:
            if item.checkpoint:
                assert (item.reason == "periodic") == (reports[item.checkpoint].kind == CHECKPOINT)
            told[item.reason, item.dropped or item.waits] += 1
    assert {(SAVEPOINT, "tasks not ready"), (SAVEPOINT, True), (SAVEPOINT, "the pipeline ends")} < (
        told.keys()
    )


def test_every_split_is_once_in_every_checkpoint_of_enumerator_and_readers():
    run = run_seatunnel(a_job(word_count(3), interval=1_500, assign_every=3_000))
    found = [splits_in(run, cid) for cid in run.counted.completed]
    assert all(splits == {f"source[{n}]": 1 for n in range(3)} for splits in found)
    waiting = {len(parsed(event.state)["splits"]) for event, _ in of_kind(run, RECORD_STATE)
               if event.process == "source.enumerator"}  # fmt: skip
    assert len(waiting) > 1


@pytest.mark.parametrize("parallelism", [1, 2, 3, 5])
def test_a_job_goes_on_from_a_savepoint_with_another_parallelism(parallelism):
    before = {"source": 3, "count": 3, "sink": 3}
    job = a_job(word_count(parallelism), start_from=StartFrom(9_000, before))
    run = run_seatunnel(job)
    returned = [extra for _, extra in of_kind(run, "split_returned")]
    assert [extra["from"] for extra in returned] == ["source[0]", "source[1]", "source[2]"]
    owners = {extra["to"] for extra in returned}
    assert len(owners) == min(3, parallelism)
    whole = run_seatunnel(a_job(word_count(3)))
    assert merged(run) == merged(whole)
    assert seen_at(run, "sink") == seen_at(whole, "sink")
    assert 0 < len(of_kind(run, "read")) < 120
    for cid, report in reports(run).items():
        assert report.verdict == "consistent"
        assert splits_in(run, cid) == {f"source[{n}]": 1 for n in range(3)}


def test_a_failure_soon_after_goes_back_to_the_savepoint():
    job = a_job(start_from=StartFrom(9_000, {"source": 3, "count": 1, "sink": 4}))
    run = run_seatunnel(replace(job, failures=(FailAt(2_000, "count[1]"),)))
    calm = run_seatunnel(job)
    assert merged(run) == merged(calm)
    assert seen_at(run, "sink") == seen_at(calm, "sink")
    assert not any(run.counted.duplicates.values())


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("checkpoints.interval", {"interval": 0}),
        ("checkpoints.retries", {"retries": -1}),
        ("checkpoints.timeout", {"timeout": None}),
        ("buffer", {"buffer": 0}),
        ("savepoint", {"savepoint": -1}),
        ("failures[0].process", {"failures": ((1, "coordinator"),)}),
        ("slow.nobody", {"slow": {"nobody": 2}}),
        ("start_from.at", {"start_from": StartFrom(-1)}),
        ("start_from.parallelism.nobody", {"start_from": StartFrom(1, {"nobody": 1})}),
        ("start_from.parallelism", {"start_from": StartFrom(1, {"source": 0})}),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(field, options):
    with pytest.raises(DataflowRefused) as refused:
        a_job(**options)
    assert refused.value.field == field


def test_a_run_that_comes_to_no_savepoint_is_nothing_to_start_from():
    with pytest.raises(DataflowRefused) as refused:
        run_seatunnel(a_job(timeout=1, start_from=StartFrom(10_000)))
    assert refused.value.field == "start_from.at"


def test_a_job_that_had_ended_before_its_savepoint_has_nothing_left_to_read():
    run = run_seatunnel(a_job(start_from=StartFrom(10_000_000, {"source": 3})))
    assert not of_kind(run, "read")
    assert run.counted.finished
    assert run.counted.lost == run.counted.duplicates == {"sink": 0}


@pytest.mark.parametrize("sample", SEATUNNEL_SAMPLES, ids=lambda sample: sample.slug)
def test_samples_have_no_defects_and_are_consistent(sample):
    assembly = assemble(*sample.log())
    assert assembly.defects == ()
    assert {report.verdict for report in judge(assembly.recording)} == {"consistent"}
    kinds = {event.kind for event in sample.log().events}
    assert {"split_returned", "crash", "restore"} <= kinds
    kept = [vertex["sink"] for vertex in sample.log().header.extra["dataflow"]["vertices"]]
    assert ("tx_commit" in kinds) == ("two-phase" in kept)


def test_a_join_of_two_sources_waits_for_both_enumerators():
    flow = Dataflow(
        (a_source(), a_source("other", records=5), an_operator("join", "join"), a_sink()),
        (Edge("source", "join", HASH), Edge("other", "join", HASH), Edge("join", "sink", FORWARD)),
    )
    run = run_seatunnel(a_job(flow))
    closing = of_kind(run, "cp_trigger")[-1][0]
    ends = [event for event, _ in of_kind(run, "end") if event.process.endswith(".enumerator")]
    assert len(ends) == 2
    assert all(event.line < closing.line for event in ends)
