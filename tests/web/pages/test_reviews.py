"""Notes on pages: the list of a recording, and the section on the page of a snapshot."""

import pytest

from snapshots.reviews import entries
from snapshots.reviews.models import Entry, TrailItem
from tests.web.given import a_person, a_ready_recording, signed_in, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

HOSTILE = "<script>alert(1)</script> & *<b>*"


@pytest.fixture
def banks(ada):
    return a_ready_recording(ada)


def test_a_note_is_written_answered_resolved_and_deleted_without_javascript(client, banks):
    address = f"/recordings/{banks.pk}/notes"
    assert "No notes yet." in text_of(client.get(address))
    form = {"text": HOSTILE, "kind": "question", "place": "snapshot:s1"}
    page = text_of(client.post(address, form, follow=True))
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; *&lt;b&gt;*" in page
    assert "<script>alert" not in page
    assert "snapshot s1: consistent</a>" in page
    change = f"/entries/{Entry.objects.get().pk}/change"
    page = text_of(client.post(change, {"action": "answer", "text": HOSTILE}, follow=True))
    assert page.count("&lt;script&gt;") == 3, "twice as text, and once in the form that edits it"
    client.post(change, {"action": "resolve"})
    assert "No note passes the filter." in text_of(client.get(f"{address}?state=open"))
    assert client.post(change, {"action": "explode"}).status_code == 422
    assert "Its words" not in text_of(client.post(change, {"action": "delete"}))
    assert Entry.objects.exists(), "deleting asks first"
    client.post(change, {"action": "delete", "confirmed": "1"})
    assert not Entry.objects.exists()


def test_a_refused_note_keeps_what_was_typed(client, banks):
    answer = client.post(f"/recordings/{banks.pk}/notes", {"text": "B?", "place": "event:C:1"})
    page = text_of(answer, 409)
    assert "The recording has no process C." in page
    assert "B?</textarea>" in page


def test_a_day_that_a_note_cannot_have_is_refused_and_shown_again(client, banks):
    form = {"text": "B?", "kind": "question", "due_on": "2026-11-30"}
    page = text_of(client.post(f"/recordings/{banks.pk}/notes", form), 422)
    assert "A question has no day on which it is due; a follow-up has." in page
    assert '<option value="question" selected>' in page
    assert 'entry-due" data-typed>' in page, "its style does not hide it"
    assert 'value="2026-11-30"' in page


def test_the_page_of_a_snapshot_shows_its_notes_and_joins_the_trail(client, ada, banks):
    form = {"text": "why?", "kind": "question", "place": "snapshot:s1"}
    client.post(f"/recordings/{banks.pk}/notes", form)
    client.post(f"/recordings/{banks.pk}/notes", {"text": "elsewhere", "place": "event:B:2"})
    page = text_of(client.get(f"/recordings/{banks.pk}/snapshots/s1"))
    assert "why?" in page
    assert f'name="next" value="/recordings/{banks.pk}/snapshots/s1"' in page
    assert "elsewhere" not in page
    assert [item.sentence for item in ada.trail.all()] == ["snapshot s1: consistent"]


@pytest.mark.parametrize(
    ("page", "lands"),
    [
        ("/recordings/{pk}/snapshots/s1", "/recordings/{pk}/snapshots/s1"),
        ("https://elsewhere.example/", "/recordings/{pk}/notes"),
        ("", "/recordings/{pk}/notes"),
    ],
)
def test_whoever_writes_on_the_page_of_a_place_stays_there(client, banks, page, lands):
    form = {"text": "why?", "place": "snapshot:s1", "next": page.format(pk=banks.pk)}
    answer = client.post(f"/recordings/{banks.pk}/notes", form)
    assert answer.url == f"{lands.format(pk=banks.pk)}#entry-{Entry.objects.get().pk}"


def test_a_table_that_is_saved_as_a_file_is_no_stop_on_the_trail(client, api, ada, banks):
    page = f"/recordings/{banks.pk}/snapshots/s1"
    for answer in (
        client.get(page, {"format": "csv"}),
        api.get("/api/table", {"page": page, "format": "csv"}),
    ):
        assert answer.status_code == 200
        assert b"".join(answer.streaming_content)
    assert not ada.trail.exists()


def test_a_sample_shows_no_notes_and_keeps_no_trail(client):
    sample = a_ready_recording(None)
    assert 'id="notes"' not in text_of(client.get(f"/recordings/{sample.pk}/snapshots/s1"))
    assert 'id="wb-notes"' not in text_of(client.get(f"/recordings/{sample.pk}"))
    assert "A sample has no notes" in text_of(client.get(f"/recordings/{sample.pk}/notes"))
    assert not TrailItem.objects.exists()


def test_an_outsider_gets_404_everywhere(client, banks):
    client.post(f"/recordings/{banks.pk}/notes", {"text": "mine"})
    eve = signed_in(a_person("eve@example.org"))
    assert eve.get(f"/recordings/{banks.pk}/notes").status_code == 404
    change = f"/entries/{Entry.objects.get().pk}/change"
    assert eve.post(change, {"action": "delete"}).status_code == 404
    assert Entry.objects.count() == 1


def test_the_versions_of_a_note_open_on_its_page(client, banks):
    address = f"/recordings/{banks.pk}/notes"
    client.post(address, {"text": "It lost one."})
    pk = Entry.objects.get().pk
    history = f"/entries/{pk}/history"
    assert history not in text_of(client.get(address))
    for text in ("It lost two.", f"It lost {HOSTILE}"):
        client.post(f"/entries/{pk}/change", {"action": "edit", "text": text})
    page = text_of(client.get(address))
    assert f'hx-get="{history}"' in page
    assert "3 versions" in page
    for headers in ({}, {"HX-Request": "true"}):
        shown = text_of(client.get(history, headers=headers))
        assert "<del>one</del><ins>two</ins>" in shown
        assert "&lt;script&gt;" in shown
        assert "<script>alert" not in shown
    assert client.get("/api/entries/" + str(pk)).json()["versions"] == 3


def test_the_versions_of_an_answer_have_a_link_too(client, ada, banks):
    question = entries.write(ada, banks, {"text": "Why?"})
    answer = entries.answer(ada, question, "Because.")
    entries.change(ada, answer, {"text": "Because of B."})
    history = f"/entries/{answer.pk}/history"
    assert history in text_of(client.get(f"/recordings/{banks.pk}/notes"))
    assert "Versions of an answer to note 1" in text_of(client.get(history))
