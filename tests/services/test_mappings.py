"""Mappings: saved by their owner, tried on a log, and used for uploads."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from snapshots.jobs import running
from snapshots.models import Job, Mapping, Recording
from snapshots.problems import Invalid
from snapshots.services.recordings import accept_file
from tests.readers.inputs import text
from tests.readers.logs.test_mapped_lines import MAPPING, RECEIVE, SEND, SNAP
from tests.web.given import a_person, post_json, text_of, uploads_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def pages(ada):
    client = Client(raise_request_exception=True)
    client.force_login(ada)
    return client


def saved(user, name="banks", document=MAPPING):
    return Mapping.objects.create(owner=user, name=name, document=document)


def a_log(*lines, name="log.jsonl"):
    return SimpleUploadedFile(name, text(*lines))


# --- API ----------------------------------------------------------------------------------------


def test_a_mapping_is_saved_changed_listed_and_deleted(api):
    answer = post_json(api, "/api/mappings", {"name": "banks", "document": MAPPING})
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert (made["name"], made["document"]) == ("banks", MAPPING)
    assert made["format"] == f"mapping:{made['id']}"
    assert api.get("/api/mappings").json()["total"] == 1
    body = {"name": "hosts", "document": {"process": "host"}}
    answer = post_json(api, f"/api/mappings/{made['id']}", body, "put")
    assert answer.json()["document"] == {"process": "host"}
    assert api.get(f"/api/mappings/{made['id']}").json()["name"] == "hosts"
    assert api.delete(f"/api/mappings/{made['id']}").status_code == 204
    assert api.get("/api/mappings").json() == {"items": [], "total": 0}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "x", "document": {}}, "process"),
        ({"name": "x", "document": {"process": "a", "at": {"path": "t", "unit": "y"}}}, "at.unit"),
        ({"name": "x", "document": []}, "mapping"),
        ({"name": "x", "document": {"process": "p", "state": {
            f"{n}{'x' * 190}": "y" * 190 for n in range(50)}, "value": {
            f"{n}{'x' * 190}": "y" * 190 for n in range(50)}}}, "mapping"),
        ({"name": "", "document": {"process": "a"}}, "name"),
        ({"document": {"process": "a"}}, "name"),
    ],
)  # fmt: skip
def test_an_invalid_mapping_is_refused_with_its_field(api, body, field):
    answer = post_json(api, "/api/mappings", body)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert not Mapping.objects.exists()


def test_a_mapping_of_someone_else_does_not_exist(api, pages):
    other = saved(a_person("bob@example.org"))
    assert api.get("/api/mappings").json()["total"] == 0
    address = f"/api/mappings/{other.pk}"
    assert api.get(address).status_code == 404
    assert post_json(api, address, {"name": "x", "document": MAPPING}, "put").status_code == 404
    assert api.delete(address).status_code == 404
    for page in (f"/mappings/{other.pk}", f"/mappings/{other.pk}/delete"):
        assert pages.get(page).status_code == pages.post(page, {}).status_code == 404
    answer = api.post("/api/recordings", {"file": a_log(SEND), "format": other.format})
    assert (answer.status_code, answer.json()["field"]) == (422, "format")
    assert list(Mapping.objects.all()) == [other]


def test_nobody_has_mappings_without_signing_in(client):
    assert client.get("/api/mappings").status_code == 401
    assert client.get("/mappings").status_code == 302


def test_a_preview_shows_events_and_lines_that_cannot_be_mapped(api, data_dir):
    lines = [SEND, {"host": "A"}, SNAP, RECEIVE, b"{"]
    body = {"file": a_log(*lines), "mapping": json.dumps(MAPPING)}
    answer = api.post("/api/mappings/preview", body)
    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert [(e["line"], e["process"], e["kind"], e["at"]) for e in found["events"]] == [
        (1, "A", "send", 0), (2, "A", "internal", None), (3, "A", "record_state", 10_000),
        (4, "B", "receive", 20_000),
    ]  # fmt: skip
    assert found["events"][0] | {"line": 0} == {
        "line": 0, "process": "A", "kind": "send", "channel": "A->B", "message": "7", "at": 0,
        "instant": found["events"][0]["instant"],
        "state": {"balance": 95}, "value": 5, "snapshot": None, "label": "tx",
    }  # fmt: skip
    assert (found["lines"], found["misfits"], found["without_time"]) == (5, 1, 1)
    assert found["misfit_lines"][0][0] == 5
    assert found["fields"]["event.to"] == '"B"'
    assert not uploads_of(data_dir)


@pytest.mark.parametrize(
    ("mapping", "field"), [("{", "mapping"), ('{"process": 7}', "process"), ("[]", "mapping")]
)
def test_a_preview_with_an_invalid_mapping_is_refused(api, mapping, field):
    answer = api.post("/api/mappings/preview", {"file": a_log(SEND), "mapping": mapping})
    assert (answer.status_code, answer.json()["field"]) == (422, field)


# --- uploads ------------------------------------------------------------------------------------


def test_an_upload_keeps_the_mapping_that_reads_it(api, ada):
    row = saved(ada)
    answer = api.post("/api/recordings", {"file": a_log(SEND), "format": row.format})
    assert answer.status_code == 202, answer.content
    recording = Recording.objects.get()
    assert (recording.format, recording.parameters["mapping"]) == (row.format, MAPPING)
    assert answer.json()["recognised"] == f"The mapping “{row.name}” was given."


@pytest.mark.spark
@pytest.mark.django_db(transaction=True)  # the heartbeat sees only what is committed
def test_a_log_is_ingested_by_its_mapping(api, ada):
    row = saved(ada)
    format, log = row.format, a_log(SEND, {"event": 1}, SNAP, RECEIVE)
    answer = api.post("/api/recordings", {"file": log, "format": format})
    row.delete()  # what was uploaded does not need it any more
    running.run(answer.json()["job"])
    recording = Recording.objects.get()
    assert (recording.status, recording.error, recording.format) == ("ready", None, format)
    assert (recording.event_count, recording.message_count, recording.snapshot_count) == (3, 1, 1)
    assert [defect["code"] for defect in recording.defects] == ["skipped-text"]
    event = api.get(f"/api/recordings/{recording.pk}/events/A/0").json()
    assert (event["line"], event["state"], event["message"]) == (1, {"balance": 95}, "7")


@pytest.mark.parametrize("format", ["mapping:", "mapping:x", "mapping:99", "mapping:" + "9" * 30])
def test_a_format_that_names_no_mapping_is_refused(api, format):
    answer = api.post("/api/recordings", {"file": a_log(SEND), "format": format})
    assert (answer.status_code, answer.json()["field"]) == (422, "format")


def test_a_document_in_place_of_a_mapping_is_refused(api):
    answer = api.post("/api/recordings", {"file": a_log(SEND), "format": 'mapped:{"process":"p"}'})
    assert (answer.status_code, answer.json()["field"]) == (422, "format")


def test_a_log_that_does_not_fit_is_refused_at_once(api, ada, data_dir):
    row = saved(ada)
    answer = api.post("/api/recordings", {"file": a_log({"a": 1}), "format": row.format})
    assert answer.status_code == 422
    assert 'Line 1 has no process: there is no "host".' in answer.json()["detail"]
    assert not Recording.objects.exists()
    assert not uploads_of(data_dir)


def test_a_file_on_this_machine_is_read_by_a_mapping(ada, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(text(SEND))
    job = accept_file(ada, path, format=saved(ada).format)
    assert job.recording.parameters["mapping"] == MAPPING
    with pytest.raises(Invalid):
        accept_file(ada, path, format="mapping:77")


# --- pages --------------------------------------------------------------------------------------

TYPED = {
    "name": "banks",
    "process": "host",
    "kind": "event.type",
    "rules": "tx = send\r\nrx* = receive\r\ndebug = skip\r\nsnap = record_state\r\n",
    "otherwise": "internal",
    "peer_sent": "event.to",
    "peer_received": "event.from",
    "message": "event.id",
    "at": "ts",
    "unit": "ms",
    "state": "balance = balance",
    "value": "event.amount",
    "label": "note",
    "snapshot": "event.snapshot",
}


def lines_of(*lines):
    return text(*lines).decode()


def test_a_mapping_is_typed_tried_and_saved(pages):
    assert "New mapping" in pages.get("/mappings/new").content.decode()
    lines = lines_of(SEND, SNAP, {"x": 1}, RECEIVE)
    answer = pages.post("/mappings/new", TYPED | {"action": "look", "lines": lines})
    assert "event.snapshot" in answer.content.decode()
    answer = pages.post("/mappings/new", TYPED | {"action": "preview", "lines": lines})
    page = answer.content.decode()
    assert (answer.status_code, page.count('<th scope="row" class="name">')) == (200, 3)
    assert "Line 3 has no process: there is no &quot;host&quot;" in page
    assert not Mapping.objects.exists()
    answer = pages.post("/mappings/new", TYPED | {"action": "save"})
    row = Mapping.objects.get()
    assert answer.url == f"/mappings/{row.pk}"
    assert row.document == MAPPING | {"kind": MAPPING["kind"] | {"otherwise": "internal"}}


def test_a_saved_mapping_is_shown_as_it_was_typed(pages, ada):
    row = saved(ada, document=MAPPING | {"fifo": True})
    page = pages.get(f"/mappings/{row.pk}").content.decode()
    assert 'value="event.from"' in page
    assert "rx* = receive\ndebug = skip" in page
    assert f"mapping:{row.pk}" in page
    typed = TYPED | {"action": "save", "fifo": "on"}
    assert pages.post(f"/mappings/{row.pk}", typed).status_code == 302
    row.refresh_from_db()
    assert row.document["state"] == MAPPING["state"]
    assert row.document["fifo"] is True


@pytest.mark.parametrize(
    "document",
    [
        {"process": "p"},
        {"process": "p", "kind": "k", "peer": "q", "snapshot": "s", "at": "t", "state": "s.x"},
        MAPPING,
    ],
)
def test_a_document_comes_back_from_the_form_with_the_same_meaning(document):
    from snapshots.readers.logs.mapped.mapping import parse
    from snapshots.web.pages import mapping_form

    again = mapping_form.document(mapping_form.typed("x", document))
    before, after = parse(document), parse(again)
    assert before.paths == after.paths
    if before.rules is not None:
        assert before == after


def test_a_file_is_previewed_without_leaving_the_page(pages):
    body = TYPED | {"action": "preview", "file": a_log(SEND, RECEIVE)}
    page = text_of(pages.post("/mappings/new", body))
    assert "2 events from 2 lines" in page
    assert "&quot;rx-late&quot;" in page


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"process": ""}, "Which field is it?"),
        ({"rules": "tx"}, "write NAME = WHAT"),
        ({"rules": "tx = fly"}, "not &quot;fly&quot;"),
        ({"peer_sent": ""}, "A send needs the field of its peer"),
        ({"state": "a = \nb"}, "write NAME = WHAT"),
        ({"name": ""}, "A name has 1 to"),
    ],
)
def test_a_wrong_value_is_explained_at_its_field(pages, change, words):
    action = "save" if "name" in change else "preview"
    answer = pages.post("/mappings/new", TYPED | change | {"action": action, "lines": "{}"})
    page = answer.content.decode()
    assert (answer.status_code, words in page) == (422, True)
    assert 'aria-invalid="true"' in page
    assert "tx" in page
    assert not Mapping.objects.exists()


def test_a_log_is_uploaded_from_the_page(pages):
    body = TYPED | {"action": "upload", "log": a_log(SEND)}
    answer = pages.post("/mappings/new", body)
    recording = Recording.objects.get()
    assert answer.url == f"/recordings/{recording.pk}"
    assert recording.format == Mapping.objects.get().format
    assert Job.objects.get().recording == recording
    answer = pages.post("/mappings/new", TYPED | {"action": "upload"})
    assert "The request has no file" in answer.content.decode()


def test_a_mapping_is_listed_until_it_is_deleted(pages, ada):
    row = saved(ada)
    assert "event.type" in pages.get("/mappings").content.decode()
    assert "Nothing matches" in pages.get("/mappings?q=zzz").content.decode()
    assert "Keep it" in pages.get(f"/mappings/{row.pk}/delete").content.decode()
    pages.post(f"/mappings/{row.pk}/delete")
    assert "No mapping yet" in pages.get("/mappings").content.decode()
