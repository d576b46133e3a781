"""Notes cost a bounded effort to read, and requests at the same time lose nothing."""

import pytest
from django.db import connection

from snapshots.domain.comparing.aligning import MOST_EDITS, Effort
from snapshots.domain.reviewing.place_text import write_place
from snapshots.domain.reviewing.places import StatePlace
from snapshots.models import Recording
from snapshots.problems import NotFound
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.reviews import entries, history, resolving, trail
from snapshots.reviews.models import Entry, TrailItem
from snapshots.store.inventory.reading import StoredInventory
from tests.web.api.test_reviews import a_team, listed, patched, posted
from tests.web.given import a_ready_recording, signed_in
from tests.web.stored_uploads import stored_upload
from webapp.notices import kinds
from webapp.notices.models import Notice

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

HARD = (".," * 10_000, ",." * 5_000 + ".," * 5_000)


def test_texts_that_are_hard_to_compare_take_a_bounded_effort():
    effort = Effort(history.MOST_STEPS)
    parts = history.changes(*HARD, effort)
    assert effort.steps > -(MOST_EDITS**2), "the search stops soon after its steps are used up"
    for text, change in zip(HARD, ("removed", "added"), strict=True):
        assert "".join(part["text"] for part in parts if part["change"] in ("same", change)) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [("a b c", "c b a"), ("", "a"), ("a b", "a b"), ("x y", "1 2"), ("a a b", "a b b a")],
)
def test_the_parts_of_a_change_make_up_both_texts(before, after):
    parts = history.changes(before, after, Effort())
    for text, change in ((before, "removed"), (after, "added")):
        assert "".join(part["text"] for part in parts if part["change"] in ("same", change)) == text


def test_the_history_has_pages(api, ada):
    row = a_ready_recording(ada)
    entry = posted(api, f"recordings/{row.pk}/entries", text="0")
    for number in range(1, 5):
        patched(api, f"entries/{entry['id']}", text=str(number))
    address = f"entries/{entry['id']}/history"
    assert [item["text"] for item in listed(api, f"{address}?limit=2&offset=1")] == ["3", "2"]
    [last] = listed(api, f"{address}?limit=2&offset=4")
    assert last["changes"] == [{"change": "added", "text": "0"}]
    [second] = listed(api, f"{address}?limit=1&offset=3")
    assert [part["change"] for part in second["changes"]] == ["removed", "added"]
    assert api.get(f"/api/{address}").json()["total"] == 5
    assert api.get(f"/api/{address}?limit=51").status_code == 422


def test_an_entry_has_a_most_of_answers(api, ada, monkeypatch):
    monkeypatch.setattr(entries, "MOST_ANSWERS", 2)
    row = a_ready_recording(ada)
    entry = posted(api, f"recordings/{row.pk}/entries", text="why?")
    for _ in range(2):
        posted(api, f"entries/{entry['id']}/answers", text="because")
    refused = posted(api, f"entries/{entry['id']}/answers", 409, text="because")
    assert "has 2 answers already" in refused["detail"]
    assert len(api.get(f"/api/entries/{entry['id']}").json()["answers"]) == 2


def two_copies(ada) -> tuple[Entry, Entry]:
    """Return an entry as two requests read it at the same time."""
    pk = entries.write(ada, a_ready_recording(ada), {"text": "before"}).pk
    return entries.entry(ada, pk), entries.entry(ada, pk)


def test_two_changes_at_the_same_time_are_both_kept(ada):
    one, other = two_copies(ada)
    entries.change(ada, one, {"text": "after"})
    entries.change(ada, other, {"resolved": True})
    row = Entry.objects.get()
    assert (row.text, row.resolved_by) == ("after", ada)
    assert row.history.count() == 3


def test_a_deleted_entry_does_not_come_back(ada):
    one, other = two_copies(ada)
    entries.delete(ada, one)
    for late in (
        lambda: entries.change(ada, other, {"text": "after"}),
        lambda: entries.change(ada, other, {"resolved": True}),
        lambda: entries.answer(ada, other, "yes"),
        lambda: entries.delete(ada, other),
    ):
        with pytest.raises(NotFound, match="has just been deleted"):
            late()
    assert not Entry.objects.exists()


def test_an_item_of_a_trail_is_kept_once(ada):
    recording = a_ready_recording(ada)
    item = trail.record(ada, recording, "snapshot:s1")
    copy = trail.item(ada, item.pk)
    trail.keep(ada, item, None, None)
    with pytest.raises(NotFound):
        trail.keep(ada, copy, None, None)
    assert Entry.objects.count() == 1


@pytest.mark.only("sqlite", reason="PRAGMA is a word of SQLite.")
def test_a_page_is_shown_if_the_trail_cannot_be_written(ada):
    row = a_ready_recording(ada)
    client = signed_in(ada)
    address = f"/recordings/{row.pk}/snapshots/s1"
    assert client.get(address).status_code == 200
    TrailItem.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = ON")
        try:
            shown = client.get(address)
        finally:
            cursor.execute("PRAGMA query_only = OFF")
    assert (shown.status_code, TrailItem.objects.exists()) == (200, False)


def a_state_place(ada, shared_data) -> tuple[Recording, str]:
    """Return an engine's upload, and the text of an entry of the state in it."""
    row = stored_upload(ada, FlinkReader(), shared_data / "flink" / "bank-unaligned")
    inventory = resolving.inventory_of(row)
    listed_first = inventory.upload["checkpoints"][0]
    name = listed_first.get("snapshot") or str(listed_first["id"])
    held = inventory.checkpoint(0)
    operator = next(item["id"] for item in held["operators"] if item["name"] == "withdraw")
    [first, *_] = inventory.entries(held, operator, "balance").rows
    return row, write_place(StatePlace(name, operator, "balance", first["key"]))


def test_lists_read_no_entries_of_states(api, ada, shared_data, monkeypatch):
    row, place = a_state_place(ada, shared_data)
    entry = posted(api, f"recordings/{row.pk}/entries", text="here", place=place)
    posted(api, f"recordings/{row.pk}/trail", place=place)
    assert entry["place"]["state"] == "there"
    monkeypatch.setattr(StoredInventory, "entries", lambda *_, **__: pytest.fail("It was read."))
    for name in ("entries", "trail"):
        [item] = listed(api, f"recordings/{row.pk}/{name}")
        assert item["place"]["state"] == "not-known"
        assert "Lists do not look for a single entry" in item["place"]["reason"]
        assert item["place"]["address"] == entry["place"]["address"]
    page = signed_in(ada).get(f"/recordings/{row.pk}/notes")
    assert "Lists do not look for a single entry" in page.text


def notices() -> list[tuple[str, str, str]]:
    rows = Notice.objects.filter(kind=kinds.MENTIONED).order_by("pk")
    return list(rows.values_list("owner__username", "path", "sentence"))


def test_who_is_newly_mentioned_is_notified_once(api, ada, settings):
    settings.EMAIL_HOST = "mail.example"
    recording, clients = a_team(ada)
    mine, address = clients["owner"], f"recordings/{recording.pk}/entries"
    text = "@viewer@example.org and @owner@example.org and @eve@example.org"
    entry = posted(mine, address, text=text)
    path = f"/recordings/{recording.pk}/notes#entry-{entry['id']}"
    sentence = f"owner@example.org mentions you in note 1 on {recording.title}."
    assert notices() == [("viewer@example.org", path, sentence)]
    for changed in (text + "!", "nobody", text, text + " @editor@example.org"):
        patched(mine, f"entries/{entry['id']}", text=changed)
    assert [owner for owner, *_ in notices()] == ["viewer@example.org", "editor@example.org"]
    posted(mine, f"entries/{entry['id']}/answers", text="@viewer@example.org")
    assert notices()[2][:2] == ("viewer@example.org", path)


def test_a_list_has_the_last_answers_and_says_how_many_there_are(api, ada, monkeypatch):
    monkeypatch.setattr(entries, "ANSWERS_IN_LISTS", 3)
    row = a_ready_recording(ada)
    entry = posted(api, f"recordings/{row.pk}/entries", text="why?", place="snapshot:s1")
    posted(api, f"recordings/{row.pk}/entries", text="alone")
    for number in range(5):
        posted(api, f"entries/{entry['id']}/answers", text=f"because {number}")
    item, alone = listed(api, f"recordings/{row.pk}/entries")
    assert [answer["text"] for answer in item["answers"]] == [f"because {n}" for n in (2, 3, 4)]
    assert (item["answers_total"], alone["answers_total"]) == (5, 0)
    whole = api.get(f"/api/entries/{entry['id']}").json()
    assert (len(whole["answers"]), whole["answers_total"]) == (5, 5)
    client, address = signed_in(ada), f"/recordings/{row.pk}/notes"
    for page in (address, f"/recordings/{row.pk}/snapshots/s1"):
        text = client.get(page).text
        assert "because 1" not in text
        assert "because 2" in text
        assert f'href="{address}?entry={entry["id"]}"' in text
    text = client.get(f"{address}?entry={entry['id']}").text
    assert all(f"because {n}" in text for n in range(5))
    assert "alone" not in text
    assert "All notes" in text
