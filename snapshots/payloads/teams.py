"""Say which team owns something."""

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.declaring import described


@described
class OwningTeam(TypedDict):
    """The team that something belongs to.

    Attributes:
        id: the number of the team.
        name: the name of the team.
    """

    id: int
    name: str


@described
class Reader(TypedDict):
    """A person who can open something.

    Attributes:
        email: the e-mail address of the person.
        role: ``viewer``, ``commenter``, ``editor`` or ``owner``.
    """

    email: str
    role: str


@described
class SharingDetail(TypedDict):
    """Who can open something.

    Attributes:
        team: the team that owns it; null for a person's own and for samples.
        everybody: whether everyone who signs in to this server can open it, as with samples.
        people: who can open it besides; for a person's own only that person.
        public_links: how many public links to it work; whoever has one sees the workbench of the
            recording, or the review, without an account.
        may_move: whether you may move it.
        consequences: what would go along and what would stay, as sentences; empty unless you may
            move it.
    """

    team: OwningTeam | None
    everybody: bool
    people: list[Reader]
    public_links: int
    may_move: bool
    consequences: list[str]


def team_of(row) -> OwningTeam | None:
    """Return the team that owns a row, or None for a sample and for a person's own."""
    team = getattr(row.owner, "team", None)
    return None if team is None else {"id": team.pk, "name": team.name}
