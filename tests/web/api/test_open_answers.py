"""What is asked about an open recording is answered from what has come so far."""

import json

import pytest

from snapshots.files import journals
from snapshots.models import Recording
from tests.web.api.test_open_recordings import lines, opened, send
from tests.web.given import a_client, a_person, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def event(process, index, kind, at, **fields):
    return {"kind": kind, "process": process, "index": index, "at": at, **fields}


MESSAGE = {"channel": "A->B", "message": "m", "value": 4}
SENT = event("A", 0, "send", 3, **MESSAGE, state=6)
RECEIVED = event("B", 0, "receive", 9, **MESSAGE, state=4)
SNAPSHOT = [
    event("A", 0, "record_state", 1, snapshot="s", state=10),
    event("A", 1, "marker_send", 2, snapshot="s", channel="A->B"),
    event("B", 0, "marker_receive", 4, snapshot="s", channel="A->B"),
    event("B", 1, "record_state", 4, snapshot="s", state=0),
]


@pytest.fixture
def api():
    return a_client(a_person())


@pytest.fixture
def row(api):
    pk = opened(api).json()["id"]
    yield Recording.objects.get(pk=pk)
    journals.forget(Recording.objects.get(pk=pk).journal)


def look_again(row):
    """Let the next question look into the journal, however soon it comes."""
    journals.looked_at(row)._looked_at = float("-inf")


def cut(api, row, **question):
    body = json.dumps(question)
    address = f"/api/recordings/{row.pk}/cuts"
    return api.post(address, body, content_type="application/json").json()


def test_a_cut_a_window_and_a_search_see_what_has_come(api, row):
    send(api, row.pk, lines(SENT))
    assert cut(api, row, step=1)["messages"] == {"A->B": ["m"]}
    assert api.get(f"/api/recordings/{row.pk}/search?query=m").json()["total"] == 1
    assert api.get(f"/api/recordings/{row.pk}/window").json()["events_total"] == 1
    assert api.get(f"/api/recordings/{row.pk}/events/A/0").json()["state"] == 6
    send(api, row.pk, lines(RECEIVED))
    look_again(row)
    assert cut(api, row, at=9)["states"] == {"A": 6, "B": 4}


def test_a_receive_waits_for_its_send_and_that_is_said(api, row):
    send(api, row.pk, lines(RECEIVED))
    so_far = journals.so_far(row)
    assert so_far.manifest.counts["events"] == 0
    (wait,) = so_far.head.waits
    assert (wait.process, wait.events, wait.channel, wait.what) == ("B", 1, "A->B", "m")


def test_a_snapshot_is_judged_when_all_of_it_has_come(api, row):
    address = f"/api/recordings/{row.pk}/snapshots"
    send(api, row.pk, lines(*SNAPSHOT[:3]))
    assert api.get(f"/api/recordings/{row.pk}/window").status_code == 200
    assert api.get(address).json()["items"] == []
    send(api, row.pk, lines(SNAPSHOT[3]))
    look_again(row)
    assert api.get(f"/api/recordings/{row.pk}/window").status_code == 200
    (listed,) = api.get(address).json()["items"]
    assert (listed["snapshot"], listed["verdict"]) == ("s", "consistent")
    assert api.get(f"{address}/s").json()["recorded"]["processes"] == {"A": 10, "B": 0}
    answer = api.post(f"{address}/s/restore")
    assert answer.status_code == 409
    assert "open" in answer.json()["detail"]


def test_the_page_is_the_workbench_and_can_close_it(api, row):
    browser = signed_in(a_person())
    page = browser.get(f"/recordings/{row.pk}").content.decode()
    assert 'id="wb-live"' in page
    assert f'action="/recordings/{row.pk}/close"' in page
    assert browser.post(f"/recordings/{row.pk}/close").status_code == 302
    row.refresh_from_db()
    assert row.status == "queued"
    assert 'id="wb-live"' not in browser.get(f"/recordings/{row.pk}").content.decode()
