"""More than a person may use is refused with the limit, the usage and advice."""

import pytest
from django.test import Client

from snapshots import allowances
from snapshots.files import recordings
from snapshots.models import Allowance, Collector, Job, Recording
from snapshots.problems import TooMany
from snapshots.services.recordings import accept_file, accept_folder
from tests.web.given import (
    a_client,
    a_file,
    a_person,
    a_ready_recording,
    post_json,
    text_of,
    uploads_of,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def jobs_of(user, number: int) -> None:
    row = Recording.objects.create(owner=user, name="r")
    for _ in range(number):
        Job.objects.create(kind="restore", owner=user, recording=row)


def test_the_settings_hold_unless_a_person_has_limits_of_their_own(ada, settings):
    settings.MAX_OPEN_JOBS = 5
    assert allowances.allowance(ada).open_jobs == 5
    Allowance.objects.create(owner=ada, open_jobs=9)
    assert allowances.allowance(ada).open_jobs == 9
    assert allowances.allowance(ada).stored_bytes == settings.MAX_STORED_BYTES
    assert allowances.allowance(a_person("bob@example.org")).open_jobs == 5


def test_one_job_too_many_is_refused(ada, settings):
    settings.MAX_OPEN_JOBS = 3
    jobs_of(ada, 2)
    allowances.require_job(ada)
    jobs_of(ada, 1)
    with pytest.raises(TooMany, match="3 open jobs, and may have 3") as refusal:
        allowances.require_job(ada)
    body = refusal.value.as_json()
    assert (body["status"], body["limit"], body["used"]) == (429, 3, 3)
    assert body["type"] == "/problems/too-many"
    assert body["retry_after"] > 0
    Job.objects.update(state=Job.State.DONE)
    allowances.require_job(ada)
    allowances.require_job(None)


def test_zero_is_no_limit(ada, settings):
    settings.MAX_OPEN_JOBS = settings.MAX_COLLECTORS = settings.MAX_STORED_BYTES = 0
    jobs_of(ada, 3)
    allowances.require_job(ada)
    allowances.require_collector(ada)
    allowances.require_room_for(ada, 2**62)


def test_a_store_that_is_published_has_a_size(ada, data_dir):
    row = a_ready_recording(ada)
    row.refresh_from_db()
    files = [path for path in (data_dir / "store" / row.store).rglob("*") if path.is_file()]
    assert row.stored_bytes == sum(path.stat().st_size for path in files) > 0


def test_sizes_that_are_missing_are_filled_in(ada):
    row = a_ready_recording(ada)
    size = Recording.objects.get().stored_bytes
    Recording.objects.update(stored_bytes=0)
    recordings.measure()
    row.refresh_from_db()
    assert row.stored_bytes == size


def test_uploads_and_stores_count_together(ada):
    Recording.objects.create(owner=ada, name="a", size=100, upload="x", stored_bytes=10)
    Recording.objects.create(owner=ada, name="b", size=100, upload="", stored_bytes=1)
    Recording.objects.create(owner=a_person("bob@example.org"), name="c", size=9, upload="y")
    assert allowances.stored_bytes(ada) == 111


def test_an_upload_without_room_is_refused_and_leaves_nothing(ada, settings, data_dir):
    file = a_file()
    settings.MAX_STORED_BYTES = 2 * file.size - 1
    client = a_client(ada)
    assert client.post("/api/recordings", {"file": file}).status_code == 202
    kept = uploads_of(data_dir)
    answer = client.post("/api/recordings", {"file": a_file()})
    assert answer.status_code == 429
    body = answer.json()
    assert (body["limit"], body["used"]) == (2 * file.size - 1, file.size)
    assert "Delete recordings" in body["detail"]
    assert Recording.objects.count() == 1
    assert uploads_of(data_dir) == kept
    both = client.post("/api/recordings", {"file": [a_file(), a_file()], "together": "true"})
    assert both.status_code == 429


def test_the_page_says_why_an_upload_was_refused(ada, settings):
    settings.MAX_STORED_BYTES = 1
    client = Client()
    client.force_login(ada)
    answer = client.post("/", {"file": a_file()})
    assert 400 <= answer.status_code < 500
    assert "that you may store" in answer.text


def test_files_and_folders_ingested_from_the_shell_count_too(ada, settings, tmp_path):
    settings.MAX_STORED_BYTES = 10
    path = tmp_path / "in" / "log.jsonl"
    path.parent.mkdir()
    path.write_bytes(a_file().read())
    with pytest.raises(TooMany):
        accept_file(ada, path)
    with pytest.raises(TooMany):
        accept_folder(ada, path.parent)
    assert accept_file(None, path)  # a sample


def test_collectors_are_counted_and_poll_no_more_often_than_allowed(ada, settings):
    settings.COLLECTOR_HOSTS = ["a", "b", "c"]
    settings.MAX_COLLECTORS, settings.MIN_COLLECT_SECONDS = 2, 5
    client = a_client(ada)

    def asked(host: str, **fields):
        return post_json(client, "/api/collectors", {"url": f"http://{host}", **fields})

    assert asked("a", interval_seconds=4).status_code == 422
    assert asked("a", interval_seconds=5).status_code == 201
    assert asked("b").status_code == 201
    answer = asked("c")
    assert (answer.status_code, answer.json()["limit"]) == (429, 2)
    assert Collector.objects.count() == 2


def test_retry_after_is_a_header_too(ada):
    from snapshots.problems import response

    answer = response(TooMany("Wait.", limit=1, used=1, retry_after=10).as_json())
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "10")


def test_the_account_page_shows_usage_beside_limits(ada, settings):
    settings.MAX_OPEN_JOBS, settings.MAX_COLLECTORS = 8, 0
    jobs_of(ada, 2)
    client = Client()
    client.force_login(ada)
    page = text_of(client.get("/account"))
    assert "2 of 8" in page
    assert "no limit" in page
    assert "Recordings stay until you delete them" in page
    api = a_client(ada).get("/api/account").json()
    assert api["usage"]["open_jobs"] == 2
    assert api["limits"] == {
        "open_jobs": 8,
        "collectors": 0,
        "stored_bytes": settings.MAX_STORED_BYTES,
        "retention_days": 0,
    }
