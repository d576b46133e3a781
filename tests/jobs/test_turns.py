"""Which job runs next: lost ones first, then people in turn; and messages for all of them."""

import errno
from contextlib import suppress
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from snapshots.jobs import leases, turns
from snapshots.jobs import running as runs
from snapshots.jobs.steps import STEPS, _answer
from snapshots.models import Job, Recording
from snapshots.services.jobs import create_job
from tasks.queue import jobs as queue
from tasks.queue import sweeping
from tests.web.given import a_client, a_file, a_person, a_ready_recording, uploads_of
from webapp.teams import services as teams

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def ada():
    return a_person("ada@example.org")


@pytest.fixture
def bob():
    return a_person("bob@example.org")


def a_job(owner) -> Job:
    recording = Recording.objects.create(owner=owner, name="log", upload="file")
    return create_job(Job.Kind.INGEST, owner, recording=recording)


@pytest.fixture
def order(monkeypatch) -> list:
    """Return the owners' names in the order in which their jobs run; jobs end at once."""
    ran = []

    def step(lease):
        ran.append(lease.job.owner.username[:3] if lease.job.owner else "nobody")
        _answer(lease, "ready", {})

    monkeypatch.setitem(STEPS, Job.Kind.INGEST, step)
    return ran


def run_all() -> None:
    while runs.run_next():
        pass


def test_a_slow_part_of_the_sweep_pauses_for_five_minutes_at_most_also_if_it_fails(monkeypatch):
    clock, calls = [0.0], []
    monkeypatch.setattr(sweeping.time, "monotonic", lambda: clock[0])

    def fail_slowly() -> None:
        calls.append(clock[0])
        clock[0] += 20
        raise OSError("The disk is slow.")

    part = sweeping._sparing(fail_slowly)
    for later in (0.0, 300.0, 319.0, 320.0):
        clock[0] = later
        with suppress(OSError):
            part()
    assert calls == [0.0, 320.0]


def test_one_upload_does_not_wait_for_a_thousand_jobs_of_somebody_else(ada, bob, order):
    for _ in range(20):
        a_job(ada)
    runs.run_next()
    a_job(bob)
    runs.run_next()
    assert order == ["ada", "bob"]


def test_people_take_turns_and_each_keeps_the_order_of_their_jobs(ada, bob, order):
    theirs = [a_job(ada) for _ in range(3)] + [a_job(bob) for _ in range(3)]
    run_all()
    assert order == ["ada", "bob"] * 3
    began = Job.objects.order_by("started_at").values_list("pk", flat=True)
    assert [pk for pk in began if pk in {job.pk for job in theirs[:3]}] == [
        job.pk for job in theirs[:3]
    ]


def test_samples_take_their_turn_like_a_person(ada, order):
    for owner in (None, None, ada, ada):
        a_job(owner)
    run_all()
    assert sorted(order[:2]) == ["ada", "nobody"]


def test_a_person_with_a_running_job_waits_for_people_without_one(ada, bob):
    running, _, waiting = a_job(ada), a_job(ada), a_job(bob)
    assert leases.claim(running.pk)
    Job.objects.filter(pk=running.pk).update(started_at=timezone.now() - timedelta(days=1))
    done = a_job(bob)
    Job.objects.filter(pk=done.pk).update(state="done", started_at=timezone.now())
    assert turns.next_job() == waiting


def test_a_lost_job_runs_before_all_waiting_jobs(ada, bob, order):
    lost = a_job(bob)
    for _ in range(8):
        a_job(ada)
    Job.objects.filter(pk=lost.pk).update(
        state="running", worker="elsewhere/1/1", heartbeat_at=timezone.now() - timedelta(minutes=1)
    )
    runs.run_next()
    assert order == ["bob"]


def test_a_postponed_job_is_skipped_until_its_time(ada, order):
    first, second = a_job(ada), a_job(ada)
    Job.objects.filter(pk=first.pk).update(retry_at=timezone.now() + timedelta(minutes=4))
    assert turns.next_job() == second
    assert turns.runnable() == 1
    Job.objects.filter(pk=first.pk).update(retry_at=timezone.now() - timedelta(seconds=1))
    assert turns.next_job() == first


def test_a_postponed_job_does_not_wait_longer_if_the_clock_is_set_back(ada, order):
    job = a_job(ada)
    Job.objects.filter(pk=job.pk).update(retry_at=timezone.now() + timedelta(hours=1))
    assert turns.runnable() == 1
    assert runs.run_next()
    assert order == ["ada"]


def test_a_worker_without_work_takes_nothing(ada):
    job = a_job(ada)
    assert leases.claim(job.pk)
    assert turns.claim_next() is None


@pytest.fixture
def messages(monkeypatch) -> list:
    """Return the messages that the queue holds."""
    held = []
    monkeypatch.setattr(queue.run_job, "apply_async", lambda args, **options: held.append(args))
    monkeypatch.setattr(sweeping, "_queue_length", lambda: len(held))
    return held


def test_a_lost_job_gets_its_message_while_others_wait_in_the_queue(ada, bob, messages):
    """Before, it waited until the queue was empty, which took minutes."""
    for _ in range(8):
        a_job(ada)
    lost = a_job(bob)
    messages.pop()
    Job.objects.filter(pk=lost.pk).update(
        state="running", worker="elsewhere/1/1", heartbeat_at=timezone.now() - timedelta(minutes=1)
    )
    assert sweeping.fill_queue() == 1
    assert sweeping.fill_queue() == 0
    assert len(messages) == 9


def test_a_queue_that_lost_its_messages_is_filled_again(ada, messages):
    for _ in range(3):
        a_job(ada)
    messages.clear()
    assert sweeping.fill_queue() == 3
    assert len(messages) == 3


def test_the_page_of_a_postponed_job_says_why_it_waits_and_until_when(ada, monkeypatch):
    def stopped(lease):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setitem(STEPS, Job.Kind.INGEST, stopped)
    job = a_job(ada)
    runs.run_next()
    browser = Client()
    browser.force_login(ada)
    page = browser.get(f"/jobs/{job.pk}").content.decode()
    assert "The server&#x27;s disk is full." in page
    assert "Next try" in page
    assert "1 time</dd>" in page
    answer = a_client(ada).get(f"/api/jobs/{job.pk}").json()
    assert answer["error"]["type"] == "/problems/postponed"
    assert answer["retry_at"] is not None


def test_a_person_with_as_many_open_jobs_as_allowed_is_refused_with_the_reason(ada, bob, settings):
    settings.MAX_OPEN_JOBS = 2
    recording = a_ready_recording(ada)
    for _ in range(2):
        a_job(ada)
    answer = a_client(ada).post(f"/api/recordings/{recording.pk}/snapshots/s1/restore")
    assert answer.status_code == 429, answer.content
    assert answer.json()["type"] == "/problems/too-many"
    assert (answer.json()["limit"], answer.json()["used"]) == (2, 2)
    assert "2 open jobs" in answer.json()["detail"]
    assert answer.headers["Retry-After"]
    a_job(bob)
    a_job(None)


def test_a_refused_upload_over_the_limit_leaves_nothing_behind(ada, settings, data_dir):
    settings.MAX_OPEN_JOBS = 1
    a_job(ada)
    answer = a_client(ada).post("/api/recordings", {"file": a_file()})
    assert answer.status_code == 429, answer.content
    assert not uploads_of(data_dir)
    assert Recording.objects.count() == 1


def test_the_jobs_of_all_teams_of_one_person_take_one_turn(ada, bob, order):
    for n in range(4):
        team = teams.create_team(ada, f"team {n}")
        recording = Recording.objects.create(owner=team.account, name="log", upload="file")
        create_job(Job.Kind.INGEST, team.account, by=ada, recording=recording)
    for _ in range(3):
        a_job(bob)
    run_all()
    assert [name == "bob" for name in order] == [False, True] * 3 + [False]
