"""Running systems over HTTP: what their command tells, what people ask for, and what is refused."""

import json

import pytest
from django.test import Client

from snapshots.files import uploads
from snapshots.models import Recording
from tests.web.api.test_open_recordings import EVENTS, HEADER, lines, opened, send
from tests.web.given import a_client, a_person
from tests.webapp.serving import wait_until

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
    assert api.get("/api/live").json() == {"items": [], "unreadable": [], "total": 0}


def test_the_page_shows_what_is_connected_and_asks(api, pk):
    assert "No system is connected" in signed_in("grace@example.org").get("/live").content.decode()
    post(api, f"{pk}/system", TOLD)
    pages = signed_in("ada@example.org")
    assert f'data-system="{pk}"' in pages.get("/live").content.decode()
    assert pages.post(f"/live/{pk}", {"order": "kill:A"}).status_code == 302
    orders = post(api, f"{pk}/system", TOLD).json()["orders"]
    assert orders == [{"action": "kill", "process": "A"}]
    assert pages.post(f"/live/{pk}", {"order": "explode"}).status_code == 422


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"processes": [TOLD["processes"][0] | {"name": "Z"}]}, "processes.0.name"),
        ({"processes": TOLD["processes"] + TOLD["processes"][:1]}, "processes.2.name"),
        ({"snapshots": [SNAPSHOT | {"initiator": "<b>A</b>"}]}, "snapshots.0.initiator"),
    ],
)
def test_a_process_that_the_header_does_not_name_is_refused_and_nothing_is_shown(
    api, pk, changes, field
):
    answer = post(api, f"{pk}/system", TOLD | changes)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert only(api)["is_connected"] is False


def test_a_system_of_somebody_else_is_not_there(api, pk):
    post(api, f"{pk}/system", TOLD)
    stranger = a_client(a_person("grace@example.org"))
    assert post(stranger, f"{pk}/system", TOLD).status_code == 404
    assert post(stranger, f"{pk}/orders", {"action": "close"}).status_code == 404
    assert stranger.get("/api/live").json()["total"] == 0
    assert post(api, f"{pk}/system", TOLD).json() == {"orders": []}


def test_a_damaged_journal_is_said_and_hides_no_other_system(api, pk):
    other = opened(api).json()["id"]
    path = uploads.path_of(Recording.objects.get(pk=pk).journal)
    path.write_bytes(b"x" + path.read_bytes()[1:])
    answer = api.get("/api/live").json()
    assert ([item["recording"] for item in answer["items"]], answer["total"]) == ([other], 2)
    (unreadable,) = answer["unreadable"]
    assert unreadable["recording"] == pk
    assert "damaged" in unreadable["problem"]
    page = signed_in("ada@example.org").get("/live").content.decode()
    assert "damaged" in page
    assert f'data-system="{other}"' in page
    assert post(api, f"{pk}/system", TOLD).status_code == 503


def test_what_a_system_reports_is_text_and_never_html(api):
    hostile = "</script><script>alert(1)</script>"
    header = HEADER | {"processes": [{"id": hostile}, {"id": "B"}], "channels": []}
    pk = opened(api, header=header).json()["id"]
    process = TOLD["processes"][0] | {"name": hostile}
    snapshot = SNAPSHOT | {"name": hostile, "initiator": hostile}
    told = TOLD | {"processes": [process], "snapshots": [snapshot], "notes": [hostile]}
    assert post(api, f"{pk}/system", told).status_code == 200
    assert post(api, f"{pk}/orders", {"action": "kill", "process": hostile}).status_code == 202
    assert hostile not in signed_in("ada@example.org").get("/live").content.decode()


def test_states_read_by_clocks_are_judged_when_every_process_has_recorded(api, pk):
    send(api, pk, lines(*EVENTS, RECORDED[0]))
    post(api, f"{pk}/system", TOLD)
    snapshot = only(api)["snapshots"][0]
    assert (snapshot["verdict"], snapshot["sentence"][:15]) == (None, "Not judged yet:")
    send(api, pk, lines(RECORDED[1]))
    wait_until(lambda: only(api)["snapshots"][0]["verdict"] == "consistent", seconds=60)


def test_a_snapshot_by_markers_is_judged_and_its_row_keeps_the_verdict(api, pk):
    marker = {"channel": "A->B", "snapshot": "s1", "at": 7}
    events = [
        *(*EVENTS, *RECORDED),
        {"kind": "marker_send", "process": "A", "index": 3, **marker},
        {"kind": "marker_receive", "process": "B", "index": 2, **marker},
    ]
    send(api, pk, lines(*events[:-1]))
    post(api, f"{pk}/system", TOLD)
    assert only(api)["snapshots"][0]["verdict"] is None
    send(api, pk, lines(events[-1]))
    wait_until(lambda: only(api)["snapshots"][0]["verdict"] == "consistent", seconds=60)
    assert Recording.objects.get(pk=pk).snapshots.get().verdict == "consistent"


def signed_in(email):
    client = Client()
    client.force_login(a_person(email))
    return client


@pytest.mark.parametrize(
    ("snapshot", "problem"),
    [
        ({"states": 7, "channels": 3}, None),
        ({"states": 10, "channels": None}, None),
        ({"states": 7, "channels": 2}, "The sum does not hold: 9 of 10, 1 too few."),
        ({"states": 9, "channels": 4}, "The sum does not hold: 13 of 10, 3 too many."),
        (
            {"states": 7, "channels": None, "initiator": None},
            "The sum does not hold: 7 of 10, 3 too few. What was in the channels was not recorded.",
        ),
    ],
)
def test_a_snapshot_with_another_sum_than_the_beginning_says_so(api, pk, snapshot, problem):
    assert post(api, f"{pk}/system", TOLD | {"snapshots": [SNAPSHOT | snapshot]}).status_code == 200
    assert only(api)["snapshots"][0]["problem"] == problem
