import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from snapshots.fields import JsonField, Line, Prose

LONGEST_URL = 500


class Webhook(models.Model):
    """An address to which events of its owner are posted: of a person, or of a team's account.

    ``secret`` signs what is sent, so it must be readable here. ``off_reason`` says why the server
    switched the webhook off; it is blank if a person did.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=LONGEST_URL)
    secret = models.CharField(max_length=80)
    kinds = JsonField(default=list)
    is_on = models.BooleanField(default=True)
    off_reason = Line(max_length=300, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"webhook {self.pk} to {self.url}"


class MailChoice(models.Model):
    """The kinds of events of which a person gets e-mail; without a row, ``kinds.MAILED``."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="mail_choice", primary_key=True
    )
    kinds = JsonField(default=list)

    def __str__(self) -> str:
        return f"e-mail of {self.owner_id}"


class Notice(models.Model):
    """Something that happened, for one person or team. ``key`` names it, so that it is told once.

    ``path`` is the page that shows it. ``data`` has further members of a webhook's ``data``.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=200)
    title = Line(max_length=200)
    sentence = Prose()
    path = models.CharField(max_length=500, blank=True)
    data = JsonField(default=dict)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "kind", "key"], name="one_notice_per_event"),
        ]
        indexes = [models.Index(fields=["at"], name="notices_by_age")]

    def __str__(self) -> str:
        return self.title


class Delivery(models.Model):
    """A notice on its way to one webhook, or by e-mail where ``webhook`` is null.

    ``next_at`` is when it is tried next. Whoever tries it moves ``next_at`` on first, by
    compare-and-set, so that only one worker does.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        FAILED = "failed"

    notice = models.ForeignKey(Notice, models.CASCADE, related_name="deliveries")
    webhook = models.ForeignKey(Webhook, models.CASCADE, null=True, related_name="deliveries")
    message_id = models.UUIDField(default=uuid.uuid4)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    tries = models.IntegerField(default=0)  # since it was last asked for
    next_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(
                fields=["next_at"],
                condition=models.Q(state="waiting"),
                name="waiting_deliveries",
            ),
        ]

    def __str__(self) -> str:
        return f"delivery {self.pk}"

    @property
    def is_waiting(self) -> bool:
        return self.state == self.State.WAITING


class Attempt(models.Model):
    """One try of a delivery. ``status`` is null where no answer came; ``error`` says why."""

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="attempts")
    at = models.DateTimeField(default=timezone.now)
    status = models.IntegerField(null=True)
    error = Line(max_length=300, blank=True)
    milliseconds = models.IntegerField()

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.status or self.error}"
