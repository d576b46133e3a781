"""What the archive shows of a job that a running Flink has reported, but reports no more."""

import time
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.db import OperationalError

from snapshots.archive import collecting, columns, filling, queries, watching
from snapshots.domain.archive.model import CheckpointFacts, JobFacts
from snapshots.models import Collector, EngineJob
from tests.archive.flink_server import RecordedFlink, Server
from tests.web.given import a_client, a_person, signed_in, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
OTHER = "0" * 31 + "1"


@pytest.fixture(autouse=True)
def nothing_kept():
    columns.forget_all()


@pytest.fixture
def flink(shared_data):
    flink = RecordedFlink(shared_data / "flink" / "failures" / "rest")
    flink.count = 3
    return flink


def listing(flink: RecordedFlink, *keys: str):
    """Return a function that answers like ``flink``, but with these jobs."""
    whole = RecordedFlink.answer

    def answer(path):
        if path == "/jobs":
            return {"jobs": [{"id": key, "status": "RUNNING"} for key in keys]}
        return whole(flink, path)

    return answer


def test_a_job_says_when_and_by_whom_it_was_reported(ada, flink):
    with Server(flink) as url:
        collecting.poll(ada, url)
        first = EngineJob.objects.get()
        collecting.poll(ada, url)
    job = EngineJob.objects.get()
    assert job.heard_from == url
    assert job.heard_at > first.heard_at
    assert job.version == first.version
    told = a_client(ada).get(f"/api/archive/{job.pk}").json()
    assert (told["heard_from"], told["counts"]) == (url, {"total": 3})
    assert told["heard_at"].endswith("Z")
    page = text_of(signed_in(ada).get("/archive"))
    assert f"reported {job.heard_at:%Y-%m-%d %H:%M:%S}" in page
    assert f'data-label="Collected by">{url}<' in page
    assert "last reported at" in text_of(signed_in(ada).get(f"/archive/{job.pk}"))


def test_a_job_that_flink_lists_no_more_is_not_shown_as_running(ada, flink):
    with Server(flink) as url:
        collecting.poll(ada, url, collector=Collector.objects.create(owner=ada, url=url))
        flink.answer = listing(flink, OTHER)
        assert collecting.poll(ada, url).problems == []
        job = EngineJob.objects.get()
        assert (job.state, job.heard_from) == (EngineJob.GONE, url)
        page = text_of(signed_in(ada).get(f"/archive/{job.pk}"))
        assert f"Collected from {url}; last reported at" in page
        assert "every 10 s" not in page
        flink.answer = listing(flink, flink.key)
        collecting.poll(ada, url)
    assert EngineJob.objects.get().state == "running"


def test_a_job_alone_that_flink_lists_no_more(ada, flink):
    with Server(flink) as url:
        collecting.poll(ada, url, flink.key)
        flink.answer = lambda path: {"jobs": []} if path == "/jobs" else {}["gone"]
        (problem,) = collecting.poll(ada, url, flink.key).problems
    assert "answers 404" in problem
    assert EngineJob.objects.get().state == EngineJob.GONE


@pytest.mark.parametrize("ended", ["FINISHED", "CANCELED", "FAILED"])
def test_a_job_that_has_ended_stays_as_it_ended(ada, flink, ended):
    flink.job = flink.job | {"state": ended}
    with Server(flink) as url:
        collecting.poll(ada, url)
        flink.answer = listing(flink)
        collecting.poll(ada, url)
    assert EngineJob.objects.get().state == ended.lower()


def test_jobs_of_another_flink_and_of_another_person_are_left_alone(ada, flink):
    with Server(flink) as url, Server(flink) as elsewhere:
        collecting.poll(ada, url)
        collecting.poll(a_person("eve@example.org"), url)
        flink.answer = listing(flink)
        collecting.poll(ada, elsewhere)
        assert {job.state for job in EngineJob.objects.all()} == {"running"}
        collecting.poll(ada, url)
    assert EngineJob.objects.get(owner=ada).state == EngineJob.GONE
    assert EngineJob.objects.exclude(owner=ada).get().state == "running"


def test_what_is_no_flink_says_nothing_about_jobs(ada, flink):
    with Server(flink) as url:
        collecting.poll(ada, url)
        for odd in ([], {}, {"jobs": 3}, None):
            flink.answer = lambda path, odd=odd: odd
            (problem,) = collecting.poll(ada, url).problems
            assert "does not answer like Flink" in problem
    assert EngineJob.objects.get().state == "running"


def test_more_jobs_than_are_followed_are_reported(ada, flink, monkeypatch):
    monkeypatch.setattr(collecting, "MOST_JOBS", 1)
    flink.answer = listing(flink, flink.key, OTHER)
    with Server(flink) as url:
        found = collecting.poll(ada, url)
    assert [job.key for job in found.jobs] == [flink.key]
    assert found.problems == [f"{url} lists 2 jobs: 1 are followed."]


def test_failures_that_only_flink_has_counted_are_shown(ada):
    failed = CheckpointFacts(1, status="failed", triggered_at=1, failure="Checkpoint expired.")
    counts = {"total": 4, "failed": 4, "completed": 0}
    job = filling.take(ada, JobFacts("flink", OTHER, checkpoints=(failed,), counts=counts))
    assert queries.failed_unseen(job) == 3
    assert "The engine itself counts 3 more" in text_of(signed_in(ada).get(f"/archive/{job.pk}"))
    fewer = JobFacts("flink", OTHER, counts={"total": 1, "failed": 1})  # it has begun again
    assert filling.take(ada, fewer).counts == counts


@pytest.mark.parametrize("is_engine_first", [True, False])
def test_the_size_that_flink_reports_stays_beside_that_of_a_file(ada, is_engine_first):
    """The newest checkpoint is missing in the answers, as in a folder that was copied later."""
    both = [
        CheckpointFacts(77, status="completed", bytes=312_144, is_bytes_told=True),
        CheckpointFacts(77, status="completed", bytes=312_160),
    ]
    for one in both if is_engine_first else reversed(both):
        job = filling.take(ada, JobFacts("flink", OTHER, checkpoints=(one,)))
    assert job.checkpoints.get().bytes == 312_144


def test_the_list_says_that_a_collector_fails_and_its_row_says_why(ada, flink):
    with Server(flink) as url:
        row = Collector.objects.create(owner=ada, engine="flink", url=url)
        collecting.poll(ada, url, collector=row)
    Collector.objects.update(last_error="It does not answer.")
    page = text_of(signed_in(ada).get("/archive"))
    assert page.count("failing") == 2
    assert page.count("It does not answer.") == 1


# --- the command -------------------------------------------------------------------------------


def rounds(monkeypatch, *steps) -> None:
    """Replace each sleep between the command's rounds by the next of ``steps``, the last by
    Ctrl-C."""
    left = list(steps)

    def sleep(seconds):
        if not left:
            raise KeyboardInterrupt
        left.pop(0)()

    # The command's own clock: threads of other tests sleep, too.
    clock = SimpleNamespace(sleep=sleep, monotonic=time.monotonic)
    monkeypatch.setattr("snapshots.management.commands.collect.time", clock)


def test_what_is_wrong_is_printed_once_and_then_that_it_is_right_again(flink, monkeypatch, capsys):
    def away():
        flink.left = 0

    def back():
        flink.left, flink.count = None, 4

    rounds(monkeypatch, away, lambda: None, back)
    with Server(flink) as url:
        call_command("collect", "flink", url, "--every", "1")
    said = capsys.readouterr()
    assert said.err.count("does not answer") == 1
    assert said.out.splitlines() == [
        "3 more checkpoints of 1 job",
        "All requests are answered again.",
        "1 more checkpoint of 1 job",
        "Stopped. Run the command again to continue from here.",
    ]


def test_a_database_that_is_busy_costs_a_round_and_not_the_collector(flink, monkeypatch, capsys):
    whole, busy = collecting.poll, [True]

    def poll(*asked):
        if busy:
            busy.clear()
            raise OperationalError("database is locked")
        return whole(*asked)

    monkeypatch.setitem(collecting.POLLS, "flink", poll)
    rounds(monkeypatch, lambda: None)
    with Server(flink) as url:
        call_command("collect", "flink", url)
    said = capsys.readouterr()
    assert "A round failed and will be repeated: database is locked" in said.err
    assert "3 more checkpoints of 1 job" in said.out


@pytest.mark.parametrize("change", ["moved", "deleted"])
def test_a_round_ends_when_its_collector_is_moved_or_deleted(ada, flink, change, monkeypatch):
    eve, whole = a_person("eve@example.org"), collecting.Client.get

    def get(client, path):
        rows = Collector.objects.all()
        if path.endswith("/checkpoints"):
            _ = rows.delete() if change == "deleted" else rows.update(owner=eve)
        return whole(client, path)

    monkeypatch.setattr(collecting.Client, "get", get)
    with Server(flink) as url:
        row = Collector.objects.create(owner=ada, engine="flink", url=url)
        with pytest.raises(collecting.Moved):
            collecting.poll(ada, url, collector=row)
    assert not EngineJob.objects.exists()


def test_a_collector_that_is_deleted_before_its_round_is_announced_is_no_fault(
    ada, monkeypatch, caplog
):
    caplog.set_level("INFO")
    collector = Collector.objects.create(owner=ada, engine="flink", url="http://flink:8081")
    EngineJob.objects.create(owner=ada, engine="flink", key="k", collector=collector)
    job = EngineJob.objects.get()

    def ask(*_):
        Collector.objects.all().delete()
        watching.news_of(job)

    monkeypatch.setattr(collecting.services, "require_allowed", lambda *_: None)
    monkeypatch.setitem(collecting.POLLS, "flink", ask)
    collecting.collect(collector)
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "was moved or deleted" in caplog.text
