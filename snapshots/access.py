"""Decide who may see and change what; no other module does.

A person sees what they own and the samples, which have no owner and cannot be changed. A request
for anything else is refused with the same 404 as for something that does not exist.
"""

from django.db.models import Q, QuerySet

from snapshots.models import Collector, EngineJob, Job, Mapping, Recording, Snapshot, Topology
from snapshots.problems import Conflict, NotFound, ReadOnly


def recordings(user) -> QuerySet[Recording]:
    """Return the recordings that the person may see, the newest first."""
    return Recording.objects.filter(_own_or_sample(user))


def topologies(user) -> QuerySet[Topology]:
    """Return the topologies that the person may see, the last changed first."""
    return Topology.objects.filter(_own_or_sample(user))


def jobs(user) -> QuerySet[Job]:
    """Return the jobs that the person requested, the newest first."""
    return Job.objects.filter(owner_id=_key(user))


def engine_jobs(user) -> QuerySet[EngineJob]:
    """Return the jobs in the person's archive, the last changed first."""
    return EngineJob.objects.filter(owner_id=_key(user))


def collectors(user) -> QuerySet[Collector]:
    """Return the person's collectors by address."""
    return Collector.objects.filter(owner_id=_key(user))


def mappings(user) -> QuerySet[Mapping]:
    """Return the person's mappings, the last changed first."""
    return Mapping.objects.filter(owner_id=_key(user))


def mapping(user, pk: int) -> Mapping:
    """Return a mapping of the person. Raises: NotFound."""
    return _get(mappings(user), pk, "mapping")


def recording(user, pk: int) -> Recording:
    """Return a recording that the person may see. Raises: NotFound."""
    return _get(recordings(user), pk, "recording")


def topology(user, pk: int) -> Topology:
    """Return a topology that the person may see. Raises: NotFound."""
    return _get(topologies(user), pk, "topology")


def job(user, pk: int) -> Job:
    """Return a job that the person requested. Raises: NotFound."""
    return _get(jobs(user).select_related("recording"), pk, "job")


def engine_job(user, pk: int) -> EngineJob:
    """Return an archived job of the person. Raises: NotFound."""
    return _get(engine_jobs(user).select_related("collector"), pk, "archived job")


def collector(user, pk: int) -> Collector:
    """Return a collector of the person. Raises: NotFound."""
    return _get(collectors(user), pk, "collector")


def own_recording(user, pk: int) -> Recording:
    """Return a recording that the person may change. Raises: NotFound, ReadOnly for a sample."""
    return _changeable(recording(user, pk))


def ready_recording(user, pk: int) -> Recording:
    """Return a recording that is ready. Raises: NotFound, Conflict where it is not ready."""
    visible = recording(user, pk)
    require_ready(visible)
    return visible


def own_topology(user, pk: int) -> Topology:
    """Return a topology that the person may change. Raises: NotFound, ReadOnly for a sample."""
    return _changeable(topology(user, pk))


def snapshot(recording: Recording, snapshot_id: str) -> Snapshot:
    """Return a snapshot of a recording that the person may see. Raises: NotFound."""
    found = recording.snapshots.filter(snapshot=snapshot_id).first()
    if found is None:
        raise NotFound(
            f"The recording “{recording.name}” has no snapshot {snapshot_id!r}. "
            f"Its snapshots are listed at /api/recordings/{recording.pk}/snapshots."
        )
    return found


def require_operator(user) -> None:
    """Refuse anyone who is not an operator of this server. Raises: NotFound."""
    if not (user.is_authenticated and user.is_active and user.is_staff):
        raise NotFound("Nothing is at this address, or it is for the operators of this server.")


def shows_names(recording: Recording) -> bool:
    """Tell whether viewers see each other's names: not in a sample, which strangers share."""
    return not recording.is_sample


def _key(user) -> int:
    """Return the person's key, or one that nobody has if the person is not signed in."""
    return user.pk if user.is_authenticated else -1


def _own_or_sample(user) -> Q:
    samples = Q(owner__isnull=True)
    return samples | Q(owner_id=user.pk) if user.is_authenticated else samples


def _get(visible: QuerySet, pk: int, noun: str):
    row = visible.filter(pk=pk).first()
    if row is None:
        raise NotFound(f"There is no {noun} {pk}, or it belongs to someone else.")
    return row


def _changeable(row):
    if row.is_sample:
        raise ReadOnly(f"“{row.name}” is a sample: samples cannot be changed or deleted.")
    return row


def require_ready(recording: Recording) -> None:
    """Refuse a recording that is not ready. Raises: Conflict, which says how far it is."""
    if not recording.is_ready:
        raise Conflict(
            f"“{recording.name}” is {recording.status} and not ready, so it cannot be shown. "
            "Its job says how far it is, or why it stopped.",
            recording_status=recording.status,
        )
