"""Collecting from a Flink over real HTTP leaves no gap and no double, whatever is killed and
when."""

import json
import socket
import sys
import threading
import time
from contextlib import suppress
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from snapshots.archive import addresses, collecting, columns, fetching, filling
from snapshots.archive.fetching import Client, NotAnswered
from snapshots.domain.archive.model import JobFacts
from snapshots.models import Collector, EngineCheckpoint, EngineJob
from snapshots.readers.engines.flink.rest.archive import facts_of_upload
from snapshots.readers.engines.flink.upload import read_upload
from tasks.queue import collectors
from tests.archive.flink_server import RecordedFlink, Server
from tests.web.given import a_client, a_person, post_json, signed_in, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture(autouse=True)
def nothing_kept():
    columns.forget_all()


@pytest.fixture
def rest(shared_data):
    return shared_data / "flink" / "failures" / "rest"


@pytest.fixture
def flink(rest):
    return RecordedFlink(rest)


def kept(job: EngineJob) -> dict:
    rows = job.checkpoints.select_related("detail")
    return {row.number: filling.facts_of(row) for row in rows}


def require_all(job: EngineJob, flink: RecordedFlink, rest) -> None:
    """Require each number once, with the recorded times of every subtask."""
    (told,) = facts_of_upload(read_upload(rest))
    recorded = {one.number: one for one in told.checkpoints}
    found = kept(job)
    assert sorted(found) == list(range(1, flink.count + 1))
    for number, facts in found.items():
        own = recorded[flink.recorded[(number - 1) % len(flink.recorded)]]
        assert facts.vertices == own.vertices, number
        assert (facts.status, facts.duration, facts.bytes, facts.failure) == (
            own.status,
            own.duration,
            own.bytes,
            own.failure,
        )


def test_a_sliding_history_is_followed_without_gaps_or_doubles(ada, flink, rest):
    with Server(flink) as url:
        for step in (3, 10, 1, 0, 7, 10, 10):
            flink.count += step
            found = collecting.poll(ada, url)
            assert (found.problems, found.detailed) == ([], step)
    job = EngineJob.objects.get()
    assert (job.name, job.state) == ("failures", "running")
    require_all(job, flink, rest)


@pytest.mark.parametrize("left", [0, 1, 2, 3, 4, 9, 10, 11, 16, 17])
def test_a_round_that_is_cut_off_anywhere_is_made_up_for(ada, flink, rest, left):
    flink.count, flink.left = 2, left
    with Server(flink) as url:
        assert len(collecting.poll(ada, url).problems) == (left < 17)
        flink.left = None
        collecting.poll(ada, url)
    require_all(EngineJob.objects.get(), flink, rest)


def test_a_flink_that_starts_again_forgets_and_the_archive_does_not(ada, flink, rest):
    with Server(flink) as url:
        flink.count = 9
        collecting.poll(ada, url)
        flink.start_again()
        assert collecting.poll(ada, url).problems == []
        flink.count = 15
        collecting.poll(ada, url)
    require_all(EngineJob.objects.get(), flink, rest)


def test_what_is_known_is_not_asked_again(ada, flink):
    flink.count = 5
    with Server(flink) as url:
        collecting.poll(ada, url)
        flink.asked.clear()
        version = EngineJob.objects.get().version
        collecting.poll(ada, url)
    assert flink.asked == ["/jobs", f"/jobs/{flink.key}", f"/jobs/{flink.key}/checkpoints"]
    assert EngineJob.objects.get().version == version


def test_a_checkpoint_forgotten_between_two_questions_keeps_what_the_history_said(ada, flink):
    flink.count = 3
    whole = flink.answer
    flink.answer = lambda path: whole(path) if "details/2" not in path else {}["gone"]
    with Server(flink) as url:
        assert collecting.poll(ada, url).problems == []
    found = kept(EngineJob.objects.get())
    assert sorted(found) == [1, 2, 3]
    assert found[2].status == "failed"
    assert not found[2].vertices
    assert found[3].vertices


def test_an_upload_and_the_collector_fill_the_same_job(ada, flink, rest):
    (told,) = facts_of_upload(read_upload(rest))
    first = [one for one in told.checkpoints if one.number < 8]
    filling.take(ada, JobFacts("flink", told.key, checkpoints=tuple(first)))
    flink.count = 10
    with Server(flink) as url:
        found = collecting.poll(ada, url)
    assert found.detailed == 3
    assert EngineJob.objects.count() == 1


def test_a_job_alone_and_one_that_is_not_there(ada, flink):
    flink.count = 2
    with Server(flink) as url:
        assert collecting.poll(ada, url, flink.key).detailed == 2
        (problem,) = collecting.poll(ada, url, "0" * 32).problems
    assert "answers 404" in problem


def test_the_command_collects_once_and_says_what_is_wrong(flink, capsys):
    flink.count = 3
    with Server(flink) as url:
        call_command("collect", "flink", url, "--once", "--owner", "ada@example.org")
        assert "3 more checkpoints of 1 job\n" in capsys.readouterr().out
    with pytest.raises(CommandError, match="not answered"):
        call_command("collect", "flink", url, "--once")
    assert "does not answer (Connection refused)" in capsys.readouterr().err
    for wrong in ("ftp://x", "http://user:secret@x", "x", "http://x/?a=b"):
        with pytest.raises(CommandError):
            call_command("collect", "flink", wrong, "--once")


# --- what a server may send ----------------------------------------------------------------


def answering(status: int = 200, headers: dict | None = None, body: bytes = b"{}"):
    return Server(answers=lambda path: (status, headers or {}, body))


def refusal(server: Server) -> NotAnswered:
    with server as url, pytest.raises(NotAnswered) as refused:
        Client(url, 2.0).get("/jobs")
    return refused.value


def test_redirects_are_refused():
    refused = refusal(answering(302, {"Location": "http://127.0.0.1:1/secret"}))
    assert refused.status == 302


def test_answers_that_are_no_json_or_no_http_are_refused():
    assert "does not answer with JSON" in str(refusal(answering(body=b"<html>")))
    assert "does not answer with JSON" in str(refusal(answering(body=b"[" * 100_000)))
    assert refusal(answering(500)).status == 500


def test_a_large_or_slow_answer_is_cut_off(monkeypatch):
    monkeypatch.setattr(fetching, "LARGEST", 200_000)
    assert "answers with more than" in str(refusal(answering(body=b" " * 300_000)))
    monkeypatch.setattr(fetching, "ANSWER_SECONDS", 0.2)

    def sleeping(path):
        time.sleep(1)
        return 200, {}, b"{}"

    assert "does not answer" in str(refusal(Server(answers=sleeping)))


@pytest.mark.parametrize("again", [b"HTTP/1.1 100 Continue\r\n\r\n", b""])
def test_a_server_that_sends_letter_by_letter_holds_nobody_up(monkeypatch, again):
    monkeypatch.setattr(fetching, "ANSWER_SECONDS", 0.5)
    rest = b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 60 + b"\r\nContent-Length: 2\r\n\r\n{}"
    pieces = [again] * 60 if again else [bytes([each]) for each in rest]

    def drip(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.recv(1_000)
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(0.05)
            connection.sendall(rest)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=drip, args=(listening,), daemon=True).start()
        with pytest.raises(NotAnswered, match="timed out"):
            Client(f"http://127.0.0.1:{listening.getsockname()[1]}", 0.4).get("/jobs")


@pytest.mark.parametrize(
    "body",
    [b"[]", b"null", b'{"jobs": 3}', b'{"jobs": [1, {"id": "../x"}, {"id": null}]}', b'"x"'],
)
def test_answers_of_another_shape_are_ignored(ada, body):
    with answering(body=body) as url:
        assert collecting.poll(ada, url).jobs == []


def test_answers_about_a_job_of_another_shape_are_ignored(ada, flink):
    flink.count = 2
    whole = flink.answer
    for odd in ([], None, {"history": [{"id": "1"}, 3], "vertices": 5}, {"history": {}}):
        flink.answer = lambda path, odd=odd: whole(path) if path == "/jobs" else odd
        with Server(flink) as url:
            assert collecting.poll(ada, url).problems == []
    assert EngineJob.objects.get().checkpoints.count() == 0


# --- who may be asked ------------------------------------------------------------------------


def test_people_may_name_listed_hosts_alone(ada, settings):
    settings.COLLECTOR_HOSTS = ["jobmanager:8081", "[::1]:80", "plain"]
    api = a_client(ada)

    def asked(url: str, **fields) -> int:
        return post_json(api, "/api/collectors", {"url": url} | fields).status_code

    assert asked("http://jobmanager:8081/") == 201
    assert asked("http://jobmanager:8081") == 409
    assert asked("http://[::1]") == 201
    assert asked("https://plain:9999/flink") == 201
    for url in (
        "http://jobmanager:22",
        "http://169.254.169.254/latest",
        "http://jobmanager:8081@evil",
        "http://evil#jobmanager:8081",
        "file:///etc/passwd",
        "http://",
        "",
    ):
        assert asked(url) == 422, url
    assert asked("http://plain", job_key="x") == 422
    assert asked("http://plain", interval_seconds=0) == 422
    assert asked("http://plain", interval_seconds=5, job_key="a" * 32) == 201
    settings.COLLECTOR_HOSTS = []
    assert asked("http://jobmanager:8081") == 422


def test_a_host_that_is_no_longer_listed_is_no_longer_asked(ada, flink, settings):
    with Server(flink) as url:
        row = Collector.objects.create(owner=ada, engine="flink", url=url)
        settings.COLLECTOR_HOSTS = []
        collecting.collect(row)
        row.refresh_from_db()
        assert "COLLECTOR_HOSTS" in row.last_error
        assert not flink.asked
        settings.COLLECTOR_HOSTS = [url.removeprefix("http://")]
        collecting.collect(row)
    row.refresh_from_db()
    assert (row.last_error, flink.asked[0]) == ("", "/jobs")
    assert row.last_polled_at is not None
    assert EngineJob.objects.get().collector == row


def test_of_several_workers_one_gets_a_collector_and_the_next_when_it_is_due(ada):
    row = Collector.objects.create(owner=ada, engine="flink", url="http://x", interval_seconds=10)
    assert collecting.due() == [row]
    assert collecting.due() == []
    past = timezone.now() - timedelta(seconds=1)
    Collector.objects.update(next_poll_at=past)
    assert collecting.due() == [row]
    Collector.objects.update(next_poll_at=past, is_collecting=False)
    assert collecting.due() == []


def test_collectors_are_stopped_continued_and_removed(ada, settings):
    settings.COLLECTOR_HOSTS = ["jobmanager"]
    client = signed_in(ada)
    client.post("/archive", {"url": "http://jobmanager:8081", "interval_seconds": "30"})
    row = Collector.objects.get()
    page = text_of(client.get("/archive"))
    assert "about to ask" in page
    assert "every 30 s" in page
    client.post(f"/collectors/{row.pk}/change", {"action": "stop"})
    assert "stopped" in text_of(client.get("/archive"))
    Collector.objects.update(is_collecting=True, last_error="jobmanager does not answer.")
    assert "jobmanager does not answer." in text_of(client.get("/archive"))
    refused = client.post("/archive", {"url": "http://elsewhere"})
    assert refused.status_code == 422
    assert "COLLECTOR_HOSTS lists" in text_of(refused, 422)
    eve = signed_in(a_person("eve@example.org"))
    assert eve.post(f"/collectors/{row.pk}/change", {"action": "delete"}).status_code == 404
    client.post(f"/collectors/{row.pk}/change", {"action": "delete"})
    assert not Collector.objects.exists()


@pytest.mark.parametrize("url", ["http://a b", "http://x/../y", "http://x:port", "http://\0"])
def test_odd_addresses_are_refused(url):
    with pytest.raises(addresses.NotAnAddress):
        addresses.checked(url)


@pytest.mark.django_db(transaction=True)
def test_a_thread_beside_the_worker_asks_those_that_are_due_until_it_is_stopped(
    ada, flink, settings, monkeypatch
):
    monkeypatch.setattr(collectors, "LOOK_SECONDS", 0.05)
    flink.count = 2

    def waiting(until) -> bool:
        deadline = time.monotonic() + 20
        while not until() and time.monotonic() < deadline:
            time.sleep(0.05)
        return until()

    with Server(flink) as url:
        settings.COLLECTOR_HOSTS = [url.removeprefix("http://")]
        settings.MIN_COLLECT_SECONDS = 1
        dead = Collector.objects.create(owner=ada, engine="flink", url="http://127.0.0.1:1")
        Collector.objects.create(owner=ada, engine="flink", url=url, interval_seconds=1)
        stopping = threading.Event()
        thread = threading.Thread(target=collectors.collect_until, args=(stopping,))
        thread.start()
        try:
            assert waiting(lambda: EngineCheckpoint.objects.filter(detail__gt=0).count() == 2)
            flink.count = 3
            assert waiting(lambda: EngineCheckpoint.objects.filter(detail__gt=0).count() == 3)
            assert waiting(lambda: Collector.objects.get(pk=dead.pk).last_error)
        finally:
            stopping.set()
            thread.join()
    dead.refresh_from_db()
    assert "COLLECTOR_HOSTS" in dead.last_error


# --- the real thing --------------------------------------------------------------------------

COUNT = """
import json
from snapshots.models import EngineJob
job = EngineJob.objects.latest("pk")  # the stack has the jobs of other tests
rows = job.checkpoints.filter(detail__isnull=False)
print(json.dumps(list(rows.values_list("number", flat=True))))
"""


def test_a_collector_that_is_killed_goes_on_where_it_stopped(live_redis, rest):
    flink = RecordedFlink(rest)
    stack, numbers = live_redis, []

    def collected(count: int) -> bool:
        nonlocal numbers
        numbers = json.loads(stack.manage("shell", "--verbosity", "0", "-c", COUNT))
        return len(numbers) >= count

    with Server(flink) as url:
        command = ["manage.py", "collect", "flink", url, "--every", "0.2"]
        flink.count, flink.left = 8, 20  # hangs up in the middle of a round
        stack.start("collector", sys.executable, *command)
        stack.wait_for("a question", lambda: flink.left == 0)
        stack.kill("collector")
        flink.count, flink.left = 12, None
        stack.start("collector", sys.executable, *command)
        stack.wait_for("the collector", lambda: collected(10))
        flink.start_again()
        flink.count += 9
        stack.wait_for("the rest", lambda: collected(19))
        stack.kill("collector")
    assert len(numbers) == len(set(numbers))
    assert set(numbers) >= set(range(3, 22))
