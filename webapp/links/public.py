"""Make, follow and withdraw public links. Access is checked by ``snapshots.access``.

Raises: problems.Problem for a wrong request.
"""

import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from snapshots import access
from snapshots.models import Recording
from snapshots.problems import Invalid, TooMany
from snapshots.reviews.models import Review
from webapp.accounts import audit
from webapp.accounts.services import hashed
from webapp.edge.optional_writes import optionally
from webapp.links.ending import recheck_visitors
from webapp.links.models import ForbiddenTeam, PublicLink
from webapp.links.short import checked_name
from webapp.teams.models import Team

MOST_LINKS = 200  # to one recording or review
LONGEST_DAYS = 3_650


@transaction.atomic
def make(
    subject: Recording | Review,
    by: User,
    *,
    view: dict[str, Any] | None = None,
    name: object = "",
    days: object = None,
    with_notes: bool = False,
    with_downloads: bool = False,
) -> tuple[PublicLink, str]:
    """Make a public link; return it, and its address, which is kept nowhere.

    Args:
        subject: a recording or review that the person may change.
        by: who makes the link.
        view: the checked view that the workbench shows first; None for what it shows by itself.
        name: what the link is called; may be empty.
        days: after how many days it expires; None if it does not.
        with_notes: whether notes and the names of their authors are shown.
        with_downloads: whether the uploaded log can be downloaded.

    Raises: Invalid, Conflict where public links are forbidden, TooMany.
    """
    assert subject.owner is not None  # samples cannot be changed
    access.require_public_links(subject.owner)
    _require_room(subject)
    field = "review" if isinstance(subject, Review) else "recording"
    token = secrets.token_urlsafe(32)
    row = PublicLink.objects.create(
        token_hash=hashed(token),
        owner=subject.owner,
        view=view,
        name=checked_name(name),
        with_notes=with_notes,
        with_downloads=with_downloads,
        made_by=by,
        expires_at=_end(days),
        **{field: subject},
    )
    _note(audit.PUBLIC_LINK_MADE, by, row, expires_at=row.expires_at and str(row.expires_at))
    return row, f"{settings.PUBLIC_URL}/public/{token}"


def _require_room(subject: Recording | Review) -> None:
    used = subject.public_links.count()
    if used >= MOST_LINKS:
        raise TooMany(
            f"“{subject}” has {used} public links, which is the most. Withdraw one that is no "
            "longer needed.",
            limit=MOST_LINKS,
            used=used,
        )


def _end(days: object):
    """Return when a link expires that is made now. Raises: Invalid."""
    if days is None:
        return None
    if not isinstance(days, int) or isinstance(days, bool) or not 1 <= days <= LONGEST_DAYS:
        raise Invalid(f"days must be a whole number, 1 to {LONGEST_DAYS:,}, or null.", field="days")
    return timezone.now() + timedelta(days=days)


def follow(token: str) -> access.Visitor:
    """Return the visitor who opens a link, and note the use. Raises: NotFound."""
    visitor = access.visitor_with_token(hashed(token))
    same = PublicLink.objects.filter(pk=visitor.link.pk)
    optionally(lambda: same.update(uses=F("uses") + 1, last_used_at=timezone.now()))
    return visitor


@transaction.atomic
def withdraw(row: PublicLink, by: User) -> None:
    """Make a public link stop working; what it has open closes at once."""
    _note(audit.PUBLIC_LINK_WITHDRAWN, by, row, uses=row.uses)
    recheck_visitors(PublicLink.objects.filter(pk=row.pk))
    row.delete()


def _note(action: str, by: User, row: PublicLink, **detail: Any) -> None:
    audit.note(action, by, row.title, person=row.owner, **detail)


@transaction.atomic
def decide_for_team(team: Team, by: User, *, allowed: bool) -> None:
    """Allow or forbid the public links of a team, also those that were made before."""
    if allowed != access.forbids_public_links(team.pk):
        return
    if allowed:
        ForbiddenTeam.objects.filter(team=team).delete()
    else:
        ForbiddenTeam.objects.create(team=team)
        recheck_visitors(PublicLink.objects.filter(owner=team.account))
    action = audit.PUBLIC_LINKS_ALLOWED if allowed else audit.PUBLIC_LINKS_FORBIDDEN
    audit.note(action, by, team.title, person=team.account)
