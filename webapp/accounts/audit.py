"""Add entries to the audit log (who did what, when, from where) and read them."""

import logging
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from webapp.accounts.models import AuditEntry

logger = logging.getLogger(__name__)

SIGNED_IN = "signed-in"
SIGNED_OUT = "signed-out"
SIGN_IN_REFUSED = "sign-in-refused"
LINK_MADE = "link-made"
SESSIONS_ENDED = "sessions-ended"
TOKEN_MADE = "token-made"
TOKEN_REVOKED = "token-revoked"
UPLOADED = "uploaded"
DOWNLOADED = "downloaded"
DELETED = "deleted"
ACCOUNT_CLOSED = "account-closed"
ACCOUNT_OPENED = "account-opened"
ACCOUNT_DELETED = "account-deleted"
HANDED_OVER = "handed-over"
ALLOWANCE_CHANGED = "allowance-changed"
RETENTION_CHANGED = "retention-changed"
OPERATOR_MADE = "operator-made"
OPERATOR_UNMADE = "operator-unmade"
TEAM_MADE = "team-made"
TEAM_RENAMED = "team-renamed"
TEAM_DELETED = "team-deleted"
INVITED = "invited"
INVITATION_WITHDRAWN = "invitation-withdrawn"
JOINED = "joined"
LEFT = "left"
REMOVED = "removed"
ROLE_CHANGED = "role-changed"
MOVED = "moved"
ADDRESS_PROVEN = "address-proven"
IDENTITY_LINKED = "identity-linked"
IDENTITY_UNLINKED = "identity-unlinked"
WEBHOOK_MADE = "webhook-made"
WEBHOOK_CHANGED = "webhook-changed"
WEBHOOK_REMOVED = "webhook-removed"
NOTED = "noted"
NOTE_EDITED = "note-edited"
NOTE_RESOLVED = "note-resolved"
NOTE_REOPENED = "note-reopened"
NOTE_DELETED = "note-deleted"
NOTES_IMPORTED = "notes-imported"
REVIEW_OPENED = "review-opened"
REVIEW_CHANGED = "review-changed"
REVIEW_DELETED = "review-deleted"
PUBLIC_LINK_MADE = "public-link-made"
PUBLIC_LINK_WITHDRAWN = "public-link-withdrawn"
PUBLIC_LINKS_FORBIDDEN = "public-links-forbidden"
PUBLIC_LINKS_ALLOWED = "public-links-allowed"
BACKED_UP = "backed-up"
ACTIONS = (
    *[SIGNED_IN, SIGNED_OUT, SIGN_IN_REFUSED, LINK_MADE, SESSIONS_ENDED, TOKEN_MADE],
    *[TOKEN_REVOKED, UPLOADED, DOWNLOADED, DELETED, ACCOUNT_CLOSED, ACCOUNT_OPENED],
    *[ACCOUNT_DELETED, HANDED_OVER, ALLOWANCE_CHANGED, RETENTION_CHANGED, OPERATOR_MADE],
    *[OPERATOR_UNMADE, TEAM_MADE, TEAM_RENAMED, TEAM_DELETED, INVITED, INVITATION_WITHDRAWN],
    *[JOINED, LEFT, REMOVED, ROLE_CHANGED, MOVED, ADDRESS_PROVEN],
    *[IDENTITY_LINKED, IDENTITY_UNLINKED, WEBHOOK_MADE, WEBHOOK_CHANGED, WEBHOOK_REMOVED],
    *[NOTED, NOTE_EDITED, NOTE_RESOLVED, NOTE_REOPENED, NOTE_DELETED, NOTES_IMPORTED],
    *[REVIEW_OPENED, REVIEW_CHANGED, REVIEW_DELETED],
    *[PUBLIC_LINK_MADE, PUBLIC_LINK_WITHDRAWN, PUBLIC_LINKS_FORBIDDEN, PUBLIC_LINKS_ALLOWED],
    BACKED_UP,
)
REFUSALS_AN_HOUR = 100  # strangers cause these entries and must not fill the disk

_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)


def middleware(get_response):
    """Store the current request for ``note``, which reads the client's address from it."""

    def answer(request: HttpRequest):
        token = _request.set(request)
        try:
            return get_response(request)
        finally:
            _request.reset(token)

    return answer


def note(
    action: str,
    actor,
    subject: str = "",
    *,
    person=None,
    request: HttpRequest | None = None,
    **detail: Any,
) -> AuditEntry:
    """Add an entry to the audit log, in the open transaction.

    Args:
        action: what was done, one of ACTIONS.
        actor: the person who did it; None for the server itself or its shell.
        subject: the object, in words that outlive it: ``recording 7 “two banks”``.
        person: whom it concerns, if not the actor.
        request: the request with the client's address, if not the current one.
        detail: further members, as JSON.
    """
    return AuditEntry.objects.create(
        at=timezone.now(),
        actor_id=actor.pk if actor is not None else None,
        actor=actor.get_username() if actor is not None else "",
        person_id=person.pk if person is not None else None,
        action=action,
        subject=subject.replace("\0", "")[:200],
        address=client_address(request),
        detail=detail,
    )


def name_of(account) -> str:
    """Return the address of a person, or the number and name of a team."""
    team = getattr(account, "team", None)
    return str(account) if team is None else team.title


def note_refusal(reason: str) -> None:
    """Add an entry for a refused sign-in, at most REFUSALS_AN_HOUR times; log further ones."""
    hour_ago = timezone.now() - timedelta(hours=1)
    noted = AuditEntry.objects.filter(action=SIGN_IN_REFUSED, at__gt=hour_ago).count()
    if noted >= REFUSALS_AN_HOUR:
        logger.warning("A sign-in from %s was refused: %s", client_address(), reason)
        return
    last: dict[str, Any] = {"last_of_hour": True} if noted == REFUSALS_AN_HOUR - 1 else {}
    note(SIGN_IN_REFUSED, None, reason, **last)


def client_address(request: HttpRequest | None = None) -> str:
    """Return the address of the client that sent the request; empty in the shell."""
    request = request or _request.get()
    return (request.META.get("REMOTE_ADDR") or "") if request is not None else ""


def last(action: str) -> AuditEntry | None:
    """Return the newest entry of an action; None if there is none."""
    return AuditEntry.objects.filter(action=action).order_by("-pk").first()


def entries_of(user) -> QuerySet[AuditEntry]:
    """Return what the person did and what was done to their account, the newest first."""
    return AuditEntry.objects.filter(Q(actor_id=user.pk) | Q(person_id=user.pk))
