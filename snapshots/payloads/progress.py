"""How far a job is: the share of the whole at which its phases lie, and what remains of it."""

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
"""Between which parts of a whole job's 0..1 a phase lies; one that is not listed is all of it."""

IN_BYTES = frozenset({"reading"})
"""Phases that count bytes, where the others count events."""

_LEAST = 0.02  # of the job, before which nothing is foretold


def reached(phase: str, done: int, total: int) -> tuple[float, int, int | None]:
    """0..1 of the whole job, and the events done of how many; what a phase does in bytes moves the
    job, and tells of no events."""
    begin, end = SHARES.get(phase, (0.0, 1.0))
    share = min(done / total, 1.0) if total else 0.0
    events, of = (0, None) if phase in IN_BYTES else (done, total or None)
    return begin + (end - begin) * share, events, of


def remaining(row: Job) -> float | None:
    """Seconds, at the rate so far; None where nothing tells.

    The shares are those of a log's phases. What an engine wrote takes most of its time elsewhere,
    and a phase that has not counted anything yet tells nothing either.
    """
    if row.state != Job.State.RUNNING or not row.started_at or not _LEAST < row.progress < 1:
        return None
    if row.recording is not None and row.recording.format in registry.FORMATS:
        return None
    if row.progress <= SHARES.get(row.phase, (0.0, 1.0))[0]:
        return None
    elapsed = (timezone.now() - row.started_at).total_seconds()
    return round(elapsed / row.progress - elapsed, 1)
