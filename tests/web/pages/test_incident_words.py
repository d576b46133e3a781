"""What pages, API and documents of a review say of its rows agrees, and keeps what was typed."""

import io
import re
import zipfile

import pytest

from snapshots.reviews import entries, timeline
from snapshots.reviews.bundles.merging import Merged
from snapshots.reviews.models import Entry, Review, TimelineRow
from snapshots.web.pages import incident_rows
from tests.web.given import a_ready_recording, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def banks(ada):
    return a_ready_recording(ada)


@pytest.fixture
def review(client, banks):
    """Return a review of a recording, opened on its page."""
    client.post("/reviews", {"recording": banks.pk})
    return Review.objects.get()


@pytest.fixture
def group(ada, review):
    """Return a group with two rows, the second of which is hidden; a row lies after it."""
    group = timeline.add_words(ada, review, {"text": "The outage", "is_group": True})
    for text in ("inside", "hidden inside"):
        row = timeline.add_words(ada, review, {"text": text})
        timeline.change(ada, review, row.pk, {"group": group.pk})
    timeline.change(ada, review, row.pk, {"is_hidden": True})
    timeline.add_words(ada, review, {"text": "outside"})
    return group


def shown(client, address):
    """Return a page with its blanks as single ones."""
    return re.sub(r"\s+", " ", text_of(client.get(address)))


def markdown_in(content):
    """Return the text of the only Markdown file in a zip file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        [name] = [each for each in archive.namelist() if each.endswith(".md")]
        return archive.read(name).decode()


def test_rows_of_a_hidden_group_are_counted_as_hidden_everywhere(client, ada, review, group):
    timeline.change(ada, review, group.pk, {"is_hidden": True})
    assert "4 rows, 3 hidden" in shown(client, f"/reviews/{review.pk}")
    assert client.get(f"/api/reviews/{review.pk}").json()["hidden"] == 3
    answer = client.get(f"/api/reviews/{review.pk}/timeline").json()
    assert answer["hidden"] == 3
    flags = {row["text"]: row["is_hidden_by_group"] for row in answer["items"]}
    expected = {"The outage": False, "inside": True, "hidden inside": True, "outside": False}
    assert flags == expected


def test_a_group_says_how_many_rows_it_has(client, review, group, monkeypatch):
    assert "2 rows, 1 hidden" in shown(client, f"/reviews/{review.pk}")
    assert "2 rows, 1 hidden" not in shown(client, f"/reviews/{review.pk}?hidden=1")
    monkeypatch.setattr(incident_rows, "SHOWN", 1)
    page = shown(client, f"/reviews/{review.pk}?hidden=1")
    assert "0 of 2 rows shown" in page


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_a_document_says_where_a_group_ends(client, review, group, kind):
    answer = client.get(f"/reviews/{review.pk}/post-mortem?format={kind}")
    assert answer.status_code == 200
    text = markdown_in(answer.content) if kind == "markdown" else answer.content.decode()
    assert re.search("inside.*After the group The outage.*outside", text, re.DOTALL)


def test_the_author_of_an_imported_note_is_said(client, ada, banks, review):
    entry = entries.write(ada, banks, {"text": "look"})
    timeline.add_entry(ada, review, entry.pk)
    Entry.objects.filter(pk=entry.pk).update(author=None, imported_author="grace@other")
    [row] = client.get(f"/api/reviews/{review.pk}/timeline").json()["items"]
    assert (row["author"], row["imported_from"]) == (None, "grace@other")
    assert "imported from grace@other" in shown(client, f"/reviews/{review.pk}")
    document = client.get(f"/reviews/{review.pk}/post-mortem?format=html").content.decode()
    assert "imported from grace@other" in document
    assert "not known who wrote it" not in document


def test_a_refused_head_keeps_each_field(client, review):
    fields = {
        "action": "edit",
        "title": "better",
        "summary": "",
        "severity": "critical",
        "status": "closed",
        "began_at": "2026-11-20T10:00:50",
        "detected_at": "2026-11-20T09:00:00",
    }
    Review.objects.update(summary="kept on the server")
    answer = client.post(f"/reviews/{review.pk}/change", fields)
    page = text_of(answer, 422)
    assert "<option selected>critical</option>" in page
    assert "<option selected>closed</option>" in page
    assert 'value="2026-11-20T10:00:50"' in page
    assert 'value="2026-11-20T09:00:00"' in page
    assert "kept on the server</textarea>" not in page


def test_a_refused_row_keeps_each_field(client, ada, banks, review, group):
    entry = entries.write(ada, banks, {"text": "look", "place": "event:B:2"})
    row = timeline.add_entry(ada, review, entry.pk)
    fields = {
        "action": f"save {row.pk}",
        "text": "mine",
        "kind": "decision",
        "clock": "2026-11-20T10:00:50",
        "at": "soon",
        "group": str(group.pk),
    }
    page = text_of(client.post(f"/reviews/{review.pk}/change", fields), 422)
    assert "<option selected>decision</option>" in page
    assert 'value="2026-11-20T10:00:50"' in page
    assert 'value="soon"' in page


def test_times_of_an_incident_have_their_seconds(client, review):
    began = "2026-11-20T10:00:50+00:00"
    Review.objects.update(began_at=began, detected_at="2026-11-20T10:01:00+00:00")
    page = shown(client, f"/reviews/{review.pk}")
    assert "2026-11-20 10:00:50 UTC" in page
    assert "2026-11-20 10:01 UTC" in page, "no seconds where they are 0"


def test_a_note_that_was_changed_since_is_said_to_have_changed(client, ada, banks, review):
    entry = entries.write(ada, banks, {"text": "it was A"})
    timeline.add_entry(ada, review, entry.pk)
    Entry.objects.update(text="CORRECTION: it was B")
    [row] = client.get(f"/api/reviews/{review.pk}/timeline").json()["items"]
    assert "changed since" in row["reason"]
    assert "changed since" in shown(client, f"/reviews/{review.pk}")
    TimelineRow.objects.update(original_text="CORRECTION: it was B")
    [row] = client.get(f"/api/reviews/{review.pk}/timeline").json()["items"]
    assert row["reason"] == ""


def test_an_import_says_which_notes_it_left_and_numbered_again():
    merged = Merged(left=[5], renumbered=[(3, 7)])
    words = merged.sentences()
    assert "note 3 is note 7 here" in words
    assert "Notes that were changed here and in the file stay as they are here: 5." in words
