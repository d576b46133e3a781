"""Open recordings lose nothing that was acknowledged, and say what is wrong."""

import json
import os
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from snapshots import allowances
from snapshots.files import journals, uploads
from snapshots.growing import journal as journal_module
from snapshots.jobs import running
from snapshots.models import Allowance, Job, Recording
from snapshots.services import checking, moving, retention
from tests.web.api.test_open_recordings import EVENTS, HEADER, api, lines, send  # noqa: F401
from tests.web.api.test_open_recordings import opened as open_with
from tests.web.given import a_person, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

CYCLE = [
    {"kind": "receive", "process": "A", "index": 0, "channel": "B->A", "message": "b"},
    {"kind": "send", "process": "A", "index": 1, "channel": "A->B", "message": "a"},
    {"kind": "receive", "process": "B", "index": 0, "channel": "A->B", "message": "a"},
    {"kind": "send", "process": "B", "index": 1, "channel": "B->A", "message": "b"},
]
BOTH_WAYS = HEADER | {
    "channels": [*HEADER["channels"], {"id": "B->A", "source": "B", "target": "A"}]
}


@pytest.fixture
def pk(api):  # noqa: F811
    pk = open_with(api).json()["id"]
    assert send(api, pk, lines(*EVENTS)).status_code == 200
    return pk


def path_of(pk):
    return uploads.path_of(Recording.objects.get(pk=pk).journal)


def damage(pk):
    content = bytearray(path_of(pk).read_bytes())
    content[-5] ^= 1
    path_of(pk).write_bytes(content)
    journals.forget(path_of(pk).name)


@pytest.mark.spark
def test_a_log_that_is_refused_after_closing_stays(api):  # noqa: F811
    pk = open_with(api, header=BOTH_WAYS).json()["id"]
    assert send(api, pk, lines(*CYCLE)).status_code == 200
    job = api.post(f"/api/recordings/{pk}/close").json()["job"]
    running.run(job)
    row = Recording.objects.get(pk=pk)
    assert (row.status, row.error["type"]) == ("refused", "/problems/causal-cycle")
    browser = signed_in(row.owner)
    log = b"".join(browser.get(f"/recordings/{pk}/original").streaming_content)
    assert [json.loads(line)["kind"] for line in log.splitlines()][1:].count("send") == 2
    assert "its events are kept" in " ".join(
        browser.get(f"/recordings/{pk}").content.decode().split()
    )
    assert api.post(f"/api/recordings/{pk}/ingest").status_code == 202


def test_a_line_that_is_too_long_as_it_is_kept_is_refused(api, pk, settings):  # noqa: F811
    settings.MAX_LINE_BYTES = 1000
    text = b'{"kind":"internal","process":"B","index":1,"state":[%s]}' % b",".join([b"1e15"] * 150)
    answer = send(api, pk, text)
    assert (answer.status_code, answer.json()["line"]) == (413, 1)
    answer = open_with(api, header=HEADER | {"more": [1e15] * 60})
    assert (answer.status_code, answer.json()["field"]) == (422, "header")


def test_an_open_recording_is_not_removed_for_its_age(api, pk, settings):  # noqa: F811
    settings.RETENTION_DAYS = 10
    later = timezone.now() + timedelta(days=400)
    assert retention.expired(later) == []
    assert api.get("/api/recordings?status=open").json()["items"][0]["goes_at"] is None
    Recording.objects.update(status="ready", closed_at=later - timedelta(days=9))
    assert retention.expired(later) == []
    Recording.objects.update(closed_at=later - timedelta(days=11))
    assert [row.pk for row in retention.expired(later)] == [pk]


def test_each_byte_of_each_open_recording_counts(api, pk, settings):  # noqa: F811
    person = Recording.objects.get(pk=pk).owner
    assert allowances.stored_bytes(person) == path_of(pk).stat().st_size
    settings.MAX_STORED_BYTES = path_of(pk).stat().st_size + 10
    more = lines({"kind": "crash", "process": "B", "index": 1})
    assert send(api, pk, more).status_code == 429
    other = a_person("eve@example.org")
    Allowance.objects.create(owner=other, stored_bytes=10)
    with pytest.raises(moving.allowances.TooMany):
        moving.move(Recording.objects.get(pk=pk), other, person)


def test_a_body_that_is_refused_changes_no_size(api, pk):  # noqa: F811
    size = Recording.objects.get(pk=pk).size
    assert send(api, pk, b"x" * 100_000).status_code == 422
    assert Recording.objects.get(pk=pk).size == size
    large = {"kind": "internal", "process": "B", "index": 1, "state": "x" * 100_000}
    assert send(api, pk, lines(large)).status_code == 200
    assert Recording.objects.get(pk=pk).size == path_of(pk).stat().st_size


def test_a_deleted_recording_frees_the_disk_though_others_have_it_open(
    api,  # noqa: F811
    pk,
    django_capture_on_commit_callbacks,
):
    with path_of(pk).open("rb") as other:
        with django_capture_on_commit_callbacks(execute=True):
            assert api.delete(f"/api/recordings/{pk}").status_code == 204
        assert os.fstat(other.fileno()).st_size == 0


def test_a_journal_that_another_process_removed_is_let_go(api, pk):  # noqa: F811
    kept = journals._open[path_of(pk).name]
    path_of(pk).unlink()
    open_with(api)
    send(api, Recording.objects.latest("pk").pk, lines(*EVENTS))
    assert kept not in journals._open.values()


def test_a_damaged_journal_is_said_by_both_calls_and_by_the_check(api, pk):  # noqa: F811
    damage(pk)
    for answer in (send(api, pk, lines(*EVENTS)), api.get(f"/api/recordings/{pk}/received")):
        assert answer.status_code == 503
        assert "is damaged at byte" in answer.json()["detail"]
    [finding] = checking.Check().findings()
    assert "cannot be read: The journal" in finding.sentence
    assert "from a backup" in finding.advice


def test_a_missing_journal_is_said_and_the_recording_is_not_closed(api, pk):  # noqa: F811
    path_of(pk).unlink()
    for answer in (
        send(api, pk, lines(*EVENTS)),
        api.get(f"/api/recordings/{pk}/received"),
        api.post(f"/api/recordings/{pk}/close"),
    ):
        assert answer.status_code == 404
        assert "gone" in answer.json()["detail"]
    assert Recording.objects.get(pk=pk).is_open
    [finding] = checking.Check().findings()
    assert "is missing" in finding.sentence


@pytest.mark.parametrize(("becomes", "status"), [("deleted", 404), ("closed", 409)])
def test_why_a_journal_went_is_said(api, pk, monkeypatch, becomes, status):  # noqa: F811
    """A journal that goes after its row was read is answered with the reason."""
    read_body = journal_module.read_body

    def go(*given):
        path_of(pk).unlink()
        rows = Recording.objects.filter(pk=pk)
        if becomes == "deleted":
            rows.delete()
        else:
            rows.update(status="queued", closed_at=timezone.now(), journal="")
        return read_body(*given)

    monkeypatch.setattr(journal_module, "read_body", go)
    answer = send(api, pk, lines(*EVENTS))
    assert answer.status_code == status
    assert becomes in answer.json()["detail"]


def test_a_body_that_is_too_large_is_told_how_large_it_may_be(api, pk):  # noqa: F811
    answer = send(api, pk, b" " * (16 * 2**20 + 1))
    assert answer.status_code == 413
    assert "16,777,216 bytes" in answer.json()["detail"]


def test_a_form_is_no_body_of_events(pk):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(a_person())
    browser.get("/account")
    token = browser.cookies["csrftoken"].value
    answer = browser.post(f"/api/recordings/{pk}/events", {"csrfmiddlewaretoken": token})
    assert answer.status_code == 415
    assert "application/x-ndjson" in answer.json()["detail"]


def test_a_misspelt_field_is_refused(api):  # noqa: F811
    answer = open_with(api, tean=1)
    assert (answer.status_code, answer.json()["field"]) == (422, "tean")
    assert "Did you mean" in answer.json()["detail"]
    assert not Recording.objects.exists()


def test_after_a_cancelled_closing_it_says_what_is_there_and_is_read_again(api, pk):  # noqa: F811
    job = api.post(f"/api/recordings/{pk}/close").json()["job"]
    Job.objects.filter(pk=job).update(cancel_requested=True)
    running.run(job)
    assert Recording.objects.get(pk=pk).status == "failed"
    assert api.get(f"/api/recordings/{pk}/received").json()["events"] == 3
    page = signed_in(Recording.objects.get(pk=pk).owner).get(f"/recordings/{pk}").content.decode()
    assert f'action="/recordings/{pk}/again"' in page
    assert "Upload a corrected file" not in page
    assert api.post(f"/api/recordings/{pk}/ingest").status_code == 202
