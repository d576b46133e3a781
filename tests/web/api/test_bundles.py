"""A recording with its notes leaves as one file, and comes back as what it was."""

import hashlib
import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from snapshots.domain.simulators.samples import two_banks
from snapshots.models import Mapping, Recording
from snapshots.readers.engines.registry import PACKAGE
from snapshots.reviews.bundles import documents
from snapshots.reviews.models import Entry
from tests.hostile.payloads import ALL
from tests.web.given import (
    a_client,
    a_file,
    a_person,
    a_ready_recording,
    native,
    post_json,
    signed_in,
    text_of,
    uploads_of,
)
from webapp.accounts.models import AuditEntry
from webapp.notices.models import Notice, Webhook
from webapp.teams import services as teams
from webapp.teams.models import Membership

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

MEMBERS = [documents.MANIFEST, documents.NOTES, documents.UPLOAD]


def with_upload(owner, settings) -> Recording:
    """Return a ready recording whose upload is kept."""
    content, name = native(two_banks()), f"kept-by-{owner.pk}-{Recording.objects.count()}"
    Path(settings.UPLOADS_DIR, name).write_bytes(content)
    row = a_ready_recording(owner, upload=name, size=len(content), source_name="banks.jsonl")
    row.format = "native"  # as a worker says; the reference does not
    row.save()
    return row


@pytest.fixture
def banks(ada, settings):
    return with_upload(ada, settings)


@pytest.fixture
def bob():
    return a_person("bob@example.org")


def downloaded(client, recording_id: int) -> bytes:
    answer = client.get(f"/api/recordings/{recording_id}/with-notes")
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content)


def uploaded(client, content: bytes, status: int = 202, **fields: object) -> dict:
    file = SimpleUploadedFile("told.zip", content)
    answer = client.post("/api/recordings", {"file": file, **fields})
    assert answer.status_code == status, answer.content
    return answer.json()


def written(client, recording_id: int, text: str, **fields: object) -> dict:
    answer = post_json(client, f"/api/recordings/{recording_id}/entries", {"text": text, **fields})
    assert answer.status_code == 201, answer.content
    return answer.json()


def answered(client, entry: dict, text: str) -> dict:
    answer = post_json(client, f"/api/entries/{entry['id']}/answers", {"text": text})
    assert answer.status_code == 201, answer.content
    return answer.json()


def changed(client, entry: dict, **fields: object) -> None:
    answer = post_json(client, f"/api/entries/{entry['id']}", fields, "patch")
    assert answer.status_code == 200, answer.content


def listed(client, recording_id: int) -> list[dict]:
    return client.get(f"/api/recordings/{recording_id}/entries").json()["items"]


def parts_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        return {name: package.read(name) for name in package.namelist()}


def noted(api, banks) -> dict:
    """Write notes of every kind with answers, versions, a resolution and places."""
    finding = written(api, banks.pk, "B lost 1000", kind="finding", place="event:B:2")
    changed(api, finding, text="B lost **1000**, @ada@example.org")
    answered(api, finding, "Agreed.")
    question = written(api, banks.pk, "why?", kind="question", place="snapshot:s1")
    changed(api, question, resolved=True)
    written(api, banks.pk, "about the whole", kind="follow-up")
    Entry.objects.filter(text="about the whole").update(due_on="2026-12-01")
    return finding


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


def packed(parts: dict, *, notes: object = None, manifest: object = None, **more: bytes) -> bytes:
    """Return a bundle of parts, whose manifest is made to fit unless one is given."""
    content = json.dumps(notes).encode() if notes is not None else parts[documents.NOTES]
    members = {**parts, documents.NOTES: content, **more}
    fitting = json.loads(parts[documents.MANIFEST])
    for part in fitting["parts"]:
        part["bytes"] = len(members[part["name"]])
        part["sha256"] = hashlib.sha256(members[part["name"]]).hexdigest()
    members[documents.MANIFEST] = json.dumps(fitting if manifest is None else manifest).encode()
    return zipped(members.items())


def zipped(members, method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as package:
        for name, content in members:
            package.writestr(zipfile.ZipInfo(name), content, method)
    return file.getvalue()


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


def entry_changed(**fields: object):
    def change(parts: dict) -> bytes:
        notes = json.loads(parts[documents.NOTES])
        notes["entries"][0].update(fields)
        return packed(parts, notes=notes)

    return change


def version_changed(**fields: object):
    def change(parts: dict) -> bytes:
        notes = json.loads(parts[documents.NOTES])
        notes["entries"][0]["versions"][0].update(fields)
        return packed(parts, notes=notes)

    return change


def manifest_changed(where: str, **fields: object):
    def change(parts: dict) -> bytes:
        manifest = json.loads(parts[documents.MANIFEST])
        part = {"": manifest, "recording": manifest["recording"], "notes": manifest["parts"][0]}
        part[where].update(fields)
        return packed(parts, manifest=manifest)

    return change


def twice(parts: dict) -> bytes:
    notes = json.loads(parts[documents.NOTES])
    notes["entries"] *= 2
    return packed(parts, notes=notes)


def many_answers(parts: dict) -> bytes:
    notes = json.loads(parts[documents.NOTES])
    (answer,) = notes["entries"][0]["answers"]
    made = [{**answer, "uid": f"00000000-0000-0000-0000-{n:012}"} for n in range(201)]
    notes["entries"][0]["answers"] = made
    return packed(parts, notes=notes)


def fewer(parts: dict) -> bytes:
    return manifest_changed("notes", bytes=len(parts[documents.NOTES]) + 1)(parts)


def without_upload(parts: dict) -> bytes:
    """Return a file that is large enough for all parts, and lacks one."""
    file = io.BytesIO(zipped(list(parts.items())[:2]))
    with zipfile.ZipFile(file, "a") as package:
        package.comment = b" " * len(parts[documents.UPLOAD])
    return file.getvalue()


def bomb(parts: dict) -> bytes:
    """Return parts that unpack to far more than the file has."""
    parts = {**parts, documents.UPLOAD: b"\0" * 2**22}
    return zipped(parts_of(packed(parts)).items(), zipfile.ZIP_DEFLATED)


def long_notes(parts: dict) -> bytes:
    return packed(parts, notes={"entries": [], "x": " " * 2**24})


HOSTILE = {
    "wrong hash": (manifest_changed("notes", sha256="0" * 64), 422, "notes.json has the SHA-256"),
    "more bytes": (manifest_changed("notes", bytes=3), 422, "more than the 3 bytes"),
    "fewer bytes": (fewer, 422, "notes.json has fewer than"),
    "part too large": (manifest_changed("notes", bytes=2**40), 422, "the whole file has"),
    "negative": (manifest_changed("notes", bytes=-1), 422, "parts.0.bytes"),
    "part name": (manifest_changed("notes", name="../../x"), 422, "parts.0.name"),
    "version": (manifest_changed("", version=2), 422, "Was it written by a newer version"),
    "more members": (manifest_changed("", more=1), 422, "at more"),
    "manifest": (lambda parts: packed(parts, manifest=[]), 422, "cutline-recording.json"),
    "nested": (lambda parts: packed(parts, manifest=nested()), 422, "cutline-recording.json"),
    "no name": (manifest_changed("recording", name=""), 422, "recording.name"),
    "format": (manifest_changed("recording", format="x<b>"), 422, "There is no format"),
    "a mapping of mine": (manifest_changed("recording", format="mapping:1"), 422, "“mapping”"),
    "mapped": (manifest_changed("recording", format="mapped:{}"), 422, "“mapping”"),
    "mapping": (manifest_changed("recording", mapping={"x": "y"}), 422, ""),
    "a member more": (lambda parts: packed(parts, **{"../x": b"x"}), 422, '"../x"'),
    "one missing": (without_upload, 422, "has no part upload"),
    "other order": (
        lambda parts: zipped([(name, parts[name]) for name in (MEMBERS[0], *MEMBERS[:0:-1])]),
        422,
        "in this order",
    ),
    "cut off": (lambda parts: packed(parts)[:-30], 422, "damaged"),
    "bomb": (bomb, 422, "the whole file has"),
    "notes too long": (long_notes, 422, "the most that is read"),
    "twice": (twice, 422, "two entries have the same number"),
    "no versions": (entry_changed(versions=[]), 422, "entries.0.versions"),
    "number": (entry_changed(number=2**31), 422, "entries.0.number"),
    "at": (entry_changed(at=2**63), 422, "entries.0.at"),
    "uid": (entry_changed(uid="x"), 422, "entries.0.uid"),
    "author": (entry_changed(author="a" * 201), 422, "entries.0.author"),
    "no such time": (entry_changed(created_at="0001-01-01T00:00:00+14:00"), 422, "created_at"),
    "a time without zone": (entry_changed(created_at="2026-01-01T00:00:00"), 422, "created_at"),
    "half of a pair": (version_changed(text="\ud800"), 422, "notes.json"),
    "kind": (version_changed(kind="<b>"), 422, "entries.0.versions.0.kind"),
    "long text": (version_changed(text="a" * 20_001), 422, "entries.0.versions.0.text"),
    "many answers": (many_answers, 409, "200 are the most"),
    "an upload that is refused": (
        lambda parts: packed(parts, upload=b'{"kind":"header"}'),
        422,
        "",
    ),
}  # fmt: skip


def nested() -> object:
    value: object = []
    for _ in range(500):
        value = [value]
    return {"format": value}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_and_leaves_nothing(api, bob, banks, data_dir, name):
    change, status, words = HOSTILE[name]
    entry = written(api, banks.pk, "one")
    answered(api, entry, "two")
    content = change(parts_of(downloaded(api, banks.pk)))
    kept = uploads_of(data_dir)
    problem = uploaded(a_client(bob), content, status)
    assert words in problem["detail"]
    assert "Traceback" not in problem["detail"]
    assert uploads_of(data_dir) == kept
    assert not Recording.objects.filter(owner=bob).exists()
    assert Entry.objects.count() == 2


def test_a_refused_one_of_several_leaves_nothing_of_the_others(api, bob, banks, data_dir):
    content = downloaded(api, banks.pk)
    kept = uploads_of(data_dir)
    damaged = HOSTILE["wrong hash"][0](parts_of(content))
    files = [a_file(), SimpleUploadedFile("a.zip", content), SimpleUploadedFile("b.zip", damaged)]
    theirs = a_client(bob)
    assert theirs.post("/api/recordings", {"file": files}).status_code == 422
    assert uploads_of(data_dir) == kept
    assert theirs.post("/api/recordings", {"file": [a_file(), files[1]]}).status_code == 422


def test_hostile_text_comes_in_and_stays_text(api, ada, bob, banks):
    """Each payload comes as a text, a sentence, a place and an author, and no page runs it."""
    written(api, banks.pk, "one")
    parts = parts_of(downloaded(api, banks.pk))
    (pattern,) = json.loads(parts[documents.NOTES])["entries"]
    entries = [hostile_entry(pattern, number, text) for number, text in enumerate(ALL, 1)]
    theirs = a_client(bob)
    accepted = uploaded(theirs, packed(parts, notes={"entries": entries}))
    assert accepted["notes"] == f"Notes and answers: {len(ALL)} added."
    browser = signed_in(bob)
    for number in range(1, 2 + len(ALL) // 50):
        page = text_of(browser.get(f"/recordings/{accepted['id']}/notes?page={number}"))
        assert "<script>canary" not in page
        assert "<img src=x" not in page
        assert not re.search(r'<a[^>]*href="\s*javascript', page, re.IGNORECASE)


def hostile_entry(pattern: dict, number: int, text: str) -> dict:
    version = {**pattern["versions"][0], "text": text, "by": text[:200]}
    return {
        **pattern,
        "uid": f"00000000-0000-0000-0000-{number:012}",
        "number": number,
        "author": text[:200],
        "place": text,
        "sentence": text,
        "versions": [version],
    }
