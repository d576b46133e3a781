"""Say who can open the address of something, and let more people open it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User
from django.db import transaction

from snapshots import access
from snapshots.payloads.teams import Reader, SharingDetail, team_of
from snapshots.services import moving
from webapp.teams import services as teams

if TYPE_CHECKING:
    from webapp.teams.models import Team


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing that can be moved into a team.

    Attributes:
        noun: what a thing of this kind is called.
        visible: returns a thing that a person may see, by its number.
        own: returns a thing that a person may change, by its number.
        route: the name of the address of its page, or of the page that lists it.
    """

    noun: str
    visible: Callable[[Any, int], moving.Movable]
    own: Callable[[Any, int], moving.Movable]
    route: str


KINDS = {
    "recordings": Kind("recording", access.recording, access.own_recording, "recording"),
    "topologies": Kind("topology", access.topology, access.own_topology, "topology"),
    "mappings": Kind("mapping", access.mapping, access.own_mapping, "mapping"),
    "archive": Kind("archived job", access.engine_job, access.own_engine_job, "archived-job"),
    "reviews": Kind("review", access.review, access.own_review, "review"),
    "collectors": Kind("collector", access.collector, access.own_collector, "archive"),
}


def sharing_of(user: User, row: moving.Movable) -> SharingDetail:
    """Return who can open the address of a row that the person sees, and what moving it means."""
    may_move = access.may_change(user, row)
    return {
        "team": team_of(row),
        "everybody": row.owner_id is None,
        "people": _readers(row),
        "public_links": access.working_public_links(row),
        "may_move": may_move,
        "consequences": moving.consequences(row) if may_move else [],
    }


def _readers(row: moving.Movable) -> list[Reader]:
    team: Team | None = getattr(row.owner, "team", None)
    if team is not None:
        members = team.memberships.filter(person__is_active=True).select_related("person")
        return [{"email": one.person.username, "role": one.role} for one in members]
    return [{"email": row.owner.username, "role": "owner"}] if row.owner is not None else []


def move(user: User, row: moving.Movable, team_number: int | str | None) -> None:
    """Move a row that the person may change into a team, or to the person.

    Raises: NotFound, NeedsRole, Conflict, TooMany.
    """
    moving.move(row, access.holder(user, team_number), user)


@transaction.atomic
def move_into_new_team(user: User, row: moving.Movable, name: str) -> None:
    """Make a team, and move a row into it. Raises: Invalid, Conflict, TooMany."""
    moving.move(row, teams.create_team(user, name).account, user)
