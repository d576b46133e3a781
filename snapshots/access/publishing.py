"""Decide which public links work, and who may make and withdraw them."""

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from snapshots.access.finding import one_of
from snapshots.access.roles import changeable
from snapshots.access.seeing import recordings, reviews
from snapshots.access.visiting import Visitor
from snapshots.models import Recording
from snapshots.problems import Conflict, NotFound
from snapshots.reviews.models import Review
from webapp.links.models import ForbiddenTeam, PublicLink
from webapp.teams.models import Membership
from webapp.teams.roles import Role


def public_links(user, row: Recording | Review) -> QuerySet[PublicLink]:
    """Return the public links to a row that the person may change, the newest first.

    Raises: ReadOnly, NeedsRole.
    """
    return changeable(user, row).public_links.select_related("made_by", "recording", "review")


def public_link(user, pk: int) -> PublicLink:
    """Return a public link that the person may withdraw. Raises: NotFound, ReadOnly, NeedsRole."""
    visible = Q(recording__in=recordings(user)) | Q(review__in=reviews(user))
    rows = PublicLink.objects.filter(visible)
    row = one_of(rows.select_related("recording", "review", "made_by"), pk, "public link")
    changeable(user, row.subject)
    return row


def working_public_links(row) -> int:
    """Return how many public links to a row work now; only recordings and reviews have any."""
    if not isinstance(row, Recording | Review):
        return 0
    return public_links_that_work().filter(pk__in=row.public_links.values("pk")).count()


def shows_words(row) -> bool:
    """Tell whether strangers with a public link read the notes on a row, or the words of a review.

    Only recordings and reviews have public links; one to a recording may leave the notes out.
    """
    if not isinstance(row, Recording | Review):
        return False
    links = public_links_that_work().filter(pk__in=row.public_links.values("pk"))
    return links.filter(**({"with_notes": True} if isinstance(row, Recording) else {})).exists()


def public_links_that_work() -> QuerySet[PublicLink]:
    """Return the public links that work now.

    A link works while the server and the team allow public links, and until it expires; see also
    ``public_links_that_last``.
    """
    if not settings.PUBLIC_LINKS:
        return PublicLink.objects.none()
    is_forbidden = Exists(ForbiddenTeam.objects.filter(team_id=OuterRef("owner_id")))
    return (
        public_links_that_last()
        .filter(~is_forbidden, Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
        .select_related("recording", "review")
    )


def public_links_that_last() -> QuerySet[PublicLink]:
    """Return the public links that no change of people or owners has ended.

    What a link shows belongs to whom it belonged when the link was made, and its maker could make
    it again.
    """
    shown = Q(recording__owner_id=F("owner_id")) | Q(review__owner_id=F("owner_id"))
    editors = Membership.objects.filter(
        team_id=OuterRef("owner_id"),
        person_id=OuterRef("made_by_id"),
        role__in=Role.from_(Role.EDITOR),
    )
    return PublicLink.objects.filter(
        shown, Q(made_by_id=F("owner_id")) | Exists(editors), made_by__is_active=True
    )


def visitor_with_token(token_hash: str) -> Visitor:
    """Return the visitor whose link has this hash. Raises: NotFound."""
    return _visitor(public_links_that_work().filter(token_hash=token_hash))


def visitor_of_link(pk: int) -> Visitor:
    """Return the visitor of a link, read anew. Raises: NotFound once it does not work."""
    return _visitor(public_links_that_work().filter(pk=pk))


def _visitor(rows: QuerySet[PublicLink]) -> Visitor:
    row = rows.first()
    if row is None:
        raise NotFound(
            "This public link does not work. It may be incomplete, withdrawn or expired. Ask "
            "whoever sent it."
        )
    return Visitor(row)


def allows_public_links(owner_id: int | None) -> bool:
    """Tell whether the server and the owner's team allow public links."""
    return settings.PUBLIC_LINKS and not forbids_public_links(owner_id)


def forbids_public_links(owner_id: int | None) -> bool:
    """Tell whether the owner is a team that forbids public links."""
    return ForbiddenTeam.objects.filter(team_id=owner_id).exists()


def require_public_links(owner: User) -> None:
    """Refuse a public link that the server or the team forbids. Raises: Conflict."""
    if not settings.PUBLIC_LINKS:
        raise Conflict(
            "This server does not allow public links. Its operator can, with PUBLIC_LINKS=yes."
        )
    if forbids_public_links(owner.pk):
        raise Conflict(
            f"The team {owner.team} forbids public links. An owner of the team can allow them."
        )
