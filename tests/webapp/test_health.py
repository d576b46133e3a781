"""Health probes, and what operators and strangers learn about the server."""

import json
import re
import shutil
import signal
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from snapshots.models import Job
from tests.web.given import a_client, a_person
from webapp.operating import disk, presence, report
from webapp.operating.redis_reading import client as redis_client
from webapp.version import VERSION

NOBODY = "redis://127.0.0.1:1/0"
PID = 4700  # of a worker that is only noted

pytestmark = pytest.mark.django_db


@pytest.fixture
def no_redis(settings):
    settings.REDIS_URL = NOBODY


@pytest.fixture
def an_operator(db):
    user = a_person("operator@example.org")
    user.is_staff = True
    user.save()
    return user


@pytest.fixture
def live(live_redis, settings):
    """Provide a real Redis that holds no notes."""
    settings.REDIS_URL = live_redis.empty_redis_url
    with redis_client() as redis:
        redis.flushdb()
        yield redis


def test_livez_needs_neither_database_nor_redis(client, no_redis, django_assert_num_queries):
    with django_assert_num_queries(0):
        answer = client.get("/livez")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok"}


def test_readyz_names_the_part_that_fails_and_nothing_more(client, no_redis, data_dir):
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "failed",
        "database": "ok",
        "redis": "failed",
        "disk": "ok",
        "migrations": "ok",
    }


def test_readyz_is_200_where_all_is_well(client, live, data_dir):
    answer = client.get("/readyz")
    assert answer.status_code == 200, answer.json()
    assert set(answer.json().values()) == {"ok"}


def test_readyz_fails_on_a_disk_without_room(client, live, data_dir, settings):
    settings.MIN_FREE_BYTES = shutil.disk_usage(data_dir).total + 1
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["disk"]) == (503, "failed")


def test_readyz_fails_where_the_folder_cannot_be_written(client, live, data_dir, settings):
    settings.DATA_DIR = data_dir / "gone"
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["disk"]) == (503, "failed")


def test_readyz_fails_before_the_database_is_migrated(client, live, data_dir):
    from django.db.migrations.recorder import MigrationRecorder

    MigrationRecorder.Migration.objects.filter(app="snapshots").order_by("-pk").first().delete()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["migrations"]) == (503, "failed")


def test_readyz_fails_where_the_database_does_not_answer(client, live, data_dir):
    def refuse(execute, sql, parameters, many, context):
        raise OperationalError("the server closed the connection")

    with connection.execute_wrapper(refuse):
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["database"]) == (503, "failed")
    assert "closed the connection" not in answer.content.decode()


def test_readyz_answers_while_redis_is_frozen(client, live, live_redis, data_dir):
    redis = live_redis.processes["redis"]
    redis.send_signal(signal.SIGSTOP)
    try:
        began = timezone.now()
        answer = client.get("/readyz")
        assert timezone.now() - began < timedelta(seconds=10)
    finally:
        redis.send_signal(signal.SIGCONT)
    assert (answer.status_code, answer.json()["redis"]) == (503, "failed")


@pytest.mark.parametrize("path", ["/operator", "/api/operator/health", "/metrics"])
def test_what_operators_see_is_hidden_from_others(path, no_redis, client):
    assert a_client(a_person()).get(path).status_code == (302 if path == "/operator" else 404)
    client.force_login(a_person())
    assert client.get(path).status_code == 404
    client.logout()
    assert client.get(path).status_code == (302 if path == "/operator" else 401)


def test_the_report_names_workers_their_spark_and_their_jobs(live, an_operator, data_dir):
    presence.note_worker(PID, "2026-11-22T08:00:00+00:00", [4711])
    host = json.loads(live.get(live.keys(f"{presence.WORKER}*")[0]))["host"]
    note = {"state": "up", "since": "2026-11-22T08:00:05+00:00", "reason": "", "restarts": 2}
    live.set(f"{presence.SPARK}{host}:4711", json.dumps(note))
    running = Job.objects.create(
        kind="ingest", state="running", worker=f"{host}/4711/99", phase="reading"
    )
    Job.objects.create(kind="restore", state="running", worker="elsewhere/4711/99")
    old = Job.objects.create(kind="ingest")
    Job.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(minutes=5))

    health = a_client(an_operator).get("/api/operator/health").json()
    assert health["version"] == VERSION
    (worker,) = health["workers"]
    assert worker["status"] == "ok"
    assert worker["spark"] == [{"pid": 4711, **note}]
    assert [(job["id"], job["phase"]) for job in worker["jobs"]] == [(running.pk, "reading")]
    assert health["queue"]["queued"] == 1
    assert health["queue"]["running"] == 2
    assert health["queue"]["oldest_job"] == old.pk
    assert 300 <= health["queue"]["oldest_seconds"] < 400
    assert {disk["folder"] for disk in health["disks"]} == {"data", "store"}


def test_a_worker_whose_spark_does_not_start_has_failed_and_says_why(live, an_operator, data_dir):
    presence.note_worker(PID, "2026-11-22T08:00:00+00:00", [4711])
    host = json.loads(live.get(live.keys(f"{presence.WORKER}*")[0]))["host"]
    reason = "Spark needs Java 17, and there is none on the PATH."
    note = {"state": "down", "since": "", "reason": reason, "restarts": 3}
    live.set(f"{presence.SPARK}{host}:4711", json.dumps(note))
    health = a_client(an_operator).get("/api/operator/health").json()
    assert health["status"] == "failed"
    assert (health["workers"][0]["status"], health["workers"][0]["problem"]) == ("failed", reason)
    parts = {part["name"]: part["problem"] for part in health["parts"]}
    assert parts["workers"] == "1 of 1 worker cannot run jobs."


def test_no_worker_is_a_failure(live, an_operator, data_dir):
    health = a_client(an_operator).get("/api/operator/health").json()
    parts = {part["name"]: part for part in health["parts"]}
    assert health["status"] == parts["workers"]["status"] == "failed"
    assert parts["workers"]["problem"] == "No worker is running, so jobs wait."


def test_the_note_of_a_worker_lapses(live):
    presence.note_worker(PID, "2026-11-22T08:00:00+00:00", [1])
    (key,) = live.keys(f"{presence.WORKER}*")
    assert 0 < live.ttl(key) <= presence.SECONDS_TO_LIVE
    presence.withdraw_worker(PID)
    assert not live.keys(f"{presence.WORKER}*")


def test_a_sweep_is_noted_with_the_worker(live):
    presence.note_sweep()
    presence.note_worker(PID, "2026-11-22T08:00:00+00:00", [1])
    (worker,) = presence.workers(live)
    assert worker.swept_at
    assert presence.sweeps(live) == 1


def test_the_report_is_made_without_redis(no_redis, data_dir):
    health = report.report()
    assert health["status"] == "failed"
    assert health["queue"]["messages"] is None
    problems = {part["name"]: part["problem"] for part in health["parts"]}
    assert problems["redis"].startswith("Redis does not answer: ")


def test_the_page_shows_the_report_and_refreshes_itself(client, no_redis, an_operator, data_dir):
    client.force_login(an_operator)
    text = client.get("/operator").content.decode()
    assert "Redis does not answer" in text
    assert 'hx-get="/operator"' in text
    assert "Cutline " + VERSION in text
    part = client.get("/operator", headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "Redis does not answer" in part


def test_the_menu_shows_operators_their_page(client, an_operator, no_redis):
    client.force_login(a_person())
    assert 'href="/operator"' not in client.get("/account").content.decode()
    client.force_login(an_operator)
    assert 'href="/operator"' in client.get("/account").content.decode()


def test_free_space_is_that_of_each_folder(data_dir, settings):
    settings.STORE_URL = (data_dir / "not" / "made" / "yet").as_uri()
    assert disk.folders() == {"data": data_dir, "store": data_dir}
    assert disk.usage(data_dir).free > 0


def test_the_version_is_written_once():
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)


@pytest.mark.spark
@pytest.mark.django_db(transaction=True)
def test_a_real_worker_notes_itself(celery_worker_process, settings):
    """A worker that an earlier test killed may still be listed beside it for a while."""
    settings.REDIS_URL = celery_worker_process.redis_url
    pid = celery_worker_process.processes["worker"].pid
    with redis_client() as redis:

        def note():
            return next((worker for worker in presence.workers(redis) if worker.pid == pid), None)

        celery_worker_process.wait_for("the note", note)
        celery_worker_process.wait_for("a sweep", lambda: note().swept_at)
        worker = note()
    assert len(worker.processes) == worker.concurrency == 1
