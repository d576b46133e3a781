"""Define entries, which people write at places, the items of trails, and reviews of incidents."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from simple_history.models import HistoricalRecords

from snapshots.fields import Line, Prose

LONGEST_NAME = 200  # characters of a person's name in a bundle

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


class ImportedVersion(models.Model):
    """A field of every version in a history: who made it, if it came with a bundle."""

    imported_by = Line(max_length=LONGEST_NAME, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.imported_by


class Entry(AtPlace):
    """A note that a person wrote at a place, or an answer to one.

    ``number`` counts the entries of a recording or an archived job from 1; an answer has none.
    ``author`` is null if the account is deleted, or if the entry came with a bundle:
    ``imported_author`` and ``imported_resolver`` then name people of another server as text.
    ``uid`` stays the same in all copies of an entry. The history keeps kind, text and whether it
    was resolved; it goes with the entry.
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
    due_on = models.DateField(null=True)  # of a follow-up
    uid = models.UUIDField(default=uuid.uuid4)
    imported_author = Line(max_length=LONGEST_NAME, blank=True)
    imported_resolver = Line(max_length=LONGEST_NAME, blank=True)
    due_noted_on = models.DateField(null=True)  # the day of which people were notified
    history = HistoricalRecords(
        bases=[ImportedVersion],
        cascade_delete_history=True,
        excluded_fields=[
            *["recording", "engine_job", "place", "mark", "sentence", "at", "number", "parent"],
            *["author", "created_at", "edited_at", "resolved_by"],
            *["uid", "imported_author", "imported_resolver", "due_noted_on"],
        ],
    )

    class Meta:
        verbose_name_plural = "entries"
        ordering = ["created_at", "pk"]
        constraints = [
            models.CheckConstraint(condition=_ONE_SUBJECT, name="entry_has_one_subject"),
            models.UniqueConstraint(fields=["recording", "number"], name="entry_of_recording"),
            models.UniqueConstraint(fields=["engine_job", "number"], name="entry_of_engine_job"),
            models.UniqueConstraint(fields=["recording", "uid"], name="entry_once_in_recording"),
            models.UniqueConstraint(fields=["engine_job", "uid"], name="entry_once_in_engine_job"),
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


class Review(models.Model):
    """The review of one incident: what happened, to what, who took part, and what was found.

    ``owner`` is the person or the account of the team to which it belongs. A null time is not
    known. ``revision`` grows with each change of the review or its timeline, and
    ``head_changed_in`` is the revision in which its title, summary, state or times changed last;
    ``head_changed_by`` and ``head_changed_at`` say who did that and when, and are null if it was
    not noted.
    """

    class Severity(models.TextChoices):
        UNKNOWN = "unknown"
        MINOR = "minor"
        MAJOR = "major"
        CRITICAL = "critical"

    class Status(models.TextChoices):
        OPEN = "open"
        IN_REVIEW = "in-review"
        CLOSED = "closed"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="reviews")
    opened_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    title = Line(max_length=200)
    summary = Prose(blank=True)  # Markdown
    severity = models.CharField(max_length=8, choices=Severity.choices, default=Severity.UNKNOWN)
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.OPEN)
    began_at = models.DateTimeField(null=True)
    detected_at = models.DateTimeField(null=True)
    mitigated_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    changed_at = models.DateTimeField(default=timezone.now)
    revision = models.BigIntegerField(default=0)
    head_changed_in = models.BigIntegerField(default=0)
    head_changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    head_changed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-changed_at", "-pk"]
        indexes = [models.Index(fields=["owner", "-changed_at"])]

    def __str__(self) -> str:
        return self.title


class Participant(models.Model):
    """A person who took part in an incident, with what they did in it, such as “on call”."""

    review = models.ForeignKey(Review, models.CASCADE, related_name="participants")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    part = Line(max_length=100, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["review", "person"], name="one_part_in_a_review"),
        ]

    def __str__(self) -> str:
        return f"{self.person} in {self.review}"


class Exhibit(models.Model):
    """A recording, an archived job, or a checkpoint in one of them, that belongs to a review.

    ``place`` is empty for the whole, else the place of a checkpoint or snapshot. Both subjects are
    null once it was deleted; ``name`` keeps what it was called.
    """

    review = models.ForeignKey(Review, models.CASCADE, related_name="exhibits")
    recording = models.ForeignKey("snapshots.Recording", models.SET_NULL, null=True)
    engine_job = models.ForeignKey("snapshots.EngineJob", models.SET_NULL, null=True)
    place = Prose(blank=True)
    name = Line(max_length=400)
    added_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.name


class TimelineRow(models.Model):
    """One row of a review's curated timeline: an entry, words of its own, or a group of rows.

    A null ``text``, ``kind`` or ``at`` is as in the entry. What the entry says is copied into
    ``original_text``, ``original_kind`` and ``original_at``, so that the row is complete when the
    entry is deleted or cannot be seen. ``at`` is a time in the system, like that of the entry, and
    ``clock`` a time of day that somebody gave. Rows lie in the order of ``position``, which is
    unique among the rows of a group, and among those outside groups. ``changed_in`` is the revision
    of the review in which text, kind or times of the row changed last; ``changed_by`` and
    ``changed_at`` say who did that and when, and are null if it was not noted. ``unit`` is the time
    unit of ``at`` and ``original_at``; ``epoch ms`` for an archived job.
    """

    review = models.ForeignKey(Review, models.CASCADE, related_name="rows")
    group = models.ForeignKey("self", models.CASCADE, null=True, related_name="members")
    is_group = models.BooleanField(default=False)
    entry = models.ForeignKey(Entry, models.SET_NULL, null=True, related_name="+")
    position = models.BigIntegerField()
    is_hidden = models.BooleanField(default=False)
    kind = models.CharField(max_length=9, choices=Entry.Kind.choices, null=True)  # noqa: DJ001, null is not known
    text = Prose(null=True)  # Markdown
    sentence = Prose(blank=True)
    at = models.BigIntegerField(null=True)
    clock = models.DateTimeField(null=True)
    original_text = Prose(blank=True)
    original_kind = models.CharField(max_length=9, blank=True)  # empty for own words and groups
    original_at = models.BigIntegerField(null=True)
    unit = models.CharField(max_length=20, blank=True)
    changed_in = models.BigIntegerField(default=0)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    changed_at = models.DateTimeField(null=True)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    added_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["position", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["review", "entry"], name="entry_once_in_a_review"),
        ]

    def __str__(self) -> str:
        return self.text or self.original_text or self.sentence

    @property
    def is_of_an_entry(self) -> bool:
        """Tell whether the row was made of an entry, which may be deleted by now."""
        return bool(self.original_kind)
