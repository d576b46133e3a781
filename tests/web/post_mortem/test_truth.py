"""A document says no more of its places, its log and its rows than what is known."""

import re
from dataclasses import replace

import pytest

from snapshots.domain.simulators.samples import two_banks
from snapshots.reviews import entries, incidents, timeline
from snapshots.reviews.models import Entry
from snapshots.web.post_mortem import document
from tests.web.given import a_ready_recording
from tests.web.post_mortem.test_documents import data_of, fetched, noted

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def words_of(html):
    """Return the text that a reader sees."""
    body = re.sub(r"<script.*?</script>", "", html[html.index("<main>") :], flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def claims_of(html, kind):
    return [claim for claim in data_of(html)["claims"] if claim["kind"] == kind]


def test_notes_on_two_channels_of_a_snapshot_share_a_claim_about_the_snapshot(client, ada, banks):
    for place in ("snapshot-channel:s1:A-%3EB", "snapshot-channel:s1:B-%3EA", "snapshot:s1"):
        noted(ada, banks, place)
    [claim] = claims_of(fetched(client, banks), "snapshot")
    assert claim["place"] == "snapshot:s1"
    assert claim["sentence"].startswith("snapshot s1: consistent")


def test_a_note_on_a_channel_that_is_gone_leaves_the_claim_of_the_snapshot(client, ada, banks):
    entry = noted(ada, banks, "snapshot-channel:s1:A-%3EB")
    Entry.objects.filter(pk=entry.pk).update(place="snapshot-channel:s1:A-%3EZ")
    noted(ada, banks, "snapshot:s1")
    html = fetched(client, banks)
    [claim] = claims_of(html, "snapshot")
    assert "why_not" not in claim
    assert "The recording has no channel A-&gt;Z." in html


@pytest.fixture
def review(ada, banks):
    review = incidents.open_review(ada, ada, {"title": "Orders were lost"})
    incidents.add_exhibit(ada, review, banks)
    return review


def post_mortem(client, review):
    return client.get(f"/reviews/{review.pk}/post-mortem").content.decode()


CHANGED = "Since the upload was read again, the event 2 of B is another one"


def test_a_place_that_changed_is_said_to_and_its_claim_is_not_checked(
    client, ada, banks, review, checker, api
):
    entry = noted(ada, banks, "event:B:2")
    Entry.objects.filter(pk=entry.pk).update(mark="another")
    timeline.add_all(ada, review)
    for html in (fetched(client, banks), post_mortem(client, review)):
        assert CHANGED in html
        [claim] = [claim for claim in data_of(html)["claims"] if claim["place"] == "event:B:2"]
        assert claim["why_not"].startswith(CHANGED)
    [row] = api.get(f"/api/reviews/{review.pk}/timeline").json()["items"]
    assert row["place_state"] == "changed"
    assert row["reason"].startswith(CHANGED)
    assert CHANGED in client.get(f"/reviews/{review.pk}").content.decode()


def a_skewed_recording(ada):
    """Store a recording of which one receive lies before its send in time."""
    log = two_banks()
    first = next(event for event in log.events if event.kind == "receive")
    events = [replace(event, at=1) if event is first else event for event in log.events]
    return a_ready_recording(ada, log._replace(events=tuple(events)))


def test_a_document_names_the_defects_of_its_log(client, ada):
    recording = a_skewed_recording(ada)
    noted(ada, recording, "snapshot:s1")
    words = words_of(fetched(client, recording))
    assert "fits together" not in words
    assert "2 defects" in words
    assert "goes back" in words


def test_an_edited_row_says_what_the_note_says_and_whose_time_it_shows(client, ada, banks, review):
    entry = noted(ada, banks, "event:B:2", "two")
    entries.answer(ada, entry, "It was not B.")
    timeline.add_all(ada, review)
    [row] = timeline.rows(review)
    fields = {"at": 999_999, "text": "other", "kind": "decision", "clock": "2026-11-23T04:00:00Z"}
    timeline.change(ada, review, row.pk, fields, row.changed_in)
    words = words_of(post_mortem(client, review))
    assert "note 1, shown as decision" in words
    assert "999.999 ms in the system, 2026-11-23 04:00:00 UTC as a person gave it" in words
    assert "Edited for the timeline. The note says: note, 3.8 ms, “two”." in words
    assert "It was not B." in words


def test_figures_left_out_are_counted_by_claim(client, ada, banks, monkeypatch):
    monkeypatch.setattr(document, "MOST_FIGURES", 0)
    for _ in range(3):
        noted(ada, banks, "event:B:2")
    assert "1 more claim without a figure here" in words_of(fetched(client, banks))


def test_a_derived_recording_does_not_say_what_arrived(client, ada):
    log = two_banks()
    header = replace(log.header, extra={"derived": True, "untimed": ["s1"]})
    recording = a_ready_recording(ada, log._replace(header=header))
    noted(ada, recording, "event:B:2")
    html = fetched(client, recording)
    [claim] = claims_of(html, "log")
    assert "whether they arrived is not known" in claim["sentence"]
    assert {claim["says"][name] for name in ("arrived", "first", "last")} == {None}
