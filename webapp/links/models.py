"""Define short links, which keep a view under a short address, and public links."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from snapshots.fields import JsonField, Line, Prose
from webapp.teams.models import Team

LONGEST_NAME = 100


class ShortLink(models.Model):
    """A short address of one page about a recording or an archived job.

    It opens for whoever may see the recording or archived job; it gives no right of its own.

    Attributes:
        key: the random part of the address, which tells nothing about other links.
        address: the path and query of the page.
        view: the complete view of a workbench, as static/js/lib/view.js writes it; null for other
            pages.
        digest: the SHA-256 of address and view; the same person gets the same link for them again.
        name: what its maker calls it; may be empty.
    """

    key = models.CharField(max_length=32, unique=True)
    recording = models.ForeignKey(
        "snapshots.Recording", models.CASCADE, null=True, related_name="short_links"
    )
    engine_job = models.ForeignKey(
        "snapshots.EngineJob", models.CASCADE, null=True, related_name="short_links"
    )
    address = Prose()
    view = JsonField(null=True)
    digest = models.CharField(max_length=64)
    name = Line(max_length=LONGEST_NAME, blank=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="short_links"
    )
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-made_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(recording__isnull=False, engine_job__isnull=True)
                | Q(recording__isnull=True, engine_job__isnull=False),
                name="short_link_has_one_subject",
            ),
            models.UniqueConstraint(fields=["made_by", "digest"], name="one_link_of_a_view"),
        ]

    def __str__(self) -> str:
        return self.name or f"/v/{self.key}"

    @property
    def subject(self):
        """Return the recording or the archived job."""
        return self.recording or self.engine_job


class PublicLink(models.Model):
    """A link with which somebody without an account sees one recording's workbench, or one review.

    Only the token's hash is kept. ``access.public_links_that_work`` says when it works.

    Attributes:
        owner: the owner of the recording or review when the link was made; the link ends when
            that changes.
        view: what the workbench shows first; null for what it shows by itself.
        with_notes: whether the notes of a recording and the names of their authors are shown.
        with_downloads: whether the uploaded log of a recording can be downloaded.
        expires_at: when it stops working; null if it does not end by itself.
        last_used_at: when it was opened last; null if it never was.
        uses: how often it was opened.
    """

    token_hash = models.CharField(max_length=64, unique=True)
    recording = models.ForeignKey(
        "snapshots.Recording", models.CASCADE, null=True, related_name="public_links"
    )
    review = models.ForeignKey(
        "reviews.Review", models.CASCADE, null=True, related_name="public_links"
    )
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    view = JsonField(null=True)
    name = Line(max_length=LONGEST_NAME, blank=True)
    with_notes = models.BooleanField(default=False)
    with_downloads = models.BooleanField(default=False)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="public_links"
    )
    made_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    uses = models.BigIntegerField(default=0)

    class Meta:
        ordering = ["-made_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(recording__isnull=False, review__isnull=True)
                | Q(recording__isnull=True, review__isnull=False),
                name="public_link_has_one_subject",
            ),
        ]

    def __str__(self) -> str:
        return self.name or f"public link {self.pk}"

    @property
    def subject(self):
        """Return the recording or the review."""
        return self.recording or self.review

    @property
    def title(self) -> str:
        """Return what the audit log keeps: public link 3 “for the vendor” to recording 7 “…”."""
        subject = (
            self.recording.title if self.recording else f"review {self.review_id} “{self.review}”"
        )
        return f"public link {self.pk}{f' “{self.name}”' if self.name else ''} to {subject}"


class ForbiddenTeam(models.Model):
    """A team whose owners forbid public links. Those that were made before do not work."""

    team = models.OneToOneField(Team, models.CASCADE, primary_key=True, related_name="+")

    def __str__(self) -> str:
        return f"{self.team} forbids public links"
