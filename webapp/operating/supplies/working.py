"""Say whether the workers keep up with the jobs."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from snapshots.models import Job
from snapshots.quantities import counted
from webapp.operating.noted import Noted
from webapp.operating.rates import words
from webapp.operating.supplies.model import State, Supply, Thing, not_known, said

WORKERS = Thing(
    "workers",
    "Workers",
    "Start more workers, on as many machines as you like, or raise WORKER_CONCURRENCY.",
)
WINDOW = timedelta(hours=6)
LONGEST_WAIT = timedelta(minutes=10)  # after which a job that could run waits too long


def workers(noted: Noted) -> Iterator[Supply]:
    """Yield whether jobs end as fast as they come. Raises: DatabaseError."""
    if noted.missing:
        yield not_known(WORKERS, "Redis does not answer, so it is not known who works")
        return
    slots = sum(worker.concurrency for worker in noted.workers)
    now = timezone.now()
    queue = _waiting(now)
    waiting = queue.count()
    if not slots:
        wait = f", and {counted(waiting, 'job')} wait{'s' if waiting == 1 else ''}"
        yield said(WORKERS, "out", f"no worker runs{wait if waiting else ''}", used=0, limit=0)
        return
    since = now - WINDOW
    come = Job.objects.filter(created_at__gte=since).count()
    ended = Job.objects.filter(finished_at__gte=since).count()
    oldest = queue.order_by("created_at").values_list("created_at", flat=True).first()
    state, answer = _answer(come, ended, waiting, oldest, now)
    running = Job.objects.filter(state=Job.State.RUNNING).count()
    yield said(WORKERS, state, answer, _basis(slots, since, now), used=running, limit=slots)


def _waiting(now: datetime):
    """Return the jobs that could run now; one that was put off waits for its time."""
    return Job.objects.filter(state=Job.State.QUEUED).filter(
        Q(retry_at=None) | Q(retry_at__lte=now)
    )


def _answer(
    come: int, ended: int, waiting: int, oldest: datetime | None, now: datetime
) -> tuple[State, str]:
    hours = words(WINDOW.total_seconds())
    counts = f"{counted(come, 'job')} came and {ended:,} ended in the last {hours}"
    if oldest is None or now - oldest < LONGEST_WAIT:
        return "ok", f"keep up: {counts}"
    waited = words((now - oldest).total_seconds())
    queue = f"{counted(waiting, 'job')} wait{'s' if waiting == 1 else ''}, the oldest for {waited}"
    if ended and waiting:
        pace = words(waiting / ended * WINDOW.total_seconds())
        queue += f"; at this pace, one that is requested now waits {pace}"
    if come > ended:
        return "out", f"do not keep up: {counts}, and {queue}"
    return "near", f"catch up: {counts}, and {queue}"


def _basis(slots: int, since: datetime, now: datetime) -> str:
    """Say how much of the workers' time jobs took, and how long jobs waited."""
    busy = sum(
        ((finished or now) - max(started, since) for started, finished in _ran(since)), timedelta()
    )
    share = busy / (slots * (now - since))
    firsts = Job.objects.filter(started_at__gte=since, attempt=1)
    waits = (started - created for started, created in _pairs(firsts, "created_at"))
    longest = max(waits, default=timedelta())
    waited = words(longest.total_seconds()) if longest >= timedelta(minutes=1) else "under 1 min"
    return (
        f"They run {counted(slots, 'job')} at once. Jobs took {share:.0%} of the time that they "
        f"have in {words(WINDOW.total_seconds())}. The longest wait for a first start was {waited}."
    )


def _ran(since: datetime) -> Iterator[tuple[datetime, datetime | None]]:
    """Yield when each job started that ran after a moment, and when it ended."""
    rows = Job.objects.filter(Q(finished_at__gte=since) | Q(state=Job.State.RUNNING))
    return _pairs(rows, "finished_at")


def _pairs(rows, other: str) -> Iterator[tuple[datetime, Any]]:
    for started, value in rows.order_by().values_list("started_at", other):
        if started is not None:
            yield started, value
