"""Compute the progress of a job from its phase, and the time that remains."""

from django.utils import timezone

from snapshots.models import Job
from snapshots.readers.engines import registry

SHARES = {
    "simulating": (0.0, 0.1),
    "unpacking": (0.0, 0.05),
    "reading checkpoints": (0.05, 0.1),
    "reading": (0.1, 0.45),
    "ordering": (0.45, 0.6),
    "matching": (0.6, 0.72),
    "timing": (0.72, 0.8),
    "finishing": (0.8, 0.85),
    "judging": (0.85, 0.95),
    "explaining checkpoints": (0.95, 0.97),
    "keeping the inventory": (0.97, 0.99),
    "replaying channels": (0.0, 0.5),
    "replaying processes": (0.5, 1.0),
    "evaluating states": (0.0, 0.5),
    "searching cuts": (0.5, 1.0),
}
"""The part of the whole job, from 0 to 1, that a phase takes; other phases take all of it.

A phase may say after a colon what it is at.
"""

IN_BYTES = frozenset({"reading"})
"""Phases that count bytes. All others count events."""

_LEAST = 0.02  # share of the job before which nothing is estimated


def reached(phase: str, done: int, total: int) -> tuple[float, int, int | None]:
    """Return the share of the whole job that is done, the events done, and the events in all.

    A phase that counts bytes reports no events.
    """
    begin, end = SHARES.get(phase.partition(":")[0], (0.0, 1.0))
    share = min(done / total, 1.0) if total else 0.0
    events, all_events = (0, None) if phase in IN_BYTES else (done, total or None)
    return begin + (end - begin) * share, events, all_events


def remaining(row: Job) -> float | None:
    """Estimate the remaining seconds from the rate so far, or return None.

    The shares are those of a log. An engine's upload spends most of its time in other phases, and
    a phase that has not counted anything yet has no rate.
    """
    if row.state != Job.State.RUNNING or not row.started_at or not _LEAST < row.progress < 1:
        return None
    if row.recording is not None and row.recording.format in registry.FORMATS:
        return None
    if row.progress <= SHARES.get(row.phase.partition(":")[0], (0.0, 1.0))[0]:
        return None
    elapsed = (timezone.now() - row.started_at).total_seconds()
    return round(elapsed / row.progress - elapsed, 1)
