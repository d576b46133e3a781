"""Keep what is needed to tell whether a running job has stopped completing checkpoints."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from snapshots.archive import polls
from snapshots.domain.archive.model import COMPLETED
from snapshots.domain.archive.stalls import (
    MOST_INTERVALS,
    Kept,
    Stall,
    Watch,
    first_start,
    judge,
    usual_interval,
)
from snapshots.models import EngineJob
from webapp.notices import events

RUNNING = "running"
ENDED = (
    "finished",
    "canceled",
    "failed",
    "savepoint done",
)  # states that hold even when Flink forgets the job
OVER = (*ENDED, "suspended", EngineJob.GONE)  # in these it is not about to run again by itself
_LEAST_FRESH = 120_000  # ms; a round may take 30 s, and some are missed at a restart
_NEWEST = 2 * MOST_INTERVALS  # completed checkpoints that are read, with savepoints among them
_MOST_OTHERS = 10 * MOST_INTERVALS  # failed checkpoints that are read
_MISSED = 3  # rounds after which a collector has not looked lately


@dataclass(frozen=True, slots=True)
class Told:
    """What a running engine says of a job beside its checkpoints.

    Attributes:
        url: the address of the engine.
        clock: the instant by the engine's clock. None if it does not give one.
        running_since: when the job last began to run or was restored. None if it is not known.
        is_restored: whether it was restored from a checkpoint.
        state_before: the job's state when it was reported last.
    """

    url: str
    clock: int | None
    running_since: int | None
    is_restored: bool
    state_before: str


def note(job: EngineJob, told: Told) -> None:
    """Note that an engine has reported a job, whose checkpoints are stored; notify of a stall."""
    completed = list(_newest_completed(job))
    ends = [one.ended_at for one in completed if one.ended_at is not None]
    regular = [at for one in completed if one.is_regular and (at := one.ended_at) is not None]
    completed_at = max(regular, default=None)
    is_new = _is_new_life(job, told, completed_at)
    job.usual_interval = None if is_new else usual_interval([*completed, *_others(job, completed)])
    job.restorable_at = None if is_new else max(ends, default=None)
    job.completed_at = None if is_new else completed_at
    job.began_at = first_start(job.began_at, told.running_since, completed_at)
    if job.state in OVER:
        job.began_at = None
    job.heard_from, job.heard_at, job.engine_clock = told.url, timezone.now(), told.clock
    job.save(
        update_fields=[
            *("heard_from", "heard_at", "engine_clock", "began_at"),
            *("usual_interval", "restorable_at", "completed_at"),
        ]
    )
    stall = stall_of(job)
    if stall.is_stalled:
        events.checkpoints_stalled(job, stall)


def _newest_completed(job: EngineJob) -> Iterator[Kept]:
    """Yield the newest completed checkpoints and savepoints of the newest pipeline."""
    rows = job.checkpoints.filter(status=COMPLETED).order_by("-pipeline", "-number")
    newest = rows.values_list("pipeline", "number", "kind", "ended_at")[:_NEWEST]
    last = None
    for pipeline, number, kind, ended_at in newest:
        last = pipeline if last is None else last
        if pipeline == last:
            yield Kept(number, ended_at, "savepoint" not in kind)


def _others(job: EngineJob, completed: list[Kept]) -> Iterator[Kept]:
    """Yield what is known between these checkpoints and did not complete, the newest at most."""
    numbers = [one.number for one in completed]
    if not numbers:
        return
    rows = job.checkpoints.filter(number__range=(min(numbers), max(numbers)))
    others = rows.exclude(status=COMPLETED).order_by("-number")
    for number in others.values_list("number", flat=True)[:_MOST_OTHERS]:
        yield Kept(number, None, is_regular=False)


def _is_new_life(job: EngineJob, told: Told, completed_at: int | None) -> bool:
    """Tell whether an ended job's id is used by a new one, of which no checkpoint is known yet."""
    start = told.running_since
    if told.is_restored or start is None or completed_at is None or start <= completed_at:
        return False
    was_new = job.began_at is not None and job.completed_at is None
    return told.state_before in OVER or was_new


def stall_of(job: EngineJob, now: datetime | None = None) -> Stall:
    """Say whether a job has stopped completing checkpoints; now, if no other moment is given."""
    watch = watch_of(job)
    return judge(watch, (watch.looked_at or 0) + _since_heard(job, now or timezone.now()))


def _since_heard(job: EngineJob, now: datetime) -> int:
    """Return the milliseconds since the job was last reported; 0 if it never was."""
    return round((now - job.heard_at).total_seconds() * 1000) if job.heard_at else 0


def news_of(job: EngineJob) -> dict[str, Any]:
    """Return the message for open pages: what tells whether a page shows the job as it is now."""
    newest = job.checkpoints.order_by("-pipeline", "-number")
    return {
        "version": job.version,
        "state": job.state,
        "stall": stall_of(job).status,
        "fresh_for": max(0, watch_of(job).fresh_for - _since_heard(job, timezone.now())),
        "newest": newest.values("pipeline", "number").first(),
        "polled": polls.newest(job),
    }


def watch_of(job: EngineJob) -> Watch:
    """Return what is known of a job's progress; ``job`` was selected with its collector."""
    every = job.collector.interval_seconds * 1000 if job.collector else 0
    return Watch(
        is_running=job.state == RUNNING if job.state else None,
        looked_at=job.engine_clock,
        fresh_for=max(_LEAST_FRESH, _MISSED * every),
        usual=job.usual_interval,
        restorable_at=job.restorable_at,
        completed_at=job.completed_at,
        began_at=job.began_at,
    )
