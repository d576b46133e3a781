"""Make teams, invite people, and change who belongs to a team with which role.

Access is checked before: only the owners of a team reach these functions, except for ``leave`` and
``accept``. Raises: problems.Problem for a wrong request.
"""

import secrets
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils import timezone

from snapshots.models import EngineJob
from snapshots.problems import Conflict, Invalid, NotFound, TooMany
from snapshots.quantities import counted, thousands
from webapp.accounts import audit, deleting
from webapp.accounts.services import OWNER, NotAnAddress, create_unproven, hashed
from webapp.teams.invitations import end_those_of, made_by_an_owner, require_room
from webapp.teams.models import LONGEST_NAME, Invitation, Membership, Team
from webapp.teams.roles import Role
from webapp.teams.signals import membership_changed

INVITATION_DAYS = 7
ACCOUNT_PREFIX = "team:"  # no address has a colon before its @, so that nobody can be called this


@transaction.atomic
def create_team(by: User, name: str) -> Team:
    """Make a team whose owner is the person who asked for it. Raises: Invalid, TooMany."""
    name = checked_name(name)
    _require_room(by)
    account = User(username=f"{ACCOUNT_PREFIX}{secrets.token_hex(8)}", is_active=False)
    account.set_unusable_password()
    account.save()
    team = Team.objects.create(account=account, name=name)
    Membership.objects.create(team=team, person=by, role=Role.OWNER)
    audit.note(audit.TEAM_MADE, by, team.title, person=account)
    return team


def _require_room(person: User) -> None:
    """Refuse another team to whoever owns as many as allowed. Raises: TooMany.

    Each team has limits of its own, so without this one a person would have none.
    """
    User.objects.select_for_update(no_key=True).get(pk=person.pk)  # the second request waits
    used = person.memberships.filter(role=Role.OWNER).count()
    if settings.MAX_TEAMS and used >= settings.MAX_TEAMS:
        raise TooMany(
            f"You own {counted(used, 'team')}, and may own {thousands(settings.MAX_TEAMS)}. Delete "
            "one that you no longer need, or make another person its owner and leave it.",
            limit=settings.MAX_TEAMS,
            used=used,
        )


def checked_name(name: str) -> str:
    """Return a team's name without surrounding white space. Raises: Invalid."""
    name = " ".join(name.split())
    if not name:
        raise Invalid("A team needs a name.", field="name")
    if len(name) > LONGEST_NAME:
        raise Invalid(f"A team's name has at most {LONGEST_NAME} characters.", field="name")
    return name


def checked_role(role: str) -> Role:
    """Return a role by its name. Raises: Invalid."""
    try:
        return Role(role)
    except ValueError:
        *others, last = Role
        raise Invalid(f"The role must be {', '.join(others)} or {last}.", field="role") from None


@transaction.atomic
def rename_team(team: Team, by: User, name: str) -> None:
    """Give the team another name. Raises: Invalid."""
    before, team.name = team.name, checked_name(name)
    if team.name != before:
        team.save(update_fields=["name"])
        audit.note(audit.TEAM_RENAMED, by, team.title, person=team.account, before=before)


@transaction.atomic
def invite(team: Team, by: User, address: str, role: str) -> tuple[Invitation, str]:
    """Invite an address to the team; return the invitation and its link, which is kept nowhere.

    An earlier invitation of the address stops working. Raises: Invalid, Conflict, TooMany.
    """
    chosen = checked_role(role)
    address = _checked_address(address)
    if address == OWNER:
        raise Invalid(
            f"{OWNER} is the operator of this server and cannot be invited.", field="address"
        )
    if team.memberships.filter(person__username=address).exists():
        raise Conflict(f"{address} belongs to {team.name} already. Change the role instead.")
    team.invitations.filter(address=address).delete()
    require_room(by)
    token = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        team=team,
        address=address,
        role=chosen,
        token_hash=hashed(token),
        made_by=by,
        expires_at=timezone.now() + timedelta(days=INVITATION_DAYS),
    )
    audit.note(audit.INVITED, by, f"{address} to {team.title}", person=team.account, role=chosen)
    return invitation, f"{settings.PUBLIC_URL}/teams/join/{token}"


def _checked_address(address: str) -> str:
    address = address.strip().lower()
    try:
        validate_email(address)
    except ValidationError:
        raise Invalid(f"{address!r} is not an e-mail address.", field="address") from None
    return address


@transaction.atomic
def withdraw(invitation: Invitation, by: User) -> None:
    """Make an invitation's link stop working."""
    team = invitation.team
    invitation.delete()
    words = f"{invitation.address} to {team.title}"
    audit.note(audit.INVITATION_WITHDRAWN, by, words, person=team.account)


def open_invitation(token: str) -> Invitation:
    """Return the invitation of a link. Raises: NotFound, with what to do."""
    rows = Invitation.objects.select_related("team", "made_by")
    invitation = rows.filter(token_hash=hashed(token)).first()
    if invitation is None:
        raise NotFound(
            "This invitation is unknown or was withdrawn. Is the link complete? Ask whoever sent "
            "it for another."
        )
    if invitation.accepted_at is not None:
        raise NotFound("This invitation has been used: it works only once.")
    if not invitation.is_open:
        raise NotFound(
            f"This invitation has expired: it works for {INVITATION_DAYS} days. Ask whoever sent "
            "it for another."
        )
    if not made_by_an_owner(invitation):
        raise NotFound(
            "Whoever made this invitation is no longer an owner of the team. Ask an owner for "
            "another."
        )
    return invitation


@transaction.atomic
def accept(token: str, by: User | None) -> Membership:
    """Let the invited person join; make their account if there is none.

    Args:
        by: who is signed in; None if nobody is.

    Raises: NotFound for a link that does not work; Conflict if somebody else, or nobody, is signed
        in and the address has an account, or single sign-on makes the accounts.
    """
    invitation = open_invitation(token)
    if by is None or by.username != invitation.address:
        by = _new_person(invitation)
    # The update decides: of two requests with the same link, only one changes the row.
    unused = Invitation.objects.filter(pk=invitation.pk, accepted_at=None)
    if not unused.update(accepted_at=timezone.now()):
        raise NotFound("This invitation has been used or withdrawn meanwhile.")
    membership, _ = Membership.objects.get_or_create(
        team=invitation.team, person=by, defaults={"role": invitation.role}
    )
    team = invitation.team
    audit.note(audit.JOINED, by, team.title, person=team.account, role=membership.role)
    return membership


def _new_person(invitation: Invitation) -> User:
    """Make an account for an invited address. Raises: Conflict, Invalid."""
    address = invitation.address
    if settings.OIDC_ISSUER:
        raise Conflict(
            f"This invitation is for {address}. Sign in through {settings.OIDC_NAME} as this "
            "person first, then open the link again."
        )
    try:
        return create_unproven(address, str(invitation.made_by))
    except NotAnAddress as error:
        raise Invalid(str(error), field="address") from None
    except IntegrityError:
        raise Conflict(
            f"This invitation is for {address}, who has an account. Sign in as this person, and "
            "open the link again."
        ) from None


@transaction.atomic
def change_role(membership: Membership, by: User, role: str) -> None:
    """Give a member another role. Raises: Invalid, Conflict for the last owner."""
    chosen = checked_role(role)
    before = membership.role
    if chosen == before:
        return
    if chosen != Role.OWNER:
        _require_another_owner(membership)
        end_those_of(membership.person, membership.team.invitations.all())
    membership.role = chosen
    membership.save(update_fields=["role"])
    _announce(membership)
    words = f"{membership.person} in {membership.team.title}"
    for account in (membership.person, membership.team.account):
        audit.note(audit.ROLE_CHANGED, by, words, person=account, before=before, role=chosen)


@transaction.atomic
def remove(membership: Membership, by: User) -> None:
    """End a membership; the person's open pages of the team close at once.

    Raises: Conflict for the last owner.
    """
    _require_another_owner(membership)
    team, person = membership.team, membership.person
    _announce(membership)
    end_those_of(person, team.invitations.all())
    membership.delete()
    action = audit.LEFT if by.pk == person.pk else audit.REMOVED
    for account in (person, team.account):
        audit.note(action, by, f"{person} from {team.title}", person=account)


def _require_another_owner(membership: Membership) -> None:
    if membership.role != Role.OWNER:
        return
    owners = Membership.objects.select_for_update().filter(
        team=membership.team, role=Role.OWNER, person__is_active=True
    )
    if len(owners.exclude(pk=membership.pk)) == 0:
        raise Conflict(
            f"{membership.person} is the only owner of {membership.team.name}. Make another person "
            "an owner first, or delete the team."
        )


@transaction.atomic
def delete_team(team: Team, by: User) -> None:
    """Delete a team that holds nothing any more. Raises: Conflict."""
    deleting.require_nothing_owned(team.account, f"The team {team.name}")
    if archived := EngineJob.objects.filter(owner=team.account).count():
        jobs = counted(archived, "archived job")
        raise Conflict(f"The team {team.name} still has {jobs}: move or delete them first.")
    for membership in team.memberships.all():
        _announce(membership)
    audit.note(audit.TEAM_DELETED, by, team.title)
    team.account.delete()


def _announce(membership: Membership) -> None:
    """Send ``membership_changed`` after the commit; a listener's failure is logged."""
    send = partial(
        membership_changed.send_robust,
        sender=Membership,
        person_id=membership.person_id,
        team_id=membership.team_id,
    )
    transaction.on_commit(send, robust=True)
