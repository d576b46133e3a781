"""Define what the server notes of an installation, of people and of their requests."""

from django.conf import settings
from django.db import models

from snapshots.fields import JsonField


class Installation(models.Model):
    """The one row by which a database and its data folder recognise each other.

    A file in the folder holds the same ``identity`` and ``beats``, a count that grows while a
    worker lives. A folder with a higher count belongs to a later state of this database. Files
    older than ``known_since`` may belong to rows that this database has never had.
    """

    identity = models.CharField(max_length=32)
    beats = models.BigIntegerField(default=0)
    known_since = models.DateTimeField()

    def __str__(self) -> str:
        return self.identity


class Allowance(models.Model):
    """The limits of one person; a null field means that the server's setting holds."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="allowance", primary_key=True
    )
    open_jobs = models.IntegerField(null=True)
    collectors = models.IntegerField(null=True)
    stored_bytes = models.BigIntegerField(null=True)
    retention_days = models.IntegerField(null=True)

    def __str__(self) -> str:
        return f"allowance of {self.owner_id}"


class IdempotentRequest(models.Model):
    """A request with an ``Idempotency-Key``, and the answer that a repetition gets.

    ``fingerprint`` is the SHA-256 of the request. ``status`` is null until the first request has
    been answered.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64)
    status = models.IntegerField(null=True)
    body = JsonField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "key"], name="one_request_per_key"),
        ]

    def __str__(self) -> str:
        return self.key


class ResumableUpload(models.Model):
    """An upload that comes in pieces and goes on after an interruption; see files/resumable.py.

    ``offset`` counts the bytes that were acknowledged. It reaches ``length`` only together with
    ``status`` and ``answer``: those that an upload in one piece would have got.
    """

    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    upload = models.CharField(max_length=64, unique=True)  # file in UPLOADS_DIR
    metadata = JsonField(default=dict)  # texts by name, as the sender gave them
    length = models.BigIntegerField()
    offset = models.BigIntegerField(default=0)
    pieces = JsonField(default=list)  # [name, bytes] of each on an object store; see far_pieces.py
    status = models.IntegerField(null=True)
    answer = JsonField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.source_name

    @property
    def source_name(self) -> str:
        """Return the name of the file, “upload” if the sender told none."""
        name = self.metadata.get("filename", "").replace("\\", "/").rpartition("/")[2].strip()
        return "upload" if name in ("", ".", "..") else name

    @property
    def has_ended(self) -> bool:
        return self.status is not None
