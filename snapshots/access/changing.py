"""Decide what a person may change, move and delete of what they see."""

from snapshots.access.roles import changeable, require_role
from snapshots.access.seeing import collector, engine_job, job, mapping, recording, review, topology
from snapshots.models import Collector, EngineJob, Job, Mapping, Recording, Topology
from snapshots.reviews.models import Review
from webapp.teams.roles import Role


def own_recording(user, pk: int) -> Recording:
    """Return a recording that the person may change.

    Raises: NotFound; ReadOnly for a sample; NeedsRole for a team's, if the role does not allow it.
    """
    return changeable(user, recording(user, pk))


def own_topology(user, pk: int) -> Topology:
    """Return a topology that the person may change. Raises: see ``own_recording``."""
    return changeable(user, topology(user, pk))


def own_mapping(user, pk: int) -> Mapping:
    """Return a mapping that the person may change. Raises: see ``own_recording``."""
    return changeable(user, mapping(user, pk))


def own_job(user, pk: int) -> Job:
    """Return a job that the person may cancel or dismiss. Raises: see ``own_recording``."""
    return changeable(user, job(user, pk))


def own_engine_job(user, pk: int) -> EngineJob:
    """Return an archived job that the person may delete. Raises: see ``own_recording``."""
    return changeable(user, engine_job(user, pk))


def own_collector(user, pk: int) -> Collector:
    """Return a collector that the person may change. Raises: see ``own_recording``."""
    return changeable(user, collector(user, pk))


def own_review(user, pk: int) -> Review:
    """Return a review that the person may change and move. Raises: see ``own_recording``."""
    return changeable(user, review(user, pk))


def led_review(user, pk: int) -> Review:
    """Return a review that the person may delete: their own, or one of a team that they own.

    Raises: NotFound, NeedsRole.
    """
    row = review(user, pk)
    require_role(user, row.owner_id, Role.OWNER)
    return row
