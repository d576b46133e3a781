"""Decide who may see and delete short links."""

from django.db.models import QuerySet

from snapshots.access.finding import key_of
from snapshots.access.roles import may_change, require_role
from snapshots.access.seeing import noted
from snapshots.models import EngineJob, Recording
from snapshots.problems import NotFound, NotYours
from webapp.links.models import ShortLink
from webapp.teams.roles import Role


def short_links(user, row: Recording | EngineJob) -> QuerySet[ShortLink]:
    """Return the short links of a row that the person sees, the newest first.

    Of a sample, which strangers share, they are the person's own.
    """
    rows = row.short_links.select_related("made_by", "recording", "engine_job")
    return rows.filter(made_by_id=key_of(user)) if row.owner_id is None else rows


def short_link(user, key: str) -> ShortLink:
    """Return a short link of something that the person may see. Raises: NotFound."""
    rows = ShortLink.objects.select_related("made_by", "recording", "engine_job")
    row = rows.filter(noted(user), key=key).first()
    if row is None:
        raise NotFound("There is no such link, or what it shows belongs to someone else.")
    return row


def own_short_link(user, key: str) -> ShortLink:
    """Return a short link that the person may delete: their own, or any as an editor.

    Raises: NotFound, NeedsRole, NotYours.
    """
    row = short_link(user, key)
    if not may_delete_link(user, row):
        if row.subject.owner_id is None:
            raise NotYours("Only the person who made this link can delete it.")
        require_role(user, row.subject.owner_id, Role.EDITOR)
    return row


def may_delete_link(user, row: ShortLink) -> bool:
    """Tell whether the person may rename and delete a short link that they see."""
    return row.made_by_id == key_of(user) or may_change(user, row.subject)
