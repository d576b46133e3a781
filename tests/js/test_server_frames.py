"""What frames say at any place equals the server's cut there (static/js/lib/frames.js)."""

import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.answers import frames
from snapshots.domain.simulators.flink.simulation import run_dataflow
from snapshots.domain.simulators.script import Log
from snapshots.domain.simulators.seatunnel.simulation import run_seatunnel
from snapshots.payloads.topologies import topology_of_recording
from snapshots.store.reader import StoredRecording
from snapshots.web.json import dumps
from tests.builders import a_run, recorded, runs
from tests.conftest import skip_or_fail
from tests.dataflows import a_run_of, failing, two_pipelines, word_count
from tests.domain.judging.edges import EDGES
from tests.domain.judging.restored import RESTORED
from tests.domain.simulators.seatunnel import a_job
from tests.js.test_server_cuts import without_some_sends
from tests.stack import ROOT
from tests.store.folders import stored
from webapp import machine

PLACES = 5
AT_ONCE = 50  # recordings that one process of Node compares


def a_case(opened: StoredRecording, data: st.DataObject) -> dict[str, Any]:
    """Return frames after a seek to anywhere, and whole frames at some places that they cover."""
    axis = data.draw(st.sampled_from(["time", "order"]))
    snapshots = [None, *opened.manifest.snapshots]
    what = frames.watched(opened, {"axis": axis, "snapshot": data.draw(st.sampled_from(snapshots))})
    first = opened.manifest.extent.from_ if axis == "time" else 0
    end = max(frames.end_of(opened, axis), first)
    begin = data.draw(st.just(float(first)) | st.floats(first, end))
    width = frames.width_of(max(end - begin, 1) * data.draw(st.sampled_from([0.05, 0.5, 5])))
    skips = data.draw(st.booleans())
    sent = [frames.key_frame(opened, what, begin)]
    place = begin
    while place < end:
        edge = frames.edge_after(opened, axis, place, width, skips=skips)
        sent.append(frames.frame_after(opened, what, place, edge))
        place = edge
    assert sent[-1]["ends"]
    places = sorted(data.draw(st.floats(begin, max(place, begin))) for _ in range(PLACES))
    places.append(data.draw(st.floats(begin, max(place, begin))))  # and perhaps back
    return {
        "topology": topology_of_recording(opened),
        "frames": sent,
        "places": [{"x": x, "whole": frames.key_frame(opened, what, x)} for x in places],
    }


def compare(cases: list[dict[str, Any]]) -> None:
    node = machine.find_node()
    if node is None:
        skip_or_fail("Node is missing: make test gets it or says how.")
    ran = subprocess.run(
        [node, "tests/js/server-frames.js"], cwd=ROOT, input=dumps(cases), capture_output=True
    )
    assert ran.returncode == 0, ran.stderr.decode()[-4000:]
    assert int(ran.stdout) == sum(len(case["places"]) for case in cases)


def try_recordings(count: int, logs: st.SearchStrategy[Log]) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = []

    @settings(max_examples=count, deadline=None, database=None, derandomize=True)
    @given(log=logs, lacks_sends=st.booleans(), data=st.data())
    def collect(log, lacks_sends, data):
        with stored(recorded(without_some_sends(log) if lacks_sends else log)) as opened:
            cases.append(a_case(opened, data))

    collect()
    for begin in range(0, len(cases), AT_ONCE):
        compare(cases[begin : begin + AT_ONCE])
    return cases


def test_frames_say_what_the_server_answers_for_the_cut_at_any_place():
    cases = try_recordings(25, runs(max_processes=6))
    spreads = [each["whole"]["spread"] for case in cases for each in case["places"]]
    assert {spread["phase"] for spread in spreads if spread} >= {"not begun", "complete"}


@pytest.mark.long
def test_frames_of_a_thousand_recordings_say_what_the_server_answers():
    assert len(try_recordings(1_000, runs(max_processes=8))) >= 1_000


def test_frames_of_runs_that_went_back_and_of_edges_say_what_the_server_answers():
    logs = [make() for make in (*RESTORED, *EDGES)]
    try_recordings(len(logs), st.sampled_from(logs))


def test_frames_of_dataflows_say_for_whom_their_coordinators_wait():
    logs = [
        run_dataflow(failing(a_run_of(word_count(2, records=20)), 14_000, "count[0]")).log,
        run_seatunnel(a_job(two_pipelines())).log,
    ]
    cases = try_recordings(8, st.sampled_from(logs))
    said = [each["whole"]["said"]["words"] for case in cases for each in case["places"]]
    assert {len(words) for words in said} >= {1, 2}
    assert any("waited for: " in words for each in said for words in each)


def test_a_message_that_was_taken_back_before_its_send_never_enters_its_channel():
    run = a_run().record("p", "s1").record("q", "s1").restore("q", 1, "s1")
    run.send("p->q", "late", 3).restore("p", 1, "s1")
    try_recordings(8, st.just(run.log()))
