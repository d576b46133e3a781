"""A form that is older than what somebody else saved does not replace it before it is seen."""

import html
import re

import pytest

from snapshots.models import EngineJob
from snapshots.reviews import entries, incidents, timeline
from snapshots.reviews.models import Entry, Review, TimelineRow
from tests.web.given import (
    a_client,
    a_person,
    a_ready_recording,
    post_json,
    signed_in,
    text_of,
)
from webapp.teams import services as teams
from webapp.teams.models import Membership

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def bob(ada):
    return a_person("bob@example.org")


@pytest.fixture
def review(ada, bob):
    """Return a review of a team in which both are editors."""
    team = teams.create_team(ada, "payments")
    Membership.objects.create(team=team, person=bob, role="editor")
    return incidents.open_review(ada, team.account, {"title": "Orders were lost"})


@pytest.fixture
def row(ada, review):
    return timeline.add_words(ada, review, {"text": "They restarted it."})


def opened(page, name="revision"):
    """Return the values of the hidden fields of this name, of the head's form first."""
    return re.findall(rf'name="{name}" value="([^"]*)"', page)


def shown_beside(page):
    """Return what the page says was saved meanwhile, by field."""
    parts = re.findall(
        r'data-newer="(\w+)" >Saved meanwhile: <span\s+class="newer-text">([^<]*)<', page
    )
    return {name: html.unescape(text) for name, text in parts}


def sent(client, review, status, **fields):
    return text_of(client.post(f"/reviews/{review.pk}/change", fields, follow=True), status)


def test_a_stale_head_is_shown_the_newer_one_and_saved_only_over_what_was_shown(
    client, ada, bob, review
):
    """Between both savings of the stale form somebody saves a third time, unseen by its writer."""
    page = text_of(client.get(f"/reviews/{review.pk}"))
    form = {"action": "edit", "title": "Mine", "summary": "my summary", "revision": opened(page)[0]}
    incidents.change(bob, review, {"summary": "Bob's summary"}, 0)
    refused = sent(client, review, 409, **form)
    assert "bob@example.org saved the head of this review on 20" in refused
    assert "my summary</textarea>" in refused
    assert 'value="Mine"' in refused
    assert shown_beside(refused) == {"title": "Orders were lost", "summary": "Bob's summary"}

    now = Review.objects.get()
    incidents.change(bob, now, {"summary": "Bob's third"}, now.revision)
    again = sent(client, review, 409, **{**form, "revision": opened(refused)[0]})
    assert shown_beside(again)["summary"] == "Bob's third"
    assert Review.objects.get().summary == "Bob's third"

    sent(client, review, 200, **{**form, "revision": opened(again)[0]})
    assert Review.objects.get().summary == "my summary"


def test_a_stale_row_is_shown_the_newer_one_and_saved_only_over_what_was_shown(
    client, ada, bob, review, row
):
    page = text_of(client.get(f"/reviews/{review.pk}?edit={row.pk}"))
    form = {"action": f"save {row.pk}", "text": "mine", "revision": opened(page)[1]}
    timeline.change(bob, review, row.pk, {"text": "Bob's", "kind": "finding"}, 99)
    refused = sent(client, review, 409, **form, kind="")
    assert "bob@example.org saved this row on 20" in refused
    assert "mine</textarea>" in refused
    assert shown_beside(refused) == {"text": "Bob's", "kind": "finding"}

    timeline.change(bob, review, row.pk, {"text": "Bob's third"}, 99)
    again = sent(client, review, 409, **{**form, "revision": opened(refused)[1]}, kind="")
    assert shown_beside(again)["text"] == "Bob's third"
    sent(client, review, 200, **{**form, "revision": opened(again)[1]}, kind="")
    assert TimelineRow.objects.get().text == "mine"


def test_another_mistake_in_a_stale_form_does_not_make_it_a_fresh_one(client, ada, bob, review):
    """A form that was refused for its time keeps the revision with which it was opened."""
    incidents.change(bob, review, {"title": "Bob's"}, 0)
    for opened_with in ("0", ""):
        form = {"action": "edit", "title": "Mine", "revision": opened_with}
        refused = sent(client, review, 422, **form, began_at="noon")
        assert opened(refused)[0] == opened_with
        sent(client, review, 409, **{**form, "revision": opened(refused)[0]})
    assert Review.objects.get().title == "Bob's"


def test_an_edited_note_is_one_more_save_of_its_row(client, ada, bob, review):
    banks = a_ready_recording(review.owner)
    note = entries.write(bob, banks, {"text": "B lost it"})
    incidents.add_exhibit(ada, review, banks)
    made = timeline.add_entry(ada, review, note.pk)
    page = text_of(client.get(f"/reviews/{review.pk}?edit={made.pk}"))
    entries.change(bob, note, {"text": "A lost it"})
    form = {"action": f"save {made.pk}", "text": "mine", "revision": opened(page)[1]}
    refused = sent(client, review, 409, **form)
    assert "bob@example.org saved this row on 20" in refused
    assert shown_beside(refused) == {"text": "A lost it"}


@pytest.mark.parametrize("is_archived", [False, True])
def test_a_note_that_was_changed_in_another_tab_is_not_replaced_unseen(client, ada, is_archived):
    subject = (
        EngineJob.objects.create(owner=ada, engine="flink", key="a" * 32)
        if is_archived
        else a_ready_recording(ada)
    )
    note = entries.write(ada, subject, {"text": "first"})
    kind = "archive" if is_archived else "recordings"
    address, notes = f"/entries/{note.pk}/change", f"/{kind}/{subject.pk}/notes"
    form = {"action": "edit", "text": "mine", "next": notes}
    form["version"] = opened(text_of(client.get(notes)), "version")[0]

    entries.change(ada, note, {"text": "of the other tab"})
    refused = text_of(client.post(address, form), 409)
    assert "You yourself saved this note on 20" in refused
    assert "mine</textarea>" in refused
    assert shown_beside(refused) == {"text": "of the other tab"}

    entries.change(ada, note, {"text": "of a third"})
    form["version"] = opened(refused, "version")[0]
    again = text_of(client.post(address, form), 409)
    assert shown_beside(again) == {"text": "of a third"}
    assert Entry.objects.get().text == "of a third"

    form["version"] = opened(again, "version")[0]
    assert client.post(address, form)["Location"] == f"{notes}#entry-{note.pk}"
    assert Entry.objects.get().text == "mine"


def test_a_note_that_was_resolved_meanwhile_can_be_saved(client, ada):
    """To resolve a note changes no word of it."""
    note = entries.write(ada, a_ready_recording(ada), {"text": "first"})
    version = entries.version_of(note)
    entries.change(ada, note, {"resolved": True})
    form = {"action": "edit", "text": "mine", "version": version}
    assert client.post(f"/entries/{note.pk}/change", form).status_code == 302
    now = Entry.objects.get()
    assert (now.text, now.resolved_at is None) == ("mine", False)


def test_the_api_refuses_a_stale_version_and_is_silent_without_one(ada):
    note = entries.write(ada, a_ready_recording(ada), {"text": "first"})
    api, address = a_client(ada), f"/api/entries/{note.pk}"
    seen = api.get(address).json()["version"]
    change = {"text": "mine", "kind": "finding", "version": seen}
    entries.change(ada, note, {"text": "second"})
    answer = post_json(api, address, change, "patch")
    assert (answer.status_code, answer.json()["field"]) == (409, "version")
    assert answer.json()["newer"] == {"text": "second", "kind": "note"}
    again = post_json(api, address, {**change, "version": answer.json()["version"]}, "patch")
    assert (again.status_code, again.json()["text"]) == (200, "mine")
    assert post_json(api, address, {"text": "third"}, "patch").status_code == 200


def test_who_saved_something_is_said_of_deleted_accounts_too(ada, bob, review, row):
    timeline.change(bob, review, row.pk, {"text": "Bob's"}, 99)
    bob.delete()
    answer = post_json(
        a_client(ada),
        f"/api/reviews/{review.pk}/timeline/{row.pk}",
        {"text": "mine", "revision": 1},
        "patch",
    )
    assert answer.json()["detail"].startswith("A deleted account saved this row on 20")


def test_a_save_that_was_not_noted_is_of_somebody(ada, review, row):
    """Rows that were changed before Cutline noted who did it."""
    TimelineRow.objects.update(changed_in=5, changed_by=None, changed_at=None)
    Review.objects.update(revision=5)
    address = f"/api/reviews/{review.pk}/timeline/{row.pk}"
    answer = post_json(a_client(ada), address, {"text": "mine", "revision": 1}, "patch")
    assert answer.json()["detail"].startswith("Somebody saved this row, it is not known when,")


def test_only_its_author_is_shown_what_was_saved_meanwhile(ada, bob, review):
    note = entries.write(ada, a_ready_recording(review.owner), {"text": "first"})
    form = {"action": "edit", "text": "mine", "version": "0"}
    assert signed_in(bob).post(f"/entries/{note.pk}/change", form).status_code == 403
