"""Build the API's answers to operators."""

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots import allowances
from webapp.accounts.payloads import LimitsPayload, UsagePayload, limits, optional_date


class PersonItem(TypedDict):
    id: int
    email: str
    is_active: bool
    is_operator: bool
    seen_at: str | None
    sessions: int
    tokens: int
    usage: UsagePayload


class PersonDetail(PersonItem):
    """A person with their limits; ``own_limits`` differ from the server's settings."""

    limits: LimitsPayload
    own_limits: dict[str, int]


class PersonList(TypedDict):
    items: list[PersonItem]
    total: int


class HandOverPayload(TypedDict):
    """The result of a hand-over: how many rows of each kind moved, and sentences about the rest."""

    moved: dict[str, int]
    left: list[str]


def person_item(user) -> PersonItem:
    """Return the payload of a row of ``people.people``."""
    return {
        "id": user.pk,
        "email": user.username,
        "is_active": user.is_active,
        "is_operator": user.is_staff,
        "seen_at": optional_date(user.seen_at),
        "sessions": user.session_count,
        "tokens": user.token_count,
        "usage": {
            "open_jobs": user.jobs_open,
            "collectors": user.collectors,
            "recordings": user.recordings,
            "stored_bytes": user.stored,
        },
    }


def person_detail(user) -> PersonDetail:
    """Return the payload of a row of ``people.people``, with limits."""
    return {**person_item(user), "limits": limits(user), "own_limits": allowances.own_limits(user)}
