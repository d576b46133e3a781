"""Build the API's answers about a person's own account."""

from datetime import datetime
from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots import allowances
from snapshots.domain.model.as_json import as_json
from snapshots.payloads.dates import date
from snapshots.payloads.declaring import described, list_of, payload_of
from webapp.accounts.models import ApiToken, AuditEntry, Session

LimitsPayload = payload_of(allowances.Limits, "LimitsPayload")
UsagePayload = payload_of(allowances.Usage, "UsagePayload")


class AuditItem(TypedDict):
    id: int
    at: str
    actor: str
    action: str
    subject: str
    address: str
    detail: dict[str, Any]


AuditList = list_of(AuditItem, "AuditList")


class OwnAccount(TypedDict):
    id: int
    email: str
    is_operator: bool
    limits: LimitsPayload  # type: ignore[valid-type]
    usage: UsagePayload  # type: ignore[valid-type]


@described
class SessionItem(TypedDict):
    """A browser in which the person is signed in.

    Attributes:
        id: its name in addresses, which signs nobody in.
    """

    id: str
    created_at: str
    last_used_at: str | None
    expires_at: str
    address: str


class SessionList(TypedDict):
    items: list[SessionItem]


class TokenItem(TypedDict):
    id: int
    name: str
    prefix: str
    scope: str
    created_at: str
    last_used_at: str | None
    expires_at: str | None


class TokenList(TypedDict):
    items: list[TokenItem]


def own_account(user) -> OwnAccount:
    return {
        "id": user.pk,
        "email": user.username,
        "is_operator": user.is_staff,
        "limits": as_json(allowances.allowance(user)),
        "usage": as_json(allowances.usage(user)),
    }


def audit_item(entry: AuditEntry) -> AuditItem:
    return {
        "id": entry.pk,
        "at": date(entry.at),
        "actor": entry.actor,
        "action": entry.action,
        "subject": entry.subject,
        "address": entry.address,
        "detail": entry.detail,
    }


def own_audit_item(entry: AuditEntry, user) -> AuditItem:
    """Return the entry as the person may see it: without the address of other people."""
    own = entry.actor_id == user.pk
    return {**audit_item(entry), "address": entry.address if own else ""}


def session_item(session: Session) -> SessionItem:
    return {
        "id": session.pk,
        "created_at": date(session.created_at),
        "last_used_at": optional_date(session.last_used_at),
        "expires_at": date(session.expire_date),
        "address": session.address,
    }


def token_item(token: ApiToken) -> TokenItem:
    return {
        "id": token.pk,
        "name": token.name,
        "prefix": token.prefix,
        "scope": token.scope,
        "created_at": date(token.created_at),
        "last_used_at": optional_date(token.last_used_at),
        "expires_at": optional_date(token.expires_at),
    }


def optional_date(moment: datetime | None) -> str | None:
    return None if moment is None else date(moment)
