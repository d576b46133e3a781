"""The operator's page says whether workers keep up with the jobs that come."""

from datetime import timedelta

import pytest
from django.utils import timezone

from snapshots.models import Job
from webapp.operating.noted import Noted
from webapp.operating.presence import Worker
from webapp.operating.supplies import working

pytestmark = pytest.mark.django_db


def with_workers(number: int) -> Noted:
    return Noted(workers=[Worker("a", n, "", "", 1) for n in range(number)])


def a_job(asked: float, started: float | None = None, ended: float | None = None) -> None:
    """Make a job; each moment is so many minutes ago, or None."""

    def moment(minutes):
        return None if minutes is None else timezone.now() - timedelta(minutes=minutes)

    state = "queued" if started is None else "running" if ended is None else "done"
    times = {"started_at": moment(started), "finished_at": moment(ended)}
    row = Job.objects.create(kind="ingest", state=state, attempt=started is not None, **times)
    Job.objects.filter(pk=row.pk).update(created_at=moment(asked))


def test_workers_that_take_each_job_at_once_keep_up():
    for minutes in range(10, 100, 10):
        a_job(minutes, minutes - 2, minutes - 8)
    a_job(1)
    (supply,) = working.workers(with_workers(2))
    assert supply["state"] == "ok"
    assert supply["answer"] == "keep up: 10 jobs came and 9 ended in the last 6 h"
    assert "They run 2 jobs at once. Jobs took 8% of the time" in supply["basis"]
    assert "The longest wait for a first start was 2 min." in supply["basis"]


def test_a_queue_that_grows_says_how_long_a_job_waits():
    for _ in range(3):
        a_job(300, 290, 200)
    for _ in range(12):
        a_job(60)
    (supply,) = working.workers(with_workers(1))
    assert supply["state"] == "out"
    assert supply["answer"] == (
        "do not keep up: 15 jobs came and 3 ended in the last 6 h, and 12 jobs wait, the oldest "
        "for 1 h; at this pace, one that is requested now waits 1 d"
    )


def test_a_queue_that_gets_shorter_is_said_to():
    for _ in range(3):
        a_job(500, 300, 200)
    a_job(60)
    (supply,) = working.workers(with_workers(1))
    assert supply["state"] == "near"
    assert supply["answer"].startswith("catch up: 1 job came and 3 ended in the last 6 h")


def test_without_a_worker_jobs_wait():
    a_job(1)
    (supply,) = working.workers(Noted())
    assert (supply["state"], supply["answer"]) == ("out", "no worker runs, and 1 job waits")
    (supply,) = working.workers(Noted(missing="Redis does not answer"))
    assert supply["state"] == "unknown"
