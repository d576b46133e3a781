from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone

from snapshots.fields import JsonField, Line

KEPT_AS_IT_IS = "Entries of the audit log are neither changed nor removed."


class SignInLink(models.Model):
    """Opens one session, once, for an hour. Only the token's hash is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    token_hash = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"sign-in link of {self.user}"


class UnprovenAccount(models.Model):
    """Marks an account that an invitation made, whose address nobody has proven to have.

    Whoever made the invitation may have opened its link. The first sign-in link, or the first
    sign-in through the provider, proves the address and removes this row (``proving.prove``).
    ``invited_by`` is a name as it was then, so that it outlives the account.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="unproven", primary_key=True
    )
    invited_by = Line(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.user}, invited by {self.invited_by}"


class Session(AbstractBaseSession):
    """One person's session; ``session_key`` holds the SHA-256 of the key in the cookie.

    A session ends at its ``expire_date``, which is set when it begins and stays.
    """

    session_key = models.CharField(max_length=64, primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="sessions"
    )
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True)

    class Meta(AbstractBaseSession.Meta):
        ordering = ["-created_at", "session_key"]

    def save(self, *args, **options) -> None:
        """Write a new session whole; of one that is there already, only what it holds."""
        if options.get("force_update"):
            options["update_fields"] = ["session_data", "user"]
        super().save(*args, **options)

    @property
    def address(self) -> str:
        """The address from which the person signed in; empty where that is not known."""
        return self.get_decoded().get("address", "")

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

    def __str__(self) -> str:
        return f"token “{self.name}” ({self.prefix}…)"

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def only_reads(self) -> bool:
        return self.scope == self.Scope.READ


class AppendOnly(models.QuerySet):
    """Rows that are added and read. Every other write raises PermissionError."""

    def update(self, **fields) -> int:
        raise PermissionError(KEPT_AS_IT_IS)

    def delete(self) -> tuple[int, dict[str, int]]:
        raise PermissionError(KEPT_AS_IT_IS)

    def bulk_update(self, *args, **options) -> int:
        raise PermissionError(KEPT_AS_IT_IS)


def action_words(action: str) -> str:
    """``signed-in`` is "signed in"; the noun sign-in keeps its hyphen."""
    return action.replace("-", " ").replace("sign in", "sign-in")


class AuditEntry(models.Model):
    """One thing that somebody did. Entries are added and read, never changed or removed.

    ``actor`` is the person's name as it was then, so that the entry outlives the account.
    ``person_id`` is the person whom the entry concerns, where that is not only the actor.
    """

    at = models.DateTimeField(default=timezone.now)
    actor_id = models.BigIntegerField(null=True)  # no foreign key: the person may be deleted
    actor = Line(max_length=150, blank=True)
    person_id = models.BigIntegerField(null=True)
    action = models.CharField(max_length=40)
    subject = Line(max_length=200, blank=True)  # what it was done to
    address = Line(max_length=64, blank=True)  # of the client; blank in the shell
    detail = JsonField(default=dict)

    objects = AppendOnly.as_manager()

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["actor_id", "-id"]),
            models.Index(fields=["action", "-id"]),
            models.Index(fields=["person_id", "-id"], name="audit_of_persons"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor} {self.action} {self.subject}"

    def save(self, *args, **options) -> None:
        """Add the entry. Raises: PermissionError for one that was added before."""
        if self.pk is not None:
            raise PermissionError(KEPT_AS_IT_IS)
        super().save(*args, **options | {"force_insert": True})

    def delete(self, *args, **options) -> tuple[int, dict[str, int]]:
        """Refuse. Raises: PermissionError."""
        raise PermissionError(KEPT_AS_IT_IS)

    @property
    def words(self) -> str:
        """The action as people read it: ``signed-in`` is "signed in"."""
        return action_words(self.action)
