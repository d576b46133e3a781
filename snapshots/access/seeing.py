"""Decide what a person may see."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils import timezone

from snapshots.access.finding import key_of, one_of, with_teams
from snapshots.access.roles import accounts_with, role
from snapshots.access.visiting import Visitor
from snapshots.models import (
    Collector,
    EngineCheckpoint,
    EngineJob,
    Job,
    Mapping,
    Recording,
    ResumableUpload,
    Snapshot,
    Topology,
)
from snapshots.problems import Conflict, NotFound
from snapshots.reviews.models import Review
from webapp.notices.models import Webhook
from webapp.teams.roles import Role

MOST_SAME = 5  # other recordings of a file that are named


def recordings(user) -> QuerySet[Recording]:
    """Return the recordings that the person may see, the newest first."""
    if isinstance(user, Visitor):
        return with_teams(Recording.objects.filter(public_links=user.link))
    return with_teams(Recording.objects.filter(_own_or_sample(user)))


def same_files(user, recording: Recording) -> QuerySet[Recording]:
    """Return other recordings of the same file that the person may see, the newest first.

    A hash that is not known, as of recordings from older versions, is the same as no other.
    """
    if not recording.sha256:
        return Recording.objects.none()
    same = recordings(user).filter(sha256=recording.sha256, size=recording.size)
    return same.exclude(pk=recording.pk).order_by("-created_at", "-pk")[:MOST_SAME]


def resumable_uploads(user) -> QuerySet[ResumableUpload]:
    """Return the person's own uploads in pieces that have not expired, the newest first.

    Nobody else sees them, not even in the team that will get the recording.
    """
    return ResumableUpload.objects.filter(by=key_of(user), expires_at__gt=timezone.now())


def topologies(user) -> QuerySet[Topology]:
    """Return the topologies that the person may see, the last changed first."""
    return with_teams(Topology.objects.filter(_own_or_sample(user)))


def jobs(user) -> QuerySet[Job]:
    """Return the jobs of the person and of their teams, the newest first.

    A job about a recording that the person may see no longer is left out.
    """
    return with_teams(Job.objects.filter(_own(user)).filter(_own_or_sample(user, "recording__")))


def engine_jobs(user) -> QuerySet[EngineJob]:
    """Return the archived jobs of the person and of their teams, the last changed first."""
    return with_teams(EngineJob.objects.filter(_own(user)))


def collectors(user) -> QuerySet[Collector]:
    """Return the collectors of the person and of their teams by address."""
    return with_teams(Collector.objects.filter(_own(user)))


def mappings(user) -> QuerySet[Mapping]:
    """Return the mappings of the person and of their teams, the last changed first."""
    return with_teams(Mapping.objects.filter(_own(user)))


def reviews(user) -> QuerySet[Review]:
    """Return the reviews of the person and of their teams, the last changed first."""
    if isinstance(user, Visitor):
        return with_teams(Review.objects.filter(public_links=user.link))
    return with_teams(Review.objects.filter(_own(user)))


def webhooks(user) -> QuerySet[Webhook]:
    """Return the webhooks of the person and of the teams that they own, the oldest first.

    A webhook sends what happens to another server, so it takes an owner also to see it.
    """
    led = accounts_with(user, Role.OWNER)
    return with_teams(Webhook.objects.filter(Q(owner_id=key_of(user)) | Q(owner_id__in=led)))


def _own(user, path: str = "") -> Q:
    """Return the condition that a row, or the row to which ``path`` leads, is the person's."""
    teams = accounts_with(user, Role.VIEWER)
    return Q((f"{path}owner_id", key_of(user))) | Q((f"{path}owner_id__in", teams))


def _own_or_sample(user, path: str = "") -> Q:
    if isinstance(user, Visitor):
        return Q(pk__in=[])
    return Q((f"{path}owner__isnull", True)) | _own(user, path)


def recording(user, pk: int) -> Recording:
    """Return a recording that the person may see. Raises: NotFound."""
    return one_of(recordings(user), pk, "recording")


def resumable_upload(user, pk: int) -> ResumableUpload:
    """Return an upload in pieces of the person's own. Raises: NotFound."""
    return one_of(resumable_uploads(user), pk, "upload")


def ready_recording(user, pk: int) -> Recording:
    """Return a recording that is ready. Raises: NotFound, Conflict where it is not ready."""
    visible = recording(user, pk)
    require_ready(visible)
    return visible


def shown_recording(user, pk: int) -> Recording:
    """Return a recording that can be looked at: it is ready, or open and still growing.

    Raises: NotFound, Conflict where it is neither.
    """
    visible = recording(user, pk)
    if not visible.is_shown:
        require_ready(visible)
    return visible


def require_ready(recording: Recording) -> None:
    """Refuse a recording that is not ready. Raises: Conflict, which says how far it is."""
    if not recording.is_ready:
        raise Conflict(
            f"“{recording.name}” is {recording.status} and not ready, so it cannot be shown. "
            "Its job says how far it is, or why it stopped.",
            recording_status=recording.status,
        )


def snapshot(recording: Recording, snapshot_id: str) -> Snapshot:
    """Return a snapshot of a recording that the person may see. Raises: NotFound."""
    found = recording.snapshots.filter(snapshot=snapshot_id).first()
    if found is None:
        raise NotFound(
            f"The recording “{recording.name}” has no snapshot {snapshot_id!r}. "
            f"Its snapshots are listed at /api/recordings/{recording.pk}/snapshots."
        )
    return found


def topology(user, pk: int) -> Topology:
    """Return a topology that the person may see. Raises: NotFound."""
    return one_of(topologies(user), pk, "topology")


def job(user, pk: int) -> Job:
    """Return a job that the person may see. Raises: NotFound."""
    return one_of(jobs(user).select_related("recording"), pk, "job")


def engine_job(user, pk: int) -> EngineJob:
    """Return an archived job that the person may see. Raises: NotFound."""
    return one_of(engine_jobs(user).select_related("collector"), pk, "archived job")


def collector(user, pk: int) -> Collector:
    """Return a collector that the person may see. Raises: NotFound."""
    return one_of(collectors(user), pk, "collector")


def mapping(user, pk: int) -> Mapping:
    """Return a mapping that the person may see. Raises: NotFound."""
    return one_of(mappings(user), pk, "mapping")


def review(user, pk: int) -> Review:
    """Return a review that the person may see. Raises: NotFound."""
    return one_of(reviews(user).select_related("owner__team", "opened_by"), pk, "review")


def webhook(user, pk: int) -> Webhook:
    """Return a webhook that the person may see and change. Raises: NotFound."""
    return one_of(webhooks(user), pk, "webhook")


def noted(user) -> Q:
    """Return the condition that a row is about a recording or archived job that is visible."""
    return Q(recording__in=recordings(user)) | Q(engine_job__in=engine_jobs(user))


def hide_uploads(user, rows: Sequence[EngineCheckpoint]) -> None:
    """Take from archived checkpoints the upload that holds them, if the person may not see it.

    The rows are changed in memory alone, and must not be saved.
    """
    uploads = {row.recording_id for row in rows if row.recording_id is not None}
    visible = set(recordings(user).filter(pk__in=uploads).values_list("pk", flat=True))
    for row in rows:
        if row.recording_id not in visible:
            row.recording = row.contents = None


def owner_sees(job: Job) -> bool:
    """Tell whether the owner of a job still sees its recording."""
    recording = job.recording
    if recording is None or recording.owner_id in (None, job.owner_id):
        return True
    return role(job.owner, recording.owner_id) is not None


def readers(row: Recording | EngineJob | Review) -> QuerySet[User]:
    """Return the people who see what the row's owner has: the owner, or the team's people."""
    return User.objects.filter(
        Q(pk=row.owner_id, team=None) | Q(memberships__team_id=row.owner_id)
    ).distinct()


def shows_names(recording: Recording) -> bool:
    """Tell whether viewers see each other's names: not in a sample, which strangers share."""
    return not recording.is_sample
