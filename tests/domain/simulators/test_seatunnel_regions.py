"""Regional failures of SeaTunnel's jobs: who restarts, what is skipped, and what each sink shows.

DATAFLOW_EXAMPLES=200 tries that many generated jobs.
"""

import os
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.dataflow import PLAIN, TWO_PHASE, DataflowRefused
from snapshots.domain.dataflow_logs.events import DISCARDED, SKIPPED
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.protocols import seatunnel_task
from snapshots.domain.simulators.seatunnel.regions import GO_ON, REGION, RESTART, Taken
from snapshots.domain.simulators.seatunnel.simulation import run_seatunnel
from snapshots.simulating.sinks_and_sources import table
from tests.dataflows import differences, word_count
from tests.domain.simulators.seatunnel import a_job, merged, of_kind, reports, seen_at
from tests.domain.simulators.test_seatunnel_failures import any_job, sinks_of
from tests.effort import examples
from tests.stack import ROOT

pytestmark = pytest.mark.slow

SEEDS = range(int(os.environ.get("DATAFLOW_EXAMPLES") or examples(12)))


def told(run):
    return all_failovers(assemble(*run.log).recording)


def any_failing_job(seed):
    """The same job without a failure and with up to three."""
    rng = Random(seed)
    calm = replace(any_job(rng), failover=REGION)
    end = run_seatunnel(calm).log.events[-1].at
    who = [name for name in calm.topology().process_by_id if not name.startswith("coordinator")]
    sources = [vertex.id for vertex in calm.dataflow.vertices if vertex.kind == "source"]
    return calm, replace(
        calm,
        failures=tuple(
            FailAt(rng.randint(0, end), rng.choice(who)) for _ in range(rng.randint(1, 3))
        ),
        unrepeatable=tuple(rng.sample(sources, rng.randint(0, len(sources)))),
        on_unrepeatable=rng.choice((RESTART, GO_ON)),
    )


def assert_the_log_tells(run):
    """Compare each count of the analysis with what the simulator counted."""
    counted, found = run.counted, told(run)
    assert differences(run) == []
    assert [(r.process, r.scope, r.restarted_at, r.caught_up_at) for r in found.reports] == [
        (f.process, f.scope, f.restarted_at, f.caught_up_at) for f in counted.failures
    ]
    vertices = run.log.header.extra["dataflow"]["vertices"]
    operators = [vertex["id"] for vertex in vertices if vertex["kind"] == "operator"]
    for name in ("skipped", "skipped_differing"):
        parts = [getattr(report, name) for report in found.reports]
        assert sum(parts) == sum(getattr(counted, name).values())
    twice = sum(report.counted_twice for report in found.reports)
    assert twice == sum(counted.taken_twice[name] for name in operators)
    for total in found.sinks:
        effect = total.effect
        assert effect.skipped == counted.skipped[effect.sink]
        assert effect.skipped_differing == counted.skipped_differing[effect.sink]
        parts = [e for r in found.reports for e in r.sinks if e.sink == effect.sink]
        for name in ("repeated", "duplicates", "rewritten", "skipped", "lost"):
            assert sum(getattr(part, name) for part in parts) == getattr(effect, name), name


def test_generated_jobs_end_right_and_their_logs_tell_what_was_counted():
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        calm, failing = any_failing_job(seed)
        expected, failed = run_seatunnel(calm), run_seatunnel(failing)
        counted = failed.counted
        assert counted.finished, seed
        assert not any(counted.lost.values()), seed
        assert_the_log_tells(failed)
        found = reports(failed)
        for cid in counted.completed:
            assert found[cid].counts == {"consistent": 1}, (seed, cid)
        if not (failing.unrepeatable and failing.on_unrepeatable == GO_ON):
            assert not counted.taken_twice, seed
            for sink in sinks_of(failed, TWO_PHASE):
                assert seen_at(failed, sink) == seen_at(expected, sink), (seed, sink)
            if not counted.skipped_differing:
                assert merged(failed) == merged(expected), seed
        seen["skipped"] += bool(counted.skipped)
        seen["taken twice"] += bool(counted.taken_twice)
    assert seen["skipped"]
    assert seen["taken twice"] or len(SEEDS) < 12


def a_failing_job(process="source[0]", at=16_000, *, sink=TWO_PHASE, **options):
    flow = word_count(sink=sink, records=60)
    return a_job(flow, failures=((at, process),), failover=REGION, **options)


def test_the_failed_vertex_and_those_before_it_restart_and_the_others_go_on():
    scopes = {}
    for process in ("source.enumerator", "source[1]", "count[0]", "sink[0]", "sink.committer"):
        (report,) = told(run_seatunnel(a_failing_job(process))).reports
        scopes[process] = ({name.split("[")[0].split(".")[0] for name in report.scope},
                           report.strategy)  # fmt: skip
    assert scopes == {
        "source.enumerator": ({"source"}, "upstream"),
        "source[1]": ({"source"}, "upstream"),
        "count[0]": ({"source", "count"}, "upstream"),
        "sink[0]": ({"source", "count", "sink"}, "full"),
        "sink.committer": ({"source", "count", "sink"}, "full"),
    }


def test_what_comes_again_is_skipped_where_it_was_taken_and_nobody_behind_hears_of_it():
    run = run_seatunnel(a_failing_job(sink=PLAIN))
    assert run.counted.duplicates == run.counted.lost == {"sink": 0}
    skipped = [(e, extra) for e, extra in of_kind(run, "receive") if e.label == SKIPPED]
    assert len(skipped) == run.counted.skipped["count"] > 0
    assert not run.counted.skipped["sink"]
    for event, extra in skipped:
        own = [(e, other) for e, other in of_kind(run, "receive") if e.process == event.process]
        first, again = [e for e, other in own if other["rid"] == extra["rid"]]
        assert (first.label, again, first.value) == (None, event, event.value)
    (report,) = told(run).reports
    number = report.skipped
    assert f"{number} records that came again were skipped by their ids" in report.sentence
    assert "3 tasks of its vertex and of those before it" in report.sentence


def test_a_source_that_cannot_repeat_takes_the_pipeline_with_it():
    options = {"unrepeatable": ("source",), "on_unrepeatable": RESTART}
    run = run_seatunnel(a_failing_job(**options))
    (report,) = told(run).reports
    assert report.strategy == "full"
    assert report.unrepeatable == ("source",)
    assert "because source cannot give the same records again" in report.sentence
    assert not run.counted.skipped
    assert run.counted.duplicates == {"sink": 0}


@pytest.mark.parametrize("sink", ["plain", "idempotent", "two-phase"])
def test_if_it_goes_on_all_the_same_states_and_sinks_have_it_twice(sink):
    options = {"unrepeatable": ("source",), "on_unrepeatable": GO_ON}
    run = run_seatunnel(a_failing_job(sink=sink, **options))
    (report,) = told(run).reports
    again = run.counted.taken_twice["count"]
    assert report.counted_twice == again > 0
    assert report.skipped == 0
    assert "nothing was skipped, because source cannot give the same" in report.sentence
    assert run.counted.duplicates["sink"] == (0 if sink == "idempotent" else again)
    assert run.counted.rewritten["sink"] == (again if sink == "idempotent" else 0)


def test_a_checkpoint_under_way_is_given_up_also_by_those_that_go_on():
    calm = run_seatunnel(replace(a_failing_job(), failures=()))
    sent = next(e for e, _ in of_kind(calm, "marker_send") if e.process == "source[0]"
                and e.snapshot == "2")  # fmt: skip
    run = run_seatunnel(a_failing_job(at=sent.at + 10))
    assert run.counted.aborted == {2: "failover"}
    late = [e for e, _ in of_kind(run, "marker_receive") if e.snapshot == "2"]
    assert any(e.label == DISCARDED and e.process.startswith("count") for e in late)
    crash = next(event for event, _ in of_kind(run, "crash"))
    blocked = Counter(e.channel for e, _ in of_kind(run, "block") if e.snapshot == "2")
    assert blocked == Counter(e.channel for e, _ in of_kind(run, "unblock") if e.snapshot == "2")
    assert all(e.at <= crash.at for e, _ in of_kind(run, "unblock") if e.snapshot == "2")
    assert run.counted.finished
    assert merged(run) == merged(calm)


def test_a_failure_during_a_restart_restarts_both_parts_together():
    failures = ((16_000, "source[0]"), (17_000, "count[1]"))
    run = run_seatunnel(replace(a_failing_job(), failures=tuple(FailAt(*f) for f in failures)))
    first, second = told(run).reports
    assert first.restarted_at is None
    assert second.restarted_at == 27_000
    assert set(first.scope) < set(second.scope)
    assert run.counted.finished


class Turning:
    """The tasks' functions with an enumerator that hands each split to the next reader in turn."""

    def __init__(self):
        self.turn = 0

    def __getattr__(self, name):
        return getattr(seatunnel_task, name)

    def owners(self, splits, loads):
        owners = []
        for split in splits:
            owners.append((split, list(loads)[self.turn % len(loads)]))
            self.turn += 1 + (self.turn % 3 == 2)
        return tuple(owners)


def test_a_split_goes_back_to_the_reader_that_had_it():
    job = replace(a_failing_job(), dataflow=word_count(3, records=60))
    run = run_seatunnel(job, steps=Turning())
    given = [(extra["rid"][0], e.channel) for e, extra in of_kind(run, "send")
             if e.process == "source.enumerator"]  # fmt: skip
    assert len(given) == 6
    assert len(set(given)) == 3


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("failover", {"failover": "full"}),
        ("unrepeatable[0]", {"unrepeatable": ("count",)}),
        ("on_unrepeatable", {"on_unrepeatable": "hope"}),
    ],
)
def test_what_cannot_be_is_refused_with_the_field(field, options):
    with pytest.raises(DataflowRefused) as refused:
        a_job(**options)
    assert refused.value.field == field


def test_without_the_list_of_taken_records_in_checkpoints_what_is_skipped_differs(monkeypatch):
    """The rule that a checkpoint holds what was taken, broken."""
    monkeypatch.setattr(Taken, "go_back", lambda self, cid: None)
    wrong = 0
    for at in range(8_000, 20_000, 1_000):
        job = a_failing_job("sink[0]", at)
        run = run_seatunnel(job)
        wrong += run.counted.lost["sink"] > 0
    assert wrong


def test_the_table_of_sinks_and_sources_is_up_to_date():
    page = (ROOT / "docs" / "formats" / "protocols.md").read_text()
    assert table() in page, "Write it again: python -m snapshots.simulating.sinks_and_sources"
