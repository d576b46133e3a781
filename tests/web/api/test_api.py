"""The API from outside: the answer of each call, and the refusals of wrong ones."""

import json
import urllib.parse
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pydantic import TypeAdapter

from snapshots.domain.simulators.samples import two_tokens
from snapshots.domain.simulators.script import Script
from snapshots.models import Job, Recording
from snapshots.payloads import cuts
from snapshots.payloads.problems import Problem
from snapshots.payloads.recordings import RecordingDetail, RecordingList, SnapshotList
from snapshots.payloads.topologies import TopologyOfRecording
from snapshots.payloads.window import WindowPayload
from tests.builders import simulated
from tests.damage import never_sending
from tests.web.given import a_client, a_person, a_ready_recording, post_json, signed_in

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("data_dir", "every_reply_is_documented"),
]

ODD = '<script>alert("1")</script> / ü 🙂 %2F ?#&\'"\\'


@pytest.fixture
def banks(ada):
    return a_ready_recording(ada)


def problem_of(answer, status: int, code: str) -> dict:
    assert answer.status_code == status, answer.content
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json()
    TypeAdapter(Problem).validate_python(problem)
    assert problem["type"] == f"/problems/{code}"
    assert problem["status"] == status
    return problem


def fits(declared, answer) -> dict:
    """Return the answer's body, after checking it against the type in the OpenAPI document."""
    assert answer.status_code < 300, answer.content
    TypeAdapter(declared).validate_python(answer.json(), strict=False)
    return answer.json()


def test_the_two_banks_are_found_as_the_issue_says(api, banks):
    found = fits(cuts.SnapshotDetail, api.get(f"/api/recordings/{banks.pk}/snapshots/s1"))
    assert found["verdict"] == "consistent"
    assert found["processes"] == {"A": 9000, "B": 3000}
    assert found["channels"] == {"A->B": [], "B->A": [1000, 2000]}
    assert found["recorded"] == found["recomputed"]
    assert found["messages"] == {"A->B": [], "B->A": ["m2", "m3"]}
    assert found["initiators"] == ["A"]
    assert found["recorded_at"] == {"A": 2900, "B": 5200}
    assert found["totals"]["total"] == found["totals"]["start"] == 15000


def test_a_recording_has_its_counts_and_snapshots(api, banks):
    found = fits(RecordingDetail, api.get(f"/api/recordings/{banks.pk}"))
    assert found["status"] == "ready"
    assert found["snapshots"] == ["s1"]
    assert found["counts"]["processes"] == 2
    assert found["counts"]["messages"] == 4
    assert found["extent"] == {"from": 400, "to": 11000, "steps": found["counts"]["events"]}


def test_the_topology_of_a_recording_has_the_start_states(api, banks):
    found = fits(TopologyOfRecording, api.get(f"/api/recordings/{banks.pk}/topology"))
    starts = [{"id": item["id"], "state": item["state"]} for item in found["processes"]]
    assert starts == [{"id": "A", "state": 10000}, {"id": "B", "state": 5000}]
    assert [channel["id"] for channel in found["channels"]] == ["A->B", "B->A"]


def test_the_topology_of_a_recording_counts_events_and_has_the_first_of_each(api, banks):
    found = fits(TopologyOfRecording, api.get(f"/api/recordings/{banks.pk}/topology"))
    steps = api.get(f"/api/recordings/{banks.pk}").json()["extent"]["steps"]
    assert sum(item["events"] for item in found["processes"]) == steps
    for item in found["processes"]:
        event = api.get(f"/api/recordings/{banks.pk}/events/{item['id']}/0").json()
        assert (item["first_at"], item["first_step"]) == (event["at"], event["step"])


def test_snapshots_are_listed_without_their_contents(api, banks):
    found = fits(SnapshotList, api.get(f"/api/recordings/{banks.pk}/snapshots"))
    assert [item["snapshot"] for item in found["items"]] == ["s1"]
    assert found["items"][0]["positions"] == {"A": 2, "B": 5}


@pytest.mark.parametrize("question", [{"at": 4000}, {"step": 7}, {"positions": {"A": 4, "B": 4}}])
def test_a_cut_has_states_and_contents(api, banks, question):
    answer = post_json(api, f"/api/recordings/{banks.pk}/cuts", question)
    found = fits(cuts.CutAnswer, answer)
    assert found["consistent"]
    assert found["states"]["A"] == 9000
    assert sum(found["states"].values()) + sum(sum(v) for v in found["channels"].values()) == 15000
    assert found["total"] == 15000


def test_an_inconsistent_cut_names_its_orphan_and_the_nearest_consistent_one(api, banks):
    answer = post_json(api, f"/api/recordings/{banks.pk}/cuts", {"positions": {"A": 1, "B": 3}})
    found = fits(cuts.CutAnswer, answer)
    assert not found["consistent"]
    [orphan] = found["orphans"]
    assert (orphan["verdict"], orphan["message"], orphan["value"]) == ("orphan", "m1", 1000)
    assert orphan["sent"]["process"] == "A"
    assert found["nearest"]["positions"] == {"A": 1, "B": 2}


def test_positions_may_be_a_list_and_absent_processes_are_at_their_start(api, banks):
    address = f"/api/recordings/{banks.pk}/cuts"
    as_list = post_json(api, address, {"positions": [1, 0]}).json()
    assert as_list == post_json(api, address, {"positions": {"A": 1}}).json()


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({}, "positions"),
        ({"at": 1, "step": 1}, "step"),
        ({"at": "noon"}, "at"),
        ({"at": True}, "at"),
        ({"at": 10**30}, "at"),
        ({"at": 1e300}, "at"),
        ({"step": -(10**19)}, "step"),
        ({"positions": 7}, "positions"),
        ({"positions": "AB"}, "positions"),
        ({"positions": {"C": 0}}, "positions"),
        ({"positions": {"A": -1}}, "positions"),
        ({"positions": {"A": 10**6}}, "positions"),
        ({"positions": {"A": 2**70}}, "positions"),
        ({"positions": {"A": 1.5}}, "positions"),
        ({"positions": {"A": None}}, "positions"),
        ({"positions": [1]}, "positions"),
        ({"positions": [1, 2, 3]}, "positions"),
    ],
)
def test_a_cut_without_meaning_is_refused_with_its_field(api, banks, question, field):
    answer = post_json(api, f"/api/recordings/{banks.pk}/cuts", question)
    assert problem_of(answer, 422, "invalid-field")["field"] == field


@pytest.mark.parametrize(
    "body", ["", "{", '{"at": NaN}', '{"at": Infinity}', b"\xff", '{"at": "\\ud800"}', "[" * 2000]
)
def test_a_body_that_is_not_json_is_refused_as_such(api, banks, body):
    answer = post_json(api, f"/api/recordings/{banks.pk}/cuts", body)
    assert answer.status_code in (400, 422)
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_window_holds_what_is_drawn(api, banks):
    answer = api.get(f"/api/recordings/{banks.pk}/window?from=0&to=12000&width=1200")
    found = fits(WindowPayload, answer)
    assert found["exact"]
    assert found["events_total"] == Recording.objects.get().event_count
    assert sorted(found["messages"]["message"]) == ["m1", "m2", "m3", "m4"]
    assert found["states"] == [10000, 5000]


def test_a_window_of_markers_has_neither_events_nor_messages(api, banks):
    whole = api.get(f"/api/recordings/{banks.pk}/window").json()
    found = fits(WindowPayload, api.get(f"/api/recordings/{banks.pk}/window?only=markers"))
    assert found["markers"] == whole["markers"]
    assert found["messages"]["message"] == found["events"]["state"] == []
    assert found["events"]["at"]["bdata"] == ""
    assert found["messages_total"] == whole["messages_total"] > 0


def test_a_window_without_bounds_is_the_whole_recording(api, banks):
    found = api.get(f"/api/recordings/{banks.pk}/window").json()
    assert (found["from"], found["to"]) == (400, 11000)
    by_step = api.get(f"/api/recordings/{banks.pk}/window?axis=order").json()
    assert (by_step["from"], by_step["to"]) == (0, Recording.objects.get().event_count)


@pytest.mark.parametrize(
    "query",
    [
        "from=nan",
        "from=inf",
        "to=-Infinity",
        "from=1e300",
        "from=10&to=5",
        "width=0",
        "width=1e9",
        "width=nan",
        "axis=sideways",
        "only=events",
        "from=x",
        "from=9223372036854775808&to=9223372036854775809",
    ],
)
def test_a_window_without_meaning_is_refused(api, banks, query):
    problem = problem_of(
        api.get(f"/api/recordings/{banks.pk}/window?{query}"), 422, "invalid-field"
    )
    assert problem["field"] in query


def test_an_event_has_its_fields_and_its_message(api, banks):
    found = fits(cuts.EventDetail, api.get(f"/api/recordings/{banks.pk}/events/A/1"))
    assert (found["kind"], found["message"], found["state"]) == ("send", "m1", 9000)
    assert found["flight"]["received_at"] == 3800


def test_an_event_has_a_past_and_a_future(api, banks):
    """B receives m1. Before that, A has opened and sent, and B has acted, too."""
    found = fits(cuts.ConesPayload, api.get(f"/api/recordings/{banks.pk}/cones/B/2"))
    assert found["past"]["positions"] == [2, 3]
    assert found["past"]["at"] == [1500, 3800]
    assert found["before"] == 4
    events = found["before"] + found["after"] + found["concurrent"] + 1
    assert events == banks.event_count
    problem_of(api.get(f"/api/recordings/{banks.pk}/cones/B/999"), 404, "not-found")


@pytest.mark.parametrize("place", ["A/99999", f"A/{'9' * 23}", "C/0", f"A/{'9' * 5000}"])
def test_an_event_that_is_not_there_is_not_found(api, banks, place):
    problem_of(api.get(f"/api/recordings/{banks.pk}/events/{place}"), 404, "not-found")


def odd_log(snapshot: str):
    run = Script("odd", {ODD: 1, "q": 0}, {"c/d": (ODD, "q")})
    return run.record(ODD, snapshot).send("c/d", ODD, 1, state=0).log()


@pytest.mark.parametrize("snapshot", [ODD, "a/restore", "restore", " ", "line\nbreak", "a//b", "0"])
def test_ids_may_be_any_text(api, ada, snapshot):
    recording = a_ready_recording(ada, odd_log(snapshot))
    base = f"/api/recordings/{recording.pk}"
    quoted = urllib.parse.quote(snapshot, safe="")
    found = fits(cuts.SnapshotDetail, api.get(f"{base}/snapshots/{quoted}"))
    assert found["snapshot"] == snapshot
    event = api.get(f"{base}/events/{urllib.parse.quote(ODD, safe='')}/1").json()
    assert (event["process"], event["message"]) == (ODD, ODD)


def test_verdicts_come_with_their_witnesses(api, ada):
    recording = a_ready_recording(ada, two_tokens())
    found = api.get(f"/api/recordings/{recording.pk}/snapshots/s1").json()
    assert found["verdict"] == found["verdicts"][0]["verdict"] != "consistent"
    assert found["totals"]["total"] == 2


def test_a_stranger_is_asked_to_sign_in(banks):
    answer = Client().get(f"/api/recordings/{banks.pk}")
    problem_of(answer, 401, "unauthorized")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_wrong_token_is_not_made_good_by_a_session(ada):
    client = Client(headers={"Authorization": "Bearer cut_wrong"})
    client.force_login(ada)
    problem_of(client.get("/api/recordings"), 401, "unauthorized")


def test_a_session_must_send_its_csrf_token(ada, banks):
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    assert client.get("/api/recordings").status_code == 200
    problem_of(client.delete(f"/api/recordings/{banks.pk}"), 403, "forbidden")
    assert Recording.objects.filter(pk=banks.pk).exists()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", ""),
        ("patch", ""),
        ("delete", ""),
        ("get", "/snapshots"),
        ("get", "/snapshots/s1"),
        ("post", "/snapshots/s1/restore"),
        ("post", "/cuts"),
        ("get", "/window"),
        ("get", "/events/A/0"),
        ("get", "/topology"),
        ("get", "/defects"),
        ("post", "/ingest"),
    ],
)
def test_another_persons_recording_does_not_exist(banks, method, path):
    other = a_client(a_person("bob@example.org"))
    body = {"name": "mine", "at": 1}
    answer = post_json(other, f"/api/recordings/{banks.pk}{path}", body, method)
    problem_of(answer, 404, "not-found")


def test_samples_are_seen_by_everyone_and_changed_by_nobody(api):
    sample = a_ready_recording(None, slug="two-banks")
    assert api.get(f"/api/recordings/{sample.pk}").json()["sample"]
    problem_of(api.delete(f"/api/recordings/{sample.pk}"), 403, "read-only")
    answer = post_json(api, f"/api/recordings/{sample.pk}", {"name": "mine"}, "patch")
    problem_of(answer, 403, "read-only")


@pytest.mark.django_db(transaction=True)
def test_a_recording_is_renamed_and_deleted_with_all_it_has(api, banks, data_dir):
    answer = post_json(api, f"/api/recordings/{banks.pk}", {"name": " Ledger "}, "patch")
    assert answer.json()["name"] == "Ledger"
    assert api.delete(f"/api/recordings/{banks.pk}").status_code == 204
    assert not list((data_dir / "store").iterdir())
    problem_of(api.get(f"/api/recordings/{banks.pk}"), 404, "not-found")


@pytest.mark.parametrize("name", ["", "   ", "x" * 201, "a\nb", 7, None])
def test_a_name_without_meaning_is_refused(api, banks, name):
    answer = post_json(api, f"/api/recordings/{banks.pk}", {"name": name}, "patch")
    assert answer.status_code == 422
    assert answer.json()["field"] == "name"


def test_recordings_are_found_by_name_and_status(api, ada):
    a_ready_recording(ada)
    Recording.objects.create(owner=ada, name="ledger 7", status="failed")
    found = fits(RecordingList, api.get("/api/recordings?q=LEDGER"))
    assert [item["name"] for item in found["items"]] == ["ledger 7"]
    assert api.get("/api/recordings?status=ready").json()["total"] == 1
    assert api.get("/api/recordings?limit=1").json()["total"] == 2
    assert len(api.get("/api/recordings?limit=1&offset=1").json()["items"]) == 1


def test_recordings_are_listed_newest_first_on_every_page(api, ada):
    now = timezone.now()
    for age in (3, 1, 4, 0, 2):
        row = Recording.objects.create(owner=ada, name=f"{age} days old", status="failed")
        Recording.objects.filter(pk=row.pk).update(created_at=now - timedelta(days=age))
    pages = [api.get(f"/api/recordings?limit=2&offset={offset}").json() for offset in (0, 2, 4)]
    names = [item["name"] for page in pages for item in page["items"]]
    assert names == [f"{age} days old" for age in range(5)]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1e9", "offset=-1", f"offset={'9' * 20}", "status=done"]
)
def test_a_list_without_meaning_is_refused(api, query):
    problem = problem_of(api.get(f"/api/recordings?{query}"), 422, "invalid-field")
    assert problem["field"] in query


def test_what_is_not_ready_says_how_far_it_is(api, ada):
    recording = Recording.objects.create(owner=ada, name="slow")
    for path in ("/snapshots", "/snapshots/0", "/window", "/topology", "/events/A/0"):
        answer = api.get(f"/api/recordings/{recording.pk}{path}")
        assert problem_of(answer, 409, "conflict")["recording_status"] == "queued"


def test_a_damaged_store_is_reported_and_is_no_crash(api, banks, data_dir):
    for manifest in (data_dir / "store").rglob("manifest.json"):
        manifest.write_text("{")
    problem_of(api.get(f"/api/recordings/{banks.pk}/window"), 409, "store-damaged")


def test_a_recording_of_another_version_is_not_called_damaged(api, ada, banks, data_dir):
    for manifest in (data_dir / "store").rglob("manifest.json"):
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"version": 1}))
    answer = api.get(f"/api/recordings/{banks.pk}/window")
    problem = problem_of(answer, 409, "stored-by-another-version")
    assert "Its layout is version 1; this Cutline reads version 2 and 3." in problem["detail"]
    assert f"POST /api/recordings/{banks.pk}/ingest" in problem["detail"]
    page = signed_in(ada).get(f"/recordings/{banks.pk}")
    assert page.status_code == 409
    assert "stored by another version of Cutline" in page.content.decode()


def test_an_unknown_address_and_a_wrong_method_are_problems(api):
    problem_of(api.get("/api/nothing/here"), 404, "not-found")
    answer = api.put("/api/recordings")
    problem_of(answer, 405, "method-not-allowed")
    assert "GET" in answer.headers["Allow"]


def test_large_whole_numbers_leave_as_they_came(api, ada):
    largest = 2**63 - 1
    run = Script("large", dict.fromkeys("pqr", largest), ["p->q"])
    for process in "pqr":
        run.record(process, "s")
    recording = a_ready_recording(ada, run.log())
    found = json.loads(api.get(f"/api/recordings/{recording.pk}/snapshots/s").content)
    assert found["processes"]["p"] == largest
    assert found["totals"]["total"] == 3 * largest
    cut = post_json(api, f"/api/recordings/{recording.pk}/cuts", {"at": 0}).json()
    assert cut["total"] == 3 * largest


def test_openapi_lists_every_call_with_its_answer(api):
    schema = api.get("/api/openapi.json").json()
    calls = {
        (method, path): call
        for path, methods in schema["paths"].items()
        for method, call in methods.items()
    }
    assert len(calls) >= 20
    for (method, path), call in calls.items():
        done = [answer for status, answer in call["responses"].items() if status.startswith("2")]
        assert done, (method, path)
        speaks_tus = path.startswith("/api/uploads") and method != "get"  # it answers in headers
        if method != "delete" and not speaks_tus:
            assert all(each["schema"] for each in done[0]["content"].values()), (method, path)
        assert call["security"], (method, path)


def test_the_documentation_needs_no_other_host(api):
    page = api.get("/api/docs").content.decode()
    assert 'src="http' not in page
    assert 'href="http' not in page


def test_restore_asks_for_a_job(api, banks):
    answer = api.post(f"/api/recordings/{banks.pk}/snapshots/s1/restore")
    assert answer.status_code == 202
    job = Job.objects.get(pk=answer.json()["job"])
    assert (job.kind, job.snapshot, job.state) == ("restore", "s1", "queued")
    problem_of(api.post(f"/api/recordings/{banks.pk}/snapshots/s2/restore"), 404, "not-found")


def test_reordering_asks_for_a_job_once(api, banks):
    address = f"/api/recordings/{banks.pk}/snapshots/s1/reordering"
    answer = api.post(address)
    assert answer.status_code == 202
    job = Job.objects.get(pk=answer.json()["job"])
    assert (job.kind, job.snapshot, job.state) == ("reordering", "s1", "queued")
    assert api.post(address).json() == answer.json()
    problem_of(api.post(f"/api/recordings/{banks.pk}/snapshots/s2/reordering"), 404, "not-found")


def test_a_snapshot_that_is_not_complete_is_not_reordered(api, ada):
    recording = a_ready_recording(ada, simulated(protocol=never_sending("p1->p2", "s1")))
    answer = api.post(f"/api/recordings/{recording.pk}/snapshots/s1/reordering")
    detail = problem_of(answer, 409, "conflict")["detail"]
    assert "s1 is not complete" in detail
    assert "no marker that it sent on p1->p2" in detail
    assert not Job.objects.filter(kind="reordering").exists()


def test_a_snapshot_that_does_not_end_has_its_causes(api, ada, banks):
    broken = a_ready_recording(ada, simulated(protocol=never_sending("p1->p2", "s1")))
    (cause,) = api.get(f"/api/recordings/{broken.pk}/snapshots/s1").json()["unended"]["causes"]
    assert (cause["condition"], cause["channel"]) == ("marker-sending rule", "p1->p2")
    assert cause["effects"][0]["sentence"] == "Therefore p1->p2 stays open."
    assert api.get(f"/api/recordings/{banks.pk}/snapshots/s1").json()["unended"] is None


def test_a_snapshot_may_be_named_like_the_end_of_an_address(api, ada):
    run = Script("odd", {"p": 1}, [])
    for name in ("a/restore", "a/reordering"):
        run.record("p", name)
    recording = a_ready_recording(ada, run.log())
    for name in ("a/restore", "a/reordering"):
        answer = api.get(f"/api/recordings/{recording.pk}/snapshots/{name}")
        assert answer.json()["snapshot"] == name
