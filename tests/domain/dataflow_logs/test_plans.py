"""The plan of a SeaTunnel job, and the steps of its starts."""

from random import Random

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import protocol_events
from snapshots.domain.dataflow_logs.control.events import BACK_KINDS
from snapshots.domain.dataflow_logs.pipelines import WHY_NO_EDGES, pipelines_of
from snapshots.domain.dataflow_logs.start_protocol import NOT_STORED, starts_of
from snapshots.domain.model.recording import Recording
from snapshots.domain.simulators.dataflow_samples import SAMPLES_OF_DATAFLOWS
from snapshots.domain.simulators.seatunnel.simulation import run_seatunnel
from tests.dataflows import two_pipelines
from tests.domain.dataflow_logs.control_rules import Rules
from tests.domain.simulators.seatunnel import a_job

SAMPLE = next(each for each in SAMPLES_OF_DATAFLOWS if each.slug == "splits-change-hands")


def planned(recording: Recording, **options: object):
    """Return the pipelines and the starts of each."""
    rules = Rules(recording)
    document = options.pop("document", recording.header_extra["dataflow"])
    pipelines = pipelines_of(rules.plan, document, rules.all, options.pop("state", {}))
    return pipelines, [starts_of(each, rules.all, is_derived=False) for each in pipelines]


def test_the_plan_of_the_sample_has_its_starting_point_and_all_vertices_in_order():
    recording = assemble(*SAMPLE.log()).recording
    [pipeline], [starts] = planned(recording, state={"orders[0]": True, "files[0]": False})
    assert pipeline.starts == ("orders.enumerator",)
    assert [(v.id, v.kind, v.parallelism, v.inputs) for v in pipeline.vertices] == [
        ("orders", "source", 2, ()),
        ("count", "operator", 2, ("orders",)),
        ("files", "sink", 2, ("count",)),
    ]
    assert [v.with_state for v in pipeline.vertices] == [("orders[0]",), None, ()]
    assert [start.checkpoint for start in starts] == ["2", "3"]
    steps = {step.name: step for step in starts[1].steps}
    assert (steps["states handed out"].first.at, len(steps["states handed out"].events)) == (
        35_000,
        8,
    )
    assert steps["WAITING_RESTORE"].events == ()
    assert "no event" in steps["WAITING_RESTORE"].why
    assert steps["restoreState, READY_START"].waits.endswith("files.committer")
    assert [e.process for e in steps["notify complete, once more"].events] == [
        "files.committer",
        "files.committer",
    ]
    assert steps["RUNNING"].last.process == "files[1]"
    assert steps["completed point"].is_end


def test_without_edges_the_vertices_keep_their_order_and_a_sentence_says_why():
    recording = assemble(*SAMPLE.log()).recording
    document = {**recording.header_extra["dataflow"], "edges": []}
    [pipeline], _ = planned(recording, document=document)
    assert [vertex.id for vertex in pipeline.vertices] == ["orders", "count", "files"]
    assert pipeline.why_no_edges == WHY_NO_EDGES
    assert planned(recording)[0][0].why_no_edges is None


def test_of_a_recording_made_of_files_no_step_is_known_and_each_says_why():
    rules = Rules(assemble(*SAMPLE.log()).recording)
    [pipeline] = pipelines_of(rules.plan, None, rules.all, {})
    [start] = starts_of(pipeline, rules.all, is_derived=True)
    assert all(step.why == NOT_STORED and not step.events for step in start.steps)


@pytest.mark.parametrize("seed", range(6))
def test_each_pipeline_has_a_plan_and_each_restore_belongs_to_one_start(seed):
    rng = Random(seed)
    dataflow = two_pipelines()
    names = [subtask.id for subtask in dataflow.subtasks]
    failures = tuple(
        (rng.randint(5_000, 40_000), rng.choice(names)) for _ in range(rng.randint(0, 2))
    )
    recording = assemble(*run_seatunnel(a_job(dataflow, failures=failures)).log).recording
    pipelines, starts = planned(recording)
    assert [each.coordinator for each in pipelines] == ["coordinator 1", "coordinator 2"]
    assert [each.starts for each in pipelines] == [("source.enumerator",), ("other.enumerator",)]
    backs = protocol_events(recording, BACK_KINDS)
    handed = [
        event
        for each in starts
        for start in each
        for step in start.steps
        if step.name == "states handed out"
        for event in step.events
    ]
    assert sorted(event.step for event in handed) == [event.step for event in backs]
    for each in starts:
        for start in each:
            [step] = (s for s in start.steps if s.name == "states handed out")
            assert len({event.process for event in step.events}) == len(step.events)
