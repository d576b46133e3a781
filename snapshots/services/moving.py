"""Move recordings, topologies, mappings, collectors and archived jobs between people and teams.

Access is checked before. Raises: problems.Problem for a wrong request.
"""

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from snapshots import allowances
from snapshots.models import Collector, EngineJob, Job, Mapping, Recording, Topology
from snapshots.problems import Conflict
from webapp.accounts import audit

Movable = Recording | Topology | Mapping | Collector | EngineJob


@transaction.atomic
def move(row: Movable, to: User, by: User) -> None:
    """Make another account the owner of a row: a team's, or the person's own.

    The jobs of a recording go along. Nothing is copied, and links to it stay as they are.

    Raises: Conflict if it is there already, if an equal row is there, or if a job of the recording
        is under way; TooMany if it exceeds what the taker may store.
    """
    if row.owner_id == to.pk:
        raise Conflict(f"“{row}” is there already.")
    if isinstance(row, Recording):
        _take_jobs_along(row, to)
    if isinstance(row, Collector):
        allowances.require_collector(to)
    before, row.owner = row.owner, to
    try:
        with transaction.atomic():
            row.save(update_fields=["owner"])
    except IntegrityError:
        raise Conflict(f"An equal one of “{row}” is there already.") from None
    words = f"{row._meta.verbose_name} {row.pk} “{row}”"
    for person in (before, to):
        audit.note(
            audit.MOVED,
            by,
            words,
            person=person,
            before=account_name(before),
            now=account_name(to),
        )


def _take_jobs_along(recording: Recording, to: User) -> None:
    if recording.jobs.filter(state__in=Job.OPEN).exists():
        raise Conflict(
            f"A job on “{recording}” is still under way. Wait until it has ended, or cancel it."
        )
    kept = recording.size if recording.upload else 0
    allowances.require_room_for(to, kept + recording.stored_bytes)
    recording.jobs.update(owner=to)


def account_name(account: User | None) -> str:
    """Return the name of a team or the address of a person; empty for a sample."""
    if account is None:
        return ""
    team = getattr(account, "team", None)
    return f"team {team.name}" if team is not None else account.get_username()
