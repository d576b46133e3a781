"""End the invitations of people who may no longer invite."""

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from webapp.teams.models import Invitation, Membership
from webapp.teams.roles import Role


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
