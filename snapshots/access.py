"""Who may see and change what: the only place that decides.

A person sees what they own and the samples, which have no owner and cannot be changed. What a
person may not see does not exist for them: every refusal is the same 404.
"""

from django.db.models import Q, QuerySet

from snapshots.models import Collector, EngineJob, Job, Mapping, Recording, Snapshot, Topology
from snapshots.problems import Conflict, NotFound, ReadOnly


def recordings(user) -> QuerySet[Recording]:
    """Those that ``user`` may see, the newest first."""
    return Recording.objects.filter(_own_or_sample(user))


def topologies(user) -> QuerySet[Topology]:
    """Those that ``user`` may see, the last changed first."""
    return Topology.objects.filter(_own_or_sample(user))


def jobs(user) -> QuerySet[Job]:
    """Those that ``user`` asked for, the newest first."""
    return Job.objects.filter(owner_id=_key(user))


def engine_jobs(user) -> QuerySet[EngineJob]:
    """Those whose checkpoints ``user`` keeps, the last changed first."""
    return EngineJob.objects.filter(owner_id=_key(user))


def collectors(user) -> QuerySet[Collector]:
    """Those of ``user``, by address."""
    return Collector.objects.filter(owner_id=_key(user))


def mappings(user) -> QuerySet[Mapping]:
    """Those of ``user``, the last changed first."""
    return Mapping.objects.filter(owner_id=user.pk if user.is_authenticated else -1)


def mapping(user, pk: int) -> Mapping:
    """Raises: NotFound."""
    return _get(mappings(user), pk, "mapping")


def recording(user, pk: int) -> Recording:
    """Raises: NotFound."""
    return _get(recordings(user), pk, "recording")


def topology(user, pk: int) -> Topology:
    """Raises: NotFound."""
    return _get(topologies(user), pk, "topology")


def job(user, pk: int) -> Job:
    """Raises: NotFound."""
    return _get(jobs(user).select_related("recording"), pk, "job")


def engine_job(user, pk: int) -> EngineJob:
    """Raises: NotFound."""
    return _get(engine_jobs(user).select_related("collector"), pk, "archived job")


def collector(user, pk: int) -> Collector:
    """Raises: NotFound."""
    return _get(collectors(user), pk, "collector")


def own_recording(user, pk: int) -> Recording:
    """One that ``user`` may change. Raises: NotFound, ReadOnly for a sample."""
    return _changeable(recording(user, pk))


def ready_recording(user, pk: int) -> Recording:
    """Return a recording that is ready. Raises: NotFound, Conflict where it is not ready."""
    visible = recording(user, pk)
    require_ready(visible)
    return visible


def own_topology(user, pk: int) -> Topology:
    """One that ``user`` may change. Raises: NotFound, ReadOnly for a sample."""
    return _changeable(topology(user, pk))


def snapshot(recording: Recording, snapshot_id: str) -> Snapshot:
    """A snapshot of a recording that the person may see. Raises: NotFound."""
    found = recording.snapshots.filter(snapshot=snapshot_id).first()
    if found is None:
        raise NotFound(
            f"The recording “{recording.name}” has no snapshot {snapshot_id!r}. "
            f"Its snapshots are listed at /api/recordings/{recording.pk}/snapshots."
        )
    return found


def require_operator(user) -> None:
    """Raises: NotFound where the person is no operator of this server."""
    if not (user.is_authenticated and user.is_active and user.is_staff):
        raise NotFound("Nothing is at this address, or it is for the operators of this server.")


def shows_names(recording: Recording) -> bool:
    """Whether those who have it open learn each other's names: strangers share a sample."""
    return not recording.is_sample


def _key(user) -> int:
    """Of nobody where the person is not signed in."""
    return user.pk if user.is_authenticated else -1


def _own_or_sample(user) -> Q:
    samples = Q(owner__isnull=True)
    return samples | Q(owner_id=user.pk) if user.is_authenticated else samples


def _get(visible: QuerySet, pk: int, what: str):
    found = visible.filter(pk=pk).first()
    if found is None:
        raise NotFound(f"There is no {what} {pk}, or it belongs to someone else.")
    return found


def _changeable(found):
    if found.is_sample:
        raise ReadOnly(f"“{found.name}” is a sample: samples cannot be changed or deleted.")
    return found


def require_ready(recording: Recording) -> None:
    """Raises: Conflict, which says how far the recording is."""
    if not recording.is_ready:
        raise Conflict(
            f"“{recording.name}” is {recording.status}, not ready: there is nothing to look at. "
            "Its job tells how far it is, or why it stopped.",
            recording_status=recording.status,
        )
