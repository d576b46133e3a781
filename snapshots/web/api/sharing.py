"""The calls that say who can open something, and that move it into a team."""

from typing import Annotated

from django.http import HttpResponse
from ninja import Field, Path, Router, Schema

from snapshots.payloads.teams import SharingDetail
from snapshots.services import sharing
from snapshots.web.json import reply
from webapp.accounts.auth import SignedInRequest
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()

Kind = Annotated[
    str,
    Path(
        description="`recordings`, `topologies`, `mappings`, `archive`, `reviews` or `collectors`."
    ),
]
Number = Annotated[int, Path(description="The number of the recording, topology and so on.")]


class Destination(Schema):
    """Who gets something."""

    team: int | None = Field(
        None, description="The number of the team; null to take it back for yourself alone."
    )


@router.get("/{kind:kind}/{int:id}/sharing", response=SharingDetail)
def get_sharing(request: SignedInRequest, kind: Kind, id: Number) -> HttpResponse:
    """Return who can open something, and what would go along if you moved it."""
    row = sharing.KINDS[kind].visible(request.user, id)
    return reply(sharing.sharing_of(request.user, row))


@router.post("/{kind:kind}/{int:id}/move", response=SharingDetail, openapi_extra=DOCUMENTED)
@idempotent
def move_to_team(
    request: SignedInRequest, kind: Kind, id: Number, body: Destination
) -> HttpResponse:
    """Move something into a team, or from a team to you alone.

    It takes an editor of both teams. Nothing is copied, and its address stays.
    """
    row = sharing.KINDS[kind].own(request.user, id)
    sharing.move(request.user, row, body.team)
    return reply(sharing.sharing_of(request.user, row))
