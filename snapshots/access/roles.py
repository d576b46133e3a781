"""Decide what role a person has for what an account owns, and what the role allows."""

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from snapshots.access.finding import key_of
from snapshots.models import EngineJob, Recording
from snapshots.problems import NeedsRole, NotFound, ReadOnly
from snapshots.reviews.models import Review
from webapp.teams.models import Membership, Team
from webapp.teams.roles import Role


def role(user, owner_id: int | None) -> Role | None:
    """Return the person's role for what this account owns; None for a sample and a stranger's.

    Everybody is the owner of what is their own.
    """
    if owner_id is None:
        return None
    if owner_id == key_of(user):
        return Role.OWNER
    membership = Membership.objects.filter(team_id=owner_id, person_id=key_of(user)).first()
    return Role(membership.role) if membership is not None else None


def reaches(user, row: Recording | EngineJob | Review, least: Role) -> bool:
    """Tell whether the person has at least this role for a row that they see."""
    has = role(user, row.owner_id)
    return has is not None and has.reaches(least)


def may_change(user, row) -> bool:
    """Tell whether the person may change, move and delete a row that they see."""
    return reaches(user, row, Role.EDITOR)


def may_comment(user, row: Recording | EngineJob | Review) -> bool:
    """Tell whether the person may write notes on a row, or add their own to a review."""
    return reaches(user, row, Role.COMMENTER)


def may_edit(user, row: Recording | EngineJob | Review) -> bool:
    """Tell whether the person may change a row, and resolve and delete what others noted."""
    return reaches(user, row, Role.EDITOR)


def leads(user, row: Review) -> bool:
    """Tell whether the person may delete a review that they see."""
    return reaches(user, row, Role.OWNER)


def accounts_with(user, least: Role) -> QuerySet:
    """Return the keys of the accounts of the teams in which the person has at least this role."""
    rows = Membership.objects.filter(person_id=key_of(user), role__in=Role.from_(least))
    return rows.order_by().values("team_id")


def holders(user, least: Role = Role.VIEWER) -> QuerySet[User]:
    """Return the person, and the accounts of the teams in which they have at least this role."""
    return User.objects.filter(Q(pk=key_of(user)) | Q(pk__in=accounts_with(user, least)))


def holder_ids(user, least: Role = Role.VIEWER) -> list[int]:
    """Return the keys of ``holders``."""
    return list(holders(user, least).values_list("pk", flat=True))


def require_role(user, owner_id: int | None, least: Role) -> None:
    """Refuse a person whose role in a team does not reach ``least``. Raises: NeedsRole."""
    has = role(user, owner_id)
    if has is None or not has.reaches(least):
        team = Team.objects.get(pk=owner_id)
        raise NeedsRole(
            f"This belongs to the team {team.name}, where you are {_A[has]}, and it takes "
            f"{_A[least]}. An owner of the team can change your role.",
            role=has,
            needs=least,
        )


_A = {
    None: "nobody",
    Role.VIEWER: "a viewer",
    Role.COMMENTER: "a commenter",
    Role.EDITOR: "an editor",
    Role.OWNER: "an owner",
}


def changeable(user, row):
    """Return a row that the person sees and may change.

    Raises: ReadOnly for a sample; NeedsRole for a team's, if the role does not allow it.
    """
    if row.owner_id is None:
        raise ReadOnly(f"“{row}” is a sample: samples cannot be changed or deleted.")
    require_role(user, row.owner_id, Role.EDITOR)
    if row.owner_id == user.pk:
        row.owner = user  # which spares reading it again
    return row


def require_operator(user) -> None:
    """Refuse anyone who is not an operator of this server. Raises: NotFound."""
    if not (user.is_authenticated and user.is_active and user.is_staff):
        raise NotFound("Nothing is at this address, or it is for the operators of this server.")
