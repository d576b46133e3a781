"""A file of a recording and its notes that is damaged, forged or hostile is refused whole."""

import io
import json
import re
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from snapshots.models import Recording
from snapshots.reviews.bundles import documents
from snapshots.reviews.models import Entry
from tests.hostile.payloads import ALL
from tests.web.api.bundles import (
    MEMBERS,
    answered,
    downloaded,
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
    signed_in,
    text_of,
    uploads_of,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def banks(ada, settings):
    return with_upload(ada, settings)


@pytest.fixture
def bob():
    return a_person("bob@example.org")


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
