"""Build the API's answers to operators."""

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots import allowances
from snapshots.domain.model.as_json import as_json
from snapshots.payloads.dates import optional_date
from snapshots.payloads.declaring import described, list_of
from webapp.accounts import deleting, proving
from webapp.accounts.payloads import LimitsPayload, UsagePayload
from webapp.teams.roles import Role


@described
class PersonItem(TypedDict):
    """A person in a list.

    Attributes:
        id: the number of the person.
        email: the e-mail address with which the person signs in.
        is_active: whether the account is open.
        is_operator: whether the person is an operator.
        seen_at: when the person was last seen, as ISO 8601 in UTC; null where that never was.
        sessions: in how many browsers the person is signed in.
        tokens: how many tokens the person has.
        invitations: how many invitations of the person are open.
        unproven_accounts: how many accounts the person's invitations made whose address nobody
            has proven.
        usage: how much the person uses.
    """

    id: int
    email: str
    is_active: bool
    is_operator: bool
    seen_at: str | None
    sessions: int
    tokens: int
    invitations: int
    unproven_accounts: int
    usage: UsagePayload


@described
class PersonDetail(PersonItem):
    """A person with the limits that hold.

    Attributes:
        limits: how much the person may use.
        own_limits: the limits that differ from the server's settings, by name.
        unproven_invited_by: who made the invitation that made the account, while nobody has
            proven to have the address; null otherwise.
        goes_with_account: what would be deleted with the account, as sentences.
    """

    limits: LimitsPayload
    own_limits: dict[str, int]
    unproven_invited_by: str | None
    goes_with_account: list[str]


@described
class TeamUsage(TypedDict):
    """A team with what it uses and may use.

    Attributes:
        id: the number of the team.
        name: the name of the team.
        owners: the e-mail addresses of its owners.
        members: how many people belong to it.
        usage: how much the team uses.
        limits: how much the team may use.
        own_limits: the limits that differ from the server's settings, by name.
    """

    id: int
    name: str
    owners: list[str]
    members: int
    usage: UsagePayload
    limits: LimitsPayload
    own_limits: dict[str, int]


TeamUsageList = list_of(TeamUsage, "TeamUsageList")
PersonList = list_of(PersonItem, "PersonList")


@described
class HandOverPayload(TypedDict):
    """What was handed over to another person.

    Attributes:
        moved: how many of each kind were handed over.
        left: what stayed, as sentences.
    """

    moved: dict[str, int]
    left: list[str]


def person_item(user) -> PersonItem:
    """Return a row of ``people.people`` as it stands in lists."""
    return {
        "id": user.pk,
        "email": user.username,
        "is_active": user.is_active,
        "is_operator": user.is_staff,
        "seen_at": optional_date(user.seen_at),
        "sessions": user.session_count,
        "tokens": user.token_count,
        "invitations": user.invitations,
        "unproven_accounts": user.unproven_accounts,
        "usage": _usage(user),
    }


def _usage(account) -> dict[str, int]:
    return {
        "open_jobs": account.jobs_open,
        "collectors": account.collectors,
        "recordings": account.recordings,
        "stored_bytes": account.stored,
    }


def team_usage(account) -> TeamUsage:
    """Return a row of ``people.team_accounts`` with the limits that hold for the team."""
    memberships = list(account.team.memberships.select_related("person"))
    return {
        "id": account.pk,
        "name": account.team.name,
        "owners": [row.person.username for row in memberships if row.role == Role.OWNER],
        "members": len(memberships),
        "usage": _usage(account),
        "limits": as_json(allowances.allowance(account)),
        "own_limits": allowances.own_limits(account),
    }


def person_detail(user) -> PersonDetail:
    """Return a row of ``people.people`` with the limits that hold for the person."""
    return {
        **person_item(user),
        "limits": as_json(allowances.allowance(user)),
        "own_limits": allowances.own_limits(user),
        "unproven_invited_by": proving.inviter(user),
        "goes_with_account": deleting.losses(user),
    }
