"""Running systems over HTTP: what their command tells, what people ask for, and what is refused."""

import json

import pytest
from django.test import Client

from tests.web.api.test_open_recordings import EVENTS, lines, opened, send
from tests.web.given import a_client, a_person

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("data_dir", "rooms"),
]

SNAPSHOT = {"name": "s1", "initiator": "A", "states": 7, "channels": 3, "at": 1_700_000_000.5}
TOLD = {
    "epoch": 2,
    "total": 10,
    "processes": [
        {"name": "A", "state": "running", "since": 1_700_000_000.0, "balance": 4},
        {"name": "B", "state": "killed", "since": 1_700_000_001.0, "balance": None},
    ],
    "snapshots": [SNAPSHOT],
    "notes": ["A begins a snapshot."],
}
RECORDED = [
    {"kind": "record_state", "process": "A", "index": 2, "at": 5, "snapshot": "s1", "state": 3},
    {"kind": "record_state", "process": "B", "index": 1, "at": 6, "snapshot": "s1"},
]


@pytest.fixture
def api():
    return a_client(a_person())


@pytest.fixture
def pk(api):
    return opened(api).json()["id"]


def post(api, address, body):
    return api.post(f"/api/recordings/{address}", json.dumps(body), content_type="application/json")


def only(api):
    (item,) = api.get("/api/live").json()["items"]
    return item


def test_what_the_command_tells_is_shown_and_what_people_ask_for_reaches_it_once(api, pk):
    assert only(api)["is_connected"] is False
    assert post(api, f"{pk}/system", TOLD).json() == {"orders": []}
    item = only(api)
    assert (item["is_connected"], item["epoch"], item["total"], item["sum"]) == (True, 2, 10, None)
    assert [each["state"] for each in item["processes"]] == ["running", "killed"]
    assert (item["snapshots"][0]["sum"], item["snapshots"][0]["verdict"]) == (10, None)
    wanted = [{"action": "kill", "process": "A"}, {"action": "restore", "process": None}]
    for order in wanted:
        assert post(api, f"{pk}/orders", order).status_code == 202
    assert post(api, f"{pk}/system", TOLD).json() == {"orders": wanted}
    assert post(api, f"{pk}/system", TOLD).json() == {"orders": []}


def test_a_snapshot_is_judged_from_what_has_come(api, pk):
    send(api, pk, lines(*EVENTS, *RECORDED))
    post(api, f"{pk}/system", TOLD)
    snapshot = only(api)["snapshots"][0]
    assert (snapshot["verdict"], snapshot["sentence"][:11]) == ("consistent", "Consistent:")


def test_without_a_command_nothing_can_be_asked_for(api, pk):
    answer = post(api, f"{pk}/orders", {"action": "restore"})
    assert answer.status_code == 409
    assert "No command is connected" in answer.json()["detail"]


@pytest.mark.parametrize("process", ["Z", "", "1", None])
def test_only_a_process_of_the_system_can_be_killed(api, pk, process):
    post(api, f"{pk}/system", TOLD)
    answer = post(api, f"{pk}/orders", {"action": "kill", "process": process})
    assert answer.status_code == 409
    assert post(api, f"{pk}/system", TOLD).json() == {"orders": []}


@pytest.mark.parametrize(
    "changes",
    [
        {"epoch": -1},
        {"total": 2**80},
        {"processes": [{"name": "A"}]},
        {"processes": TOLD["processes"] * 51},
        {"notes": ["x" * 2001]},
        {"snapshots": [{**SNAPSHOT, "at": "soon"}]},
        {"pid": 1},
    ],
)
def test_what_is_not_a_system_is_refused_and_leaves_nothing(api, pk, changes):
    answer = post(api, f"{pk}/system", TOLD | changes)
    assert answer.status_code in (400, 422)
    assert answer.json()["detail"]
    assert only(api)["is_connected"] is False


def test_a_closed_recording_has_no_system(api, pk):
    api.post(f"/api/recordings/{pk}/close")
    assert post(api, f"{pk}/system", TOLD).status_code == 409
    assert api.get("/api/live").json() == {"items": [], "total": 0}


def test_the_page_shows_what_is_connected_and_asks(api, pk):
    assert "No system is connected" in signed_in("grace@example.org").get("/live").content.decode()
    post(api, f"{pk}/system", TOLD)
    pages = signed_in("ada@example.org")
    assert f'data-system="{pk}"' in pages.get("/live").content.decode()
    assert pages.post(f"/live/{pk}", {"order": "kill:A"}).status_code == 302
    orders = post(api, f"{pk}/system", TOLD).json()["orders"]
    assert orders == [{"action": "kill", "process": "A"}]
    assert pages.post(f"/live/{pk}", {"order": "explode"}).status_code == 422


def signed_in(email):
    client = Client()
    client.force_login(a_person(email))
    return client
