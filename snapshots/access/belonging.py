"""Decide about teams: who belongs to them, who leads them, and who owns what a person makes."""

from django.contrib.auth.models import User
from django.db.models import QuerySet

from snapshots.access.finding import LARGEST_KEY, key_of, number, one_of
from snapshots.access.roles import accounts_with, may_change, require_role
from snapshots.models import Recording, Topology
from snapshots.problems import NotFound
from webapp.teams.models import Membership, Team
from webapp.teams.roles import Role


def teams(user) -> QuerySet[Team]:
    """Return the teams to which the person belongs, by name."""
    return Team.objects.filter(memberships__person_id=key_of(user))


def team(user, pk: int) -> Team:
    """Return a team to which the person belongs. Raises: NotFound."""
    return one_of(teams(user), pk, "team")


def led_team(user, pk: int) -> Team:
    """Return a team whose people and settings the person decides. Raises: NotFound, NeedsRole."""
    led = team(user, pk)
    require_role(user, led.account_id, Role.OWNER)
    return led


def editable_teams(user) -> QuerySet[Team]:
    """Return the teams into which the person may put something, by name."""
    return Team.objects.filter(pk__in=accounts_with(user, Role.EDITOR))


def led_teams(user) -> QuerySet[Team]:
    """Return the teams that the person owns, by name."""
    return Team.objects.filter(pk__in=accounts_with(user, Role.OWNER))


def membership(user, team_id: int, person_id: int) -> Membership:
    """Return a membership that the person may change: their own, or any in a team they own.

    Raises: NotFound, NeedsRole.
    """
    seen = team(user, team_id)
    if person_id != key_of(user):
        require_role(user, seen.account_id, Role.OWNER)
    rows = seen.memberships.filter(person_id=person_id)
    row = rows.first() if abs(person_id) <= LARGEST_KEY else None
    if row is None:
        raise NotFound(f"No person {person_id} belongs to {seen.name}.")
    return row


def holder(user, team_number: int | str | None) -> User:
    """Return who will own what the person makes: the account of a team, or the person.

    Args:
        team_number: the number of the team, also as a text; None or empty for the person.

    Raises: NotFound, NeedsRole.
    """
    if team_number in (None, ""):
        return user
    chosen = team(user, number(team_number))
    require_role(user, chosen.account_id, Role.EDITOR)
    return chosen.account


def webhook_holder(user, team_number: int | str | None) -> User:
    """Return who will own a webhook: the account of a team that the person owns, or the person.

    Raises: NotFound, NeedsRole.
    """
    if team_number in (None, ""):
        return user
    return led_team(user, number(team_number)).account


def run_holder(user, source: Recording | Topology | None) -> User:
    """Return who will own a job or a run about something, and whose limits it counts for.

    That is the team to which the thing belongs if the person may change it there. The runs of a
    viewer and a commenter are their own, like those on a sample.
    """
    if source is None or source.owner is None or not may_change(user, source):
        return user
    return source.owner


MINE = "mine"


def owned_by(user, rows: QuerySet, team_number: str) -> QuerySet:
    """Return the rows of one team by its number, or the person's own for ``mine``.

    An empty text keeps all rows; what is no team of the person keeps none.
    """
    if not team_number:
        return rows
    if team_number == MINE:
        return rows.filter(owner_id=key_of(user))
    return rows.filter(owner_id=number(team_number), owner__team__isnull=False)
