"""Build the API's answers about a person's own account."""

from typing import Annotated, Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots import allowances
from snapshots.domain.model.as_json import as_json
from snapshots.payloads.dates import date, optional_date
from snapshots.payloads.declaring import Payload, described, list_of, payload_of
from webapp.accounts.models import ApiToken, AuditEntry, Session

LimitsPayload = Annotated[dict[str, Any], Payload(payload_of(allowances.Limits, "LimitsPayload"))]
UsagePayload = Annotated[dict[str, Any], Payload(payload_of(allowances.Usage, "UsagePayload"))]


@described
class AuditItem(TypedDict):
    """An entry of the audit log.

    Attributes:
        id: the number of the entry.
        at: when it happened, as ISO 8601 in UTC.
        actor: the e-mail address of the person who did it, as it was then; empty for the server.
        action: what was done, such as ``signed-in`` or ``deleted``.
        subject: what it was done to, in words.
        address: the address of the client; empty where it is not known or not yours to see.
        detail: what else there is to know, by name.
    """

    id: int
    at: str
    actor: str
    action: str
    subject: str
    address: str
    detail: dict[str, Any]


AuditList = list_of(AuditItem, "AuditList")


@described
class OwnAccount(TypedDict):
    """The person who asks.

    Attributes:
        id: the number of the person.
        email: the e-mail address with which the person signs in.
        is_operator: whether the person is an operator.
        limits: how much the person may use.
        usage: how much the person uses.
    """

    id: int
    email: str
    is_operator: bool
    limits: LimitsPayload
    usage: UsagePayload


@described
class SessionItem(TypedDict):
    """A browser in which the person is signed in.

    Attributes:
        id: its name in addresses, which signs nobody in.
        created_at: when the person signed in, as ISO 8601 in UTC.
        last_used_at: when it was last used, as ISO 8601 in UTC; null where it never was.
        expires_at: when it ends, as ISO 8601 in UTC.
        address: the address from which the person signed in; empty where that is not known.
    """

    id: str
    created_at: str
    last_used_at: str | None
    expires_at: str
    address: str


SessionList = list_of(SessionItem, "SessionList", is_paged=False)


@described
class TokenItem(TypedDict):
    """A token for the API, without its secret part.

    Attributes:
        id: the number of the token.
        name: the name that the person gave it.
        prefix: its first characters, which tell tokens apart.
        scope: ``read`` or ``write``.
        created_at: when it was made, as ISO 8601 in UTC.
        last_used_at: when it was last used, as ISO 8601 in UTC; null where it never was.
        expires_at: when it stops working, as ISO 8601 in UTC; null where it never does.
    """

    id: int
    name: str
    prefix: str
    scope: str
    created_at: str
    last_used_at: str | None
    expires_at: str | None


TokenList = list_of(TokenItem, "TokenList", is_paged=False)


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
