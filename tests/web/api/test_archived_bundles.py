"""An archived job with its notes leaves as one file, and comes back as what it was."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from snapshots.models import EngineJob
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.reviews import entries
from snapshots.reviews.bundles import archived
from snapshots.reviews.models import Entry
from tests.web.given import a_client, a_person, signed_in, text_of
from tests.web.stored_uploads import parts_of, stored_upload
from webapp.accounts import audit
from webapp.accounts.models import AuditEntry

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("data_dir", "every_reply_is_documented"),
]


@pytest.fixture
def job(ada, shared_data, tmp_path):
    folder = parts_of(shared_data / "flink" / "failures", ["rest"], tmp_path / "upload")
    job = stored_upload(ada, FlinkReader(), folder).engine_jobs.get()
    note = {"text": "The sink is **slow**.", "place": "checkpoint:14:0", "kind": "finding"}
    entry = entries.write(ada, job, note)
    entries.answer(ada, entry, "Since Monday.")
    entries.change(ada, entry, {"resolved": True})
    entries.write(ada, job, {"text": "Buy disks.", "kind": "follow-up", "due_on": "2026-12-01"})
    return job


@pytest.fixture
def bob():
    return a_person("bob@example.org")


def saved(person, job):
    answer = a_client(person).get(f"/api/archive/{job.pk}/with-notes")
    assert answer.status_code == 200, answer.content[:300]
    return answer.content


def sent(person, content, **fields):
    file = SimpleUploadedFile("job.json", content)
    return a_client(person).post("/api/archive", {"file": file, **fields})


def taken(person, content):
    answer = sent(person, content)
    assert answer.status_code == 201, answer.content
    return EngineJob.objects.get(pk=answer.json()["id"]), answer.json()["notes"]


def test_a_job_goes_to_another_person_and_back_with_the_same_bytes(ada, bob, job):
    first = saved(ada, job)
    there, _ = taken(bob, first)
    assert there.owner == bob
    second = saved(bob, there)
    assert second == first
    ada_again, words = taken(ada, second)
    assert ada_again == job
    assert words == "All its notes are here already."
    assert saved(ada, job) == first


def test_taking_a_file_again_changes_nothing(ada, bob, job):
    content = saved(ada, job)
    there, words = taken(bob, content)
    assert words == "Notes and answers: 3 added."
    version = there.version
    again, words = taken(bob, content)
    assert (again, again.version) == (there, version)
    assert words == "All its notes are here already."
    assert Entry.objects.filter(engine_job=there).count() == 3


def test_what_was_taken_says_what_the_first_archive_says(ada, bob, job):
    there, _ = taken(bob, saved(ada, job))
    address = "checkpoints/0/14"
    mine = a_client(ada).get(f"/api/archive/{job.pk}/{address}").json()
    theirs = a_client(bob).get(f"/api/archive/{there.pk}/{address}").json()
    links = {"recording": None, "contents": None}
    assert theirs == mine | links
    notes = a_client(bob).get(f"/api/archive/{there.pk}/entries").json()["items"]
    assert {item["text"] for item in notes} == {"The sink is **slow**.", "Buy disks."}
    assert AuditEntry.objects.filter(actor=bob.username, action=audit.NOTES_IMPORTED).count() == 1


def test_a_note_that_was_written_meanwhile_is_kept_beside_those_of_the_file(ada, bob, job):
    content = saved(ada, job)
    there, _ = taken(bob, content)
    entries.write(bob, there, {"text": "Seen here too."})
    _, words = taken(ada, saved(bob, there))
    assert words == "Notes and answers: 1 added, 3 here already."


def without(document, field):
    return {name: value for name, value in document.items() if name != field}


@pytest.mark.parametrize(
    ("spoil", "field"),
    [
        (lambda document: without(document, "key"), "key"),
        (lambda document: document | {"engine": "storm"}, "engine"),
        (lambda document: document | {"version": 2}, "version"),
        (lambda document: document | {"more": 1}, "more"),
        (lambda document: document | {"checkpoints": document["checkpoints"][:1] * 2}, "check"),
        (lambda document: document | {"counts": {"total": -1}}, "counts"),
    ],
)
def test_a_file_that_was_changed_is_refused_with_its_field(ada, bob, job, spoil, field):
    document = spoil(json.loads(saved(ada, job)))
    answer = sent(bob, json.dumps(document).encode())
    assert answer.status_code == 422
    assert answer.json()["field"].startswith(field)
    assert not EngineJob.objects.filter(owner=bob).exists()


def test_what_is_no_json_is_refused(bob):
    answer = sent(bob, b"PK\x03\x04")
    assert answer.status_code == 422
    assert "cannot be read" in answer.json()["detail"]


def test_a_file_that_is_too_large_is_neither_written_nor_taken(ada, bob, job, monkeypatch):
    content = saved(ada, job)
    monkeypatch.setattr(archived, "MOST_BYTES", 1_000)
    assert sent(bob, content).status_code == 422
    answer = a_client(ada).get(f"/api/archive/{job.pk}/with-notes")
    assert answer.status_code == 409
    monkeypatch.setattr(archived, "MOST_CHECKPOINTS", 1)
    answer = a_client(ada).get(f"/api/archive/{job.pk}/with-notes")
    assert "15 checkpoints" in answer.json()["detail"]


def test_the_page_of_the_notes_saves_the_file_and_the_archive_takes_it(ada, bob, job):
    page = text_of(signed_in(ada).get(f"/archive/{job.pk}/notes"))
    assert "Download with notes" in page
    answer = signed_in(ada).get(f"/archive/{job.pk}/with-notes")
    assert answer.content == saved(ada, job)
    assert 'filename="failures.cutline-job.json"' in answer["Content-Disposition"]
    client = signed_in(bob)
    file = SimpleUploadedFile("job.json", answer.content)
    shown = client.post("/archive", {"action": "take", "file": file}, follow=True)
    assert "“failures” is in the archive. Notes and answers: 3 added." in text_of(shown)
    file = SimpleUploadedFile("job.json", b"{}")
    refused = client.post("/archive", {"action": "take", "file": file})
    assert "cannot be read" in text_of(refused, 422)
    assert "Choose one file" in text_of(client.post("/archive", {"action": "take"}), 422)
