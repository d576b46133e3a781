"""Reviews of incidents over the API: people, exhibits, the log and the curated timeline."""

import datetime
from itertools import permutations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from snapshots.reviews import due, entries, timeline
from snapshots.reviews.log import _within
from snapshots.reviews.models import Entry, Review, TimelineRow
from snapshots.services import moving
from tests.web.given import a_client, a_person, a_ready_recording, post_json
from webapp.accounts.models import AuditEntry
from webapp.notices import services as notices
from webapp.notices.models import Notice
from webapp.teams import services as teams
from webapp.teams.models import Membership

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("data_dir", "every_reply_is_documented"),
]


@pytest.fixture
def banks(ada):
    return a_ready_recording(ada)


@pytest.fixture
def review(api, banks):
    """Return the address of a review with the two banks."""
    made = asked(api, "/api/reviews", {"title": " Orders  were lost "}, 201)
    address = f"/api/reviews/{made['id']}"
    asked(api, f"{address}/exhibits", {"recording": banks.pk}, 201)
    return address


def asked(client, address, body=None, status=200, method="post"):
    answer = client.get(address) if body is None else post_json(client, address, body, method)
    assert answer.status_code == status, answer.content
    return answer.json()


def changed(client, address, body, status=200):
    return asked(client, address, body, status, "patch")


def noted(author, banks, text, **fields):
    return entries.write(author, banks, {"text": text, **fields})


def texts(api, review):
    """Return the texts of a timeline, a group as a list that begins with its name."""
    rows = asked(api, f"{review}/timeline")["items"]
    shown = []
    for row in rows:
        if row["group"] is None:
            members = [each["text"] for each in rows if each["group"] == row["id"]]
            shown.append([row["text"], *members] if row["is_group"] else row["text"])
    return shown


def words(api, review, text, **fields):
    return asked(api, f"{review}/timeline", {"text": text, **fields}, 201)["id"]


# --- the head -------------------------------------------------------------------------------------


def test_a_review_says_what_is_known_and_what_is_not(api, review, ada):
    times = {"began_at": "2026-11-23T04:00:00Z", "mitigated_at": "2026-11-23T05:30:00+01:00"}
    fields = {"severity": "major", "summary": "**Lost**", **times, "revision": 1}
    got = changed(api, review, fields)
    assert got["title"] == "Orders were lost"
    assert got["summary_html"].strip() == "<p><strong>Lost</strong></p>"
    assert got["mitigated_at"] == "2026-11-23T04:30:00Z"
    assert [(each["name"], each["words"]) for each in got["spans"]] == [
        ("to-detect", "not known"),
        ("to-mitigate", "30 min"),
        ("to-end", "not known"),
    ]
    assert [(each["email"], each["part"]) for each in got["people"]] == [
        (ada.username, "opened the review")
    ]
    assert got["may"] == {"contribute": True, "edit": True, "delete": True}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"title": " "}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"severity": "huge"}, "severity"),
        ({"status": None}, "status"),
        ({"began_at": "yesterday"}, "began_at"),
        ({"began_at": 5}, "began_at"),
        ({"began_at": "2026-11-23", "ended_at": "2026-11-22"}, "ended_at"),
        ({"summary": ["x"]}, "summary"),
    ],
)
def test_a_wrong_head_is_refused_with_the_field(api, review, body, field):
    answer = changed(api, review, {**body, "revision": 99}, 422)
    assert answer["field"] == field
    assert Review.objects.get().title == "Orders were lost"


def test_of_two_people_who_change_the_head_the_second_is_refused(api, review):
    seen = asked(api, review)["revision"]
    changed(api, review, {"title": "Hers", "revision": seen})
    answer = changed(api, review, {"title": "His", "severity": "major", "revision": seen}, 409)
    assert "You yourself saved the head of this review on 20" in answer["detail"]
    assert answer["newer"] == {"title": "Hers", "severity": "unknown"}
    assert changed(api, review, {"title": "His"}, 422)["field"] == "revision"
    assert asked(api, review)["title"] == "Hers"


def test_a_change_of_the_timeline_does_not_stand_in_the_way_of_the_head(api, review):
    seen = asked(api, review)["revision"]
    words(api, review, "They restarted it.")
    assert changed(api, review, {"title": "Another", "revision": seen})["title"] == "Another"


def test_reviews_are_listed_by_status_and_team(api, review, ada):
    team = teams.create_team(ada, "payments")
    asked(api, "/api/reviews", {"title": "Of the team", "team": team.pk}, 201)
    changed(api, review, {"status": "closed", "revision": 9})

    def listed(query):
        return [item["title"] for item in asked(api, f"/api/reviews{query}")["items"]]

    assert listed("") == ["Orders were lost", "Of the team"]
    assert listed("?status=open") == listed(f"?team={team.pk}") == ["Of the team"]
    assert listed("?team=mine&status=closed") == ["Orders were lost"]
    assert asked(api, "/api/reviews?status=lost", status=422)["field"] == "status"


# --- people and exhibits --------------------------------------------------------------------------


def test_only_who_can_see_a_review_becomes_one_of_its_people(api, ada, banks):
    team = teams.create_team(ada, "payments")
    grace = a_person("grace@example.org")
    Membership.objects.create(team=team, person=grace, role="viewer")
    made = asked(api, "/api/reviews", {"title": "Lost", "team": team.pk}, 201)
    address = f"/api/reviews/{made['id']}"
    asked(api, f"{address}/people", {"address": "Grace@example.org", "part": "on call"}, 201)
    got = asked(api, f"{address}/people", {"address": "grace@example.org", "part": "led"}, 201)
    assert [each["part"] for each in got["people"]] == ["opened the review", "led"]
    a_person("eve@example.org")
    refused = asked(api, f"{address}/people", {"address": "eve@example.org"}, 422)
    assert "cannot see this review" in refused["detail"]
    pk = got["people"][1]["id"]
    assert api.delete(f"{address}/people/{pk}").status_code == 204
    assert api.delete(f"{address}/people/{pk}").status_code == 404


def test_an_exhibit_is_there_once_and_has_a_page(api, review, banks):
    asked(api, f"{review}/exhibits", {"recording": banks.pk}, 201)
    got = asked(api, f"{review}/exhibits", {"recording": banks.pk, "place": "snapshot:s1"}, 201)
    assert [(each["name"], each["address"]) for each in got["exhibits"]] == [
        ("two banks", f"/recordings/{banks.pk}"),
        ("snapshot s1 of two banks", f"/recordings/{banks.pk}/snapshots/s1"),
    ]


@pytest.mark.parametrize(
    ("place", "status"), [("snapshot:s9", 409), ("event:B:2", 422), ("somewhere", 422)]
)
def test_no_other_place_is_an_exhibit(api, review, banks, place, status):
    asked(api, f"{review}/exhibits", {"recording": banks.pk, "place": place}, status)


def test_an_exhibit_that_was_moved_away_or_deleted_keeps_its_name_alone(api, ada, review, banks):
    entry = noted(ada, banks, "Here it is.", place="snapshot:s1")
    asked(api, f"{review}/timeline", {"entry": entry.pk}, 201)
    team = teams.create_team(ada, "payments")
    moving.move(Review.objects.get(), team.account, ada)
    grace = a_person("grace@example.org")
    Membership.objects.create(team=team, person=grace, role="editor")
    hers = a_client(grace)

    [exhibit] = asked(hers, review)["exhibits"]
    assert (exhibit["name"], exhibit["recording"]) == ("two banks", None)
    assert (exhibit["address"], exhibit["place"]) == (None, "")
    assert "You cannot open it" in exhibit["reason"]
    log = asked(hers, f"{review}/log")
    assert (log["items"], log["total"], log["unseen"]) == ([], 0, 1)
    [row] = asked(hers, f"{review}/timeline")["items"]
    assert (row["text"], row["sentence"]) == ("Here it is.", "snapshot s1: consistent")
    assert (row["entry"], row["address"], row["author"]) == (None, None, None)
    assert "You cannot open the recording" in row["reason"]
    asked(hers, f"{review}/timeline", {"entry": entry.pk + 1}, 404)

    banks.delete()
    [exhibit] = asked(api, review)["exhibits"]
    assert (exhibit["name"], exhibit["reason"]) == ("two banks", "It has been deleted.")
    [row] = asked(api, f"{review}/timeline")["items"]
    assert (row["text"], row["entry"]) == ("Here it is.", None)
    assert "has been deleted" in row["reason"]


# --- the log and the timeline ---------------------------------------------------------------------


def test_the_log_has_the_entries_of_all_exhibits_and_of_no_others(api, ada, review, banks):
    other = a_ready_recording(ada)
    for recording, place in [(banks, "event:B:2"), (other, "snapshot:s1"), (other, "event:B:2")]:
        noted(ada, recording, place, place=place)
    noted(ada, other, "in it", place="snapshot-channel:s1:B-%3EA")
    asked(api, f"{review}/exhibits", {"recording": other.pk, "place": "snapshot:s1"}, 201)
    log = asked(api, f"{review}/log")
    assert [item["text"] for item in log["items"]] == ["event:B:2", "snapshot:s1", "in it"]
    assert {item["row"] for item in log["items"]} == {None}
    page = asked(api, f"{review}/log?limit=1&offset=1")
    assert ([item["text"] for item in page["items"]], page["total"]) == (["snapshot:s1"], 3)


def test_a_checkpoint_has_its_own_entries_and_none_of_another_with_a_like_name():
    banks = a_ready_recording(a_person())
    places = [
        "checkpoint:1:0",
        "checkpoint:1:1",
        "subtask:1:0:a",
        "subtask:1:1:a",
        "subtask:11:0:a",
    ]
    for number, each in enumerate([*places, "state:1:o:s:k", "state:11:o:s:k"]):
        Entry.objects.create(recording=banks, text="x", place=each, number=number)
    own = set(Entry.objects.filter(_within("checkpoint:1:0")).values_list("place", flat=True))
    assert own == {"checkpoint:1:0", "subtask:1:0:a", "state:1:o:s:k"}


def test_all_kept_entries_become_the_draft_in_the_order_of_time(api, ada, review, banks):
    for text, at in [("last", 9000), ("not known", None), ("first", 10), ("second", 500)]:
        noted(ada, banks, text, at=at)
    entries.answer(ada, Entry.objects.first(), "an answer is no row")
    first = Entry.objects.get(text="second").pk
    asked(api, f"{review}/timeline", {"entry": first}, 201)
    assert asked(api, f"{review}/timeline/all", {}, 201) == {"added": 3}
    assert texts(api, review) == ["second", "first", "last", "not known"]
    assert asked(api, f"{review}/timeline/all", {}, 201) == {"added": 0}
    assert asked(api, f"{review}/timeline", {"entry": first}, 201)["text"] == "second"
    assert len(texts(api, review)) == 4


def test_the_original_and_the_edited_text_and_time_are_both_kept(api, ada, review, banks):
    entry = noted(ada, banks, "B lost it", kind="finding", at=5200)
    row = asked(api, f"{review}/timeline", {"entry": entry.pk}, 201)
    address, seen = f"{review}/timeline/{row['id']}", row["changed_in"]
    assert (row["text"], row["at"], row["is_edited"]) == ("B lost it", 5200, False)
    body = {
        "text": "B lost **1000**.",
        "at": 5100,
        "clock": "2026-11-23T04:00:00",
        "revision": seen,
    }
    got = changed(api, address, body)
    assert (got["text"], got["original_text"]) == ("B lost **1000**.", "B lost it")
    assert (got["when"], got["original_when"]) == ("5.1 ms", "5.2 ms")
    assert (got["clock"], got["is_edited"]) == ("2026-11-23T04:00:00Z", True)
    assert Entry.objects.get().text == "B lost it"
    back = {"text": None, "at": None, "revision": got["changed_in"]}
    got = changed(api, address, back)
    assert (got["text"], got["at"], got["is_edited"]) == ("B lost it", 5200, False)


def test_a_row_follows_its_entry_and_keeps_what_it_said_when_it_is_deleted(api, ada, review, banks):
    entry = noted(ada, banks, "B lost it")
    asked(api, f"{review}/timeline", {"entry": entry.pk}, 201)
    entries.change(ada, entry, {"text": "A lost it", "kind": "finding"})
    [row] = asked(api, f"{review}/timeline")["items"]
    assert (row["text"], row["kind"], row["number"]) == ("A lost it", "finding", 1)
    entries.delete(ada, entry)
    [row] = asked(api, f"{review}/timeline")["items"]
    assert (row["text"], row["kind"], row["entry"]) == ("A lost it", "finding", None)


def test_of_two_people_who_change_one_row_the_second_is_refused_and_other_rows_merge(api, review):
    one, other = words(api, review, "one"), words(api, review, "other")
    seen = asked(api, review)["revision"]
    changed(api, f"{review}/timeline/{one}", {"text": "hers", "revision": seen})
    changed(api, f"{review}/timeline/{other}", {"text": "his", "revision": seen})
    changed(api, f"{review}/timeline/{one}", {"before": None})
    refused = changed(api, f"{review}/timeline/{one}", {"text": "his", "revision": seen}, 409)
    assert "You yourself saved this row on 20" in refused["detail"]
    assert refused["newer"] == {"text": "hers"}
    body = {"text": "his", "revision": refused["revision"]}
    changed(api, f"{review}/timeline/{one}", {"text": "third", "revision": refused["revision"]})
    again = changed(api, f"{review}/timeline/{one}", body, 409)
    assert again["newer"] == {"text": "third"}, "a decision holds for the version that was shown"
    changed(api, f"{review}/timeline/{one}", {**body, "revision": again["revision"]})
    assert changed(api, f"{review}/timeline/{one}", {"text": "x"}, 422)["field"] == "revision"
    assert texts(api, review) == ["his", "his"]


@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
def test_rows_are_put_in_any_order(api, review, order):
    rows = {text: words(api, review, text) for text in "abc"}
    for text in order:
        changed(api, f"{review}/timeline/{rows[text]}", {"before": None})
    assert texts(api, review) == list(order)
    last, middle, first = (rows[text] for text in reversed(order))
    changed(api, f"{review}/timeline/{last}", {"before": first})
    changed(api, f"{review}/timeline/{middle}", {"before": first})
    assert texts(api, review) == [order[2], order[1], order[0]]


def test_rows_without_room_between_them_are_numbered_again(api, review):
    first, last = words(api, review, "first"), words(api, review, "last")
    TimelineRow.objects.filter(pk=first).update(position=1)
    TimelineRow.objects.filter(pk=last).update(position=2)
    between = words(api, review, "between", before=last)
    words(api, review, "before it", before=between)
    assert texts(api, review) == ["first", "before it", "between", "last"]


def test_rows_go_into_groups_and_out_of_them(api, review):
    a, b = words(api, review, "a"), words(api, review, "b")
    group = words(api, review, "The outage", is_group=True)
    words(api, review, "c")
    changed(api, f"{review}/timeline/{b}", {"group": group})
    changed(api, f"{review}/timeline/{a}", {"before": b})
    assert texts(api, review) == [["The outage", "a", "b"], "c"]
    inner = words(api, review, "inner", is_group=True)
    assert changed(api, f"{review}/timeline/{inner}", {"group": group}, 422)["field"] == "group"
    assert changed(api, f"{review}/timeline/{a}", {"group": b}, 422)["field"] == "group"
    changed(api, f"{review}/timeline/{a}", {"group": None})
    assert texts(api, review) == [["The outage", "b"], "c", ["inner"], "a"]
    changed(api, f"{review}/timeline/{a}", {"group": group})
    assert api.delete(f"{review}/timeline/{group}").status_code == 204
    assert texts(api, review) == ["b", "a", "c", ["inner"]], "the rows take the group's place"


def test_a_move_to_a_row_that_is_gone_is_refused(api, review):
    a, b = words(api, review, "a"), words(api, review, "b")
    assert api.delete(f"{review}/timeline/{b}").status_code == 204
    refused = changed(api, f"{review}/timeline/{a}", {"before": b}, 409)
    assert "no longer in the timeline" in refused["detail"]
    changed(api, f"{review}/timeline/{b}", {"is_hidden": True}, 404)


def test_a_hidden_row_stays_and_is_counted(api, review):
    a = words(api, review, "a")
    assert changed(api, f"{review}/timeline/{a}", {"is_hidden": True})["is_hidden"]
    assert asked(api, f"{review}/timeline")["hidden"] == asked(api, review)["hidden"] == 1
    assert changed(api, f"{review}/timeline/{a}", {"is_hidden": "no"}, 422)["field"] == "is_hidden"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": "x", "kind": "rumour"}, "kind"),
        ({"text": "x", "clock": "noon"}, "clock"),
        ({"text": "x", "is_group": "yes"}, "is_group"),
        ({"entry": "x"}, "entry"),
        ({"entry": True}, "entry"),
        ({"text": "x", "before": "x"}, "before"),
    ],
)
def test_a_wrong_row_is_refused_with_the_field(api, review, body, field):
    assert asked(api, f"{review}/timeline", body, 422)["field"] == field
    assert not TimelineRow.objects.exists()


def test_own_words_have_no_time_in_the_system(api, review):
    row = words(api, review, "They restarted it.")
    assert changed(api, f"{review}/timeline/{row}", {"at": 5}, 422)["field"] == "at"


def test_a_timeline_has_an_end(api, review, monkeypatch):
    monkeypatch.setattr(timeline, "MOST_ROWS", 1)
    words(api, review, "a")
    refused = asked(api, f"{review}/timeline", {"text": "b"}, 409)
    assert "at most 1 rows" in refused["detail"]


def test_a_commenter_adds_their_own_entries_and_nothing_else(api, ada, banks):
    team = teams.create_team(ada, "payments")
    moving.move(banks, team.account, ada)
    grace = a_person("grace@example.org")
    Membership.objects.create(team=team, person=grace, role="commenter")
    made = asked(api, "/api/reviews", {"title": "Lost", "team": team.pk}, 201)
    review = f"/api/reviews/{made['id']}"
    asked(api, f"{review}/exhibits", {"recording": banks.pk}, 201)
    of_ada, of_grace, more = (
        noted(author, banks, text) for author, text in [(ada, "a"), (grace, "b"), (grace, "c")]
    )
    hers = a_client(grace)
    asked(hers, f"{review}/timeline", {"entry": of_ada.pk}, 403)
    row = asked(hers, f"{review}/timeline", {"entry": of_grace.pk}, 201)
    changed(hers, f"{review}/timeline/{row['id']}", {"before": None}, 403)
    assert asked(hers, f"{review}/timeline/all", {}, 201) == {"added": 1}
    assert texts(api, review) == ["b", "c"]
    assert Entry.objects.filter(pk=more.pk).exists()


def test_what_is_done_to_a_review_is_in_the_audit_log(api, ada, review):
    changed(api, review, {"title": "Another", "revision": 9})
    moving.move(Review.objects.get(), teams.create_team(ada, "payments").account, ada)
    assert api.delete(review).status_code == 204
    done = AuditEntry.objects.filter(subject__startswith="review ").order_by("pk")
    actions = list(dict.fromkeys(done.values_list("action", flat=True)))
    assert actions == ["review-opened", "review-changed", "moved", "review-deleted"]


def test_a_long_timeline_takes_no_more_queries(api, ada, review, banks):
    def fill(number):
        for _ in range(number):
            noted(ada, banks, "x", place="event:B:2")
        asked(api, f"{review}/timeline/all", {}, 201)

    def queries(part):
        with CaptureQueriesContext(connection) as made:
            asked(api, f"{review}{part}")
        return len(made)

    fill(2)
    few = [queries(part) for part in ("", "/timeline", "/log")]
    fill(5)
    assert [queries(part) for part in ("", "/timeline", "/log")] == few


# --- follow-ups -----------------------------------------------------------------------------------


def day(offset):
    return (timezone.now().date() + datetime.timedelta(days=offset)).isoformat()


def test_follow_ups_are_listed_with_those_that_are_overdue_first(api, ada, review, banks):
    for text, due_on in [("no day", None), ("later", day(5)), ("overdue", day(-2))]:
        noted(ada, banks, text, kind="follow-up", due_on=due_on)
    entry = Entry.objects.get(text="overdue")
    asked(api, f"{review}/timeline", {"entry": entry.pk}, 201)
    got = asked(api, "/api/follow-ups")
    assert [each["text"] for each in got["items"]] == ["overdue", "later", "no day"]
    assert [each["is_overdue"] for each in got["items"]] == [True, False, False]
    assert got["overdue"] == 1
    [mine] = got["items"][0]["reviews"]
    assert mine["title"] == "Orders were lost"
    assert got["items"][0]["people"] == [ada.username]
    entries.change(ada, entry, {"resolved": True})
    assert asked(api, "/api/follow-ups")["total"] == 2
    assert asked(api, "/api/follow-ups?state=resolved")["total"] == 1
    assert asked(a_client(a_person("eve@example.org")), "/api/follow-ups")["total"] == 0
    assert asked(api, "/api/follow-ups?state=late", status=422)["field"] == "state"


def test_only_a_follow_up_has_a_day(api, ada, banks):
    address = f"/api/recordings/{banks.pk}/entries"
    body = {"text": "Add a disk.", "kind": "follow-up", "due_on": "2026-11-30"}
    made = asked(api, address, body, 201)
    assert made["due_on"] == "2026-11-30"
    assert asked(api, address, {**body, "kind": "note"}, 422)["field"] == "due_on"
    assert asked(api, address, {**body, "due_on": "soon"}, 422)["field"] == "due_on"
    one = f"/api/entries/{made['id']}"
    assert changed(api, one, {"due_on": "2026-12-01"})["due_on"] == "2026-12-01"
    assert changed(api, one, {"text": "Add two."})["due_on"] == "2026-12-01"
    assert changed(api, one, {"kind": "note"})["due_on"] is None
    history = asked(api, f"{one}/history")["items"]
    assert [each["due_on"] for each in history] == [None, "2026-12-01", "2026-12-01", "2026-11-30"]


def test_a_follow_up_that_is_due_is_noted_once_for_each_day(ada, banks):
    notices.create(ada, ada, "https://hooks.example.org/a", ["follow-up.due"])
    entry = noted(ada, banks, "Add a disk.", kind="follow-up", due_on=day(0))
    noted(ada, banks, "Later.", kind="follow-up", due_on=day(1))
    assert [due.sweep(), due.sweep()] == [1, 0]
    entries.change(ada, entry, {"due_on": day(-1)})
    assert [due.sweep(), due.sweep()] == [1, 0]
    entries.change(ada, entry, {"due_on": day(-3), "resolved": True})
    assert due.sweep() == 0
    assert [notice.data["due"] for notice in Notice.objects.order_by("pk")] == [day(0), day(-1)]
    assert {notice.title for notice in Notice.objects.all()} == {"Due: Add a disk."}
