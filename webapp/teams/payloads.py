"""Build the API's answers about teams."""

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots import allowances
from snapshots.domain.model.as_json import as_json
from snapshots.payloads.dates import date
from snapshots.payloads.declaring import described, list_of
from webapp.accounts.payloads import LimitsPayload, UsagePayload
from webapp.teams.models import Invitation, Membership, Team
from webapp.teams.roles import Role


@described
class TeamItem(TypedDict):
    """A team to which you belong.

    Attributes:
        id: the number of the team.
        name: the name of the team.
        role: your role in it: ``viewer``, ``commenter``, ``editor`` or ``owner``.
        members: how many people belong to the team.
        created_at: when it was made, as ISO 8601 in UTC.
    """

    id: int
    name: str
    role: str
    members: int
    created_at: str


TeamList = list_of(TeamItem, "TeamList")


@described
class MemberItem(TypedDict):
    """A person in a team.

    Attributes:
        id: the number of the person.
        email: the e-mail address of the person.
        role: ``viewer``, ``commenter``, ``editor`` or ``owner``.
        since: when the person joined, as ISO 8601 in UTC.
    """

    id: int
    email: str
    role: str
    since: str


@described
class InvitationItem(TypedDict):
    """An invitation that has not been accepted, without its link.

    Attributes:
        id: the number of the invitation.
        address: the e-mail address that is invited.
        role: the role that the person will have.
        expires_at: when its link stops working, as ISO 8601 in UTC.
        is_open: whether its link still works.
    """

    id: int
    address: str
    role: str
    expires_at: str
    is_open: bool


@described
class TeamDetail(TypedDict):
    """A team with its people.

    Attributes:
        id: the number of the team.
        name: the name of the team.
        role: your role in it: ``viewer``, ``commenter``, ``editor`` or ``owner``.
        people: who belongs to the team, the first who joined first.
        invitations: the invitations that nobody has accepted; null unless you are an owner.
        limits: how much the team may use.
        usage: how much the team uses.
        created_at: when it was made, as ISO 8601 in UTC.
    """

    id: int
    name: str
    role: str
    people: list[MemberItem]
    invitations: list[InvitationItem] | None
    limits: LimitsPayload
    usage: UsagePayload
    created_at: str


@described
class MadeInvitation(TypedDict):
    """A new invitation.

    Attributes:
        invitation: the invitation.
        link: the address that the invited person opens; it cannot be shown again, and is empty
            in a repeated answer.
    """

    invitation: InvitationItem
    link: str


def team_item(membership: Membership) -> TeamItem:
    """Return a team as the member of ``membership`` sees it."""
    team = membership.team
    return {
        "id": team.pk,
        "name": team.name,
        "role": membership.role,
        "members": team.memberships.count(),
        "created_at": date(team.created_at),
    }


def team_detail(team: Team, role: str) -> TeamDetail:
    """Return a team as a member with this role sees it."""
    waiting = team.invitations.filter(accepted_at=None)
    return {
        "id": team.pk,
        "name": team.name,
        "role": role,
        "people": [member_item(row) for row in team.memberships.select_related("person")],
        "invitations": [invitation_item(row) for row in waiting] if role == Role.OWNER else None,
        "limits": as_json(allowances.allowance(team.account)),
        "usage": as_json(allowances.usage(team.account)),
        "created_at": date(team.created_at),
    }


def member_item(membership: Membership) -> MemberItem:
    """Return a person in a team."""
    return {
        "id": membership.person_id,
        "email": membership.person.username,
        "role": membership.role,
        "since": date(membership.since),
    }


def invitation_item(invitation: Invitation) -> InvitationItem:
    """Return an invitation without its link, which is not kept."""
    return {
        "id": invitation.pk,
        "address": invitation.address,
        "role": invitation.role,
        "expires_at": date(invitation.expires_at),
        "is_open": invitation.is_open,
    }
