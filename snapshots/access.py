"""Decide who may see and change what; no other module does.

A person sees what they own, what their teams own, and the samples. A sample has no owner and cannot
be changed. What a team owns can be changed by its editors and owners. A request for anything else
is refused with the same 404 as for something that does not exist. A ``Visitor``, who has no
account and follows a public link, sees what the link shows and nothing else, not even samples.
"""

from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from snapshots.models import (
    Collector,
    EngineCheckpoint,
    EngineJob,
    Job,
    Mapping,
    Recording,
    Snapshot,
    Topology,
)
from snapshots.problems import Conflict, NeedsRole, NotFound, NotYours, ReadOnly
from snapshots.reviews.models import Review
from webapp.links.models import ForbiddenTeam, PublicLink, ShortLink
from webapp.notices.models import Webhook
from webapp.teams.models import Membership, Team
from webapp.teams.roles import Role

LARGEST_KEY = 2**63 - 1  # that the column of a database holds


class Visitor(AnonymousUser):
    """Somebody who is not signed in and follows a public link.

    Attributes:
        link: the public link, which worked when the visitor was made.
    """

    def __init__(self, link: PublicLink) -> None:
        super().__init__()
        self.link = link


def recordings(user) -> QuerySet[Recording]:
    """Return the recordings that the person may see, the newest first."""
    if isinstance(user, Visitor):
        return _with_teams(Recording.objects.filter(public_links=user.link))
    return _with_teams(Recording.objects.filter(_own_or_sample(user)))


def topologies(user) -> QuerySet[Topology]:
    """Return the topologies that the person may see, the last changed first."""
    return _with_teams(Topology.objects.filter(_own_or_sample(user)))


def jobs(user) -> QuerySet[Job]:
    """Return the jobs of the person and of their teams, the newest first.

    A job about a recording that the person may see no longer is left out.
    """
    return _with_teams(Job.objects.filter(_own(user)).filter(_own_or_sample(user, "recording__")))


def engine_jobs(user) -> QuerySet[EngineJob]:
    """Return the archived jobs of the person and of their teams, the last changed first."""
    return _with_teams(EngineJob.objects.filter(_own(user)))


def collectors(user) -> QuerySet[Collector]:
    """Return the collectors of the person and of their teams by address."""
    return _with_teams(Collector.objects.filter(_own(user)))


def mappings(user) -> QuerySet[Mapping]:
    """Return the mappings of the person and of their teams, the last changed first."""
    return _with_teams(Mapping.objects.filter(_own(user)))


def reviews(user) -> QuerySet[Review]:
    """Return the reviews of the person and of their teams, the last changed first."""
    if isinstance(user, Visitor):
        return _with_teams(Review.objects.filter(public_links=user.link))
    return _with_teams(Review.objects.filter(_own(user)))


def review(user, pk: int) -> Review:
    """Return a review that the person may see. Raises: NotFound."""
    return _get(reviews(user).select_related("owner__team", "opened_by"), pk, "review")


def own_review(user, pk: int) -> Review:
    """Return a review that the person may change and move. Raises: see ``own_recording``."""
    return _changeable(user, review(user, pk))


def led_review(user, pk: int) -> Review:
    """Return a review that the person may delete: their own, or one of a team that they own.

    Raises: NotFound, NeedsRole.
    """
    row = review(user, pk)
    _require_role(user, row.owner_id, Role.OWNER)
    return row


def require_curator(user, row: Review) -> None:
    """Refuse a person who may not change a visible review. Raises: NeedsRole."""
    _require_role(user, row.owner_id, Role.EDITOR)


def require_contributor(user, row: Review, author_id: int | None) -> None:
    """Refuse a person who may not add an entry to the timeline of a visible review.

    An editor adds any entry, a commenter only their own. Raises: NeedsRole.
    """
    is_own = author_id == _key(user)
    _require_role(user, row.owner_id, Role.COMMENTER if is_own else Role.EDITOR)


def leads(user, row: Review) -> bool:
    """Tell whether the person may delete a review that they see."""
    return _reaches(user, row, Role.OWNER)


def webhooks(user) -> QuerySet[Webhook]:
    """Return the webhooks of the person and of the teams that they own, the oldest first.

    A webhook sends what happens to another server, so it takes an owner also to see it.
    """
    led = _accounts_with(user, Role.OWNER)
    return _with_teams(Webhook.objects.filter(Q(owner_id=_key(user)) | Q(owner_id__in=led)))


def webhook(user, pk: int) -> Webhook:
    """Return a webhook that the person may see and change. Raises: NotFound."""
    return _get(webhooks(user), pk, "webhook")


def webhook_holder(user, team_number: int | str | None) -> User:
    """Return who will own a webhook: the account of a team that the person owns, or the person.

    Raises: NotFound, NeedsRole.
    """
    if team_number in (None, ""):
        return user
    return led_team(user, _number(team_number)).account


def mapping(user, pk: int) -> Mapping:
    """Return a mapping that the person may see. Raises: NotFound."""
    return _get(mappings(user), pk, "mapping")


def recording(user, pk: int) -> Recording:
    """Return a recording that the person may see. Raises: NotFound."""
    return _get(recordings(user), pk, "recording")


def hide_uploads(user, rows: Sequence[EngineCheckpoint]) -> None:
    """Take from archived checkpoints the upload that holds them, if the person may not see it.

    The rows are changed in memory alone, and must not be saved.
    """
    uploads = {row.recording_id for row in rows if row.recording_id is not None}
    visible = set(recordings(user).filter(pk__in=uploads).values_list("pk", flat=True))
    for row in rows:
        if row.recording_id not in visible:
            row.recording = row.contents = None


def topology(user, pk: int) -> Topology:
    """Return a topology that the person may see. Raises: NotFound."""
    return _get(topologies(user), pk, "topology")


def job(user, pk: int) -> Job:
    """Return a job that the person may see. Raises: NotFound."""
    return _get(jobs(user).select_related("recording"), pk, "job")


def engine_job(user, pk: int) -> EngineJob:
    """Return an archived job that the person may see. Raises: NotFound."""
    return _get(engine_jobs(user).select_related("collector"), pk, "archived job")


def collector(user, pk: int) -> Collector:
    """Return a collector that the person may see. Raises: NotFound."""
    return _get(collectors(user), pk, "collector")


def own_recording(user, pk: int) -> Recording:
    """Return a recording that the person may change.

    Raises: NotFound; ReadOnly for a sample; NeedsRole for a team's, if the role does not allow it.
    """
    return _changeable(user, recording(user, pk))


def ready_recording(user, pk: int) -> Recording:
    """Return a recording that is ready. Raises: NotFound, Conflict where it is not ready."""
    visible = recording(user, pk)
    require_ready(visible)
    return visible


def own_topology(user, pk: int) -> Topology:
    """Return a topology that the person may change. Raises: see ``own_recording``."""
    return _changeable(user, topology(user, pk))


def own_mapping(user, pk: int) -> Mapping:
    """Return a mapping that the person may change. Raises: see ``own_recording``."""
    return _changeable(user, mapping(user, pk))


def own_job(user, pk: int) -> Job:
    """Return a job that the person may cancel or dismiss. Raises: see ``own_recording``."""
    return _changeable(user, job(user, pk))


def own_engine_job(user, pk: int) -> EngineJob:
    """Return an archived job that the person may delete. Raises: see ``own_recording``."""
    return _changeable(user, engine_job(user, pk))


def own_collector(user, pk: int) -> Collector:
    """Return a collector that the person may change. Raises: see ``own_recording``."""
    return _changeable(user, collector(user, pk))


def teams(user) -> QuerySet[Team]:
    """Return the teams to which the person belongs, by name."""
    return Team.objects.filter(memberships__person_id=_key(user))


def team(user, pk: int) -> Team:
    """Return a team to which the person belongs. Raises: NotFound."""
    return _get(teams(user), pk, "team")


def led_team(user, pk: int) -> Team:
    """Return a team whose people and settings the person decides. Raises: NotFound, NeedsRole."""
    led = team(user, pk)
    _require_role(user, led.account_id, Role.OWNER)
    return led


def membership(user, team_id: int, person_id: int) -> Membership:
    """Return a membership that the person may change: their own, or any in a team they own.

    Raises: NotFound, NeedsRole.
    """
    seen = team(user, team_id)
    if person_id != _key(user):
        _require_role(user, seen.account_id, Role.OWNER)
    rows = seen.memberships.filter(person_id=person_id)
    row = rows.first() if abs(person_id) <= LARGEST_KEY else None
    if row is None:
        raise NotFound(f"No person {person_id} belongs to {seen.name}.")
    return row


def holder(user, team_number: int | str | None) -> User:
    """Return who will own what the person makes: the account of a team, or the person.

    Args:
        team_number: the number of the team, also as a text; None or empty for the person.

    Raises: NotFound, NeedsRole.
    """
    if team_number in (None, ""):
        return user
    chosen = team(user, _number(team_number))
    _require_role(user, chosen.account_id, Role.EDITOR)
    return chosen.account


def run_holder(user, source: Recording | Topology | None) -> User:
    """Return who will own a job or a run about something, and whose limits it counts for.

    That is the team to which the thing belongs if the person may change it there. The runs of a
    viewer and a commenter are their own, like those on a sample.
    """
    if source is None or source.owner is None or not may_change(user, source):
        return user
    return source.owner


def editable_teams(user) -> QuerySet[Team]:
    """Return the teams into which the person may put something, by name."""
    return Team.objects.filter(pk__in=_accounts_with(user, Role.EDITOR))


def led_teams(user) -> QuerySet[Team]:
    """Return the teams that the person owns, by name."""
    return Team.objects.filter(pk__in=_accounts_with(user, Role.OWNER))


def owned_by(user, rows: QuerySet, team_number: str) -> QuerySet:
    """Return the rows of one team by its number, or the person's own for ``mine``.

    An empty text keeps all rows; what is no team of the person keeps none.
    """
    if not team_number:
        return rows
    if team_number == MINE:
        return rows.filter(owner_id=_key(user))
    return rows.filter(owner_id=_number(team_number), owner__team__isnull=False)


MINE = "mine"


def _number(text: int | str | None) -> int:
    """Return a text as the number of a row; -1, which no row has, if it is none."""
    digits = str(text)
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else -1


def may_change(user, row) -> bool:
    """Tell whether the person may change, move and delete a row that they see."""
    has = role(user, row.owner_id)
    return has is not None and has.reaches(Role.EDITOR)


def holders(user, least: Role = Role.VIEWER) -> QuerySet[User]:
    """Return the person, and the accounts of the teams in which they have at least this role."""
    return User.objects.filter(Q(pk=_key(user)) | Q(pk__in=_accounts_with(user, least)))


def holder_ids(user, least: Role = Role.VIEWER) -> list[int]:
    """Return the keys of ``holders``."""
    return list(holders(user, least).values_list("pk", flat=True))


def role(user, owner_id: int | None) -> Role | None:
    """Return the person's role for what this account owns; None for a sample and a stranger's.

    Everybody is the owner of what is their own.
    """
    if owner_id is None:
        return None
    if owner_id == _key(user):
        return Role.OWNER
    membership = Membership.objects.filter(team_id=owner_id, person_id=_key(user)).first()
    return Role(membership.role) if membership is not None else None


def noted(user) -> Q:
    """Return the condition that a row is about a recording or archived job that is visible."""
    return Q(recording__in=recordings(user)) | Q(engine_job__in=engine_jobs(user))


def require_commenter(user, row: Recording | EngineJob) -> None:
    """Refuse a person who may not write notes on a visible row. Raises: ReadOnly, NeedsRole."""
    if row.owner_id is None:
        raise ReadOnly(
            f"“{row}” is a sample, which strangers share, so it has no notes. Upload a log of "
            "your own, and write them there."
        )
    _require_role(user, row.owner_id, Role.COMMENTER)


def require_author(user, row: Recording | EngineJob, author_id: int | None) -> None:
    """Refuse to change a note of somebody else. Raises: ReadOnly, NeedsRole, NotYours."""
    require_commenter(user, row)
    if author_id != _key(user):
        raise NotYours("Only the person who wrote this can change its text. You can answer it.")


def require_author_or_editor(user, row: Recording | EngineJob, author_id: int | None) -> None:
    """Refuse whoever neither wrote a note nor is an editor. Raises: ReadOnly, NeedsRole."""
    require_commenter(user, row)
    if author_id != _key(user):
        _require_role(user, row.owner_id, Role.EDITOR)


def may_comment(user, row: Recording | EngineJob | Review) -> bool:
    """Tell whether the person may write notes on a row, or add their own to a review."""
    return _reaches(user, row, Role.COMMENTER)


def may_edit(user, row: Recording | EngineJob | Review) -> bool:
    """Tell whether the person may change a row, and resolve and delete what others noted."""
    return _reaches(user, row, Role.EDITOR)


def _reaches(user, row: Recording | EngineJob | Review, least: Role) -> bool:
    has = role(user, row.owner_id)
    return has is not None and has.reaches(least)


def owner_sees(job: Job) -> bool:
    """Tell whether the owner of a job still sees its recording."""
    recording = job.recording
    if recording is None or recording.owner_id in (None, job.owner_id):
        return True
    return role(job.owner, recording.owner_id) is not None


def readers(row: Recording | EngineJob | Review) -> QuerySet[User]:
    """Return the people who see what the row's owner has: the owner, or the team's people."""
    return User.objects.filter(
        Q(pk=row.owner_id, team=None) | Q(memberships__team_id=row.owner_id)
    ).distinct()


def snapshot(recording: Recording, snapshot_id: str) -> Snapshot:
    """Return a snapshot of a recording that the person may see. Raises: NotFound."""
    found = recording.snapshots.filter(snapshot=snapshot_id).first()
    if found is None:
        raise NotFound(
            f"The recording “{recording.name}” has no snapshot {snapshot_id!r}. "
            f"Its snapshots are listed at /api/recordings/{recording.pk}/snapshots."
        )
    return found


def require_operator(user) -> None:
    """Refuse anyone who is not an operator of this server. Raises: NotFound."""
    if not (user.is_authenticated and user.is_active and user.is_staff):
        raise NotFound("Nothing is at this address, or it is for the operators of this server.")


def shows_names(recording: Recording) -> bool:
    """Tell whether viewers see each other's names: not in a sample, which strangers share."""
    return not recording.is_sample


def _key(user) -> int:
    """Return the person's key, or one that nobody has if the person is not signed in."""
    return user.pk if user.is_authenticated else -1


def _accounts_with(user, least: Role) -> QuerySet:
    """Return the keys of the accounts of the teams in which the person has at least this role."""
    rows = Membership.objects.filter(person_id=_key(user), role__in=Role.from_(least))
    return rows.order_by().values("team_id")


def _with_teams(rows: QuerySet) -> QuerySet:
    """Read the teams of all rows of a list at once."""
    return rows.prefetch_related("owner__team")


def _own(user, path: str = "") -> Q:
    """Return the condition that a row, or the row to which ``path`` leads, is the person's."""
    teams = _accounts_with(user, Role.VIEWER)
    return Q((f"{path}owner_id", _key(user))) | Q((f"{path}owner_id__in", teams))


def _own_or_sample(user, path: str = "") -> Q:
    if isinstance(user, Visitor):
        return Q(pk__in=[])
    return Q((f"{path}owner__isnull", True)) | _own(user, path)


def _get(visible: QuerySet, pk: int, noun: str):
    row = visible.prefetch_related(None).filter(pk=pk).first() if abs(pk) <= LARGEST_KEY else None
    if row is None:
        raise NotFound(f"There is no {noun} {pk}, or it belongs to someone else.")
    return row


def _changeable(user, row):
    if row.owner_id is None:
        raise ReadOnly(f"“{row}” is a sample: samples cannot be changed or deleted.")
    _require_role(user, row.owner_id, Role.EDITOR)
    return row


def _require_role(user, owner_id: int | None, least: Role) -> None:
    """Refuse a person whose role in a team does not reach ``least``. Raises: NeedsRole."""
    has = role(user, owner_id)
    if has is None or not has.reaches(least):
        team = Team.objects.get(pk=owner_id)
        raise NeedsRole(
            f"This belongs to the team {team.name}, where you are {_A[has]}, and it takes "
            f"{_A[least]}. An owner of the team can change your role.",
            role=has,
            needs=least,
        )


_A = {
    None: "nobody",
    Role.VIEWER: "a viewer",
    Role.COMMENTER: "a commenter",
    Role.EDITOR: "an editor",
    Role.OWNER: "an owner",
}


def require_ready(recording: Recording) -> None:
    """Refuse a recording that is not ready. Raises: Conflict, which says how far it is."""
    if not recording.is_ready:
        raise Conflict(
            f"“{recording.name}” is {recording.status} and not ready, so it cannot be shown. "
            "Its job says how far it is, or why it stopped.",
            recording_status=recording.status,
        )


# --- short links ----------------------------------------------------------------------------------


def short_links(user, row: Recording | EngineJob) -> QuerySet[ShortLink]:
    """Return the short links of a row that the person sees, the newest first.

    Of a sample, which strangers share, they are the person's own.
    """
    rows = row.short_links.select_related("made_by", "recording", "engine_job")
    return rows.filter(made_by_id=_key(user)) if row.owner_id is None else rows


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
        _require_role(user, row.subject.owner_id, Role.EDITOR)
    return row


def may_delete_link(user, row: ShortLink) -> bool:
    """Tell whether the person may rename and delete a short link that they see."""
    return row.made_by_id == _key(user) or may_change(user, row.subject)


# --- public links ---------------------------------------------------------------------------------

_READ = ("GET", "HEAD")
# What the workbench needs, and the page of a review, as the routes of the addresses; a visitor
# reaches nothing else.
_SHOWN = {
    "reviews/<int:pk>": _READ,
    "recordings/<int:pk>": _READ,
    "api/recordings/<int:id>/topology": _READ,
    "api/recordings/<int:id>/snapshots": _READ,
    "api/recordings/<int:id>/snapshots-in-brief": _READ,
    "api/recordings/<int:id>/snapshots/<text:snapshot>": _READ,
    "api/recordings/<int:id>/window": _READ,
    "api/recordings/<int:id>/cuts": ("POST",),
    "api/recordings/<int:id>/search": _READ,
    "api/recordings/<int:id>/events/<text:process>/<int:index>": _READ,
    "api/recordings/<int:id>/cones/<text:process>/<int:index>": _READ,
}
_WITH_NOTES = {"api/recordings/<int:id>/entries": _READ}
_WITH_DOWNLOADS = {"recordings/<int:pk>/original": _READ}


def may_visit(visitor: Visitor, method: str, route: str) -> bool:
    """Tell whether the visitor may send a request of this kind.

    ``recordings`` and ``reviews`` decide about what it may be.
    """
    shown = dict(_SHOWN)
    shown |= _WITH_NOTES if visitor.link.with_notes else {}
    shown |= _WITH_DOWNLOADS if visitor.link.with_downloads else {}
    return method in shown.get(route, ())


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


def public_links(user, row: Recording | Review) -> QuerySet[PublicLink]:
    """Return the public links to a row that the person may change, the newest first.

    Raises: ReadOnly, NeedsRole.
    """
    return _changeable(user, row).public_links.select_related("made_by", "recording", "review")


def working_public_links(row) -> int:
    """Return how many public links to a row work now; only recordings and reviews have any."""
    if not isinstance(row, Recording | Review):
        return 0
    return public_links_that_work().filter(pk__in=row.public_links.values("pk")).count()


def public_link(user, pk: int) -> PublicLink:
    """Return a public link that the person may withdraw. Raises: NotFound, ReadOnly, NeedsRole."""
    visible = Q(recording__in=recordings(user)) | Q(review__in=reviews(user))
    rows = PublicLink.objects.filter(visible)
    row = _get(rows.select_related("recording", "review", "made_by"), pk, "public link")
    _changeable(user, row.subject)
    return row


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
