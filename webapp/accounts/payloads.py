"""Build the API's answers about a person's own account."""

from datetime import datetime
from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots import allowances
from snapshots.payloads.dates import date
from webapp.accounts.models import ApiToken, AuditEntry, Session


class LimitsPayload(TypedDict):
    """A person's limits. 0 means no limit, and for ``retention_days`` for ever."""

    open_jobs: int
    collectors: int
    stored_bytes: int
    retention_days: int


class UsagePayload(TypedDict):
    open_jobs: int
    collectors: int
    recordings: int
    stored_bytes: int


class AuditItem(TypedDict):
    id: int
    at: str
    actor: str
    action: str
    subject: str
    address: str
    detail: dict[str, Any]


class AuditList(TypedDict):
    items: list[AuditItem]
    total: int


class OwnAccount(TypedDict):
    id: int
    email: str
    is_operator: bool
    limits: LimitsPayload
    usage: UsagePayload


class SessionItem(TypedDict):
    """A session; its ``id`` is for addresses and cannot sign anybody in."""

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


def limits(user) -> LimitsPayload:
    allowance = allowances.allowance(user)
    return {name: getattr(allowance, name) for name in allowances.NAMES}


def own_account(user) -> OwnAccount:
    used = allowances.usage(user)
    return {
        "id": user.pk,
        "email": user.username,
        "is_operator": user.is_staff,
        "limits": limits(user),
        "usage": {
            "open_jobs": used.open_jobs,
            "collectors": used.collectors,
            "recordings": used.recordings,
            "stored_bytes": used.stored_bytes,
        },
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
