"""The calls about teams: who belongs to them, and invitations."""

from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Field, Path, Router, Schema

from snapshots import access
from snapshots.problems import NotFound
from snapshots.web.api.parameters import Limit, Offset, PersonId, TeamId
from snapshots.web.json import reply, reply_page
from webapp.accounts.auth import SignedInRequest
from webapp.edge.idempotency import DOCUMENTED, idempotent
from webapp.teams import payloads, services
from webapp.teams.models import Team
from webapp.teams.roles import Role

router = Router()

InvitationId = Annotated[int, Path(description="The number of the invitation.")]
ROLES = "`viewer`, `commenter`, `editor` or `owner`."


class TeamName(Schema):
    """The name of a team."""

    name: Any = Field(None, description="The name of the team.", examples=["payments"])


class Invited(Schema):
    """An invitation."""

    address: Any = Field(None, description="The e-mail address.", examples=["grace@example.org"])
    role: Any = Field(None, description=ROLES, examples=["editor"])


class NewRole(Schema):
    """A role in a team."""

    role: Any = Field(None, description=ROLES, examples=["editor"])


@router.get("/teams", response=payloads.TeamList)
def list_teams(request: SignedInRequest, limit: Limit, offset: Offset) -> HttpResponse:
    """List the teams to which you belong, by name."""
    rows = request.user.memberships.select_related("team").order_by("team__name", "team_id")
    return reply_page(rows, offset, limit, payloads.team_item)


@router.post("/teams", response={201: payloads.TeamDetail}, openapi_extra=DOCUMENTED)
@idempotent
def create_team(request: SignedInRequest, body: TeamName) -> HttpResponse:
    """Make a team, of which you are the owner."""
    team = services.create_team(request.user, _text(body.name))
    return reply(payloads.team_detail(team, Role.OWNER), 201)


@router.get("/teams/{int:id}", response=payloads.TeamDetail)
def get_team(request: SignedInRequest, id: TeamId) -> HttpResponse:
    """Return a team with its people, what it uses and what it may use."""
    return reply(_detail(request, access.team(request.user, id)))


@router.patch("/teams/{int:id}", response=payloads.TeamDetail)
def rename_team(request: SignedInRequest, id: TeamId, body: TeamName) -> HttpResponse:
    """Give a team another name. It takes an owner."""
    team = access.led_team(request.user, id)
    services.rename_team(team, request.user, _text(body.name))
    return reply(_detail(request, team))


@router.delete("/teams/{int:id}", response={204: None})
def delete_team(request: SignedInRequest, id: TeamId) -> HttpResponse:
    """Delete a team that holds no recording, topology or mapping any more. It takes an owner."""
    services.delete_team(access.led_team(request.user, id), request.user)
    return HttpResponse(status=204)


@router.post(
    "/teams/{int:id}/invitations",
    response={201: payloads.MadeInvitation},
    openapi_extra=DOCUMENTED,
)
@idempotent(left_out=("link",))
def invite_person(request: SignedInRequest, id: TeamId, body: Invited) -> HttpResponse:
    """Invite an e-mail address. The link works once, within a week. It takes an owner.

    A repetition with the same `Idempotency-Key` gets an empty link: invite again to get one.
    """
    team = access.led_team(request.user, id)
    invitation, link = services.invite(team, request.user, _text(body.address), _text(body.role))
    return reply({"invitation": payloads.invitation_item(invitation), "link": link}, 201)


@router.delete("/teams/{int:id}/invitations/{int:invitation}", response={204: None})
def withdraw_invitation(
    request: SignedInRequest, id: TeamId, invitation: InvitationId
) -> HttpResponse:
    """Withdraw an invitation, so that its link stops working. It takes an owner."""
    row = access.led_team(request.user, id).invitations.filter(pk=invitation).first()
    if row is None:
        raise NotFound(f"The team has no invitation {invitation}.")
    services.withdraw(row, request.user)
    return HttpResponse(status=204)


@router.patch("/teams/{int:id}/people/{int:person}", response=payloads.MemberItem)
def change_role(
    request: SignedInRequest, id: TeamId, person: PersonId, body: NewRole
) -> HttpResponse:
    """Give a person another role in a team. It takes an owner."""
    access.led_team(request.user, id)
    row = access.membership(request.user, id, person)
    services.change_role(row, request.user, _text(body.role))
    return reply(payloads.member_item(row))


@router.delete("/teams/{int:id}/people/{int:person}", response={204: None})
def remove_person(request: SignedInRequest, id: TeamId, person: PersonId) -> HttpResponse:
    """Remove a person from a team, which takes an owner, or leave it yourself.

    The person's open pages of the team close at once.
    """
    services.remove(access.membership(request.user, id, person), request.user)
    return HttpResponse(status=204)


def _detail(request: SignedInRequest, team: Team) -> payloads.TeamDetail:
    role = access.role(request.user, team.account_id)
    return payloads.team_detail(team, str(role))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
