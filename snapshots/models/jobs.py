"""Define the jobs that workers do."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from snapshots.fields import JsonField, Line, Prose
from snapshots.models.recordings import Recording

LONGEST_PHASE = 200  # characters: it may say for what a job waits, since when, and where to look


class Job(models.Model):
    """One requested computation, and the only record of how it went.

    ``worker`` and ``attempt`` are the lease: only its holder may write to a running job.
    ``heartbeat_at`` is renewed while the worker lives.

    ``deaths`` counts the runs during which the worker ended. ``postponements`` counts the runs that
    a temporary failure stopped (a full disk, no Spark), since ``postponed_at``; such a job waits
    until ``retry_at``.

    ``owner`` is whose limits it counts for, which may be a team. ``asker`` is the person for whose
    turn it waits: null for samples, and where the account is deleted.
    """

    class Kind(models.TextChoices):
        INGEST = "ingest"
        SIMULATE = "simulate"
        RESTORE = "restore"
        REORDERING = "reordering"
        PREDICATE = "predicate"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        REFUSED = "refused"
        CANCELLED = "cancelled"

    OPEN = (State.QUEUED, State.RUNNING)
    WRITING = (Kind.INGEST, Kind.SIMULATE)  # the others leave their recording as it is

    kind = models.CharField(max_length=10)  # a Kind; without choices a new one needs no migration
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE
    )
    asker = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    recording = models.ForeignKey(
        Recording, null=True, on_delete=models.CASCADE, related_name="jobs"
    )
    snapshot = Prose(blank=True)  # of a restore or a reordering: the snapshot's id
    expression = Prose(blank=True, default="")  # of a predicate
    phase = Line(max_length=LONGEST_PHASE, blank=True)
    done = models.BigIntegerField(default=0)  # events so far, in this phase
    total = models.BigIntegerField(null=True)  # events in this phase; null: not known
    rate = models.FloatField(null=True)  # events a second
    progress = models.FloatField(default=0)  # 0..1
    result = JsonField(null=True)
    error = JsonField(null=True)  # a problem, see problems.py

    worker = models.CharField(max_length=120, blank=True)
    attempt = models.IntegerField(default=0)
    heartbeat_at = models.DateTimeField(null=True)
    deaths = models.IntegerField(default=0)
    postponements = models.IntegerField(default=0)
    postponed_at = models.DateTimeField(null=True)
    retry_at = models.DateTimeField(null=True)
    cancel_requested = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [
            models.Index(fields=["owner", "-created_at"]),
            models.Index(fields=["recording", "-created_at"]),
            models.Index(fields=["asker", "-started_at"], name="turns_of_askers"),
            models.Index(
                fields=["state"], condition=Q(state__in=["queued", "running"]), name="open_jobs"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def is_open(self) -> bool:
        return self.state in self.OPEN

    def written_recording(self) -> models.QuerySet[Recording]:
        """Return the row of the job's recording; nothing for a job that only reads it."""
        if self.recording_id is None or self.kind not in self.WRITING:
            return Recording.objects.none()
        return Recording.objects.filter(pk=self.recording_id)
