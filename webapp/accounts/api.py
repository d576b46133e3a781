"""The calls about a person's own account: usage, tokens, sessions, and what they did.

Tokens are made only on the account page: a token that could make others would outlive its end.
"""

from functools import partial
from typing import Annotated

from django.db import transaction
from django.http import HttpResponse
from ninja import Path, Router

from snapshots.problems import NotFound
from snapshots.web.api.parameters import Limit, Offset
from snapshots.web.json import reply, reply_page
from webapp.accounts import audit, closing, payloads
from webapp.accounts.account_pages import forget_token
from webapp.accounts.auth import SignedInRequest

router = Router()

SessionId = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="The id of the session.")]
TokenId = Annotated[int, Path(description="The number of the token.")]


@router.get("/account", response=payloads.OwnAccount)
def get_account(request: SignedInRequest) -> HttpResponse:
    """Return who you are, what you may use, and what you use."""
    return reply(payloads.own_account(request.user))


@router.get("/account/activity", response=payloads.AuditList)
def list_activity(request: SignedInRequest, limit: Limit, offset: Offset) -> HttpResponse:
    """List what you did and what was done to your account, newest first."""
    payload = partial(payloads.own_audit_item, user=request.user)
    return reply_page(audit.entries_of(request.user), offset, limit, payload)


@router.get("/account/sessions", response=payloads.SessionList)
def list_sessions(request: SignedInRequest) -> HttpResponse:
    """List the browsers in which you are signed in."""
    return reply({"items": [payloads.session_item(row) for row in request.user.sessions.all()]})


@router.delete("/account/sessions/{id}", response={204: None})
def end_session(request: SignedInRequest, id: SessionId) -> HttpResponse:
    """End one session, which signs its browser out."""
    session = request.user.sessions.filter(pk=id).first()
    if session is None:
        raise NotFound("There is no such session, or it belongs to someone else.")
    with transaction.atomic():
        closing.end_session(session)
        audit.note(audit.SESSIONS_ENDED, request.user, "1 session")
    return HttpResponse(status=204)


@router.get("/account/tokens", response=payloads.TokenList)
def list_tokens(request: SignedInRequest) -> HttpResponse:
    """List your tokens, without their secret part."""
    return reply({"items": [payloads.token_item(row) for row in request.user.api_tokens.all()]})


@router.delete("/account/tokens/{int:id}", response={204: None})
def revoke_token(request: SignedInRequest, id: TokenId) -> HttpResponse:
    """Revoke a token. It stops working at once."""
    token = request.user.api_tokens.filter(pk=id).first()
    if token is None:
        raise NotFound(f"There is no token {id}, or it belongs to someone else.")
    forget_token(token)
    return HttpResponse(status=204)
