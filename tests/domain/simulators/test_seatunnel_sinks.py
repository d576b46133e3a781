"""What a failure does to each kind of sink of a simulated SeaTunnel job, and what its log says."""

from functools import cache

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.dataflow import DataflowRefused
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.simulators.seatunnel.simulation import run_seatunnel
from tests.dataflows import differences, word_count
from tests.domain.simulators.seatunnel import a_job, merged, of_kind, reports

KINDS = {
    "plain": ("plain", ()),
    "idempotent": ("idempotent", ()),
    "committer": ("two-phase", ()),
    "writer": ("two-phase", ("sink",)),
}


def a_run(kind, **options):
    sink, writer_commits = KINDS[kind]
    return run_seatunnel(a_job(word_count(sink=sink), writer_commits=writer_commits, **options))


@cache
def after_completion(kind):
    """The run of a job that fails when a checkpoint has just completed and no task knows it."""
    at = of_kind(a_run(kind), "cp_complete")[0][0].at + 50
    return a_run(kind, failures=((at, "sink[1]"),))


def effect_of(run):
    (report,) = all_failovers(assemble(*run.log).recording).reports
    return report.sinks[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_log_tells_what_the_simulator_counted_at_each_kind_of_sink(kind):
    runs = [a_run(kind, failures=((at, "sink[0]"),)) for at in range(7_000, 14_000, 2_000)]
    runs.append(after_completion(kind))
    assert [differences(run) for run in runs] == [[]] * len(runs)
    assert all(run.counted.finished and merged(run) == merged(runs[0]) for run in runs)
    assert any(run.counted.duplicates["sink"] for run in runs) == (kind == "plain")
    assert any(run.counted.lost["sink"] for run in runs) == (kind == "writer")


def test_a_writer_that_commits_by_itself_has_no_committer_and_hands_on_no_transaction():
    run = a_run("writer")
    assert "sink.committer" not in {process.id for process in run.log.header.topology.processes}
    commits = {event.process for event, _ in of_kind(run, "tx_commit")}
    assert commits == {"sink[0]", "sink[1]"}
    assert run.counted.lost == run.counted.duplicates == {"sink": 0}
    assert {report.verdict for report in reports(run).values()} == {"consistent"}
    listed = [extra["pending"] for event, extra in of_kind(run, "record_state")
              if event.process == "sink[0]"]  # fmt: skip
    assert listed == [[]] * len(listed) != []


def test_a_writer_commits_after_the_word_of_completion_and_before_it_confirms():
    events = of_kind(a_run("writer"), "cp_notified", "tx_commit")
    of_first = [event for event, _ in events if (event.process, event.snapshot) == ("sink[0]", "1")]
    assert [event.kind for event in of_first] == ["cp_notified", "tx_commit"]


def test_the_same_failure_at_each_kind_of_sink_in_words_and_counts():
    effects = {kind: effect_of(after_completion(kind)) for kind in KINDS}
    again = effects["plain"].repeated
    assert again > 0
    assert {effect.repeated for effect in effects.values()} == {again}
    assert effects["plain"].duplicates == effects["idempotent"].rewritten == again
    assert effects["committer"].recovered == effects["writer"].forgotten == 2
    assert effects["committer"].forgotten == effects["writer"].recovered == 0
    assert effects["writer"].lost == after_completion("writer").counted.lost["sink"] > 0
    assert [effects[kind].committed_by for kind in KINDS] == [None, None, "committer", "writer"]
    lost = effects["writer"].lost
    assert {kind: effect.sentence for kind, effect in effects.items()} == {
        "plain": f"sink shows every write: {again} records were written again, and {again} records "
        "are there twice. Of the records that reached it, none is lost.",
        "idempotent": "sink puts a repeated write in the place of the first: "
        f"{again} records were written again, and none is there twice. "
        "Of the records that reached it, none is lost.",
        "committer": f"sink shows what its committer has committed: {again} records were written "
        "again, and none is there twice. The restart committed 2 transactions that the checkpoint "
        "lists and that nothing had committed before. 2 transactions were given up. "
        "Of the records that reached it, none is lost.",
        "writer": f"sink shows what each writer has committed by itself: {again} records were "
        "written again, and none is there twice. 4 transactions were given up, 2 of them although "
        f"their checkpoint had completed: the restart did not commit them. "
        f"{lost} records are lost.",
    }


def test_what_is_lost_is_not_known_while_records_are_still_to_come():
    run = a_run("writer", failures=((9_000, "sink[0]"),), most_events=700)
    assert not run.counted.finished
    assert "Whether a record is lost is not known" in effect_of(run).sentence


@pytest.mark.parametrize("name", ["nobody", "source", "count"])
def test_only_the_writers_of_a_two_phase_sink_can_commit(name):
    with pytest.raises(DataflowRefused) as refused:
        a_job(writer_commits=("sink", name))
    assert refused.value.field == "writer_commits[1]"
