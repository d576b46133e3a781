"""Jobs are requested, leased, cancelled and tried again, and their rows say how they went."""

import errno
import os
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.as_json import as_json
from snapshots.domain.replaying.reordering import reorder
from snapshots.domain.simulators.samples import two_banks
from snapshots.files import recordings
from snapshots.jobs import leases, postponing, running
from snapshots.jobs.leases import Cancelled, LeaseLost
from snapshots.jobs.steps import STEPS, Progress, _answer
from snapshots.models import Job, Recording
from snapshots.problems import Conflict
from snapshots.services.jobs import cancel_job, create_job, request_reordering, request_restore
from snapshots.services.recordings import delete_recording
from snapshots.store.errors import OfAnotherVersion
from tasks.spark.errors import SparkStopped, SparkUnavailable
from tests.builders import recorded, simulated
from tests.damage import never_sending
from tests.web.given import a_client, a_person, a_ready_recording

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def job(ada) -> Job:
    recording = Recording.objects.create(owner=ada, name="log", upload="file")
    return create_job(Job.Kind.INGEST, ada, recording=recording)


def steps(monkeypatch, step) -> None:
    """Run ``step`` instead of an ingest."""
    monkeypatch.setitem(STEPS, Job.Kind.INGEST, step)


def test_one_of_two_workers_gets_the_job(job):
    assert leases.claim(job.pk) is not None
    assert leases.claim(job.pk) is None


def test_only_one_of_many_workers_gets_the_job(job):
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


def test_a_job_without_heartbeat_is_taken_over_and_its_old_worker_cannot_write(job):
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


@pytest.mark.parametrize(
    ("ahead", "is_lost"), [(timedelta(days=1), True), (timedelta(minutes=5), False)]
)
def test_a_job_is_taken_over_though_the_clock_was_set_back(job, ahead, is_lost):
    """A worker of another machine died before. A clock that differs a little is no such case."""
    leases.claim(job.pk)
    Job.objects.update(heartbeat_at=timezone.now() + ahead, worker="elsewhere/1/1")
    assert (leases.claim(job.pk) is not None) == is_lost


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


def test_a_job_with_a_heartbeat_and_no_worker_is_left_alone(job):
    Job.objects.update(state="running", attempt=1, heartbeat_at=timezone.now(), worker="")
    assert leases.claim(job.pk) is None
    assert leases.lost() == []


def test_a_worker_whose_heartbeat_returns_keeps_its_job(job):
    """The heartbeat may come between the read of the row and the claim."""
    leases.claim(job.pk)
    seen = Job.objects.get()
    Job.objects.update(heartbeat_at=timezone.now() - leases.STALE_AFTER * 2)
    stale = Job.objects.get()
    Job.objects.update(heartbeat_at=seen.heartbeat_at)
    assert leases.is_stale(stale)
    assert leases.claim(job.pk) is None


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
    cancel_job(job)
    assert Job.objects.get().state == "cancelled"
    assert Recording.objects.get().status == "failed"
    assert Recording.objects.get().error["type"] == "/problems/cancelled"
    running.run(job.pk)
    assert Job.objects.get().attempt == 0


def test_a_running_job_stops_at_its_next_step(job, monkeypatch):
    def until_cancelled(lease):
        cancel_job(Job.objects.get())
        lease._cancelled.wait(10)
        lease.report("reading", 0.5)

    steps(monkeypatch, until_cancelled)
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.05)
    running.run(job.pk)
    assert Job.objects.get().state == "cancelled"
    assert Job.objects.get().finished_at


def test_a_job_that_has_ended_cannot_be_cancelled(job):
    Job.objects.update(state="done")
    job.refresh_from_db()
    with pytest.raises(Conflict):
        cancel_job(job)


def test_a_fault_in_cutline_is_noted_in_the_row(job, monkeypatch):
    def broken(lease):
        lease.report("matching", 0.6)
        raise ZeroDivisionError("division by zero")

    steps(monkeypatch, broken)
    running.run(job.pk)
    error = Job.objects.get().error
    assert error["detail"] == "ZeroDivisionError: division by zero"
    assert error["where"] == "matching"
    assert "fault in Cutline" in error["cause"]
    assert Recording.objects.get().status == "failed"


def no_spark(lease):
    raise SparkUnavailable("Spark needs Java 17, and there is none.")


def test_a_spark_that_does_not_start_postpones_the_job_and_counts_no_death(job, monkeypatch):
    steps(monkeypatch, no_spark)
    pauses = []
    for tries in range(1, 13):
        running.run(job.pk)
        job.refresh_from_db()
        assert (job.state, job.deaths, job.postponements) == ("queued", 0, tries)
        assert "Java 17" in job.error["detail"]
        assert Recording.objects.get().status == "queued"
        pauses.append(round((job.retry_at - timezone.now()).total_seconds()))
    assert pauses == sorted(pauses)
    assert pauses[:3] == [2, 4, 8]
    assert pauses[-1] == 300


def test_a_job_that_was_postponed_for_a_day_fails_with_the_true_reason(job, monkeypatch):
    steps(monkeypatch, no_spark)
    running.run(job.pk)
    Job.objects.update(postponed_at=timezone.now() - postponing.PATIENCE - timedelta(minutes=1))
    running.run(job.pk)
    job.refresh_from_db()
    assert (job.state, Recording.objects.get().status) == ("failed", "failed")
    assert "Java 17" in job.error["detail"]
    assert "tried 2 times" in job.error["detail"]
    assert "cause" not in job.error or job.error["cause"] is None


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OperationalError("database is locked"), "busy"),
        (OSError(errno.ENOSPC, "No space left on device"), "disk is full"),
        (OSError(errno.EROFS, "Read-only file system"), "cannot be written"),
        (RuntimeError("Job aborted: IOException: No space left on device"), "disk is full"),
    ],
)
def test_a_temporary_failure_postpones_a_job(job, monkeypatch, error, sentence):
    def stopped(lease):
        raise error

    steps(monkeypatch, stopped)
    running.run(job.pk)
    job.refresh_from_db()
    assert job.state == "queued"
    assert sentence in job.error["detail"]
    steps(monkeypatch, lambda lease: _answer(lease, "ready", {}))
    running.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error, job.retry_at) == ("done", None, None)


def test_the_end_of_a_run_is_written_again_until_the_database_accepts_it(job, monkeypatch):
    """A run that has ended writes its answer itself, however long the database is locked."""
    monkeypatch.setattr(postponing, "SECONDS_BETWEEN_WRITES", 0.01)
    refusals = iter([OperationalError("database is locked")] * 3)
    write = leases.Lease.write

    def locked(lease, **fields):
        for error in refusals:
            raise error
        write(lease, **fields)

    monkeypatch.setattr(leases.Lease, "write", locked)
    steps(monkeypatch, lambda lease: _answer(lease, "ready", {}))
    running.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("done", 1)


def test_a_database_that_is_locked_in_the_middle_costs_only_progress(job, monkeypatch):
    def locked(lease, **fields):
        raise OperationalError("database is locked")

    with leases.claim(job.pk) as lease:
        monkeypatch.setattr(leases.Lease, "write", locked)
        lease.report("reading", 0.5)
    assert Job.objects.get().progress == 0


def gone(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(
        state="running", worker="elsewhere/1/1", heartbeat_at=timezone.now() - timedelta(hours=1)
    )


def test_a_job_that_kills_its_worker_each_time_ends(job, monkeypatch):
    for deaths in range(1, running.MOST_DEATHS + 1):
        gone(job)
        assert leases.claim(job.pk).job.deaths == deaths
    steps(monkeypatch, lambda lease: pytest.fail("it would kill this worker, too"))
    Job.objects.update(state="queued")
    running.run(job.pk)
    assert Job.objects.get().state == "failed"
    assert "memory" in Job.objects.get().error["detail"]


def test_a_worker_that_was_frozen_has_not_died(job):
    leases.claim(job.pk)
    Job.objects.update(heartbeat_at=timezone.now() - leases.STALE_AFTER * 2)
    assert leases.claim(job.pk).job.deaths == 0


def test_a_spark_that_ends_in_the_middle_counts_as_a_death(job, monkeypatch):
    def stopped(lease):
        raise SparkStopped("The JVM ended.")

    steps(monkeypatch, stopped)
    running.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.deaths, job.retry_at) == ("queued", 1, None)


def test_a_deleted_recording_stops_its_job_and_nothing_stays(job, monkeypatch, data_dir):
    def deleted_meanwhile(lease):
        folder = recordings.store().temporary(
            recordings.name_of(lease.job.pk, lease.job.attempt, lease.nonce)
        )
        delete_recording(Recording.objects.get())
        (folder / "part").write_bytes(b"x")
        lease.write(phase="publishing")

    steps(monkeypatch, deleted_meanwhile)
    running.run(job.pk)
    assert not Job.objects.exists()
    assert not list((data_dir / "store").iterdir())


def test_a_job_is_cancelled_by_a_request(ada, job):
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
    restore = request_restore(ada, recording, recording.snapshots.get())

    def broken(lease):
        raise Cancelled

    monkeypatch.setitem(STEPS, Job.Kind.RESTORE, broken)
    running.run(restore.pk)
    assert Job.objects.get().state == "cancelled"
    assert Recording.objects.get().status == "ready"


def test_a_job_that_finds_the_layout_of_another_version_calls_it_no_fault(ada, monkeypatch):
    recording = a_ready_recording(ada)
    restore = request_restore(ada, recording, recording.snapshots.get())

    def read(lease):
        raise OfAnotherVersion.of_layout("manifest.json", 1, (2, 3))

    monkeypatch.setitem(STEPS, Job.Kind.RESTORE, read)
    running.run(restore.pk)
    error = Job.objects.get().error
    assert error["detail"].startswith("This recording was stored by another version of Cutline.")
    assert error["cause"] is None


def test_the_same_restore_requested_ten_times_is_one_job(ada):
    recording = a_ready_recording(ada, ready_at=timezone.now())
    snapshot = recording.snapshots.get()
    asked = {request_restore(ada, recording, snapshot).pk for _ in range(10)}
    assert len(asked) == 1
    Job.objects.update(state="failed")
    assert request_restore(ada, recording, snapshot).pk not in asked


def a_reordering(user, recording: Recording) -> Job:
    return request_reordering(user, recording, recording.snapshots.get())


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


def test_a_cancelled_job_or_one_of_another_person_is_computed_again(ada):
    sample = a_ready_recording(None)
    first = a_reordering(ada, sample)
    assert a_reordering(a_person("bob@example.org"), sample) != first
    Job.objects.filter(pk=first.pk).update(cancel_requested=True)
    assert a_reordering(ada, sample) != first


def test_a_reordering_that_is_impossible_says_why_and_its_recording_stays_ready(ada):
    recording = a_ready_recording(ada, simulated(protocol=never_sending("p1->p2", "s1")))
    job = create_job(Job.Kind.REORDERING, ada, recording=recording, snapshot="s1")
    running.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error["type"]) == ("refused", "/problems/not-reorderable")
    assert "no marker that it sent on p1->p2" in job.error["detail"]
    assert Recording.objects.get().status == "ready"


def test_a_cancelled_reordering_leaves_its_recording_ready(ada):
    cancel_job(a_reordering(ada, a_ready_recording(ada)))
    assert Job.objects.get().state == "cancelled"
    assert Recording.objects.get().status == "ready"


def test_a_reordering_ends_with_its_report(ada, spark):
    recording = a_ready_recording(ada)
    job = a_reordering(ada, recording)
    running.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.phase, job.progress) == ("done", "reordered", 1.0), job.error
    run = recorded(two_banks())
    assert job.result == as_json(reorder(run, *judge(run)).report())
    assert Recording.objects.get().status == "ready"


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Job.Kind.RESTORE, {"snapshot": "s1"}),
        (Job.Kind.REORDERING, {"snapshot": "s1"}),
        (Job.Kind.PREDICATE, {"expression": "A > 8000"}),
    ],
)
def test_a_job_needs_only_folders_that_a_cluster_reaches(
    ada, spark, data_dir, monkeypatch, kind, fields
):
    job = create_job(kind, ada, recording=a_ready_recording(ada), **fields)
    kept = names_in(data_dir / "store")
    monkeypatch.setattr(tempfile, "tempdir", str(data_dir / "of-this-machine-alone"))
    running.run(job.pk)
    job.refresh_from_db()
    assert job.state == "done", job.error
    assert names_in(data_dir / "store") == kept


def test_a_job_that_is_cancelled_in_the_middle_leaves_no_folder(ada, spark, data_dir, monkeypatch):
    job = create_job(Job.Kind.RESTORE, ada, recording=a_ready_recording(ada), snapshot="s1")
    kept = names_in(data_dir / "store")
    seen = set()

    def cancelled(self, phase, *_) -> None:
        seen.update(names_in(data_dir / "store"))
        raise Cancelled

    monkeypatch.setattr(Progress, "__call__", cancelled)
    running.run(job.pk)
    job.refresh_from_db()
    assert job.state == "cancelled"
    assert len(seen - kept) == 1
    assert names_in(data_dir / "store") == kept


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
