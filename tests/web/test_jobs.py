"""Jobs: asked for, leased, cancelled, tried again, and what they leave in their rows."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from snapshots import leases, runs, services, stores
from snapshots.domain.reordering import reorder
from snapshots.domain.samples import two_banks
from snapshots.domain.verdicts import judge
from snapshots.leases import Cancelled, LeaseLost
from snapshots.models import Job, Recording
from snapshots.problems import Conflict
from tasks.spark.errors import SparkUnavailable
from tests.builders import recorded, simulated
from tests.damage import never_sending
from tests.web.given import a_client, a_person, a_ready_recording

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def ada():
    return a_person()


@pytest.fixture
def job(ada) -> Job:
    recording = Recording.objects.create(owner=ada, name="log", upload="file")
    return services.create_job(Job.Kind.INGEST, ada, recording=recording)


def steps(monkeypatch, step) -> None:
    """Run ``step`` in the place of an ingest."""
    monkeypatch.setitem(runs.STEPS, Job.Kind.INGEST, step)


def test_one_of_two_workers_gets_the_job(job):
    assert leases.claim(job.pk) is not None
    assert leases.claim(job.pk) is None


def test_of_many_workers_at_once_one_gets_the_job(job):
    together = threading.Barrier(8)

    def claimed(_) -> bool:
        try:
            together.wait(30)
            return leases.claim(job.pk) is not None
        finally:
            connection.close()

    for round in range(5):
        Job.objects.update(state="queued", worker="", attempt=round)
        with ThreadPoolExecutor(8) as workers:
            assert sum(workers.map(claimed, range(8))) == 1


def test_a_job_that_has_ended_is_not_run_again(job):
    for state in ("done", "failed", "refused", "cancelled"):
        Job.objects.update(state=state)
        assert leases.claim(job.pk) is None


def test_a_job_whose_heart_stopped_is_taken_over_and_its_old_worker_writes_no_more(job):
    first = leases.claim(job.pk)
    long_ago = timezone.now() - leases.STALE_AFTER - timedelta(seconds=1)
    Job.objects.update(heartbeat_at=long_ago, worker="elsewhere/1/1")
    first.job.worker = "elsewhere/1/1"
    second = leases.claim(job.pk)
    assert second.job.attempt == 2
    with pytest.raises(LeaseLost):
        first.write(phase="mine")
    second.write(phase="reading")
    assert Job.objects.get().phase == "reading"


def test_a_job_whose_process_is_gone_is_taken_over_at_once(job):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    host, _, started = leases.this_worker().rsplit("/", 2)
    Job.objects.update(
        state="running", attempt=1, heartbeat_at=timezone.now(), worker=f"{host}/{child}/{started}"
    )
    assert leases.claim(job.pk).job.attempt == 2


def test_a_pid_that_was_given_to_another_process_is_not_the_worker(job):
    host, pid, _ = leases.this_worker().rsplit("/", 2)
    Job.objects.update(
        state="running", attempt=1, heartbeat_at=timezone.now(), worker=f"{host}/{pid}/1"
    )
    assert leases.claim(job.pk) is not None


def test_a_job_with_a_heart_and_no_worker_is_left_alone(job):
    Job.objects.update(state="running", attempt=1, heartbeat_at=timezone.now(), worker="")
    assert leases.claim(job.pk) is None
    assert leases.lost(queued_for=timedelta(seconds=10)) == []


def test_jobs_that_the_queue_lost_are_found(job, ada):
    assert leases.lost(queued_for=timedelta(seconds=10)) == []
    Job.objects.update(enqueued_at=timezone.now() - timedelta(seconds=11))
    assert leases.lost(queued_for=timedelta(seconds=10)) == [job]
    leases.claim(job.pk)
    assert leases.lost(queued_for=timedelta(seconds=10)) == []
    Job.objects.update(heartbeat_at=timezone.now() - leases.STALE_AFTER * 2)
    assert leases.lost(queued_for=timedelta(seconds=10)) == [job]


def test_progress_is_in_the_row_and_phases_are_never_skipped(job):
    with leases.claim(job.pk) as lease:
        lease.report("reading", 0.1, 100, 1000)
        row = Job.objects.get()
        assert (row.phase, row.progress, row.done, row.total) == ("reading", 0.1, 100, 1000)
        lease.report("reading", 0.2, 200, 1000)
        assert Job.objects.get().done == 100  # too soon to write again
        lease.report("matching", 0.5, 0, 1000)
        assert Job.objects.get().phase == "matching"


def test_a_queued_job_is_cancelled_at_once(job):
    services.cancel_job(job)
    assert Job.objects.get().state == "cancelled"
    assert Recording.objects.get().status == "failed"
    assert Recording.objects.get().error["type"] == "/problems/cancelled"
    runs.run(job.pk)
    assert Job.objects.get().attempt == 0


def test_a_running_job_stops_at_its_next_step(job, monkeypatch):
    def until_cancelled(lease):
        services.cancel_job(Job.objects.get())
        lease._cancelled.wait(10)
        lease.report("reading", 0.5)

    steps(monkeypatch, until_cancelled)
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.05)
    runs.run(job.pk)
    assert Job.objects.get().state == "cancelled"
    assert Job.objects.get().finished_at


def test_a_job_that_has_ended_cannot_be_cancelled(job):
    Job.objects.update(state="done")
    job.refresh_from_db()
    with pytest.raises(Conflict):
        services.cancel_job(job)


def test_a_fault_of_ours_is_in_the_row_and_not_in_the_way(job, monkeypatch):
    def broken(lease):
        lease.report("matching", 0.6)
        raise ZeroDivisionError("division by zero")

    steps(monkeypatch, broken)
    runs.run(job.pk)
    error = Job.objects.get().error
    assert error["detail"] == "ZeroDivisionError: division by zero"
    assert error["where"] == "matching"
    assert "fault in Cutline" in error["cause"]
    assert Recording.objects.get().status == "failed"


def test_spark_that_is_away_puts_the_job_back_and_the_last_try_fails_it(job, monkeypatch):
    def no_spark(lease):
        raise SparkUnavailable("Spark needs Java 17, and there is none.")

    steps(monkeypatch, no_spark)
    for _ in range(runs.MOST_ATTEMPTS - 1):
        with pytest.raises(runs.TryAgain):
            runs.run(job.pk)
        assert Job.objects.get().state == "queued"
        assert Recording.objects.get().status != "failed"
    runs.run(job.pk)
    assert Job.objects.get().state == "failed"
    assert "Java 17" in Job.objects.get().error["detail"]


def test_a_job_that_kills_its_worker_each_time_ends(job, monkeypatch):
    steps(monkeypatch, lambda lease: pytest.fail("it would kill this worker, too"))
    Job.objects.update(
        state="running",
        attempt=runs.MOST_ATTEMPTS,
        worker="elsewhere/1/1",
        heartbeat_at=timezone.now() - leases.STALE_AFTER * 2,
    )
    runs.run(job.pk)
    assert Job.objects.get().state == "failed"
    assert "memory" in Job.objects.get().error["detail"]


def test_a_deleted_recording_stops_its_job_and_nothing_stays(job, monkeypatch, data_dir):
    def deleted_meanwhile(lease):
        folder = stores.store().temporary(stores.name_of(lease.job.pk, lease.job.attempt))
        services.delete_recording(Recording.objects.get())
        (folder / "part").write_bytes(b"x")
        lease.write(phase="publishing")

    steps(monkeypatch, deleted_meanwhile)
    runs.run(job.pk)
    assert not Job.objects.exists()
    assert not list((data_dir / "store").iterdir())


def test_cancelling_takes_a_request(ada, job):
    api = a_client(ada)
    answer = api.post(f"/api/jobs/{job.pk}/cancel")
    assert answer.status_code == 202
    assert answer.json()["state"] == "cancelled"
    assert api.post(f"/api/jobs/{job.pk}/cancel").status_code == 409
    stranger = a_client(a_person("bob@example.org"))
    assert stranger.get(f"/api/jobs/{job.pk}").status_code == 404
    assert stranger.post(f"/api/jobs/{job.pk}/cancel").status_code == 404
    assert stranger.get("/api/jobs").json()["total"] == 0


def test_a_restore_that_fails_leaves_its_recording_ready(ada, monkeypatch):
    recording = a_ready_recording(ada)
    restore = services.request_restore(ada, recording, recording.snapshots.get())

    def broken(lease):
        raise Cancelled

    monkeypatch.setitem(runs.STEPS, Job.Kind.RESTORE, broken)
    runs.run(restore.pk)
    assert Job.objects.get().state == "cancelled"
    assert Recording.objects.get().status == "ready"


def a_reordering(user, recording: Recording) -> Job:
    return services.request_reordering(user, recording, recording.snapshots.get())


def test_a_reordering_is_computed_once_for_a_person_and_a_store(ada):
    recording = a_ready_recording(ada, ready_at=timezone.now())
    first = a_reordering(ada, recording)
    assert a_reordering(ada, recording) == first
    Job.objects.update(state="done")
    assert a_reordering(ada, recording) == first
    recording.ready_at = timezone.now()
    again = a_reordering(ada, recording)
    assert again != first
    Job.objects.filter(pk=again.pk).update(state="failed")
    assert a_reordering(ada, recording) not in (first, again)


def test_what_was_cancelled_or_asked_by_others_is_computed_anew(ada):
    sample = a_ready_recording(None)
    first = a_reordering(ada, sample)
    assert a_reordering(a_person("bob@example.org"), sample) != first
    Job.objects.filter(pk=first.pk).update(cancel_requested=True)
    assert a_reordering(ada, sample) != first


def test_a_reordering_that_is_impossible_says_why_and_its_recording_stays_ready(ada):
    recording = a_ready_recording(ada, simulated(protocol=never_sending("p1->p2", "s1")))
    job = services.create_job(Job.Kind.REORDERING, ada, recording=recording, snapshot="s1")
    runs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error["type"]) == ("refused", "/problems/not-reorderable")
    assert "never sent its marker on p1->p2" in job.error["detail"]
    assert Recording.objects.get().status == "ready"


def test_a_cancelled_reordering_leaves_its_recording_ready(ada):
    services.cancel_job(a_reordering(ada, a_ready_recording(ada)))
    assert Job.objects.get().state == "cancelled"
    assert Recording.objects.get().status == "ready"


def test_a_reordering_ends_with_its_report(ada, spark):
    recording = a_ready_recording(ada)
    job = a_reordering(ada, recording)
    runs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.phase, job.progress) == ("done", "reordered", 1.0), job.error
    run = recorded(two_banks())
    assert job.result == reorder(run, *judge(run)).to_json()
    assert Recording.objects.get().status == "ready"
