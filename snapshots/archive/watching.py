"""Keep what is needed to tell whether a running job has stopped completing checkpoints."""

from datetime import datetime
from typing import Any

from django.utils import timezone

from snapshots.domain.archive.model import COMPLETED
from snapshots.domain.archive.stalls import (
    MOST_INTERVALS,
    Stall,
    Watch,
    first_start,
    judge,
    usual_interval,
)
from snapshots.models import EngineJob
from webapp.notices import events

RUNNING = "running"
_LEAST_FRESH = 120_000  # ms; a round may take 30 s, and some are missed at a restart
_NEWEST = 2 * MOST_INTERVALS  # completed checkpoints that are read, with savepoints among them
_MISSED = 3  # rounds after which a collector has not looked lately


def note(job: EngineJob, url: str, clock: int | None, running_since: int | None) -> None:
    """Note that an engine has reported a job, and notify of a stall.

    Args:
        job: the job, whose reported checkpoints are stored already.
        url: the address of the engine.
        clock: the instant of the report by the engine's clock. None if it does not give one.
        running_since: when the job last began to run or was restored. None if it is not known.
    """
    completed = job.checkpoints.filter(status=COMPLETED)
    rows = completed.order_by("-pipeline", "-number").values_list("kind", "ended_at")[:_NEWEST]
    newest = [(kind, ended_at) for kind, ended_at in rows if ended_at is not None]
    restorable_at = max((ended_at for _, ended_at in newest), default=None)
    regular = [ended_at for kind, ended_at in newest if "savepoint" not in kind]
    job.heard_from, job.heard_at, job.engine_clock = url, timezone.now(), clock
    job.began_at = first_start(job.began_at, running_since, restorable_at)
    job.usual_interval, job.restorable_at = usual_interval(regular), restorable_at
    job.save(
        update_fields=[
            *("heard_from", "heard_at", "engine_clock"),
            *("began_at", "usual_interval", "restorable_at"),
        ]
    )
    stall = stall_of(job)
    if stall.is_stalled:
        events.checkpoints_stalled(job, stall)


def stall_of(job: EngineJob, now: datetime | None = None) -> Stall:
    """Say whether a job has stopped completing checkpoints; now, if no other moment is given."""
    since_heard = (now or timezone.now()) - job.heard_at if job.heard_at else None
    elapsed = 0 if since_heard is None else round(since_heard.total_seconds() * 1000)
    watch = watch_of(job)
    return judge(watch, (watch.looked_at or 0) + elapsed)


def news_of(job: EngineJob) -> dict[str, Any]:
    """Return the message for open pages: what tells whether a page shows the job as it is now."""
    newest = job.checkpoints.order_by("-pipeline", "-number")
    return {
        "version": job.version,
        "state": job.state,
        "stall": stall_of(job).status,
        "newest": newest.values("pipeline", "number").first(),
    }


def watch_of(job: EngineJob) -> Watch:
    """Return what is known of a job's progress; ``job`` was selected with its collector."""
    every = job.collector.interval_seconds * 1000 if job.collector else 0
    return Watch(
        is_running=job.state == RUNNING,
        looked_at=job.engine_clock,
        fresh_for=max(_LEAST_FRESH, _MISSED * every),
        usual=job.usual_interval,
        restorable_at=job.restorable_at,
        began_at=job.began_at,
    )
