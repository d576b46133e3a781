"""Changes of the schema in simulated SeaTunnel jobs, and what their logs say of them."""

from functools import cache

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints, decisions, run_of
from snapshots.domain.dataflow_logs.dataflow import DataflowRefused
from snapshots.domain.simulators.protocols.seatunnel import (
    CHECKPOINT,
    SCHEMA_AFTER,
    SCHEMA_BEFORE,
    SCHEMA_POINTS,
)
from snapshots.domain.simulators.seatunnel.schema_changes import SchemaChange
from snapshots.domain.simulators.seatunnel.simulation import StartFrom, run_seatunnel
from tests.dataflows import differences, two_pipelines, word_count
from tests.domain.simulators.seatunnel import a_job, merged, of_kind, reports, seen_at

ONE_CHANGE = (SchemaChange("source[0]", 20),)
WRITERS = ("sink[0]", "sink[1]")


@cache
def a_run(**options):
    return run_seatunnel(a_job(**{"schema_changes": ONE_CHANGE, "interval": 3_000, **options}))


@cache
def failing_after(kind, count=1):
    """The run whose second source fails just after the ``count``-th event of the kind."""
    at = of_kind(a_run(), kind)[count - 1][0].at + 1
    return a_run(failures=((at, "source[1]"),))


def points_of(run):
    points = [report.schema_point for report in checkpoints(assemble(*run.log).recording)]
    return [point for point in points if point is not None]


def test_a_reader_stops_for_a_point_before_the_change_and_one_after_it():
    run = a_run()
    steps = [
        (event.kind, event.snapshot or extra.get("offset"))
        for event, extra in of_kind(run, "schema_stop", "schema_out", "schema_resume", "read")
        if event.process == "source[0]" and (event.kind != "read" or extra["offset"] in (20, 21))
    ]
    triggered = {extra["type"]: event.snapshot for event, extra in of_kind(run, "cp_trigger")}
    before, after = triggered[SCHEMA_BEFORE], triggered[SCHEMA_AFTER]
    out = ("schema_out", before)
    assert steps == [
        ("read", 20),
        ("schema_stop", 21),
        out,
        out,
        ("schema_resume", after),
        ("read", 21),
    ]
    assert int(after) == int(before) + 1
    assert run.counted.lost == run.counted.duplicates == {"sink": 0}
    assert {report.verdict for report in reports(run).values()} == {"consistent"}


def test_every_record_before_the_change_is_committed_before_a_writer_follows_it():
    run = a_run()
    first = min(event.line for event, _ in of_kind(run, "schema_apply"))
    committed = {extra["tx"] for event, extra in of_kind(run, "tx_commit") if event.line < first}
    written = [
        (extra, event.line < first)
        for event, extra in of_kind(run, "write")
        if extra["rid"][0] == "source[0]"
    ]
    assert {(extra["rid"][1] <= 20, is_before) for extra, is_before in written} == {
        (True, True),
        (False, False),
    }
    assert {extra["tx"] for extra, is_before in written if is_before} <= committed


def test_the_other_reader_goes_on_and_no_other_checkpoint_begins():
    run = a_run()
    (stop,) = run.counted.schema_stops
    meanwhile = [
        (event.process, extra)
        for event, extra in of_kind(run, "read", "cp_trigger", "cp_decision")
        if stop.at < event.at < stop.until
    ]
    assert {process for process, extra in meanwhile if "offset" in extra} == {"source[1]"}
    types = [extra["type"] for _, extra in meanwhile if "type" in extra]
    assert types[:2] == [SCHEMA_BEFORE, SCHEMA_AFTER]
    assert "the schema is changing" in {extra.get("dropped") for _, extra in meanwhile}
    types = [extra["type"] for _, extra in of_kind(run, "cp_trigger")]
    assert CHECKPOINT in types[: types.index(SCHEMA_BEFORE)]
    assert CHECKPOINT in types[types.index(SCHEMA_AFTER) :]


FAILURES = [("schema_stop", 1), ("schema_out", 1), ("schema_apply", 2), ("schema_resume", 1)]


def test_the_log_tells_of_changes_what_the_simulator_counted():
    seen = set()
    for run in (a_run(), *(failing_after(*moment) for moment in FAILURES)):
        stops = run_of(assemble(*run.log).recording).schema_stops
        changes = [stop.change for stop in stops]
        assert [
            (change.reader, change.stopped_at, change.ended_at if change.end == "resumed" else None)
            for change in changes
        ] == [(stop.process, stop.at, stop.until) for stop in run.counted.schema_stops]
        counted = run.counted.schema_applied
        assert sum(len(change.changed) for change in changes) == counted.total()
        assert sum(change.changed_again for change in changes) == counted.total() - len(counted)
        assert set(counted) == {(writer, 2) for writer in WRITERS}
        assert differences(run) == []
        assert run.counted.finished
        assert merged(run) == merged(a_run())
        assert seen_at(run, "sink") == seen_at(a_run(), "sink")
        seen |= {(change.end, change.changed_again) for change in changes}
    assert seen == {("resumed", 0), ("failed", 0), ("resumed", 2)}


def test_each_point_says_who_stood_still_and_who_changed():
    (stop,) = a_run().counted.schema_stops
    before, after = points_of(a_run())
    assert (before.is_before, after.is_before) == (True, False)
    assert before.change == after.change
    assert before.change.changed == after.change.changed
    assert sorted(after.change.changed) == [*WRITERS]
    told = decisions(assemble(*a_run().log).recording)
    put_off = [item for item in told if item.dropped == "the schema is changing"]
    assert before.put_off == after.put_off == len(put_off) > 0
    took = f"{(stop.until - stop.at) / 1000:.3g} ms"
    assert before.sentence == (
        "source[0] had stopped for it at offset 21 of source[0], where schema 2 begins; "
        f"source[0] stood still for {took}. {len(put_off)} requests for other checkpoints were put "
        "off meanwhile."
    )
    first, second = after.change.changed
    assert after.sentence == (
        f"{first} and {second} changed to schema 2; source[0] stood still for {took}."
    )


def test_a_change_cut_short_by_a_failure_is_made_again():
    *_, after = points_of(failing_after("schema_apply", 2))
    assert after.change.changed_again == 2
    assert after.sentence.endswith("2 writers made the same change a second time, after a failure.")
    first, *_ = points_of(failing_after("schema_out"))
    assert "failed" in first.sentence
    assert "before it read on" in first.sentence


def test_a_log_that_ends_in_a_change_does_not_say_that_the_reader_read_on():
    line = of_kind(a_run(), "schema_out")[0][0].line
    run = a_run(most_events=line)
    (point,) = points_of(run)
    assert point.change.end == "open"
    assert "source[0] still stood still when the log ends" in point.sentence


def test_two_changes_of_one_split_are_two_schemas():
    run = a_run(schema_changes=(SchemaChange("source[0]", 30), SchemaChange("source[0]", 10)))
    schemas = [extra["schema"] for _, extra in of_kind(run, "schema_stop")]
    assert schemas == [2, 3]
    assert set(run.counted.schema_applied.values()) == {1}
    assert len(run.counted.schema_applied) == 4


def test_a_savepoint_waits_until_the_schema_has_changed():
    (stop,) = a_run().counted.schema_stops
    run = a_run(savepoint=(stop.at + stop.until) // 2)
    types = [extra["type"] for _, extra in of_kind(run, "cp_trigger")]
    assert types[-3:] == [SCHEMA_BEFORE, SCHEMA_AFTER, "savepoint"]
    start_from = StartFrom((stop.at + stop.until) // 2)
    again = run_seatunnel(a_job(schema_changes=ONE_CHANGE, start_from=start_from))
    assert not of_kind(again, "schema_stop")
    assert seen_at(again, "sink") == seen_at(a_run(), "sink")


def test_a_change_stops_the_checkpoints_of_its_pipeline_only():
    run = a_run(flow=two_pipelines(), schema_changes=ONE_CHANGE)
    (stop,) = run.counted.schema_stops
    types = {
        extra["pipeline"]: extra["type"]
        for event, extra in of_kind(run, "cp_trigger")
        if stop.at < event.at < stop.until
    }
    assert types[1] in SCHEMA_POINTS
    assert types[2] == CHECKPOINT
    assert set(run.counted.schema_applied) == {("sink[0]", 2)}


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("schema_changes[0].split", [("nobody[0]", 1)]),
        ("schema_changes[0].split", [("count[0]", 1)]),
        ("schema_changes[0].after", [("source[0]", 0)]),
        ("schema_changes[0].after", [("source[0]", 40)]),
        ("schema_changes[1].split", [("source[0]", 5), ("source[1]", 9)]),
        ("schema_changes[1]", [("source[0]", 5), ("source[0]", 5)]),
    ],
)
def test_a_change_that_no_reader_can_meet_is_refused(field, changes):
    with pytest.raises(DataflowRefused) as refused:
        a_job(word_count(), schema_changes=tuple(SchemaChange(*change) for change in changes))
    assert refused.value.field == field
