"""Public links: a visitor sees what the link shows and nothing else, until the link ends."""

import re
from datetime import timedelta
from time import monotonic

import pytest
from django.test import Client
from django.utils import timezone

from snapshots.problems import TooMany
from snapshots.reviews import entries, incidents, timeline
from snapshots.reviews.models import Entry, Review
from snapshots.services import moving
from snapshots.web.json import dumps
from snapshots.web.pages import incident_rows
from tests.web.given import a_client, a_person, a_ready_recording, signed_in, text_of
from webapp.accounts import people as accounts
from webapp.accounts.models import AuditEntry
from webapp.links import limits, public, visiting
from webapp.links.models import PublicLink
from webapp.operating.logging import redacted
from webapp.teams import services as teams
from webapp.teams.models import Membership

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
ORIGIN = "http://testserver"


@pytest.fixture(autouse=True)
def _allowed(settings):
    settings.PUBLIC_LINKS = True
    settings.PUBLIC_URL = ORIGIN
    limits.forget()


@pytest.fixture
def team(ada):
    return teams.create_team(ada, "payments")


@pytest.fixture
def editor(team):
    person = a_person("ed@example.org")
    Membership.objects.create(team=team, person=person, role="editor")
    return person


@pytest.fixture
def banks(team):
    return a_ready_recording(team.account)


def a_link(banks, by, **options) -> tuple[PublicLink, str]:
    row, link = public.make(banks, by, **options)
    return row, link.removeprefix(ORIGIN)


def a_visitor(address: str) -> Client:
    """Return a client that has opened a public link."""
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    answer = client.get(address)
    assert answer.status_code == 302, answer.content
    return client


def test_a_visitor_sees_the_workbench_with_what_it_needs(banks, editor):
    _, address = a_link(banks, editor, view={"now": 3}, name="for the vendor")
    client = a_visitor(address)
    page = client.get(f"/recordings/{banks.pk}")
    text = text_of(page)
    assert page.context["workbench"]["view"] == {"now": 3}
    assert "public link" in text
    for path in ("topology", "snapshots", "snapshots/s1", "window", "search?query=m1",
                 "events/A/0", "cones/A/0"):  # fmt: skip
        assert client.get(f"/api/recordings/{banks.pk}/{path}").status_code == 200, path
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', text)
    assert token is not None
    asks = {"content_type": "application/json", "headers": {"X-CSRFToken": token[1]}}
    cut = client.post(f"/api/recordings/{banks.pk}/cuts", dumps({"step": 3}), **asks)
    assert cut.status_code == 200, cut.content
    client.cookies.pop("csrftoken")
    assert client.post(f"/api/recordings/{banks.pk}/cuts", "{}", **asks).status_code == 403


def test_a_visitor_reaches_no_other_page_and_no_other_recording(banks, editor, team):
    other = a_ready_recording(team.account)
    sample = a_ready_recording(None)
    client = a_visitor(a_link(banks, editor)[1])
    for path in ("/", f"/recordings/{banks.pk}/defects", f"/recordings/{banks.pk}/snapshots/s1",
                 f"/recordings/{banks.pk}/original", f"/recordings/{banks.pk}/sharing",
                 f"/recordings/{other.pk}", f"/recordings/{sample.pk}", "/archive",
                 "/account"):  # fmt: skip
        assert client.get(path)["Location"].startswith("/sign-in?next="), path
    for path in (f"recordings/{banks.pk}", f"recordings/{other.pk}/topology",
                 f"recordings/{sample.pk}/topology", "recordings", f"archive/{banks.pk}",
                 f"recordings/{banks.pk}/entries", f"recordings/{banks.pk}/links"):  # fmt: skip
        assert client.get(f"/api/{path}").status_code == 401, path


def test_nobody_s_name_is_on_the_visitor_s_page(banks, ada, editor):
    entries.write(editor, banks, {"text": "Look here, @ada@example.org"})
    text = text_of(a_visitor(a_link(banks, editor)[1]).get(f"/recordings/{banks.pk}"))
    for name in (ada.username, editor.username, "payments", "Look here", "wb-notes-toggle"):
        assert name not in text, name


def test_notes_and_downloads_are_shown_only_if_the_maker_chose_them(banks, editor):
    entries.write(editor, banks, {"text": "Look here."})
    client = a_visitor(a_link(banks, editor, with_notes=True)[1])
    assert "wb-notes-toggle" in text_of(client.get(f"/recordings/{banks.pk}"))
    listed = client.get(f"/api/recordings/{banks.pk}/entries").json()
    assert [item["text"] for item in listed["items"]] == ["Look here."]
    assert not listed["may_write"]
    assert not any(listed["items"][0]["may"].values())
    body = dumps({"text": "Mine."})
    wrote = client.post(
        f"/api/recordings/{banks.pk}/entries", body, content_type="application/json"
    )
    assert wrote.status_code == 401
    client = a_visitor(a_link(banks, editor, with_downloads=True)[1])
    assert client.get(f"/recordings/{banks.pk}/original").status_code == 404  # no upload is kept
    assert "Download the log" in text_of(client.get(f"/recordings/{banks.pk}"))


def test_a_visitor_learns_who_wrote_a_note_and_not_whom_it_concerns(banks, editor, ada):
    note = entries.write(editor, banks, {"text": "Look here.", "kind": "question"})
    note.mentions.add(ada)
    Entry.objects.filter(pk=note.pk).update(resolved_by=ada, resolved_at=timezone.now())
    address = f"/api/recordings/{banks.pk}/entries"
    visitor = a_visitor(a_link(banks, editor, with_notes=True)[1])
    [seen] = visitor.get(address).json()["items"]
    assert (seen["author"], seen["mentions"], seen["resolved_by"]) == (editor.username, [], None)
    [member] = signed_in(ada).get(address).json()["items"]
    assert (member["mentions"], member["resolved_by"]) == ([ada.username], ada.username)


def test_wrong_expired_and_withdrawn_links_get_the_same_answer(banks, editor):
    expired, expired_address = a_link(banks, editor, days=1)
    withdrawn, withdrawn_address = a_link(banks, editor)
    PublicLink.objects.filter(pk=expired.pk).update(expires_at=timezone.now())
    public.withdraw(withdrawn, editor)
    texts = set()
    for address in ("/public/wrong", expired_address, withdrawn_address):
        answer = Client().get(address)
        texts.add(re.sub(r'nonce="[^"]*"|"X-CSRFToken": "\w+"', "", text_of(answer, 404)))
        assert not any(name.startswith("visit_") for name in answer.cookies)
    assert len(texts) == 1
    assert "It may be incomplete, withdrawn or expired" in texts.pop()


def test_a_visit_ends_with_its_link(banks, editor):
    row, address = a_link(banks, editor)
    client = a_visitor(address)
    public.withdraw(row, editor)
    assert "withdrawn or expired" in text_of(client.get(f"/recordings/{banks.pk}"), 404)
    assert client.get(f"/api/recordings/{banks.pk}/window").status_code == 401
    again = client.get(f"/recordings/{banks.pk}")
    assert again["Location"].startswith("/sign-in?next="), "members are not kept out by an old link"


def leaves(banks, editor, ada):
    teams.remove(Membership.objects.get(person=editor), ada)


def becomes_viewer(banks, editor, ada):
    teams.change_role(Membership.objects.get(person=editor), ada, "viewer")


def is_closed(banks, editor, ada):
    accounts.close(editor, ada)


def is_moved(banks, editor, ada):
    moving.move(banks, ada, ada)


def team_forbids(banks, editor, ada):
    public.decide_for_team(banks.owner.team, ada, allowed=False)


def is_deleted(banks, editor, ada):
    from snapshots.services.recordings import delete_recording

    delete_recording(banks, ada)


def is_withdrawn(banks, editor, ada):
    public.withdraw(PublicLink.objects.get(), editor)


ENDS = [leaves, becomes_viewer, is_closed, is_moved, team_forbids, is_deleted, is_withdrawn]


@pytest.mark.parametrize("end", ENDS)
def test_a_link_ends_when_its_maker_could_not_make_it_again(banks, editor, ada, end):
    _, address = a_link(banks, editor)
    a_visitor(address)
    end(banks, editor, ada)
    assert Client().get(address).status_code == 404


def comes_back(banks, editor, ada, team):
    moving.move(banks, team.account, ada)


def is_invited_again(banks, editor, ada, team):
    Membership.objects.update_or_create(person=editor, team=team, defaults={"role": "editor"})


@pytest.mark.parametrize(
    ("end", "undo"),
    [(is_moved, comes_back), (leaves, is_invited_again), (becomes_viewer, is_invited_again)],
)
def test_a_link_that_has_ended_does_not_work_again(
    banks, editor, ada, team, end, undo, django_capture_on_commit_callbacks
):
    _, address = a_link(banks, editor)
    a_visitor(address)
    with django_capture_on_commit_callbacks(execute=True):
        end(banks, editor, ada)
    undo(banks, editor, ada, team)
    assert Client().get(address).status_code == 404
    assert not PublicLink.objects.exists()
    assert AuditEntry.objects.filter(action="public-link-withdrawn").count() == 1


def test_a_team_that_allows_public_links_again_has_its_links_back(banks, editor, ada, team):
    _, address = a_link(banks, editor)
    public.decide_for_team(team, ada, allowed=False)
    public.decide_for_team(team, ada, allowed=True)
    a_visitor(address)


def test_the_operator_forbids_all_public_links(banks, editor, settings):
    _, address = a_link(banks, editor)
    settings.PUBLIC_LINKS = False
    assert Client().get(address).status_code == 404
    answer = a_client(editor).post(
        f"/api/recordings/{banks.pk}/public-links", "{}", content_type="application/json"
    )
    assert answer.status_code == 409
    assert "PUBLIC_LINKS=yes" in answer.json()["detail"]


def test_public_links_are_off_unless_the_operator_allows_them():
    from webapp.env import SETTINGS

    assert SETTINGS["PUBLIC_LINKS"].default == "no"


def test_only_the_hash_of_the_token_is_kept_and_no_log_line_has_it(banks, editor):
    row, address = a_link(banks, editor)
    token = address.rpartition("/")[2]
    assert len(token) >= 43
    assert token not in str(PublicLink.objects.values().get(pk=row.pk))
    assert token not in redacted(f"GET {address} 302")
    made = AuditEntry.objects.get(action="public-link-made")
    assert token not in f"{made.subject} {made.detail}"


def test_the_address_is_kept_from_other_sites_and_search_engines(banks, editor):
    _, address = a_link(banks, editor)
    client = a_visitor(address)
    for answer in (Client().get(address), Client().get("/public/wrong"),
                   client.get(f"/recordings/{banks.pk}")):  # fmt: skip
        assert answer["X-Robots-Tag"] == "noindex, nofollow"
        assert answer["Referrer-Policy"] == "no-referrer"
        assert "no-store" in answer["Cache-Control"]


def test_guessing_is_stopped_and_a_right_link_of_another_address_opens(banks, editor):
    _, address = a_link(banks, editor)
    for _ in range(limits.WRONG):
        assert Client().get("/public/guess").status_code == 404
    refused = Client().get("/public/guess")
    assert refused.status_code == 429
    assert Client().get(address).status_code == 429
    assert Client(REMOTE_ADDR="203.0.113.9").get(address).status_code == 302


def test_the_list_says_how_often_and_when_a_link_was_opened(banks, editor, ada):
    row, address = a_link(banks, editor, name="for the vendor")
    a_visitor(address)
    a_visitor(address)
    [item] = a_client(ada).get(f"/api/recordings/{banks.pk}/public-links").json()["items"]
    assert (item["uses"], item["works"], item["name"]) == (2, True, "for the vendor")
    assert item["last_used_at"] is not None
    text = text_of(signed_in(ada).get(f"/recordings/{banks.pk}/sharing"))
    assert "for the vendor" in text
    assert "opened 2 times" in text
    assert "whoever has its public link" in re.sub("</?strong>", "", text)
    assert a_client(ada).get(f"/api/recordings/{banks.pk}/sharing").json()["public_links"] == 1
    public.withdraw(row, ada)
    actions = AuditEntry.objects.values_list("action", flat=True)
    assert {"public-link-made", "public-link-withdrawn"} <= set(actions)


def test_the_form_makes_a_link_with_the_view_of_the_page(banks, editor):
    fields = {"name": "vendor", "days": "7", "view": '{"now": 4}', "with_notes": "on"}
    answer = signed_in(editor).post(f"/recordings/{banks.pk}/public-links", fields)
    text = text_of(answer)
    row = PublicLink.objects.get()
    assert (row.view, row.with_notes, row.with_downloads) == ({"now": 4}, True, False)
    assert timedelta(days=6) < row.expires_at - timezone.now() < timedelta(days=8)
    link = re.search(rf"{ORIGIN}/public/([\w-]+)", text)
    assert link is not None
    a_visitor(f"/public/{link[1]}")


@pytest.mark.parametrize("fields", [{"days": "x"}, {"view": "{"}, {"view": '{"a": 1}'}])
def test_a_form_that_was_tampered_with_makes_no_link(banks, editor, fields):
    answer = signed_in(editor).post(f"/recordings/{banks.pk}/public-links", fields)
    assert answer.status_code in (302, 422)
    assert not PublicLink.objects.exists()


@pytest.mark.parametrize("days", [0, -1, 3651, 1.5, "7", True])
def test_an_end_without_meaning_is_refused(banks, editor, days):
    answer = a_client(editor).post(
        f"/api/recordings/{banks.pk}/public-links",
        dumps({"days": days}),
        content_type="application/json",
    )
    assert (answer.status_code, answer.json()["field"]) == (422, "days")


def test_the_cookie_of_one_link_opens_nothing_else(banks, editor, team):
    other = a_ready_recording(team.account)
    row, address = a_link(banks, editor)
    own, others = f"visit_recordings_{banks.pk}", f"visit_recordings_{other.pk}"
    value = a_visitor(address).cookies[own].value
    for name, stolen in ((others, value), (own, str(row.pk))):
        client = Client()
        client.cookies[name] = stolen
        number = name.rpartition("_")[2]
        assert client.get(f"/recordings/{number}")["Location"].startswith("/sign-in"), name
    assert visiting.visitor_of({own: "x:y:z"}, "recordings", banks.pk) is None


def test_who_is_signed_in_and_may_not_see_it_is_told_how_to_open_it(banks, editor):
    _, address = a_link(banks, editor)
    assert signed_in(editor).get(address)["Location"] == f"/recordings/{banks.pk}"
    text = text_of(signed_in(a_person("bob@example.org")).get(address))
    assert "private window" in text
    assert "share the recording with you" in text
    assert "two banks" not in text


def test_who_is_signed_in_reads_that_the_link_shows_a_review(review, editor):
    _, address = a_link(review, editor)
    text = text_of(signed_in(a_person("bob@example.org")).get(address))
    assert "may not see this review" in text
    assert "share the review with you" in text
    assert "recording" not in text.partition("<h1>")[2]


def test_counts_begin_anew_with_each_minute(monkeypatch):
    for _ in range(limits.WRONG):
        limits.count_wrong_one("203.0.113.9")
    with pytest.raises(TooMany):
        limits.require_few_wrong_ones("203.0.113.9")
    monkeypatch.setattr(limits, "monotonic", lambda: monotonic() + limits.SECONDS)
    limits.require_few_wrong_ones("203.0.113.9")


def test_a_visitor_who_asks_too_often_waits_and_others_do_not(banks, editor, monkeypatch):
    monkeypatch.setattr(limits, "OF_AN_ADDRESS", 2)
    client = a_visitor(a_link(banks, editor)[1])
    address = f"/api/recordings/{banks.pk}/topology"
    assert [client.get(address).status_code for _ in range(3)] == [200, 200, 429]
    refused = client.get(f"/recordings/{banks.pk}")
    assert (refused.status_code, refused["Retry-After"]) == (429, "60")
    assert "more than 2 things" in refused.content.decode()
    assert client.get(address, REMOTE_ADDR="203.0.113.9").status_code == 200
    assert signed_in(editor).get(address).status_code == 200
    monkeypatch.setattr(limits, "OF_A_LINK", 2)
    assert client.get(address, REMOTE_ADDR="203.0.113.10").status_code == 429


# --- reviews --------------------------------------------------------------------------------------


@pytest.fixture
def review(team, editor, banks):
    row = incidents.open_review(editor, team.account, {"title": "Orders were lost"})
    incidents.add_exhibit(editor, row, banks)
    note = entries.write(editor, banks, {"text": "B never got m7.", "kind": "finding"})
    timeline.add_entry(editor, row, note.pk)
    shown, hidden = (
        timeline.add_words(editor, row, {"text": text}) for text in ("We restarted.", "Blame.")
    )
    assert shown
    timeline.change(editor, row, hidden.pk, {"is_hidden": True})
    return Review.objects.get(pk=row.pk)


def test_a_public_link_to_a_review_shows_it_without_people_and_hidden_rows(
    review, banks, editor, ada
):
    _, address = a_link(review, editor, name="for the vendor")
    client = a_visitor(address)
    text = text_of(client.get(f"/reviews/{review.pk}"))
    assert "Hidden by the authors: 1 row." in text
    for shown in ("Orders were lost", "B never got m7.", "We restarted.", "two banks"):
        assert shown in text, shown
    for kept in ("Blame.", editor.username, ada.username, "payments", "vendor", "/recordings/"):
        assert kept not in text, kept
    for path in (f"/recordings/{banks.pk}", "/reviews", f"/reviews/{review.pk}/change"):
        assert client.get(path)["Location"].startswith("/sign-in?next="), path
    assert client.get(f"/api/reviews/{review.pk}").status_code == 401


def test_a_link_to_a_review_ends_when_it_moves_or_is_withdrawn(review, editor, ada):
    row, address = a_link(review, editor)
    [item] = a_client(ada).get(f"/api/reviews/{review.pk}/public-links").json()["items"]
    assert (item["review"], item["recording"], item["works"]) == (review.pk, None, True)
    assert "Make a public link" in text_of(signed_in(editor).get(f"/reviews/{review.pk}/sharing"))
    answer = signed_in(editor).post(f"/reviews/{review.pk}/public-links", {"name": "second"})
    second = re.search(r"/public/[\w-]+", text_of(answer))
    assert second is not None
    public.withdraw(row, editor)
    assert Client().get(address).status_code == 404
    client = a_visitor(second[0])
    moving.move(review, ada, ada)
    assert client.get(f"/reviews/{review.pk}").status_code == 404


def test_a_long_timeline_is_shown_to_visitors_in_pages_with_whole_groups(
    review, editor, monkeypatch
):
    group = timeline.add_words(editor, review, {"text": "Afterwards", "is_group": True})
    for number in range(3):
        words = timeline.add_words(editor, review, {"text": f"Member {number}."})
        timeline.change(editor, review, words.pk, {"group": group.pk})
    monkeypatch.setattr(incident_rows, "SHOWN", 2)
    client = a_visitor(a_link(review, editor)[1])
    first = text_of(client.get(f"/reviews/{review.pk}"))
    assert "B never got m7." in first
    assert "Member" not in first
    assert "1 to 2 of" in " ".join(first.split())
    second = text_of(client.get(f"/reviews/{review.pk}?page=2"))
    assert all(f"Member {number}." in second for number in range(3))
    assert "B never got m7." not in second


def test_a_visitor_reads_which_rows_were_edited(review, editor):
    row = review.rows.get(entry__isnull=False)
    timeline.change(editor, review, row.pk, {"text": "B lost m7."}, seen=row.changed_in)
    assert ">edited</span>" in text_of(
        a_visitor(a_link(review, editor)[1]).get(f"/reviews/{review.pk}")
    )
