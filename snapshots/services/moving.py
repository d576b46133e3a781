"""Move recordings, topologies, mappings, reviews and the archive between people and teams.

Access is checked before. Raises: problems.Problem for a wrong request.
"""

from functools import partial

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Model

from snapshots import allowances
from snapshots.files import journals
from snapshots.jobs import live
from snapshots.models import Collector, EngineJob, Job, Mapping, Recording, Topology
from snapshots.problems import Conflict
from snapshots.quantities import counted
from snapshots.reviews.models import Review
from snapshots.services.noted import notes_of, notes_of_jobs
from webapp.accounts import audit
from webapp.links.ending import withdraw_ended

Movable = Recording | Topology | Mapping | Collector | EngineJob | Review


@transaction.atomic
def move(row: Movable, to: User, by: User) -> None:
    """Make another account the owner of a row: a team's, or the person's own.

    Jobs go along with their recording, and archived jobs with the collector that fills them.
    Nothing is copied, and the addresses stay.

    Raises: Conflict if it is there already, if an equal row is there, or if it cannot be moved now;
        TooMany if it exceeds what the taker may use.
    """
    if row.owner_id == to.pk:
        raise Conflict(f"“{row}” is there already.")
    if isinstance(row, Recording):
        _move_jobs(row, to)
    if isinstance(row, Collector):
        _move_archived_jobs(row, to)
    if isinstance(row, EngineJob):
        _leave_collector(row)
    if isinstance(row, Review):
        transaction.on_commit(partial(live.review_moved, row.pk), robust=True)
    before = row.owner
    _set_owner(row, to)
    if isinstance(row, Recording | Review):
        withdraw_ended(row.public_links.all())
    words = f"{row._meta.verbose_name} {row.pk} “{row}”"
    for account in (before, to):
        audit.note(
            audit.MOVED,
            by,
            words,
            person=account,
            kind=row._meta.model_name,
            id=row.pk,
            before=audit.name_of(before),
            now=audit.name_of(to),
        )


def _set_owner(row: Model, to: User) -> None:
    try:
        with transaction.atomic():
            type(row)._default_manager.filter(pk=row.pk).update(owner=to)
    except IntegrityError:
        raise Conflict(f"An equal one of “{row}” is there already.") from None
    row.refresh_from_db(fields=["owner"])


def _move_jobs(recording: Recording, to: User) -> None:
    if recording.jobs.filter(state__in=Job.OPEN).exists():
        raise Conflict(
            f"A job on “{recording}” is still under way. Wait until it has ended, or cancel it."
        )
    kept = recording.size if recording.upload else journals.size_of(recording)
    allowances.require_room_for(to, kept + recording.stored_bytes)
    recording.jobs.update(owner=to)
    transaction.on_commit(lambda: live.recording_moved(recording.pk), robust=True)


def _move_archived_jobs(collector: Collector, to: User) -> None:
    Collector.objects.select_for_update().get(pk=collector.pk)  # a round waits, or has ended
    allowances.require_collector(to)
    for job in EngineJob.objects.filter(collector=collector, owner=collector.owner_id):
        _set_owner(job, to)


def _leave_collector(job: EngineJob) -> None:
    """Separate an archived job from a stopped collector; one at work would begin it anew."""
    if job.collector is not None and job.collector.is_collecting:
        raise Conflict(
            f"The collector of {job.collector} fills “{job}”. Move the collector, and its jobs go "
            "along; or stop it first."
        )
    EngineJob.objects.filter(pk=job.pk).update(collector=None)


def consequences(row: Movable) -> list[str]:
    """Say in sentences what goes along when a row is moved, and what stays."""
    if isinstance(row, Recording):
        return _of_recording(row)
    if isinstance(row, Collector):
        jobs = EngineJob.objects.filter(collector=row, owner=row.owner_id)
        noted = _with_notes(notes_of_jobs(jobs))
        return [f"The archived jobs that it fills go along: {len(jobs)}.", *noted, UPLOADS_STAY]
    if isinstance(row, EngineJob):
        return ["Its checkpoints go along.", *_with_notes(notes_of(row)), UPLOADS_STAY]
    if isinstance(row, Review):
        return _of_review(row)
    if isinstance(row, Topology):
        return ["Recordings that were simulated on it stay where they are."]
    return ["Recordings that were read with it stay where they are."]


def _of_recording(row: Recording) -> list[str]:
    numbers = {"snapshot": row.snapshot_count, "job": row.jobs.count()}
    parts = [counted(number, noun) for noun, number in numbers.items() if number]
    parts += ["the uploaded file"] * bool(row.upload)
    parts += ["the events that have come"] * bool(row.journal)
    sentences = [f"These go along: {', '.join(parts)}."] if parts else []
    sentences += _with_notes(notes_of(row))
    if row.topology is not None and row.topology.owner_id is not None:
        sentences.append(f"The topology “{row.topology}” stays: the recording holds a copy of it.")
    sentences += [f"The archived job “{job}” stays where it is." for job in row.engine_jobs.all()]
    return sentences


def _of_review(row: Review) -> list[str]:
    exhibits = row.exhibits.count()
    stay = [
        f"Recordings and archived jobs stay where they are ({counted(exhibits, 'exhibit')}): who "
        "cannot open one sees its name alone."
    ]
    return ["Its timeline and its people go along.", *(stay if exhibits else [])]


def _with_notes(noted: str) -> list[str]:
    """Say in a sentence that notes go along; no sentence without notes."""
    if not noted:
        return []
    return [
        "Its notes go along, with the addresses of their authors and all earlier versions: "
        f"{noted}."
    ]


UPLOADS_STAY = "Uploads stay where they are."
