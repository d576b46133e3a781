"""An import takes nobody's words away from them, and a large or odd file costs little."""

import json
import uuid
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from snapshots.models import Recording
from snapshots.reviews import entries, incidents, timeline
from snapshots.reviews.bundles import documents, merging
from snapshots.reviews.models import Entry, TimelineRow
from tests.web.api.bundles import (
    answered,
    downloaded,
    listed,
    packed,
    parts_of,
    uploaded,
    with_upload,
    written,
)
from tests.web.given import a_client, a_person, post_json, signed_in
from webapp.teams import services as teams
from webapp.teams.models import Membership

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def banks(ada, settings) -> Recording:
    return with_upload(ada, settings)


def edited(content: bytes, edit: Callable[[dict], None]) -> bytes:
    """Return a bundle whose notes were edited by hand."""
    parts = parts_of(content)
    notes = json.loads(parts[documents.NOTES])
    edit(notes)
    return packed(parts, notes=notes)


def with_version(**fields: object) -> Callable[[dict], None]:
    """Return an edit that adds a version to the first entry."""

    def edit(notes: dict) -> None:
        versions = notes["entries"][0]["versions"]
        versions.append({**versions[-1], "at": "2030-01-01T00:00:00Z", **fields})

    return edit


def test_an_import_does_not_change_what_others_wrote_here(ada, settings):
    bob = a_person("bob@example.org")
    team = teams.create_team(ada, "payments")
    Membership.objects.create(team=team, person=bob, role="editor")
    row = with_upload(team.account, settings)
    api, theirs = a_client(ada), a_client(bob)
    written(api, row.pk, "I approved nothing", kind="decision")
    forged = with_version(text="I approved the payout", by="ada@example.org")
    content = downloaded(theirs, row.pk)
    answer = uploaded(theirs, edited(content, forged), team=team.pk)
    assert listed(api, row.pk)[0]["text"] == "I approved nothing"
    assert "other words or places stay as they are here: 1." in answer["notes"]
    resolved = with_version(resolved_at="2030-01-01T00:00:00Z")
    uploaded(theirs, edited(content, resolved), team=team.pk)
    assert Entry.objects.get().resolved_at is not None
    uploaded(api, edited(downloaded(api, row.pk), forged), team=team.pk)
    assert listed(api, row.pk)[0]["text"] == "I approved nothing", "not even to their author"


@pytest.mark.parametrize(
    "fields",
    [{"text": "The vendor is to blame"}, {"kind": "decision"}, {"due_on": "2030-01-01"}],
    ids=["text", "kind", "day"],
)
def test_a_second_file_does_not_change_an_imported_note_that_nobody_owns(api, banks, fields):
    """Anybody can write the ids of notes into a file; who has no account cannot object."""
    bob = a_person("bob@example.org")
    written(api, banks.pk, "We are to blame", kind="follow-up", due_on="2026-12-01")
    written(api, banks.pk, "second")
    content, theirs = downloaded(api, banks.pk), a_client(bob)
    row = uploaded(theirs, content)["id"]
    before = listed(theirs, row)
    answer = uploaded(theirs, edited(content, with_version(**fields)))
    assert answer["notes"].endswith(
        "Notes and answers: 1 here already. Notes that the file has with other words or places "
        "stay as they are here: 1."
    )
    assert listed(theirs, row) == before


def test_a_second_file_does_not_change_an_imported_answer(api, banks):
    bob = a_person("bob@example.org")
    answered(api, written(api, banks.pk, "Why?"), "By us")
    content, theirs = downloaded(api, banks.pk), a_client(bob)
    row = uploaded(theirs, content)["id"]

    def edit(notes: dict) -> None:
        versions = notes["entries"][0]["answers"][0]["versions"]
        versions.append({**versions[-1], "text": "By them", "at": "2030-01-01T00:00:00Z"})

    answer = uploaded(theirs, edited(content, edit))
    assert "stay as they are here: 1." in answer["notes"]
    assert [each["text"] for each in listed(theirs, row)[0]["answers"]] == ["By us"]


def test_a_second_file_does_not_move_a_note_and_says_so(api, banks):
    written(api, banks.pk, "Here", place="event:B:2")
    content = downloaded(api, banks.pk)
    moved = edited(content, lambda notes: notes["entries"][0].update(place="event:B:3"))
    assert "stay as they are here: 1." in uploaded(api, moved)["notes"]
    assert Entry.objects.get().place == "event:B:2"
    assert uploaded(api, content)["notes"].endswith("All its notes are here already.")


def test_a_second_file_adds_what_is_new(api, banks):
    written(api, banks.pk, "first")
    content = downloaded(api, banks.pk)

    def more(notes: dict) -> None:
        with_version(resolved_at="2030-01-01T00:00:00Z")(notes)
        notes["entries"].append({**notes["entries"][0], "uid": str(uuid.uuid4()), "number": 2})

    answer = uploaded(api, edited(content, more))
    assert answer["notes"].endswith("Notes and answers: 1 added, 1 brought up to date.")
    assert listed(api, banks.pk)[0]["resolved_at"] is not None


def test_a_form_filled_before_an_edit_does_not_undo_it(api, ada, banks):
    entry = written(api, banks.pk, "password is hunter2")
    review = incidents.open_review(ada, ada, {"title": "x"})
    incidents.add_exhibit(ada, review, banks)
    row = timeline.add_entry(ada, review, entry["id"])
    review.refresh_from_db()
    entries.change(ada, Entry.objects.get(), {"text": "password removed"})
    form = {
        "action": f"save {row.pk}",
        "text": "password is hunter2",
        "kind": "note",
        "clock": "2026-01-01T00:00",
        "revision": review.revision,
    }
    signed_in(ada).post(f"/reviews/{review.pk}/change", form)
    assert timeline.text_of(TimelineRow.objects.get()) == "password removed"
    seen = review.revision
    review.refresh_from_db()
    assert review.revision == seen + 1
    entries.change(ada, Entry.objects.get(), {"resolved": True})
    review.refresh_from_db()
    assert review.revision == seen + 1


def test_an_import_locks_the_entries_before_it_reads_them(api, banks, monkeypatch):
    """SQLite has one writer and no row locks, so the test looks at what is asked of a database."""
    written(api, banks.pk, "v1")
    asked = []
    versions_of = merging.versions_of
    of_rows = Entry.objects.all().__class__.select_for_update

    def noted(rows, *args, **options):
        asked.append(rows.model)
        return of_rows(rows, *args, **options)

    def read(rows):
        assert Entry in asked
        return versions_of(rows)

    resolved = with_version(resolved_at="2030-01-01T00:00:00Z")
    content = edited(downloaded(api, banks.pk), resolved)
    monkeypatch.setattr(Entry.objects.all().__class__, "select_for_update", noted)
    monkeypatch.setattr(merging, "versions_of", read)
    uploaded(api, content)
    assert Entry.objects.get().resolved_at is not None


def test_a_bundle_cannot_use_up_the_numbers(api, banks):
    written(api, banks.pk, "first")

    def large(notes: dict) -> None:
        notes["entries"][0].update(uid=str(uuid.uuid4()), number=2**31 - 1)

    answer = uploaded(api, edited(downloaded(api, banks.pk), large))
    words = "notes were taken here or too large: note 2147483647 is note 2 here."
    assert words in answer["notes"]
    assert written(api, banks.pk, "next")["number"] == 3
    downloaded(api, banks.pk)
    Entry.objects.filter(number=3).update(number=2**31 - 1)
    answer = post_json(api, f"/api/recordings/{banks.pk}/entries", {"text": "no number is left"})
    assert answer.status_code == 409


def copied(count: int) -> Callable[[dict], None]:
    """Return an edit that puts copies of the first entry in the place of all."""

    def edit(notes: dict) -> None:
        first = notes["entries"][0]
        notes["entries"] = [
            {**first, "uid": str(uuid.uuid4()), "number": number + 2} for number in range(count)
        ]

    return edit


def test_mentions_of_many_notes_take_as_many_queries_as_of_few(api, ada, banks):
    written(api, banks.pk, "hello @ada@example.org")
    content = downloaded(api, banks.pk)
    counts = []
    for many in (2, 40):
        with CaptureQueriesContext(connection) as queries:
            uploaded(api, edited(content, copied(many)))
        counts.append(len(queries))
    assert counts[1] <= counts[0] + 2, counts
    assert Entry.mentions.through.objects.count() == 43


def test_too_many_notes_are_refused_before_one_is_written(api, banks, monkeypatch):
    written(api, banks.pk, "one")
    content = edited(downloaded(api, banks.pk), copied(5))
    monkeypatch.setattr(merging, "MOST_ENTRIES", 4)
    with CaptureQueriesContext(connection) as queries:
        uploaded(api, content, status=409)
    assert not [query for query in queries if f'INTO "{Entry._meta.db_table}"' in query["sql"]]


def test_too_many_entries_for_a_timeline_are_counted_and_not_read(ada, api, banks, monkeypatch):
    written(api, banks.pk, "the text of a note")
    written(api, banks.pk, "the text of a note")
    review = incidents.open_review(ada, ada, {"title": "x"})
    incidents.add_exhibit(ada, review, banks)
    monkeypatch.setattr(timeline, "MOST_ROWS", 1)
    monkeypatch.setattr(timeline, "_of_entry", lambda *_: pytest.fail("a text was read"))
    with pytest.raises(timeline.Conflict, match="2 more do not fit"):
        timeline.add_all(ada, review)
