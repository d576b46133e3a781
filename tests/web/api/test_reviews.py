"""Places are looked up and worded from the pages' answers; entries and trails follow the rights."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from django.utils import timezone

from snapshots.archive import filling
from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.simulators.samples import two_banks
from snapshots.models import Recording
from snapshots.readers.engines.flink.rest.archive import facts_of_upload
from snapshots.readers.engines.flink.upload import read_upload
from snapshots.reviews import resolving, trail
from snapshots.reviews.models import Entry, TrailItem
from tests.builders import a_run, simulated
from tests.damage import marker_sent_late
from tests.web.given import a_client, a_person, a_ready_recording, post_json, signed_in
from webapp.accounts.models import AuditEntry
from webapp.teams import services
from webapp.teams.models import Membership

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def banks(ada):
    return a_ready_recording(ada)


def looked_up(api, recording, place: str, seen: str = "", status: int = 200) -> dict:
    query = {"place": place, "seen": seen}
    answer = api.get(f"/api/recordings/{recording.pk}/place", query)
    assert answer.status_code == status, answer.content
    return answer.json()


def posted(api, address: str, status: int = 201, **body: object) -> dict:
    answer = post_json(api, f"/api/{address}", body)
    assert answer.status_code == status, answer.content
    return answer.json()


def patched(api, address: str, status: int = 200, **body: object) -> dict:
    answer = post_json(api, f"/api/{address}", body, "patch")
    assert answer.status_code == status, answer.content
    return answer.json()


def listed(api, address: str) -> list[dict]:
    answer = api.get(f"/api/{address}")
    assert answer.status_code == 200, answer.content
    return answer.json()["items"]


WORDED = [
    (
        "moment:time:5200",
        "",
        "cut at 5.2 ms: B->A holds 1 message (2000); consistent",
        "?axis=time&t=5200",
    ),
    (
        "moment:order:3",
        "",
        "cut after 3 events: A->B holds 1 message (1000); consistent",
        "?axis=order&t=3",
    ),
    (
        "cut:A=2:B=5",
        "",
        "cut up to 5.2 ms: B->A holds 2 messages (1000, 2000); consistent",
        "?t=5200&cut=2.5",
    ),
    (
        "cut:B=5",
        "",
        "cut up to 5.2 ms: B->A holds 2 messages (1000, 2000); not consistent: orphan m1 on A->B",
        "?t=5200&cut=0.5",
    ),
    (
        "event:B:2",
        "",
        "event 2 of B at 3.8 ms: receive m1 (1000) on A->B; state 5000",
        "?event=2%40B",
    ),
    (
        "message:A-%3EB:m1",
        "",
        "message m1 (1000) on A->B: sent at 1.5 ms, received at 3.8 ms",
        "?t=1500&message=m1%40A-%3EB",
    ),
    ("process:A", "", "process A", "?process=A"),
    ("process:A", "moment:time:400", "process A at 400 µs: state 10000", "?process=A"),
    (
        "channel:B-%3EA",
        "cut:A=2:B=5",
        "channel B->A in a cut up to 5.2 ms: 2 messages (1000, 2000)",
        "?channel=B-%3EA",
    ),
    ("channel:A-%3EB", "moment:time:400", "channel A->B at 400 µs: empty", "?channel=A-%3EB"),
    ("snapshot:s1", "", "snapshot s1: consistent", "/snapshots/s1"),
    (
        "snapshot-channel:s1:B-%3EA",
        "",
        "channel B->A in snapshot s1: recorded: 2 messages (1000, 2000); recomputed: 2 "
        "messages (1000, 2000)",
        "/snapshots/s1",
    ),
]


def test_a_place_is_worded_and_shown_somewhere(ada, api, banks):
    browser = signed_in(ada)
    for place, seen, sentence, address in WORDED:
        item = looked_up(api, banks, place, seen)
        assert (item["state"], item["sentence"]) == ("there", sentence)
        assert item["address"] == f"/recordings/{banks.pk}{address}"
        assert browser.get(item["address"]).status_code == 200


GONE = {
    "event:B:10": "B has 10 events, so there is no event 10.",
    "event:C:0": "The recording has no process C.",
    "message:A-%3EB:m9": "The channel A->B has no message m9.",
    "message:A-%3EC:m1": "The recording has no channel A->C.",
    "channel:C": "The recording has no channel C.",
    "cut:A=11": "A has 10 events, and the cut has 11.",
    "cut:C=1": "The recording has no process C.",
    "snapshot:s2": "The recording has no snapshot s2.",
    "snapshot-channel:s2:A-%3EB": "The recording has no snapshot s2.",
    "checkpoint:7:0": "The recording has no checkpoint 7.",
    "subtask:7:0:A": "The recording has no checkpoint 7.",
    "state:7:op:sum:1": "The recording has no checkpoint 7.",
    "moment:order:21": "The recording goes from 0 to 20 events, not to 21.",
    "moment:time:99999": "The recording goes from 400 to 11,000 us, not to 99,999.",
}


def test_a_place_that_is_not_there_is_gone_for_a_reason(api, banks):
    for place, reason in GONE.items():
        item = looked_up(api, banks, place)
        assert (item["state"], item["reason"], item["sentence"]) == ("gone", reason, "")
        assert (item["address"], item["workbench"]) == (None, None)
    refused = posted(api, f"recordings/{banks.pk}/entries", 409, place="event:C:0", text="here")
    assert (refused["field"], refused["detail"]) == ("place", GONE["event:C:0"])
    assert not Entry.objects.exists()


def test_every_verdict_of_a_cut_is_that_of_the_cuts_call(api, banks):
    for before in range(0, 11, 2):
        for behind in range(11):
            question = {"positions": {"A": before, "B": behind}}
            answer = post_json(api, f"/api/recordings/{banks.pk}/cuts", question).json()
            parts = [f"{name}={count}" for name, count in question["positions"].items() if count]
            sentence = looked_up(api, banks, ":".join(["cut", *parts]))["sentence"]
            assert sentence.endswith("; consistent") == answer["consistent"]
            assert ("not consistent: orphan" in sentence) == (not answer["consistent"])


def test_a_cut_with_a_receive_that_no_send_explains_is_not_called_consistent(api, ada):
    log = two_banks()
    index = sum(event.process == "A" for event in log.events)
    stray = LoggedEvent(99, "A", "receive", index, 12000, channel="B->A", message="m9")
    row = a_ready_recording(ada, log._replace(events=(*log.events, stray)))
    for inside, is_consistent in ((index, True), (index + 1, None)):
        cut = {"A": inside, "B": 10}
        answer = post_json(api, f"/api/recordings/{row.pk}/cuts", {"positions": cut}).json()
        assert answer["consistent"] is is_consistent
    unknown = looked_up(api, row, f"cut:A={index + 1}:B=10")["sentence"]
    assert unknown.endswith(
        "; whether it is consistent is not known: the log has no send for 1 receive inside it"
    )
    query = {"left": row.pk, "right": row.pk, "left_snapshot": "s1"}
    query["right_positions"] = json.dumps(cut)
    assert api.get("/api/compare", query).json()["right"]["outcome"] == "not known"


def test_a_snapshot_is_worded_by_its_witness(api, ada):
    damaged = marker_sent_late(simulated())
    row = a_ready_recording(ada, damaged.log)
    snapshot = row.snapshots.get(snapshot=damaged.snapshot)
    sentence = looked_up(api, row, f"snapshot:{damaged.snapshot}")["sentence"]
    worst = snapshot.verdicts[0]
    expected = f"snapshot {damaged.snapshot}: {worst['verdict']} {worst['message']} on "
    assert sentence.startswith(expected + worst["channel"])


def test_an_id_with_any_character_is_found(api, ada):
    name = "a/../b:1 <i>&=%é"
    log = a_run({name: 1, "q": 2}, {"c": (name, "q")}).send("c", "m1").log()
    row = a_ready_recording(ada, log)
    item = looked_up(api, row, "process:a%2F..%2Fb%3A1%20%3Ci%3E%26%3D%25%C3%A9")
    assert (item["state"], item["process"]) == ("there", name)


def test_what_is_no_place_is_refused_with_the_field(api, banks):
    refused = looked_up(api, banks, "row:7", status=422)
    assert (refused["field"], "is no kind of place" in refused["detail"]) == ("place", True)
    refused = looked_up(api, banks, "process:A", "process:B", status=422)
    assert refused["field"] == "seen"
    posted(api, f"recordings/{banks.pk}/entries", 422, text="x", place=7)


def read_again(row: Recording, log) -> None:
    """Put another store behind a recording, as reading the upload again does."""
    other = a_ready_recording(row.owner, log)
    row.snapshots.all().delete()
    other.snapshots.update(recording=row)
    Recording.objects.filter(pk=row.pk).update(store=other.store)


def test_an_entry_stays_and_says_what_became_of_its_place_after_reading_again(api, ada, banks):
    address = f"recordings/{banks.pk}/entries"
    places = ("event:B:2", "event:B:9", "cut:A=2:B=5", "snapshot:s1", "message:A-%3EB:m1")
    before = [posted(api, address, text="here", place=place)["place"] for place in places]
    read_again(banks, two_banks())
    assert [item["place"] for item in listed(api, address)] == before
    shorter = a_run({"A": 10, "B": 5}, {"A->B": ("A", "B")})
    for number in range(3):
        shorter = shorter.internal("B", "tick") if number else shorter.send("A->B", "m1")
    read_again(banks, shorter.internal("B", "tick").log())
    after = {item["place"]["text"]: item for item in listed(api, address)}
    assert [item["text"] for item in after.values()] == ["here"] * 5
    states = {text: item["place"]["state"] for text, item in after.items()}
    assert states == {
        "event:B:2": "changed",
        "event:B:9": "gone",
        "cut:A=2:B=5": "gone",
        "snapshot:s1": "gone",
        "message:A-%3EB:m1": "there",
    }
    assert "is another one than the one that was meant" in after["event:B:2"]["place"]["reason"]
    assert after["event:B:9"]["sentence"].startswith("event 9 of B at 10.6 ms: internal")
    Recording.objects.filter(pk=banks.pk).update(status="running")
    assert {item["place"]["state"] for item in listed(api, address)} == {"not-known"}


def edited(log, change):
    """Return a log in which each event has the fields that ``change`` returns for it."""
    return log._replace(events=tuple(replace(event, **change(event)) for event in log.events))


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (lambda event: {"at": event.at + 7}, "there"),
        (lambda event: {"message": event.message and f"x{event.message}"}, "changed"),
    ],
)
def test_a_place_is_another_one_if_its_events_are_and_not_if_their_clock_is(
    api, ada, banks, change, state
):
    address = f"recordings/{banks.pk}/entries"
    for place in ("event:B:2", "cut:A=2:B=5"):
        posted(api, address, text="here", place=place)
    read_again(banks, edited(two_banks(), change))
    assert [item["place"]["state"] for item in listed(api, address)] == [state] * 2


def test_a_name_that_two_checkpoints_share_is_not_known(api, banks, monkeypatch):
    listed = SimpleNamespace(upload={"checkpoints": [{"id": 1}, {"id": 1, "snapshot": None}]})
    monkeypatch.setattr(resolving, "inventory_of", lambda recording: listed)
    item = looked_up(api, banks, "checkpoint:1:0")
    assert item["state"] == "not-known"
    assert "2 checkpoints with the name 1" in item["reason"]


def a_team(ada) -> tuple:
    """Return a team's recording, and a client of each role beside an outsider's."""
    team = services.create_team(ada, "payments")
    clients = {"outsider": a_client(a_person("eve@example.org"))}
    for role in ("viewer", "commenter", "editor", "owner"):
        person = a_person(f"{role}@example.org")
        Membership.objects.create(team=team, person=person, role=role)
        clients[role] = a_client(person)
    return a_ready_recording(team.account), clients


WRITES = {"outsider": 404, "viewer": 403, "commenter": 201, "editor": 201, "owner": 201}


@pytest.mark.parametrize("role", WRITES)
def test_each_role_does_with_entries_what_it_may(ada, role):
    recording, clients = a_team(ada)
    api = clients[role]
    first = posted(clients["commenter"], f"recordings/{recording.pk}/entries", text="theirs")
    entry, address = f"entries/{first['id']}", f"recordings/{recording.pk}/entries"
    outside = role == "outsider"
    reads = 404 if outside else 200
    for path in (address, entry, f"{entry}/history", f"recordings/{recording.pk}/trail"):
        assert api.get(f"/api/{path}").status_code == reads
    posted(api, address, WRITES[role], text="mine", kind="question")
    posted(api, f"{entry}/answers", WRITES[role], text="an answer")
    own = role == "commenter"
    forbidden = 404 if outside else 403
    patched(api, entry, 200 if own else forbidden, text="changed")
    settles = 200 if own or role in ("editor", "owner") else forbidden
    patched(api, entry, settles, resolved=True)
    shown = None if outside else api.get(f"/api/{entry}").json()["may"]
    if shown is not None:
        writes = WRITES[role] == 201
        settled = settles == 200
        rights = {"edit": own, "resolve": settled, "delete": settled, "answer": writes}
        assert shown == rights
    assert api.delete(f"/api/{entry}").status_code == (204 if settles == 200 else forbidden)


def test_an_author_does_not_delete_what_others_answered(ada):
    recording, clients = a_team(ada)
    entry = posted(clients["commenter"], f"recordings/{recording.pk}/entries", text="a question")
    posted(clients["owner"], f"entries/{entry['id']}/answers", text="an answer")
    refused = clients["commenter"].delete(f"/api/entries/{entry['id']}")
    assert refused.status_code == 409
    assert clients["editor"].delete(f"/api/entries/{entry['id']}").status_code == 204
    assert not Entry.objects.exists()


def test_a_removed_author_neither_reads_nor_changes_the_entry(ada):
    recording, clients = a_team(ada)
    entry = posted(clients["commenter"], f"recordings/{recording.pk}/entries", text="mine")
    Membership.objects.filter(person__username="commenter@example.org").delete()
    patched(clients["commenter"], f"entries/{entry['id']}", 404, text="changed")
    shown = clients["viewer"].get(f"/api/entries/{entry['id']}").json()
    assert (shown["author"], shown["text"]) == ("commenter@example.org", "mine")


def test_every_change_is_in_the_audit_log(api, ada, banks):
    entry = posted(api, f"recordings/{banks.pk}/entries", text="one", kind="finding")
    path = f"entries/{entry['id']}"
    for change in ({"text": "two"}, {"resolved": True}, {"resolved": True}, {"resolved": False}):
        patched(api, path, **change)
    api.delete(f"/api/{path}")
    entries = AuditEntry.objects.filter(action__startswith="note").order_by("pk")
    actions = ["noted", "note-edited", "note-resolved", "note-reopened", "note-deleted"]
    assert list(entries.values_list("action", flat=True)) == actions
    assert {row.subject for row in entries} == {f"finding 1 on {banks.title}"}
    assert {row.actor for row in entries} == {"ada@example.org"}


def test_the_history_shows_what_changed(api, ada, banks):
    entry = posted(api, f"recordings/{banks.pk}/entries", text="A lost 1000.")
    patched(api, f"entries/{entry['id']}", text="B lost 1000 twice.", kind="finding")
    newest, first = listed(api, f"entries/{entry['id']}/history")
    assert (first["by"], first["kind_before"], first["kind"]) == ("ada@example.org", None, "note")
    assert (newest["kind_before"], newest["kind"]) == ("note", "finding")
    assert [(part["change"], part["text"]) for part in newest["changes"]] == [
        ("removed", "A"),
        ("added", "B"),
        ("same", " lost 1000"),
        ("added", " twice"),
        ("same", "."),
    ]
    assert api.get(f"/api/entries/{entry['id']}").json()["edited_at"]
    Recording.objects.get(pk=banks.pk).delete()
    assert not Entry.history.exists(), "texts do not outlive the recording"


def test_only_people_who_can_see_it_are_mentioned(ada):
    recording, clients = a_team(ada)
    text = "@viewer@example.org and @Editor@example.org, not @eve@example.org or a@b@example.org"
    entry = posted(clients["owner"], f"recordings/{recording.pk}/entries", text=text)
    assert entry["mentions"] == ["editor@example.org", "viewer@example.org"]
    changed = patched(clients["owner"], f"entries/{entry['id']}", text="nobody")
    assert changed["mentions"] == []


REFUSED = [
    ({}, "text"),
    ({"text": "  "}, "text"),
    ({"text": ["a"]}, "text"),
    ({"text": "x" * 20_001}, "text"),
    ({"text": "x", "kind": "rumour"}, "kind"),
    ({"text": "x", "at": "now"}, "at"),
    ({"text": "x", "at": 2**63}, "at"),
]


def test_an_entry_without_meaning_is_refused_with_the_field(api, banks):
    for body, field in REFUSED:
        refused = posted(api, f"recordings/{banks.pk}/entries", 422, **body)
        assert refused["field"] == field
    assert not Entry.objects.exists()


def test_a_sample_has_no_notes(api):
    sample = a_ready_recording(None)
    refused = posted(api, f"recordings/{sample.pk}/entries", 403, text="hello")
    assert "so it has no notes" in refused["detail"]
    assert posted(api, f"recordings/{sample.pk}/trail", place="snapshot:s1")["sentence"]


def test_lists_are_filtered_by_kind_state_and_place(api, banks):
    address = f"recordings/{banks.pk}/entries"
    posted(api, address, text="one", kind="question", place="snapshot:s1")
    two = posted(api, address, text="two")
    patched(api, f"entries/{two['id']}", resolved=True)
    texts = {
        query: [item["text"] for item in listed(api, f"{address}?{query}")]
        for query in ("", "kind=question", "state=open", "state=resolved", "place=snapshot:s1")
    }
    assert texts == {
        "": ["one", "two"],
        "kind=question": ["one"],
        "state=open": ["one"],
        "state=resolved": ["two"],
        "place=snapshot:s1": ["one"],
    }
    assert api.get(f"/api/{address}?state=lost").status_code == 422


def test_a_trail_is_private_moves_to_the_front_and_is_kept_with_one_call(ada):
    recording, clients = a_team(ada)
    mine, address = clients["commenter"], f"recordings/{recording.pk}/trail"
    for place in ("snapshot:s1", "event:B:2", "snapshot:s1"):
        item = posted(mine, address, place=place)
    assert [item["sentence"] for item in listed(mine, address)] == [
        "snapshot s1: consistent",
        "event 2 of B at 3.8 ms: receive m1 (1000) on A->B; state 5000",
    ]
    assert listed(clients["owner"], address) == []
    keep = f"trail/{item['id']}/keep"
    posted(clients["owner"], keep, 404)
    entry = posted(mine, keep, kind="finding")
    assert (entry["sentence"], entry["text"]) == ("snapshot s1: consistent", "")
    assert (entry["kind"], entry["place"]["text"], entry["number"]) == ("finding", "snapshot:s1", 1)
    assert len(listed(mine, address)) == 1
    posted(clients["viewer"], f"recordings/{recording.pk}/trail", place="event:A:1")
    [own] = listed(clients["viewer"], address)
    posted(clients["viewer"], f"trail/{own['id']}/keep", 403)
    assert mine.delete(f"/api/{address}").status_code == 204
    assert (listed(mine, address), len(listed(clients["viewer"], address))) == ([], 1)


def test_a_trail_keeps_200_places_for_7_days(api, ada, banks, monkeypatch):
    monkeypatch.setattr(trail, "MOST", 3)
    address = f"recordings/{banks.pk}/trail"
    for index in range(5):
        posted(api, address, place=f"event:A:{index}")
    kept = [item["place"]["text"] for item in listed(api, address)]
    assert kept == ["event:A:4", "event:A:3", "event:A:2"]
    TrailItem.objects.filter(place="event:A:3").update(made_at=timezone.now() - trail.KEPT)
    [_, last] = listed(api, address)
    assert last["place"]["text"] == "event:A:2"
    assert trail.sweep() == 1
    assert TrailItem.objects.count() == 2


def test_a_checkpoint_of_the_archive_is_noted(ada, api, shared_data):
    (facts,) = facts_of_upload(read_upload(shared_data / "flink" / "failures" / "rest"))
    job = filling.take(ada, facts)
    places = ("checkpoint:3:0", "subtask:3:0:slow-sink%5B0%5D", "checkpoint:99:0", "event:A:1")
    items = [api.get(f"/api/archive/{job.pk}/place", {"place": place}).json() for place in places]
    assert [item["state"] for item in items] == ["there", "there", "gone", "gone"]
    assert items[0]["sentence"] == (
        "checkpoint 3: failed, 2 s; not acknowledged in time by slow-sink[0]"
    )
    assert items[1]["sentence"].startswith("slow-sink[0] in checkpoint 3: ")
    entry = posted(api, f"archive/{job.pk}/entries", text="again", place=places[0])
    assert entry["place"]["address"] == f"/archive/{job.pk}/checkpoints/0/3"
    assert entry["when"].endswith(" UTC")
    assert listed(api, f"archive/{job.pk}/entries") == [entry]
    posted(api, f"archive/{job.pk}/trail", place=places[1])
    assert len(listed(api, f"archive/{job.pk}/trail")) == 1
