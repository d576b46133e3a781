"""Two recordings, snapshots or cuts are compared over the API, as JSON and as CSV."""

import base64
import csv
import io

import numpy as np
import pytest
from pydantic import TypeAdapter

from snapshots.answers import comparison
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.payloads.comparison import ComparisonAnswer
from snapshots.simulating.reruns import DEMONSTRATION, rerun_of
from tests.builders import a_run
from tests.web.given import a_client, a_person, a_ready_recording

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

GOLDEN = """\
answer verdict 1: s1 of “after” is consistent; not so in s1 of “before”: B received m16 (68) \
before recording its state, but A sent it after recording its own.
answer verdict 1: The rule of the protocol is kept in s1 of “after”; not so in s1 of “before”: A \
sent m16 (68) after recording its state for s1 and before its marker on A->B (marker-sending rule \
of section 3.2).
events events 10: C: the first 7 events agree; then in “before” it sends m20 (99) on C->A, and in \
“after” it receives the marker of s1 from A->C. Of its events, 5 only in “before”, 5 only in \
“after”.
events events 8: B: the first 12 events agree; then in “before” it receives m16 (68) from A->B, \
and in “after” it receives the marker of s1 from C->B. Of its events, 4 only in “before”, 4 only \
in “after”.
events events 6: A: the first 10 events agree; then in “before” it sends the marker of s1 on A->C, \
and in “after” it sends the marker of s1 on A->B. Of its events, 3 only in “before”, 3 only in \
“after”.
events events 1: B: event 14 of “before” (records its state for s1), which both have, leaves the \
state 1235 in “before” and 1167 in “after”.
"""
GOLDEN_OF_SNAPSHOTS = """\
C->A holds m20 (99) only in s1 of “before”.
B recorded 1235 in s1 of “before” and 1167 in s1 of “after”.
B->C holds m10 (19) and m11 (34) only in s1 of “after”.
C recorded 773 in s1 of “before” and 819 in s1 of “after”.
"""


def named(owner, log, name: str) -> Recording:
    row = a_ready_recording(owner, log)
    Recording.objects.filter(pk=row.pk).update(name=name)
    return Recording.objects.get(pk=row.pk)


@pytest.fixture
def runs(ada) -> tuple[Recording, Recording]:
    """Return one simulated run with a broken marker rule, and the same seed without the fault."""
    again = rerun_of(DEMONSTRATION)
    broken = again.breaking("late_markers", "A->B").log()
    return named(ada, broken, "before"), named(ada, again.log(), "after")


def compared(api, left, right, **places):
    """Ask for a comparison, and check that the answer is as it is declared."""
    answer = api.get("/api/compare", {"left": left.pk, "right": right.pk, **places})
    TypeAdapter(ComparisonAnswer).validate_python(answer.json(), strict=False)
    return answer


def test_a_run_before_and_after_a_fix(api, runs):
    body = compared(api, *runs).json()
    told = [
        f"{item['about']} {item['measure']} {item['size']}: {item['sentence']}\n"
        for item in body["items"]
    ]
    assert "".join(told) == GOLDEN
    assert body["total"] == len(told)
    assert body["equal"] == {"answer": 2, "contents": 6, "state": 3}
    assert body["not_compared"] == []
    assert (body["left"]["recording"], body["right"]["recording"]) == tuple(row.pk for row in runs)


def test_snapshots_of_one_name_in_two_runs(api, runs):
    body = compared(api, *runs, left_snapshot="s1", right_snapshot="s1").json()
    assert "".join(f"{item['sentence']}\n" for item in body["items"][2:]) == GOLDEN_OF_SNAPSHOTS
    assert (body["left"]["outcome"], body["right"]["outcome"]) == ("orphan", "consistent")
    assert body["left"]["positions"] == {"A": 9, "B": 14, "C": 11}


def test_a_recording_does_not_differ_from_itself(api, runs):
    left = runs[0]
    for places in ({}, {"left_snapshot": "s1", "right_snapshot": "s1"}):
        body = compared(api, left, left, **places).json()
        assert (body["items"], body["total"], body["not_compared"]) == ([], 0, [])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"left_step": 10}, {"right_positions": '{"A": 3}'}),
        ({"left_at": 12_000}, {"right_positions": "[3, 0, 0]"}),
    ],
)
def test_two_cuts_are_named_in_three_ways(api, runs, left, right):
    body = compared(api, runs[1], runs[1], **left, **right).json()
    assert body["items"][0]["sentence"].endswith(
        "not so at the cut at A: 3, B: 0 and C: 0: A received m3 (44) inside the cut, but C sent "
        "it outside."
    )
    cut = api.post(
        f"/api/recordings/{runs[1].pk}/cuts",
        {name.removeprefix("left_"): value for name, value in left.items()},
        content_type="application/json",
    ).json()
    assert body["left"]["positions"] == cut["positions"]
    states = {item["process"]: item["left"] for item in body["items"] if item["about"] == "state"}
    assert states.items() <= cut["states"].items()
    assert states


def test_a_snapshot_is_compared_with_a_cut_as_far_as_a_cut_answers(api, runs):
    run = runs[1]
    positions = run.snapshots.get().positions
    place = ",".join(f'"{process}": {position}' for process, position in positions.items())
    body = compared(api, run, run, left_snapshot="s1", right_positions=f"{{{place}}}").json()
    assert body["items"] == []
    assert body["equal"] == {"answer": 1, "contents": 6, "state": 3}
    assert [item["sentence"] for item in body["not_compared"]] == [
        "Whether the recorded channels are right is not compared: The cut at A: 9, B: 13 and C: 8 "
        "was recorded by nobody.",
        "Whether the recorded states are right is not compared: The cut at A: 9, B: 13 and C: 8 "
        "was recorded by nobody.",
        "Whether the rule of the protocol was kept is not compared: The cut at A: 9, B: 13 and C: "
        "8 was recorded by nobody.",
    ]


def test_pages_of_the_list_and_the_whole_list_as_csv(api, runs):
    whole = compared(api, *runs).json()
    page = compared(api, *runs, offset=1, limit=2).json()
    assert (page["items"], page["total"]) == (whole["items"][1:3], whole["total"])
    answer = api.get("/api/compare.csv", {"left": runs[0].pk, "right": runs[1].pk})
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["sentence"] for row in rows] == [item["sentence"] for item in whole["items"]]
    assert [float(row["size"]) for row in rows] == [item["size"] for item in whole["items"]]
    assert answer["Content-Disposition"].endswith(
        f'"cutline-compare-{runs[0].pk}-{runs[1].pk}.csv"'
    )


def test_what_exceeds_the_limit_is_said(api, runs, monkeypatch):
    monkeypatch.setattr(comparison, "MOST_EVENTS", 30)
    comparison._compared_runs.cache_clear()
    body = compared(api, *runs).json()
    comparison._compared_runs.cache_clear()
    assert body["not_compared_total"] == 8  # each process of each side, and C's last taken events
    assert "are not compared: the recording has more events" in body["not_compared"][0]["sentence"]
    assert sum(item["measure"] == "verdict" for item in body["items"]) == 2


def test_a_longer_recording_is_compared_as_far_as_the_shorter_share_of_the_two(
    api, ada, monkeypatch
):
    one, two = a_run({"p": 0, "q": 0}), a_run({"p": 0, "q": 0})
    for _ in range(10):
        one.internal("p", label="x")
        two.internal("p", label="x")
    for _ in range(10):
        two.internal("q", label="y")
    monkeypatch.setattr(comparison, "MOST_EVENTS", 10)
    comparison._compared_runs.cache_clear()
    rows = named(ada, one.log(), "one"), named(ada, two.log(), "two")
    body = compared(api, *rows).json()
    aligned = api.get("/api/compare/alignment", {"left": rows[0].pk, "right": rows[1].pk}).json()
    comparison._compared_runs.cache_clear()
    of_p = [item for item in body["items"] if item["process"] == "p"]
    assert of_p == []
    assert "events" not in body["equal"]
    told = [item["sentence"] for item in body["not_compared"] if item["about"] == "events"]
    assert [sentence.split(" events in ")[0] for sentence in told][:2] == [
        "p: the last 5 of 10",
        "p: the last 5 of 10",
    ]
    assert (aligned["count"], aligned["settled"]) == (5, [5, 5])


def test_the_alignment_names_the_steps_of_the_same_event(api, runs):
    body = api.get("/api/compare/alignment", {"left": runs[0].pk, "right": runs[1].pk}).json()
    pairs = [decoded(body[side]) for side in ("left", "right")]
    assert body["count"] == len(pairs[0]) == len(pairs[1]) == 99
    assert pairs[0] == sorted(pairs[0])
    kinds = [kinds_by_step(open_recording(row)) for row in runs]
    for left, right in zip(*pairs, strict=True):
        assert kinds[0][left] == kinds[1][right]


def decoded(column: dict) -> list[int]:
    return np.frombuffer(base64.b64decode(column["bdata"]), f"<{column['dtype']}").tolist()


def kinds_by_step(stored) -> dict[int, tuple]:
    found = {}
    for process in stored.topology.processes:
        for index in range(stored.tables.events.length[stored.tables.process_code(process.id)]):
            event = stored.event(process.id, index)
            found[event["step"]] = process.id, event["kind"], event["channel"], event["value"]
    return found


def test_a_log_without_states_says_that_they_are_not_compared(api, ada):
    run = a_run({"p": None, "q": None})
    run.send("p->q", "m1", 7)
    run.receive("p->q", "m1")
    row = named(ada, run.log(), "without states")
    body = compared(api, row, row, left_step=1, right_step=2).json()
    assert [item["sentence"] for item in body["items"]] == [
        "p->q holds m1 (7) only at the cut after 1 event."
    ]
    assert len([item for item in body["not_compared"] if item["about"] == "state"]) == 2


@pytest.mark.parametrize(
    ("query", "status", "field"),
    [
        ({"left_snapshot": "s1"}, 422, "right_snapshot"),
        ({"left_snapshot": "s1", "left_at": 5, "right_at": 5}, 422, "left_at"),
        ({"left_at": "soon", "right_at": 5}, 422, "left_at"),
        ({"left_positions": "{", "right_at": 5}, 422, "left_positions"),
        ({"left_positions": '{"nobody": 1}', "right_at": 5}, 422, "positions"),
        ({"left_positions": '{"A": 99999}', "right_at": 5}, 422, "positions"),
        ({"left_snapshot": "s9", "right_snapshot": "s1"}, 404, None),
        ({"left": "x"}, 422, "left"),
        ({"left": "9" * 40}, 422, "left"),
        ({"left": ""}, 422, "left"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_its_field(api, runs, query, status, field):
    answer = api.get("/api/compare", {"left": runs[0].pk, "right": runs[1].pk} | query)
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json().get("field") == field


def test_both_sides_must_be_visible(runs):
    other = a_person("bob@example.org")
    own = a_ready_recording(other)
    bob = a_client(other)
    for address in ("/api/compare", "/api/compare.csv", "/api/compare/alignment"):
        for pair in ((own, runs[0]), (runs[0], own)):
            answer = bob.get(address, {"left": pair[0].pk, "right": pair[1].pk})
            assert answer.status_code == 404
            assert "before" not in answer.content.decode()
        assert bob.get(address, {"left": own.pk, "right": own.pk}).status_code == 200
