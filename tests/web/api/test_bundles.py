"""A recording with its notes leaves as one file, and comes back as what it was."""

import io
import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from snapshots.domain.simulators.samples import two_banks
from snapshots.models import Mapping, Recording
from snapshots.readers.engines.registry import PACKAGE
from snapshots.reviews.bundles import documents
from snapshots.reviews.models import Entry
from tests.web.api.bundles import (
    MEMBERS,
    answered,
    changed,
    downloaded,
    listed,
    noted,
    packed,
    parts_of,
    uploaded,
    with_upload,
    written,
    zipped,
)
from tests.web.given import (
    a_client,
    a_file,
    a_person,
    native,
    signed_in,
    text_of,
    uploads_of,
)
from webapp.accounts.models import AuditEntry
from webapp.notices.models import Notice, Webhook
from webapp.teams import services as teams
from webapp.teams.models import Membership

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def banks(ada, settings):
    return with_upload(ada, settings)


@pytest.fixture
def bob():
    return a_person("bob@example.org")


def test_what_leaves_and_comes_back_gives_the_same_bytes(api, ada, bob, banks):
    noted(api, banks)
    content = downloaded(api, banks.pk)
    assert content == downloaded(api, banks.pk)
    assert list(parts_of(content)) == MEMBERS
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        assert {member.date_time for member in package.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert parts_of(content)[documents.UPLOAD] == native(two_banks())
    theirs = a_client(bob)
    accepted = uploaded(theirs, content)
    assert accepted["notes"] == "Notes and answers: 4 added."
    assert accepted["id"] != banks.pk
    assert accepted["job"] is not None
    assert downloaded(theirs, accepted["id"]) == content
    row = Recording.objects.get(pk=accepted["id"])
    assert (row.name, row.source_name, row.owner) == (banks.name, "banks.jsonl", bob)


def test_imported_entries_are_as_they_were_but_for_their_authors(api, bob, banks):
    noted(api, banks)
    theirs = a_client(bob)
    row = Recording.objects.get(pk=uploaded(theirs, downloaded(api, banks.pk))["id"])
    here = {"place": None, "state": "not-known"}
    assert {item["place"] and item["place"]["state"] for item in listed(theirs, row.pk)} == set(
        here.values()
    )
    Recording.objects.filter(pk=row.pk).update(store=banks.store, status="ready", time_unit="us")
    before = listed(api, banks.pk)
    banks.snapshots.update(recording=row)
    after = listed(theirs, row.pk)
    same = ["number", "kind", "text", "sentence", "at", "when", "created_at", "edited_at"]
    assert [[item[name] for name in [*same, "resolved_at"]] for item in before] == [
        [item[name] for name in [*same, "resolved_at"]] for item in after
    ]
    assert [item["place"] and item["place"]["state"] for item in after] == ["there", "there", None]
    finding, question, _ = after
    for item in (finding, finding["answers"][0]):
        assert (item["author"], item["imported_from"]) == (None, "ada@example.org")
    assert (question["resolved_by"], question["resolution_imported_from"]) == (
        None,
        "ada@example.org",
    )
    assert finding["mentions"] == [], "ada cannot see what bob has"
    newest, first = theirs.get(f"/api/entries/{finding['id']}/history").json()["items"]
    assert [newest["text"], first["text"]] == [before[0]["text"], "B lost 1000"]
    assert (newest["by"], newest["imported_from"]) == (None, "ada@example.org")
    assert not finding["may"]["edit"]
    page = text_of(signed_in(bob).get(f"/recordings/{row.pk}/notes"))
    assert page.count("imported from ada@example.org") == 4
    document = (
        signed_in(bob).get(f"/recordings/{row.pk}/notes/document?format=html").content.decode()
    )
    assert document.count("imported from ada@example.org") == 4
    assert "deleted account" not in document


def test_places_that_are_gone_stay_and_say_so(api, bob, banks):
    written(api, banks.pk, "B?", place="event:B:2")
    parts = parts_of(downloaded(api, banks.pk))
    notes = json.loads(parts[documents.NOTES])
    notes["entries"][0]["place"] = "event:C:99"
    theirs = a_client(bob)
    row = uploaded(theirs, packed(parts, notes=notes))["id"]
    Recording.objects.filter(pk=row).update(store=banks.store, status="ready")
    (item,) = listed(theirs, row)
    assert (item["text"], item["place"]["state"]) == ("B?", "gone")
    assert item["place"]["reason"] == "The recording has no process C."


def test_importing_twice_changes_nothing_and_says_so(api, bob, banks, data_dir):
    noted(api, banks)
    content = downloaded(api, banks.pk)
    theirs = a_client(bob)
    first = uploaded(theirs, content)
    kept = uploads_of(data_dir)
    rows, history = Entry.objects.count(), Entry.history.count()
    for client, number in ((theirs, first["id"]), (api, banks.pk)):
        accepted = uploaded(client, content)
        assert (accepted["id"], accepted["job"]) == (number, None)
        assert accepted["notes"] == (
            f"Recording {number} “{banks.name}” has the same upload. "
            "All its notes are here already."
        )
    assert uploads_of(data_dir) == kept
    assert (Entry.objects.count(), Entry.history.count()) == (rows, history)
    assert Recording.objects.count() == 2
    assert AuditEntry.objects.filter(action="notes-imported").count() == 1


def test_a_newer_file_adds_what_is_new_and_leaves_what_was_changed_here(api, bob, banks):
    one, two, three = (written(api, banks.pk, text) for text in ("one", "two", "three"))
    theirs = a_client(bob)
    row = uploaded(theirs, downloaded(api, banks.pk))["id"]
    changed(theirs, listed(theirs, row)[0], resolved=True)
    changed(api, one, text="one, again")
    changed(api, two, text="two, again")
    answered(api, three, "an answer")
    written(api, banks.pk, "four")
    own = written(theirs, row, "of bob")
    accepted = uploaded(theirs, downloaded(api, banks.pk))
    assert accepted["notes"].endswith(
        "Notes and answers: 2 added, 1 here already. Notes that were changed here and in the file "
        "stay as they are here: 1. Notes that the file has with other words or places stay as they "
        "are here: 2. The numbers of these notes were taken here: note 4 is note 5 here."
    )
    items = listed(theirs, row)
    texts = [(item["number"], item["text"], len(item["answers"])) for item in items]
    assert texts == [
        (1, "one", 0), (2, "two", 0), (3, "three", 1), (4, "of bob", 0), (5, "four", 0),
    ]  # fmt: skip
    assert items[0]["resolved_by"] == "bob@example.org"
    assert items[3]["id"] == own["id"]
    versions = theirs.get(f"/api/entries/{items[1]['id']}/history").json()
    assert [version["text"] for version in versions["items"]] == ["two"]


def test_what_was_done_elsewhere_comes_back_to_its_own_server(api, bob, banks):
    """A resolution and an answer by bob come back, and the author of the entry stays ada."""
    written(api, banks.pk, "one")
    theirs = a_client(bob)
    row = uploaded(theirs, downloaded(api, banks.pk))["id"]
    (entry,) = listed(theirs, row)
    changed(theirs, entry, resolved=True)
    answered(theirs, entry, "Done.")
    accepted = uploaded(api, downloaded(theirs, row))
    assert accepted["notes"].endswith("Notes and answers: 1 added, 1 brought up to date.")
    (entry,) = listed(api, banks.pk)
    assert (entry["author"], entry["resolution_imported_from"]) == (
        "ada@example.org",
        "bob@example.org",
    )
    assert [answer["imported_from"] for answer in entry["answers"]] == ["bob@example.org"]
    (older,) = uploaded(a_client(bob), downloaded(api, banks.pk))["recordings"]
    assert older["notes"].endswith("All its notes are here already.")


def test_nobody_is_notified_by_an_import(api, bob, banks):
    Webhook.objects.create(owner=bob, url="https://x.example", kinds=["entry.mentioned"])
    written(api, banks.pk, "look, @bob@example.org")
    theirs = a_client(bob)
    row = uploaded(theirs, downloaded(api, banks.pk))["id"]
    assert listed(theirs, row)[0]["mentions"] == ["bob@example.org"]
    assert not Notice.objects.exists()


def test_a_mapping_comes_with_the_recording(api, ada, bob):
    document = {
        "process": "who",
        "kind": {"path": "what", "rules": [{"value": "x", "kind": "internal"}]},
    }
    mapping = Mapping.objects.create(owner=ada, name="theirs", document=document)
    line = b'{"who": "A", "what": "x"}\n'
    answer = api.post(
        "/api/recordings", {"file": a_file(line), "format": mapping.format, "name": "mapped"}
    )
    content = downloaded(api, answer.json()["id"])
    theirs = a_client(bob)
    accepted = uploaded(theirs, content)
    assert accepted["format"] == "mapping"
    row = Recording.objects.get(pk=accepted["id"])
    assert row.parameters["mapping"] == document
    assert downloaded(theirs, row.pk) == content
    assert uploaded(theirs, content)["id"] == row.pk


def test_an_engines_package_comes_as_it_is(api, bob):
    package = zipped([("chk-1/_metadata", b"x"), ("shared/a", b"y")])
    answer = api.post("/api/recordings", {"file": a_file(package, "flink.zip")})
    number = answer.json()["id"]
    Recording.objects.filter(pk=number).update(format="flink")  # as its job does
    content = downloaded(api, number)
    row = Recording.objects.get(pk=uploaded(a_client(bob), content)["id"])
    assert row.format == "flink"
    Recording.objects.filter(pk=number).update(format="native")  # as of a package with one log
    row = Recording.objects.get(pk=uploaded(api, downloaded(api, number))["id"])
    assert row.pk == number
    row = Recording.objects.get(
        pk=uploaded(a_client(a_person("eve@e.org")), downloaded(api, number))["id"]
    )
    assert row.format == PACKAGE, "a package is unpacked again, whatever is in it"


def test_other_recordings_of_the_same_size_are_not_taken_for_it(api, ada, bob, settings):
    late = with_upload(ada, settings)
    parts = parts_of(downloaded(api, late.pk))
    other = parts[documents.UPLOAD].replace(b'"A"', b'"Z"')
    assert len(other) == late.size
    assert uploaded(api, packed(parts, upload=other))["id"] != late.pk
    assert uploaded(api, packed(parts))["id"] == late.pk
    described = json.loads(parts[documents.MANIFEST])
    described["recording"]["format"] = "cos418"
    assert uploaded(api, packed(parts, manifest=described), 422)["field"] is not None


ROLES = {"viewer": (403, 200), "commenter": (403, 200), "editor": (202, 200)}


@pytest.mark.parametrize("role", ROLES)
def test_a_teams_recording_follows_the_roles(api, ada, bob, banks, role):
    team = teams.create_team(ada, "payments")
    Membership.objects.create(team=team, person=bob, role=role)
    written(api, banks.pk, "one")
    content = downloaded(api, banks.pk)
    number = uploaded(api, content, team=team.pk)["id"]
    assert Recording.objects.get(pk=number).owner == team.account
    upload_status, download_status = ROLES[role]
    theirs = a_client(bob)
    uploaded(theirs, content, upload_status, team=team.pk)
    answer = theirs.get(f"/api/recordings/{number}/with-notes")
    assert answer.status_code == download_status
    assert theirs.get(f"/api/recordings/{banks.pk}/with-notes").status_code == 404


def test_a_download_is_in_the_audit_log_and_needs_the_upload(api, banks):
    downloaded(api, banks.pk)
    assert AuditEntry.objects.get(action="downloaded").subject == f"{banks.title} with its notes"
    page = text_of(signed_in(banks.owner).get(f"/recordings/{banks.pk}/notes"))
    assert f'href="/recordings/{banks.pk}/with-notes"' in page
    Recording.objects.filter(pk=banks.pk).update(upload="")
    assert api.get(f"/api/recordings/{banks.pk}/with-notes").status_code == 404
    page = text_of(signed_in(banks.owner).get(f"/recordings/{banks.pk}/notes"))
    assert "Download with notes" not in page


def test_the_page_and_the_command_take_it_too(api, bob, banks, tmp_path, capsys):
    written(api, banks.pk, "one")
    content = downloaded(signed_in(banks.owner), banks.pk)
    file = SimpleUploadedFile("banks.zip", content)
    browser = signed_in(bob)
    answer = browser.post("/", {"file": file}, follow=True)
    number = Recording.objects.get(owner=bob).pk
    assert answer.redirect_chain[-1][0] == f"/recordings/{number}"
    assert "Notes and answers: 1 added." in text_of(answer)
    path = tmp_path / "banks.cutline.zip"
    path.write_bytes(content)
    call_command("ingest", str(path), "--owner", bob.username, "--inline")
    printed = capsys.readouterr().out
    assert f"recording {number}\n" in printed
    assert "All its notes are here already." in printed
