"""Recordings with notes for tests of the file in which both leave and come back."""

import hashlib
import io
import json
import zipfile
from pathlib import Path

from django.core.files.uploadedfile import SimpleUploadedFile

from snapshots.domain.simulators.samples import two_banks
from snapshots.models import Recording
from snapshots.reviews.bundles import documents
from snapshots.reviews.models import Entry
from tests.web.given import (
    a_ready_recording,
    native,
    post_json,
)

MEMBERS = [documents.MANIFEST, documents.NOTES, documents.UPLOAD]


def with_upload(owner, settings) -> Recording:
    """Return a ready recording whose upload is kept."""
    content, name = native(two_banks()), f"kept-by-{owner.pk}-{Recording.objects.count()}"
    Path(settings.UPLOADS_DIR, name).write_bytes(content)
    row = a_ready_recording(owner, upload=name, size=len(content), source_name="banks.jsonl")
    row.format = "native"  # as a worker says; the reference does not
    row.save()
    return row


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
