"""Decide who may write notes, change them, and put them into the timeline of a review."""

from snapshots.access.finding import key_of
from snapshots.access.roles import require_role
from snapshots.models import EngineJob, Recording
from snapshots.problems import NotYours, ReadOnly
from snapshots.reviews.models import Review
from webapp.teams.roles import Role


def require_commenter(user, row: Recording | EngineJob) -> None:
    """Refuse a person who may not write notes on a visible row. Raises: ReadOnly, NeedsRole."""
    if row.owner_id is None:
        raise ReadOnly(
            f"“{row}” is a sample, which strangers share, so it has no notes. Upload a log of "
            "your own, and write them there."
        )
    require_role(user, row.owner_id, Role.COMMENTER)


def require_author(user, row: Recording | EngineJob, author_id: int | None) -> None:
    """Refuse to change a note of somebody else. Raises: ReadOnly, NeedsRole, NotYours."""
    require_commenter(user, row)
    if author_id != key_of(user):
        raise NotYours("Only the person who wrote this can change its text. You can answer it.")


def require_author_or_editor(user, row: Recording | EngineJob, author_id: int | None) -> None:
    """Refuse whoever neither wrote a note nor is an editor. Raises: ReadOnly, NeedsRole."""
    require_commenter(user, row)
    if author_id != key_of(user):
        require_role(user, row.owner_id, Role.EDITOR)


def require_curator(user, row: Review) -> None:
    """Refuse a person who may not change a visible review. Raises: NeedsRole."""
    require_role(user, row.owner_id, Role.EDITOR)


def require_contributor(user, row: Review, author_id: int | None) -> None:
    """Refuse a person who may not add an entry to the timeline of a visible review.

    An editor adds any entry, a commenter only their own. Raises: NeedsRole.
    """
    is_own = author_id == key_of(user)
    require_role(user, row.owner_id, Role.COMMENTER if is_own else Role.EDITOR)
