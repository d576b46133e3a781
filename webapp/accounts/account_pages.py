"""Show a person's own page: tokens, sessions, usage, and what they did."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from snapshots import allowances
from snapshots.quantities import counted
from snapshots.web.pages.rendering import page
from snapshots.web.tables.sending import show
from webapp import recorder_wheel
from webapp.accounts import audit, closing, services
from webapp.accounts.auth import SignedInRequest
from webapp.accounts.forms import TokenForm
from webapp.accounts.models import ApiToken
from webapp.accounts.sessions import key_hash

SHOWN_ENTRIES = 20
ENTRIES_ON_A_PAGE = 100


@page
@require_safe
def account(request: SignedInRequest) -> HttpResponseBase:
    return render_account(request, TokenForm())


@never_cache
@require_POST
def create_token(request: SignedInRequest) -> HttpResponseBase:
    """Create a token and show it at once: it is stored nowhere, so a redirect could not show it."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return render_account(request, form, status=422)
    row, token = make_token(request.user, **form.cleaned_data)
    return render_account(request, TokenForm(), new_row=row, new_token=token)


@transaction.atomic
def make_token(user, name: str, scope: str, days: int | None) -> tuple[ApiToken, str]:
    """Create a token on its person's request, with an entry in the audit log."""
    row, token = services.make_token(user, name, scope=scope, days=days)
    audit.note(audit.TOKEN_MADE, user, str(row), scope=scope, days=days)
    return row, token


@require_POST
def revoke_token(request: SignedInRequest, pk: int) -> HttpResponseBase:
    token = get_object_or_404(request.user.api_tokens, pk=pk)
    forget_token(token)
    messages.success(request, f"The token {token.name} is revoked.")
    return redirect("account")


@transaction.atomic
def forget_token(token: ApiToken) -> None:
    """Revoke a token on its person's request, with an entry in the audit log."""
    audit.note(audit.TOKEN_REVOKED, token.user, str(token))
    token.delete()


@require_POST
def end_session(request: SignedInRequest, pk: str) -> HttpResponseBase:
    """End another session of the person; this one can only be ended by signing out."""
    session = get_object_or_404(request.user.sessions, pk=pk)
    if session.pk == this_session(request):
        messages.error(request, "This is your current session. Sign out to end it.")
        return redirect("account")
    with transaction.atomic():
        closing.end_session(session)
        audit.note(audit.SESSIONS_ENDED, request.user, "1 session")
    messages.success(request, "The session is ended.")
    return redirect("account")


@require_POST
def end_other_sessions(request: SignedInRequest) -> HttpResponseBase:
    with transaction.atomic():
        ended = closing.end_sessions(request.user, keep=this_session(request))
        if ended:
            audit.note(audit.SESSIONS_ENDED, request.user, counted(ended, "session"))
    messages.success(request, f"{counted(ended, 'other session')} ended.")
    return redirect("account")


@page
@require_safe
def activity(request: SignedInRequest) -> HttpResponseBase:
    """Show all entries of the audit log that concern the person."""
    entries = Paginator(audit.entries_of(request.user), ENTRIES_ON_A_PAGE)
    context = {
        "page": entries.get_page(request.GET.get("page")),
        "all_entries": audit.entries_of(request.user),
    }
    return show(request, "accounts/activity.html", context)


def this_session(request: SignedInRequest) -> str | None:
    """Return the hash of the session that sent the request, or None if a token sent it."""
    key = request.session.session_key
    return key_hash(key) if key else None


def render_account(
    request: SignedInRequest, form: TokenForm, *, status: int = 200, **new: object
) -> HttpResponseBase:
    user = request.user
    context = {
        "form": form,
        "tokens": user.api_tokens.all(),
        "sessions": user.sessions.all(),
        "this_session": this_session(request),
        "recorder": recorder_wheel.NAME,
        "quotas": allowances.quotas(user),
        "retention_days": allowances.allowance(user).retention_days,
        "entries": audit.entries_of(user)[:SHOWN_ENTRIES],
        "all_entries": audit.entries_of(user),
        **new,
    }
    return show(request, "accounts/account.html", context, status=status)
