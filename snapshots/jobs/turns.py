"""Decide which job a free worker runs next.

A message in the queue only says that there is work; the job is chosen here, when a worker is free.
A job whose worker is gone comes first. After that people take turns: whoever has the fewest running
jobs, and among those whoever was served longest ago. The jobs that a person requests for teams
count as that person's. Each person's jobs keep their order.
"""

from datetime import datetime

from django.db.models import Max, Q, QuerySet
from django.utils import timezone

from snapshots.jobs import leases
from snapshots.jobs.leases import Lease
from snapshots.jobs.postponing import LONGEST_PAUSE
from snapshots.models import Job

MOST_RACES = 50  # races lost to other workers, before this one waits for the next message


def claim_next() -> Lease | None:
    """Return the lease on the next job in turn, or None if no job can run now."""
    for _ in range(MOST_RACES):
        job = next_job()
        if job is None:
            return None
        if lease := leases.claim(job.pk):
            return lease
    return None


def next_job() -> Job | None:
    """Return the next job in turn without claiming it."""
    lost = leases.lost()
    if lost:
        return lost[0]
    due = due_jobs(timezone.now())
    askers = list(due.order_by().values_list("asker_id", flat=True).distinct())
    if not askers:
        return None
    asker = min(askers, key=_turn)
    return due.filter(_asked_by(asker)).order_by("pk").first()


def runnable() -> int:
    """Return how many jobs a worker could begin now: the due ones and the lost ones."""
    return due_jobs(timezone.now()).count() + len(leases.lost())


def due_jobs(now: datetime) -> QuerySet[Job]:
    """Return the queued jobs that need not wait until a later time.

    No pause is longer than LONGEST_PAUSE. A job that would wait longer was put off before the clock
    was set back, and is due.
    """
    is_due = Q(retry_at=None) | Q(retry_at__lte=now) | Q(retry_at__gt=now + LONGEST_PAUSE)
    return Job.objects.filter(is_due, state=Job.State.QUEUED)


def _turn(asker: int | None) -> tuple[int, float, int]:
    """Return the sort key of a person: the smallest is served first."""
    jobs = Job.objects.filter(_asked_by(asker))
    last = jobs.aggregate(last=Max("started_at"))["last"]
    running = jobs.filter(state=Job.State.RUNNING).count()
    return running, last.timestamp() if last else 0.0, asker or 0


def _asked_by(asker: int | None) -> Q:
    return Q(asker__isnull=True) if asker is None else Q(asker_id=asker)
