"""Show people and teams to operators: lists, one of them, questions before serious actions."""

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from snapshots import allowances
from snapshots.problems import Conflict, NotFound, Problem
from snapshots.quantities import counted, file_size
from snapshots.web.pages.listing import Column, Listing
from snapshots.web.pages.rendering import wants_list_alone
from snapshots.web.tables.sending import show
from webapp.accounts import audit, deleting, people, proving
from webapp.accounts.auth import SignedInRequest
from webapp.operating.pages import operator_page

COLUMNS = [
    Column("Person", "username"),
    Column("Account", "is_active"),
    Column("Recordings", "recordings", is_number=True),
    Column("Stored", "stored", is_number=True),
    Column("Open jobs", "jobs_open", is_number=True),
    Column("Collectors", "collectors", is_number=True),
    Column("Unproven guests", "unproven_accounts", is_number=True),
    Column("Last seen, UTC", "seen_at", is_number=True),
]
SHOWN_ENTRIES = 20
FIELDS = [  # of the form of limits: name, label, hint
    ("stored_bytes", "Stored", "bytes, or a size such as 50 GB"),
    ("open_jobs", "Open jobs", "at once"),
    ("collectors", "Collectors", "at once"),
    ("retention_days", "Days that recordings stay", "0: for ever"),
]


@dataclass(frozen=True)
class Action:
    """An action of an operator on a person, and the question before it."""

    title: str
    consequence: str
    button: str
    do: Callable[[User, User], str]  # person, operator -> what happened
    is_serious: bool = True


def _close(user: User, by: User) -> str:
    closed = people.close(user, by)
    return (
        f"{user} is closed: {counted(closed.sessions, 'session')} ended, "
        f"{counted(closed.jobs, 'job')} cancelled, "
        f"{counted(closed.collectors, 'collector')} stopped."
    )


def _open(user: User, by: User) -> str:
    people.open_again(user, by)
    return f"{user} is open."


def _end_sessions(user: User, by: User) -> str:
    return f"{counted(people.end_sessions(user, by), 'session')} of {user} ended."


def _make_operator(user: User, by: User) -> str:
    people.make_operator(user, by)
    return f"{user} is an operator."


def _unmake_operator(user: User, by: User) -> str:
    people.unmake_operator(user, by)
    return f"{user} is no longer an operator."


def _delete(user: User, by: User) -> str:
    deleting.delete(user, by)
    return f"The account of {user} is deleted."


ACTIONS = {
    "close": Action(
        "Close the account",
        "Browsers are signed out, tokens stop working, open jobs are cancelled and collectors "
        "stop. Nothing is deleted, and the account can be opened again.",
        "Close",
        _close,
    ),
    "open": Action(
        "Open the account",
        "The person can sign in again, and tokens work again. Collectors stay stopped.",
        "Open",
        _open,
        is_serious=False,
    ),
    "end-sessions": Action(
        "Sign out everywhere",
        "Every browser in which the person is signed in is signed out. Tokens keep working.",
        "Sign out everywhere",
        _end_sessions,
    ),
    "make-operator": Action(
        "Make an operator",
        "The person can then close and delete accounts, change limits and read the audit log.",
        "Make an operator",
        _make_operator,
        is_serious=False,
    ),
    "unmake-operator": Action(
        "No longer an operator",
        "The person keeps the account and what is in it, and no longer sees these pages.",
        "Take it back",
        _unmake_operator,
    ),
    "delete": Action(
        "Delete the account",
        "This cannot be undone. The person's notes on what belongs to others stay.",
        "Delete",
        _delete,
    ),
}


@operator_page
@require_safe
def people_list(request: SignedInRequest) -> HttpResponseBase:
    listing = Listing(request, people.people(), COLUMNS, search=["username"], sort="-stored")
    name = "people_rows" if wants_list_alone(request) else "people"
    context = {"listing": listing, "teams": people.team_accounts()}
    return show(request, f"operating/{name}.html", context)


@operator_page
@require_safe
def person(request: SignedInRequest, pk: int) -> HttpResponseBase:
    return _render_account(request, people.person(pk), is_team=False)


@operator_page
@require_safe
def team(request: SignedInRequest, pk: int) -> HttpResponseBase:
    return _render_account(request, people.team_account(pk), is_team=True)


def _render_account(
    request: SignedInRequest, account: User, *, is_team: bool, refusal: Problem | None = None
) -> HttpResponseBase:
    """Show a person or a team; a refusal of new limits stands above what was typed."""
    context = {
        "quotas": allowances.quotas(account),
        "fields": _fields(request, account, refusal),
        "refusal": refusal,
        "allow": reverse("allow-team" if is_team else "allow-person", args=[account.pk]),
    }
    status = refusal.status if refusal else 200
    if is_team:
        return show(request, "operating/team.html", context | _of_team(account), status=status)
    return render(request, "operating/person.html", context | _of_person(account), status=status)


def _of_person(user: User) -> dict[str, object]:
    return {
        "person": user,
        "inviter": proving.inviter(user),
        "actions": [(slug, ACTIONS[slug]) for slug in _possible(user)],
    }


def _of_team(account: User) -> dict[str, object]:
    return {
        "account": account,
        "memberships": account.team.memberships.select_related("person"),
        "entries": audit.entries_of(account)[:SHOWN_ENTRIES],
        "all_entries": audit.entries_of(account),
    }


def _fields(request: SignedInRequest, user: User, refusal: Problem | None) -> list[dict]:
    own, server = allowances.own_limits(user), allowances.of_the_server()
    typed = request.POST
    return [
        {
            "name": name,
            "label": label,
            "hint": hint,
            "value": typed.get(name, "") if refusal else _shown(name, own.get(name)),
            "server": getattr(server, name),
            "is_wrong": refusal is not None and refusal.members.get("field") == name,
        }
        for name, label, hint in FIELDS
    ]


def _shown(name: str, limit: int | None) -> str:
    """Return a limit in a short form, such as 2 GB, if that loses nothing."""
    if limit is None:
        return ""
    words = file_size(limit) if name == "stored_bytes" else ""
    return words if words and people.checked_limit(name, words) == limit else str(limit)


def _possible(user: User) -> list[str]:
    if not user.is_active:
        return ["open", "delete"]
    return ["end-sessions", "unmake-operator" if user.is_staff else "make-operator", "close"]


@operator_page
@require_POST
def allow(request: SignedInRequest, pk: int) -> HttpResponseBase:
    user = people.person(pk)
    try:
        people.allow(user, request.user, _changes(request))
    except Problem as refusal:
        return _render_account(request, user, is_team=False, refusal=refusal)
    messages.success(request, f"The limits of {user} are changed.")
    return redirect("person", pk)


@operator_page
@require_POST
def allow_team(request: SignedInRequest, pk: int) -> HttpResponseBase:
    account = people.team_account(pk)
    try:
        people.allow(account, request.user, _changes(request))
    except Problem as refusal:
        return _render_account(request, account, is_team=True, refusal=refusal)
    messages.success(request, f"The limits of {account.team} are changed.")
    return redirect("team-of-operator", pk)


def _changes(request: SignedInRequest) -> dict[str, str]:
    return {name: request.POST.get(name, "") for name, *_ in FIELDS if name in request.POST}


@operator_page
@require_http_methods(["GET", "HEAD", "POST"])
def act(request: SignedInRequest, pk: int, slug: str) -> HttpResponseBase:
    """Ask before an action, then do it."""
    user = people.person(pk)
    if slug not in ACTIONS:
        raise NotFound(f"There is no action {slug!r}: choose one of {', '.join(ACTIONS)}.")
    if request.method != "POST":
        context = {"person": user, "action": ACTIONS[slug]}
        if slug == "delete":
            context["losses"] = deleting.losses(user)
        return render(request, "operating/confirm.html", context)
    try:
        messages.success(request, ACTIONS[slug].do(user, request.user))
    except Conflict as conflict:
        messages.error(request, conflict.detail)
        return redirect("person", pk)
    return redirect("people") if slug == "delete" else redirect("person", pk)


@operator_page
@require_http_methods(["GET", "HEAD", "POST"])
def hand_over(request: SignedInRequest, pk: int) -> HttpResponseBase:
    """Ask for the other person, then hand over."""
    giver = people.person(pk)
    to = request.POST.get("to", "")
    context: dict[str, object] = {"person": giver, "to": to}
    if request.method != "POST":
        return render(request, "operating/hand_over.html", context)
    try:
        taker = people.named(to)
        context |= {"taker": taker, "result": people.hand_over(giver, taker, request.user)}
    except Problem as refusal:
        context["refusal"] = refusal.detail
        return render(request, "operating/hand_over.html", context, status=refusal.status)
    return render(request, "operating/handed_over.html", context)
