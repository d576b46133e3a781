"""Deleting a note says before what goes with it, and which timelines keep its words."""

import pytest

from snapshots.reviews import entries, incidents, timeline
from snapshots.reviews.models import Entry, TimelineRow
from tests.web.given import a_client, a_person, a_ready_recording, signed_in, text_of
from webapp.links import public
from webapp.teams import services as teams
from webapp.teams.models import Membership

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def team(ada):
    return teams.create_team(ada, "payments")


@pytest.fixture
def bob(team):
    person = a_person("bob@example.org")
    Membership.objects.create(team=team, person=person, role="commenter")
    return person


@pytest.fixture
def note(team, bob):
    banks = a_ready_recording(team.account)
    return entries.write(bob, banks, {"text": "B lost m7.", "kind": "finding"})


def in_a_review(ada, team, note, title: str):
    review = incidents.open_review(ada, team.account, {"title": title})
    incidents.add_exhibit(ada, review, note.recording)
    timeline.add_entry(ada, review, note.pk)
    return review


def deletion(person, note, **fields) -> str:
    return text_of(
        signed_in(person).post(f"/entries/{note.pk}/change", {"action": "delete"} | fields)
    )


def test_the_question_names_answers_timelines_and_public_links(ada, bob, team, note, settings):
    settings.PUBLIC_LINKS = True
    entries.answer(bob, note, "Or was it m8?")
    review = in_a_review(ada, team, note, "Orders were lost")
    public.make(review, ada)
    asked = deletion(bob, note)
    assert "1 answer goes with it." in asked
    assert "Its words stay in the timeline of “Orders were lost”." in asked
    assert "1 review has a public link" in asked
    assert 'name="also"' not in asked, "a commenter cannot change a timeline"
    assert Entry.objects.filter(pk=note.pk).exists()


def test_the_question_shows_the_note_and_names_it_in_plain_words(bob, note):
    asked = deletion(bob, note)
    assert f"Delete “finding {note.number} on {note.recording}”?" in asked
    assert "<p>B lost m7.</p>" in asked
    answer = entries.answer(bob, note, "*Or* m8?")
    asked = deletion(bob, answer)
    assert f"Delete “this answer on {note.recording}”?" in asked
    assert "<em>Or</em> m8?" in asked


def test_a_review_that_is_not_seen_is_counted_and_not_named(ada, bob, team, note):
    review = in_a_review(ada, team, note, "Secret")
    Membership.objects.filter(person=bob).delete()
    type(review).objects.filter(pk=review.pk).update(owner=a_person("eve@example.org"))
    Membership.objects.create(team=team, person=bob, role="commenter")
    asked = deletion(bob, note)
    assert "the timeline of 1 review that you do not see." in asked
    assert "Secret" not in asked
    answer = a_client(bob).get(f"/api/entries/{note.pk}/leftovers").json()
    assert (answer["reviews"], answer["unseen_reviews"], answer["public_reviews"]) == ([], 1, 0)


def test_an_editor_deletes_the_rows_too_if_that_is_chosen(ada, team, note):
    in_a_review(ada, team, note, "Orders were lost")
    assert 'name="also"' in deletion(ada, note)
    change = f"/entries/{note.pk}/change"
    signed_in(ada).post(change, {"action": "delete", "confirmed": "1", "also": "1"})
    assert not Entry.objects.filter(pk=note.pk).exists()
    assert not TimelineRow.objects.exists()


def test_rows_stay_if_that_is_not_chosen(ada, team, note):
    in_a_review(ada, team, note, "Orders were lost")
    signed_in(ada).post(f"/entries/{note.pk}/change", {"action": "delete", "confirmed": "1"})
    assert TimelineRow.objects.get().original_text == "B lost m7."


def test_whoever_changes_a_note_on_another_page_stays_there(ada, note):
    place = f"/recordings/{note.recording_id}/snapshots/s1?page=1"
    for action in ("resolve", "reopen", "answer"):
        sent = {"action": action, "text": "x", "next": place}
        answer = signed_in(ada).post(f"/entries/{note.pk}/change", sent)
        assert answer["Location"] == f"{place}#entry-{note.pk}"
    sent = {"action": "resolve", "next": "https://elsewhere.example/"}
    answer = signed_in(ada).post(f"/entries/{note.pk}/change", sent)
    assert answer["Location"].startswith(f"/recordings/{note.recording_id}/notes")
