"""The graph of global states of a stored recording, over the API."""

from dataclasses import replace

import pytest

from snapshots.answers import global_states
from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.causality.global_states import whole
from snapshots.domain.causality.state_graph_report import Recorded, report
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.as_json import as_json
from snapshots.domain.simulators import samples
from snapshots.domain.simulators.script import Log
from snapshots.files.recordings import open_recording
from tests.builders import a_run, simulated
from tests.damage import record_late
from tests.web.given import a_person, a_ready_recording, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def graph_of(client, row, snapshot: str | None = "s1") -> dict:
    query = "" if snapshot is None else f"?snapshot={snapshot}"
    answer = client.get(f"/api/recordings/{row.pk}/states{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.parametrize(
    "log",
    [
        samples.two_banks(),
        samples.one_token(),
        samples.two_tokens(),
        samples.a_state_that_never_occurred(),
        a_run().receive("p->q", "m1", state=6).record("p", "s1").record("q", "s1").log(),
    ],
    ids=lambda log: log.header.name,
)
def test_the_stored_recording_gives_the_graph_of_the_log(api, ada, log):
    recording = assemble(*log).recording
    (judged,) = judge(recording)
    recorded = Recorded(judged.snapshot, judged.verdict, judged.positions)
    expected = as_json(report(whole(recording), recorded))
    assert graph_of(api, a_ready_recording(ada, log)) == expected


def test_two_banks_recorded_a_state_that_the_run_did_not_pass(api, ada):
    graph = graph_of(api, a_ready_recording(ada))
    assert (graph["part"], graph["total"], len(graph["states"])) == ("run", 21, 21)
    recorded = graph["states"][graph["recorded"]]
    assert recorded["processes"] == {"A": 9000, "B": 3000}
    assert [item["message"] for item in recorded["channels"]["B->A"]] == ["m2", "m3"]
    assert graph["recorded"] in graph["reordered"]
    assert graph["recorded"] not in graph["run"]
    assert "in another order do (Theorem 1)" in " ".join(graph["sentences"])


def test_the_recorded_state_of_an_inconsistent_snapshot_is_not_in_the_graph(api, ada):
    graph = graph_of(api, a_ready_recording(ada, samples.by_the_clock()))
    assert graph["states"]
    assert (graph["recorded"], graph["reordered"]) == (None, None)
    assert "What s1 recorded is none of these states" in graph["sentences"][-1]


def test_a_wrong_record_of_a_state_that_is_there_is_said(api, ada):
    graph = graph_of(api, a_ready_recording(ada, samples.two_tokens()))
    assert graph["recorded"] is not None
    assert "the verdict on what was recorded there is" in graph["sentences"][-1]


def test_a_process_that_never_recorded_leaves_no_state_to_look_for(api, ada):
    log = a_run().record("p", "s1").send("p->q", "m1", 1, state=9).log()
    graph = graph_of(api, a_ready_recording(ada, log))
    assert graph["recorded"] is None
    assert graph["sentences"][-1] == (
        "There is no recorded state to look for: q never recorded in s1."
    )


def test_a_run_with_too_many_states_is_drawn_around_the_snapshot(api, ada):
    log = simulated(shapes.complete(3), mean_delay=3_000)
    row = a_ready_recording(ada, log)
    whole_run = graph_of(api, row, None)
    assert (whole_run["part"], whole_run["states"]) == (None, [])
    assert "No graph is drawn: the run has" in whole_run["sentences"][0]
    assert whole_run["at_least"] > 2_000
    part = graph_of(api, row)
    assert part["part"] == "snapshot"
    assert part["recorded"] in part["reordered"]
    first = part["states"][0]
    cut = api.post(
        f"/api/recordings/{row.pk}/cuts",
        {"positions": first["positions"]},
        content_type="application/json",
    ).json()
    assert cut["consistent"]
    assert cut["states"] == first["processes"]
    held = {channel: [m["message"] for m in ms] for channel, ms in first["channels"].items()}
    assert {channel: ids for channel, ids in cut["messages"].items() if ids} == held


def test_a_part_with_too_many_states_is_not_drawn_either(api, ada):
    row = a_ready_recording(ada, simulated(shapes.complete(8), events=600, mean_delay=9_000))
    graph = graph_of(api, row)
    assert (graph["part"], graph["states"], graph["total"]) == (None, [], None)
    assert "more than 10,000 consistent global states" in graph["sentences"][0]
    assert "the part around the snapshot" in graph["sentences"][0]


def test_a_long_run_is_said_to_have_at_least_so_many_states(api, ada, monkeypatch):
    monkeypatch.setattr(global_states, "MOST_SCANNED", 10)
    row = a_ready_recording(ada)
    graph = graph_of(api, row, None)
    assert graph["at_least"] == 5, "one more than messages"
    assert "at least 4 events" in graph["sentences"][0]


def test_a_recording_of_many_processes_has_no_graph(api, ada):
    row = a_ready_recording(ada, simulated(shapes.ring(51), events=10))
    assert (
        "51 processes take part, and graphs of up to 50 are" in graph_of(api, row)["sentences"][0]
    )


def test_a_derived_recording_has_no_graph(api, ada):
    log = samples.two_banks()
    header = replace(log.header, extra={"derived": True})
    graph = graph_of(api, a_ready_recording(ada, Log(header, log.events)))
    assert (graph["part"], graph["total"], graph["states"]) == (None, None, [])
    assert "the events of this recording were made from checkpoints" in graph["sentences"][0]


def test_a_run_with_a_crash_has_no_graph(api, ada):
    graph = graph_of(api, a_ready_recording(ada, a_run().log()), None)
    assert graph["total"] == 1
    row = a_ready_recording(ada, a_run()._control("p", "crash", 5).log())
    assert "a process crashed or was restored" in graph_of(api, row, None)["sentences"][0]


def test_an_unknown_snapshot_is_not_found_and_a_stranger_sees_nothing(api, ada):
    row = a_ready_recording(ada)
    assert api.get(f"/api/recordings/{row.pk}/states?snapshot=x").status_code == 404
    stranger = signed_in(a_person("eve@example.org"))
    assert stranger.get(f"/api/recordings/{row.pk}/states").status_code == 404


def test_a_late_record_is_none_of_the_states(api, ada):
    row = a_ready_recording(ada, record_late(simulated(shapes.ring(3), events=40)).log)
    assert open_recording(row)
    graph = graph_of(api, row)
    assert graph["recorded"] is None
