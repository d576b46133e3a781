"""Define entries, which people write at places, and the items of their trails."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from simple_history.models import HistoricalRecords

from snapshots.fields import Prose

_ONE_SUBJECT = Q(recording__isnull=False, engine_job__isnull=True) | Q(
    recording__isnull=True, engine_job__isnull=False
)


class AtPlace(models.Model):
    """A row that points at a place in one recording, or in one archived job.

    ``place`` is the text of ``domain/reviewing/place_text.py``; an empty one is the whole. ``mark``
    tells whether another event is at the place since the upload was read again. ``sentence`` says
    what was on the screen. ``at`` is the time in the system of which it speaks: in the time unit of
    the recording, or in epoch ms for an archived job.
    """

    recording = models.ForeignKey("snapshots.Recording", models.CASCADE, null=True)
    engine_job = models.ForeignKey("snapshots.EngineJob", models.CASCADE, null=True)
    place = Prose(blank=True)
    mark = models.CharField(max_length=64, blank=True)
    sentence = Prose(blank=True)
    at = models.BigIntegerField(null=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.sentence or self.place

    @property
    def subject(self):
        """Return the recording or the archived job."""
        return self.recording or self.engine_job


class Entry(AtPlace):
    """A note that a person wrote at a place, or an answer to one.

    ``number`` counts the entries of a recording or an archived job from 1; an answer has none.
    ``author`` is null if the account is deleted. The history keeps kind, text and whether it was
    resolved; it goes with the entry.
    """

    class Kind(models.TextChoices):
        NOTE = "note"
        FINDING = "finding"
        QUESTION = "question"
        DECISION = "decision"
        FOLLOW_UP = "follow-up"

    kind = models.CharField(max_length=9, choices=Kind.choices, default=Kind.NOTE)
    text = Prose()  # Markdown
    number = models.IntegerField(null=True)
    parent = models.ForeignKey("self", models.CASCADE, null=True, related_name="answers")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="entries"
    )
    mentions = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="mentioned_in")
    created_at = models.DateTimeField(default=timezone.now)
    edited_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    history = HistoricalRecords(
        cascade_delete_history=True,
        excluded_fields=[
            *["recording", "engine_job", "place", "mark", "sentence", "at", "number", "parent"],
            *["author", "created_at", "edited_at", "resolved_by"],
        ],
    )

    class Meta:
        verbose_name_plural = "entries"
        ordering = ["created_at", "pk"]
        constraints = [
            models.CheckConstraint(condition=_ONE_SUBJECT, name="entry_has_one_subject"),
            models.UniqueConstraint(fields=["recording", "number"], name="entry_of_recording"),
            models.UniqueConstraint(fields=["engine_job", "number"], name="entry_of_engine_job"),
        ]

    @property
    def title(self) -> str:
        """Return what the audit log keeps: finding 7 on recording 3 “two banks”."""
        about = self.recording.title if self.recording else f"archived job {self.engine_job}"
        name = f"{self.kind} {self.number}" if self.number else f"answer {self.pk}"
        return f"{name} on {about}"


class TrailItem(AtPlace):
    """A place at which one person stopped; nobody else sees it, and it is removed after a while."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="trail")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-made_at", "-pk"]
        indexes = [models.Index(fields=["made_at"], name="trail_by_age")]
        constraints = [
            models.CheckConstraint(condition=_ONE_SUBJECT, name="trail_item_has_one_subject"),
        ]
