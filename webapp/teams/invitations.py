"""Limit invitations, and end those of people who may no longer invite."""

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils import timezone

from snapshots.problems import TooMany
from snapshots.quantities import thousands
from webapp.accounts.models import UnprovenAccount
from webapp.teams.models import Invitation, Membership
from webapp.teams.roles import Role

KEPT = timedelta(days=30)
"""How long after its end a link still says why it does not work, used or not."""


def require_room(person: User) -> None:
    """Refuse another invitation to whoever has made as many as allowed. Raises: TooMany.

    Each link that is opened makes an account with limits of its own. So the accounts count until
    their address is proven, and their own invitations count for whoever invited them first.
    """
    invited_first = _invited_first(person)
    User.objects.select_for_update(no_key=True).filter(username=invited_first).first()
    accounts = _accounts_of(invited_first)
    names = {invited_first, *accounts}
    still_open = Invitation.objects.filter(
        made_by__username__in=names, accepted_at=None, expires_at__gt=timezone.now()
    )
    used = still_open.count() + len(accounts)
    if settings.MAX_INVITATIONS and used >= settings.MAX_INVITATIONS:
        raise TooMany(
            "Your open invitations, and the accounts that came of them and are not proven yet: "
            f"{thousands(used)}, of {thousands(settings.MAX_INVITATIONS)} that you may have. "
            "Withdraw an invitation, or ask the operator of this server.",
            limit=settings.MAX_INVITATIONS,
            used=used,
        )


def _invited_first(person: User) -> str:
    """Return the proven person from whom the account came, in any number of invitations."""
    name, seen = person.username, set()
    while name not in seen:
        seen.add(name)
        row = UnprovenAccount.objects.filter(user__username=name).first()
        name = row.invited_by if row is not None else name
    return name


def _accounts_of(name: str) -> set[str]:
    """Return the unproven accounts that came from a person, in any number of invitations."""
    found: set[str] = set()
    newest = {name}
    while newest:
        rows = UnprovenAccount.objects.filter(invited_by__in=newest)
        newest = set(rows.values_list("user__username", flat=True)) - found - {name}
        found |= newest
    return found


def made_by_an_owner(invitation: Invitation) -> bool:
    """Tell whether whoever made the invitation still owns the team and has an open account."""
    return Membership.objects.filter(
        team=invitation.team,
        person=invitation.made_by_id,
        role=Role.OWNER,
        person__is_active=True,
    ).exists()


def end_those_of(person: User, among: QuerySet[Invitation]) -> int:
    """Delete the open invitations that a person made or got; return their number."""
    theirs = Q(made_by=person) | Q(address=person.username)
    return among.filter(theirs, accepted_at=None).delete()[0]


def forget_old() -> int:
    """Delete the invitations that ended long ago; return their number."""
    return Invitation.objects.filter(expires_at__lt=timezone.now() - KEPT).delete()[0]
