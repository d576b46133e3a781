"""The metrics that Prometheus reads at /metrics, and who may read them."""

import json

import pytest
from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from prometheus_client.parser import text_string_to_metric_families

from snapshots.jobs import running
from snapshots.jobs.steps import STEPS
from snapshots.models import Job, Recording
from snapshots.routing import websocket_urlpatterns
from tests.web.given import a_client, a_person, a_ready_recording
from tests.webapp.asgi import get
from webapp.edge.requests import Requests
from webapp.operating import job_times, observed, presence
from webapp.operating.redis_reading import client as redis_client

pytestmark = pytest.mark.django_db


@pytest.fixture
def live(live_redis, settings):
    settings.REDIS_URL = live_redis.empty_redis_url
    with redis_client() as redis:
        redis.flushdb()
        yield redis


@pytest.fixture
def token(settings):
    settings.METRICS_TOKEN = "for-prometheus"
    return {"Authorization": "Bearer for-prometheus"}


def scraped(client, headers) -> dict[tuple, float]:
    """Return the samples by name and labels, parsed like Prometheus does."""
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 200, answer.content
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }


def test_who_has_no_token_reads_nothing(client, settings):
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 401
    settings.METRICS_TOKEN = "for-prometheus"
    for wrong in ("", "for-prometheu", "for-prometheus2", "é"):
        headers = {"Authorization": f"Bearer {wrong}"}
        assert client.get("/metrics", headers=headers).status_code == 401


def test_operators_read_it_with_their_own_token_and_others_do_not(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    person = a_person()
    assert a_client(person).get("/metrics").status_code == 404
    person.is_staff = True
    person.save()
    assert a_client(person).get("/metrics").status_code == 200


def test_jobs_workers_bytes_and_disks_are_measured(client, live, token, data_dir):
    Job.objects.create(kind="ingest")
    Job.objects.create(kind="ingest")
    Job.objects.create(kind="restore", state="done")
    Recording.objects.create(name="a", upload="u", size=1000, stored_bytes=4000)
    Recording.objects.create(name="b", upload="", size=500, stored_bytes=70)
    presence.note_worker(4700, "2026-11-22T08:00:00+00:00", [4711])
    presence.note_sweep()
    live.set(
        f"{presence.SPARK}h:9",
        json.dumps({"state": "up", "since": "", "reason": "", "restarts": 2}),
    )
    live.rpush("celery", "message")
    samples = scraped(client, token)
    assert samples["cutline_jobs", "ingest", "queued"] == 2
    assert samples["cutline_jobs", "done", "restore"] == 1
    assert 0 <= samples["cutline_oldest_open_job_seconds",] < 60
    assert samples["cutline_upload_bytes",] == 1000
    assert samples["cutline_stored_bytes",] == 4070
    assert samples["cutline_disk_free_bytes", "data"] > 0
    assert samples["cutline_workers",] == 1
    assert samples["cutline_queue_messages",] == 1
    assert samples["cutline_sweeps_total",] == 1
    assert samples["cutline_spark_restarts_total", "9", "h"] == 2
    assert samples["cutline_spark_up", "9", "h"] == 1
    assert samples["cutline_part_ok", "redis"] == 1
    assert samples["process_resident_memory_bytes",] > 0


def test_the_times_of_jobs_are_a_histogram_over_all_workers(client, live, token, monkeypatch):
    job_times.note("ingest", "done", 0.4)
    job_times.note("ingest", "done", 7.5)
    job_times.note("ingest", "done", 5000)
    monkeypatch.setitem(STEPS, "restore", lambda lease: lease.write(state=Job.State.DONE))
    running.run(Job.objects.create(kind="restore").pk)
    samples = scraped(client, token)
    name = "cutline_job_seconds"
    assert samples[f"{name}_bucket", "0.5", "done", "ingest"] == 1
    assert samples[f"{name}_bucket", "10", "done", "ingest"] == 2
    assert samples[f"{name}_bucket", "+Inf", "done", "ingest"] == 3
    assert samples[f"{name}_count", "done", "ingest"] == 3
    assert samples[f"{name}_sum", "done", "ingest"] == pytest.approx(5007.9)
    assert samples[f"{name}_count", "done", "restore"] == 1


def test_a_job_that_is_put_back_is_not_an_end(live, monkeypatch):
    monkeypatch.setitem(STEPS, "restore", lambda lease: lease.write(state=Job.State.QUEUED))
    running.run(Job.objects.create(kind="restore").pk)
    assert job_times.times(live) == {}


def test_without_redis_the_rest_is_still_shown(client, settings, token, data_dir):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    Job.objects.create(kind="ingest")
    samples = scraped(client, token)
    assert samples["cutline_part_ok", "redis"] == 0
    assert samples["cutline_jobs", "ingest", "queued"] == 1
    assert ("cutline_workers",) not in samples


def test_cuts_are_timed(client, data_dir, settings, token):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    person = a_person()
    before = scraped(client, token)["cutline_cut_seconds_count",]
    recording = a_ready_recording(person)
    path = f"/api/recordings/{recording.pk}/cuts"
    answer = a_client(person).post(path, {"step": 3}, content_type="application/json")
    assert answer.status_code == 200
    assert scraped(client, token)["cutline_cut_seconds_count",] == before + 1


@pytest.mark.django_db(transaction=True)
async def test_requests_are_counted_by_class_of_status():
    def count(status: str) -> float:
        (family,) = observed.request_seconds.collect()
        wanted = ("cutline_http_request_seconds_count", {"status": status})
        return sum(s.value for s in family.samples if (s.name, s.labels) == wanted)

    before = {status: count(status) for status in ("2xx", "4xx")}
    await get("/livez")
    await get("/api/nothing")
    assert (count("2xx"), count("4xx")) == (before["2xx"] + 1, before["4xx"] + 1)


@pytest.mark.django_db(transaction=True)
async def test_open_websockets_are_counted():
    application = Requests(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)))

    def count() -> float:
        return observed.open_websockets.collect()[0].samples[0].value

    before = count()
    headers = [(b"host", b"localhost"), (b"origin", b"http://localhost")]
    talk = WebsocketCommunicator(application, "/ws/jobs", headers)
    await talk.connect()
    assert count() == before + 1
    assert (await talk.receive_output(5))["code"] == 4401
    await talk.disconnect()
    assert count() == before
