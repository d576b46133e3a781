"""Keep every poll of a checkpoint in progress, and find it again.

The polls of a job are bounded. If a checkpoint has too many, every second one is dropped, and if a
job has too many, the oldest are. All go with the job.
"""

from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction

from snapshots.domain.archive.model import IN_PROGRESS
from snapshots.domain.front.model import Poll
from snapshots.domain.front.packing import pack, unpack
from snapshots.domain.front.rule import Front, front_of
from snapshots.fields import storable
from snapshots.models import EngineJob, EnginePoll
from snapshots.problems import NotFound

MOST_OF_CHECKPOINT = 1_000
MOST_OF_JOB = 20_000
_DROPPED_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Polled:
    """The polls of one checkpoint.

    Attributes:
        instants: when each poll that is kept was made, in epoch ms, in order.
        made: how many were made, with those that are no longer kept.
    """

    instants: tuple[int, ...]
    made: int


@transaction.atomic
def keep(job: EngineJob, poll: Poll, pipeline: int = 0) -> None:
    """Keep a poll of a job's checkpoint. A second one of the same instant changes nothing."""
    own = job.polls.filter(pipeline=pipeline, number=poll.number)
    last = own.order_by("-place").values_list("place", flat=True).first() or 0
    values = {"place": last + 1, "packed": pack(_storable(poll))}
    _, is_new = EnginePoll.objects.get_or_create(
        job=job, pipeline=pipeline, number=poll.number, at=poll.at, defaults=values
    )
    if not is_new:
        return
    if own.count() > MOST_OF_CHECKPOINT:
        _thin(job, pipeline, poll.number)
    if job.polls.count() > MOST_OF_JOB:
        oldest = job.polls.order_by("pk").values_list("pk", flat=True)[:_DROPPED_AT_ONCE]
        EnginePoll.objects.filter(pk__in=list(oldest)).delete()


def _storable(poll: Poll) -> Poll:
    """Mark what in the engine's texts cannot be stored, as ``fields`` does with all texts."""
    vertices = [
        replace(vertex, id=storable(vertex.id), name=storable(vertex.name))
        for vertex in poll.vertices
    ]
    edges = [
        replace(edge, source=storable(edge.source), target=storable(edge.target))
        for edge in poll.edges
    ]
    return replace(poll, vertices=tuple(vertices), edges=tuple(edges))


def _thin(job: EngineJob, pipeline: int, number: int) -> None:
    """Drop every second poll of a checkpoint, so that the rest still tells how it went."""
    rows = job.polls.filter(pipeline=pipeline, number=number).order_by("at")
    keys = list(rows.values_list("pk", flat=True))
    EnginePoll.objects.filter(pk__in=keys[1:-1:2]).delete()


def polled(job: EngineJob, pipeline: int, number: int) -> Polled:
    """Return which polls of a checkpoint are kept."""
    rows = job.polls.filter(pipeline=pipeline, number=number).order_by("at")
    found = list(rows.values_list("at", "place"))
    return Polled(tuple(at for at, _ in found), max((place for _, place in found), default=0))


def poll_at(job: EngineJob, pipeline: int, number: int, at: int | None = None) -> Poll:
    """Return the last poll of a checkpoint that was made at an instant or before; else the first.

    ``at`` is in epoch ms; without it the last poll is returned. Raises: NotFound.
    """
    rows = job.polls.filter(pipeline=pipeline, number=number).order_by("-at")
    row = rows.first() if at is None else rows.filter(at__lte=at).first() or rows.last()
    if row is None:
        raise NotFound(f"No poll of checkpoint {number} of “{job}” is kept.")
    return unpack(bytes(row.packed))


def current(job: EngineJob) -> tuple[Poll, Front, int] | None:
    """Return the last poll of the newest checkpoint, its front, and the checkpoint's pipeline.

    Return None if this checkpoint is over, or has no poll.
    """
    newest = job.checkpoints.order_by("-pipeline", "-number").first()
    if newest is None or newest.status != IN_PROGRESS:
        return None
    rows = job.polls.filter(pipeline=newest.pipeline, number=newest.number)
    row = rows.order_by("-at").first()
    if row is None:
        return None
    poll = unpack(bytes(row.packed))
    return poll, front_of(poll), newest.pipeline


def newest(job: EngineJob) -> dict[str, Any] | None:
    """Return which poll is the newest of a job, for the news of open pages."""
    row = job.polls.order_by("-pk").values("pipeline", "number", "at").first()
    return None if row is None else dict(row)
