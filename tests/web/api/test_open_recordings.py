"""Open recordings over HTTP: what is taken, what is refused, and how they are closed."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from snapshots.files import uploads
from snapshots.jobs import sweeping
from snapshots.models import Job, Recording
from snapshots.services import retention
from tests.web.given import a_client, a_person, uploads_of
from webapp.accounts.services import make_token

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("data_dir", "every_reply_is_documented"),
]

HEADER = {
    "kind": "header",
    "format": "cutline",
    "version": 1,
    "name": "banks",
    "processes": [{"id": "A", "state": 10}, {"id": "B", "state": 0}],
    "channels": [{"id": "A->B", "source": "A", "target": "B"}],
}
EVENTS = [
    {"kind": "send", "process": "A", "index": 0, "at": 1, "channel": "A->B", "message": "m"},
    {"kind": "internal", "process": "A", "index": 1, "at": 4, "state": 3},
    {"kind": "receive", "process": "B", "index": 0, "at": 3, "channel": "A->B", "message": "m"},
]


def lines(*events):
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)


def opened(api: Client, **changes):
    body = {"open": True, "header": HEADER} | changes
    return api.post("/api/recordings", json.dumps(body), content_type="application/json")


def send(api: Client, pk: int, body: bytes):
    return api.post(f"/api/recordings/{pk}/events", body, content_type="application/x-ndjson")


@pytest.fixture
def api():
    return a_client(a_person())


def test_an_open_recording_takes_events_and_says_what_it_has(api):
    answer = opened(api)
    assert answer.status_code == 201, answer.content
    pk = answer.json()["id"]
    assert answer.json() == {"id": pk, "status": "open", "events": f"/api/recordings/{pk}/events"}
    answer = send(api, pk, lines(EVENTS[1], EVENTS[2])).json()
    assert (answer["new"], answer["known"], answer["events"], answer["missing"]) == (2, 0, 2, 1)
    assert answer["gaps"] == [{"process": "A", "first": 0, "count": 1}]
    answer = send(api, pk, lines(*EVENTS)).json()
    assert (answer["new"], answer["known"], answer["gaps"]) == (1, 2, [])
    received = api.get(f"/api/recordings/{pk}/received").json()
    assert received == {key: answer[key] for key in received}
    detail = api.get(f"/api/recordings/{pk}").json()
    assert (detail["status"], detail["name"], detail["format"]) == ("open", "banks", "native")
    assert [row["id"] for row in api.get("/api/recordings?status=open").json()["items"]] == [pk]


def test_closing_queues_the_reading_of_all_and_takes_no_more(api):
    pk = opened(api).json()["id"]
    send(api, pk, lines(*EVENTS))
    answer = api.post(f"/api/recordings/{pk}/close")
    assert answer.status_code == 202
    job = Job.objects.get(pk=answer.json()["job"])
    assert (job.kind, job.recording_id, job.recording.status) == ("ingest", pk, "queued")
    for again in (send(api, pk, lines(*EVENTS)), api.post(f"/api/recordings/{pk}/close")):
        assert again.status_code == 409
        assert "not open" in again.json()["detail"]
    assert api.get(f"/api/recordings/{pk}/received").json()["events"] == 3


def test_another_event_at_the_same_place_is_refused_with_both(api):
    pk = opened(api).json()["id"]
    send(api, pk, lines(*EVENTS))
    other = EVENTS[1] | {"state": 4}
    answer = send(api, pk, lines({"kind": "crash", "process": "B", "index": 1}, other))
    problem = answer.json()
    assert answer.status_code == 409
    assert (problem["process"], problem["index"], problem["line"]) == ("A", 1, 2)
    assert (json.loads(problem["there"]), json.loads(problem["given"])) == (EVENTS[1], other)
    assert api.get(f"/api/recordings/{pk}/received").json()["events"] == 3


def test_what_an_upload_would_refuse_is_refused_and_leaves_nothing(api):
    pk = opened(api).json()["id"]
    answer = send(api, pk, lines(EVENTS[0], {"kind": "crash", "process": "C", "index": 0}))
    assert answer.status_code == 422
    assert (answer.json()["line"], answer.json()["field"]) == (2, "process")
    assert api.get(f"/api/recordings/{pk}/received").json()["events"] == 0


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"open": 1}, "open"),
        ({"header": None}, "header"),
        ({"team": "7"}, "team"),
        ({"header": HEADER | {"processes": []}}, "processes"),
        ({"header": HEADER | {"processes": [{"id": str(n)} for n in range(20_001)]}}, "processes"),
    ],
)
def test_a_recording_that_cannot_be_opened_leaves_nothing(api, data_dir, changes, field):
    answer = opened(api, **changes)
    assert answer.status_code == 422
    assert answer.json()["field"] == field
    assert not Recording.objects.exists()
    assert uploads_of(data_dir) == []


def test_others_do_not_see_it_and_a_token_that_reads_sends_nothing(api):
    pk = opened(api).json()["id"]
    stranger = a_client(a_person("eve@example.org"))
    assert send(stranger, pk, lines(*EVENTS)).status_code == 404
    assert stranger.post(f"/api/recordings/{pk}/close").status_code == 404
    assert send(Client(), pk, lines(*EVENTS)).status_code == 401
    _, token = make_token(a_person(), "reads", scope="read")
    reader = Client(headers={"Authorization": f"Bearer {token}"})
    assert send(reader, pk, lines(*EVENTS)).status_code == 403
    assert api.get(f"/api/recordings/{pk}/received").json()["events"] == 0


def test_a_browser_without_its_csrf_token_sends_nothing(api):
    pk = opened(api).json()["id"]
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(a_person())
    assert send(browser, pk, lines(*EVENTS)).status_code == 403


def test_the_limit_of_its_owner_holds_while_it_grows(api, settings):
    pk = opened(api).json()["id"]
    assert send(api, pk, lines(*EVENTS)).status_code == 200
    settings.MAX_STORED_BYTES = 2**20
    large = [
        {"kind": "internal", "process": "B", "index": n, "state": "x" * 1000}
        for n in range(1, 1200)
    ]
    answer = send(api, pk, lines(*large))
    assert answer.status_code == 429
    assert api.get(f"/api/recordings/{pk}/received").json()["events"] == 3


def test_the_largest_recording_is_a_limit_too(api, settings):
    pk = opened(api).json()["id"]
    send(api, pk, lines(EVENTS[0]))
    settings.MAX_RECORDING_BYTES = 700
    answer = send(api, pk, lines({"kind": "crash", "process": "B", "index": 0, "why": "x" * 500}))
    assert answer.status_code == 409, "413 would let a recorder drop what is too large"
    assert api.get(f"/api/recordings/{pk}/received").json()["events"] == 1


def test_deleting_it_removes_its_journal(api, data_dir, django_capture_on_commit_callbacks):
    pk = opened(api).json()["id"]
    send(api, pk, lines(*EVENTS))
    assert len(uploads_of(data_dir)) == 1
    with django_capture_on_commit_callbacks(execute=True):
        assert api.delete(f"/api/recordings/{pk}").status_code == 204
    assert uploads_of(data_dir) == []


def test_the_sweep_leaves_its_journal(api, data_dir):
    pk = opened(api).json()["id"]
    sweeping.sweep()
    assert uploads.path_of(Recording.objects.get(pk=pk).journal).exists()


def test_the_same_key_opens_one_recording(api):
    answers = [
        api.post(
            "/api/recordings",
            json.dumps({"open": True, "header": HEADER}),
            content_type="application/json",
            headers={"Idempotency-Key": "one"},
        )
        for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert Recording.objects.count() == 1


def test_retention_removes_it_only_after_it_was_closed(api, settings):
    settings.RETENTION_DAYS = 1
    pk = opened(api).json()["id"]
    later = timezone.now() + timedelta(days=30)
    assert retention.expired(later) == []
    Recording.objects.filter(pk=pk).update(status=Recording.Status.FAILED)
    assert [row.pk for row in retention.expired(later)] == [pk]
