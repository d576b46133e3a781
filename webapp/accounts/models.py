from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone

from snapshots.fields import JsonField, Line


class SignInLink(models.Model):
    """Opens one session, once, for an hour. Only the token's hash is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    token_hash = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class Session(AbstractBaseSession):
    """One person's session; ``session_key`` holds the SHA-256 of the key in the cookie."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="sessions"
    )

    @classmethod
    def get_session_store_class(cls):
        from webapp.accounts.sessions import SessionStore

        return SessionStore


class ApiToken(models.Model):
    """A bearer token for the API. Its first characters tell tokens apart in the list."""

    class Scope(models.TextChoices):
        READ = "read"
        WRITE = "write"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True)
    scope = models.CharField(max_length=5, choices=Scope.choices, default=Scope.WRITE)
    expires_at = models.DateTimeField(null=True)  # null: it does not end

    class Meta:
        ordering = ["-created_at", "-pk"]


class AuditEntry(models.Model):
    """One thing that somebody did. Entries are added and read, never changed or removed.

    ``actor`` is the person's name as it was then, so that the entry outlives the account.
    """

    at = models.DateTimeField(default=timezone.now)
    actor_id = models.BigIntegerField(null=True)  # no foreign key: the person may be deleted
    actor = Line(max_length=150, blank=True)
    action = models.CharField(max_length=40)
    subject = Line(max_length=200, blank=True)  # what it was done to
    address = Line(max_length=64, blank=True)  # of the client; blank in the shell
    detail = JsonField(default=dict)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["actor_id", "-id"]), models.Index(fields=["action", "-id"])]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor} {self.action} {self.subject}"
