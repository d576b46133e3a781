"""Define topologies, mappings, recordings and their snapshots."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from snapshots.fields import JsonField, Line, Prose

LONGEST_FORMAT = 500  # characters, also of an execution that the format names
WHOLE_STATE = "whole_state"  # of parameters: the state of all batches of Spark is read


class Topology(models.Model):
    """A topology or a dataflow to simulate on; a sample has no owner."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE
    )
    name = Line(max_length=200)
    slug = models.SlugField(max_length=80, null=True, unique=True)  # of a sample  # noqa: DJ001
    definition = JsonField()  # a topology document, see TopologyDocument in web/api
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "topologies"
        ordering = ["-updated_at", "-pk"]
        indexes = [models.Index(fields=["owner", "-updated_at"])]

    def __str__(self) -> str:
        return self.name

    @property
    def is_sample(self) -> bool:
        return self.owner_id is None

    @property
    def is_dataflow(self) -> bool:
        return "dataflow" in self.definition


class Mapping(models.Model):
    """A person's mapping of the fields of JSON lines; see readers/logs/mapped/mapping.py."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    name = Line(max_length=200)
    document = JsonField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-updated_at", "-pk"]
        indexes = [models.Index(fields=["owner", "-updated_at"])]

    def __str__(self) -> str:
        return self.name

    @property
    def format(self) -> str:
        """Return the format of an upload that this mapping reads."""
        return f"mapping:{self.pk}"


class Recording(models.Model):
    """One recording: its upload and its store, and the fields that lists show."""

    class Status(models.TextChoices):
        OPEN = "open"  # it takes events, see snapshots/growing
        QUEUED = "queued"
        RUNNING = "running"
        READY = "ready"
        REFUSED = "refused"  # the input is not valid; ``error`` and ``defects`` say why
        FAILED = "failed"  # the job failed; ``error`` says why

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE
    )
    name = Line(max_length=200)
    slug = models.SlugField(max_length=80, null=True, unique=True)  # of a sample  # noqa: DJ001
    description = Prose(blank=True)  # of a sample: what to look for
    fingerprint = models.CharField(max_length=64, blank=True)  # of a sample's file
    topology = models.ForeignKey(Topology, null=True, on_delete=models.SET_NULL)  # simulated on
    # of a simulation; an upload has mapping, recognised and WHOLE_STATE
    parameters = JsonField(null=True)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.QUEUED)

    format = models.CharField(max_length=LONGEST_FORMAT, blank=True)
    source_name = Line(max_length=255, blank=True)  # the name of the uploaded file
    size = models.BigIntegerField(default=0)  # bytes of the upload
    sha256 = models.CharField(max_length=64, blank=True, default="")  # of it; blank: not known
    upload = models.CharField(max_length=64, blank=True)  # file in UPLOADS_DIR; blank: not kept
    # File in UPLOADS_DIR with what has come to an open recording; blank: it was never open, or its
    # log has become the upload.
    journal = models.CharField(max_length=64, blank=True, default="")
    place = JsonField(null=True)  # from where manage.py reads it, see services/places.py; else null
    store = models.CharField(max_length=200, blank=True)  # folder under STORE_URL; blank: none
    stored_bytes = models.BigIntegerField(default=0)  # size of that folder, when it was published

    time_unit = models.CharField(max_length=20, blank=True)
    event_count = models.BigIntegerField(default=0)
    message_count = models.BigIntegerField(default=0)
    marker_count = models.BigIntegerField(default=0)
    process_count = models.IntegerField(default=0)
    channel_count = models.IntegerField(default=0)
    snapshot_count = models.IntegerField(default=0)
    began_at = models.BigIntegerField(default=0)  # instants, in time_unit
    ended_at = models.BigIntegerField(default=0)
    defects = JsonField(default=list)  # the first 100
    defects_total = models.BigIntegerField(default=0)
    error = JsonField(null=True)  # a problem, see problems.py

    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True)  # null: it was never open, or is open
    ready_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [
            models.Index(fields=["owner", "-created_at"]),
            models.Index(fields=["status"]),
            models.Index(fields=["sha256"], condition=~Q(sha256=""), name="known_sha256"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_sample(self) -> bool:
        return self.owner_id is None

    @property
    def is_ready(self) -> bool:
        return self.status == self.Status.READY

    @property
    def is_open(self) -> bool:
        return self.status == self.Status.OPEN

    @property
    def is_shown(self) -> bool:
        """Tell whether it can be looked at."""
        return self.is_ready or self.is_open

    @property
    def was_open(self) -> bool:
        return self.closed_at is not None

    @property
    def title(self) -> str:
        """Return number and name, which the audit log keeps: recording 7 “two banks”."""
        return f"recording {self.pk} “{self.name}”"


class Snapshot(models.Model):
    """The summary of one snapshot of a ready recording; its contents lie in the store.

    ``code`` is its place in the store's list of snapshots. ``positions`` has the index of each
    process's record by process id; a process that never recorded is absent. Instants are in the
    recording's time unit.
    """

    recording = models.ForeignKey(Recording, on_delete=models.CASCADE, related_name="snapshots")
    code = models.IntegerField()
    snapshot = Prose()
    verdict = models.CharField(max_length=20)  # the worst one
    verdicts = JsonField(default=list)  # findings, worst first
    verdict_counts = JsonField(default=list)
    answers = JsonField(default=list)  # empty where it was judged before there were any
    initiators = JsonField(default=list)
    began_at = models.BigIntegerField(null=True)
    ended_at = models.BigIntegerField(null=True)
    markers_sent = models.BigIntegerField(default=0)
    markers_received = models.BigIntegerField(default=0)
    positions = JsonField(default=dict)
    totals = JsonField(null=True)

    class Meta:
        ordering = ["recording", "code"]
        constraints = [
            models.UniqueConstraint(fields=["recording", "code"], name="one_row_per_snapshot"),
        ]
        indexes = [models.Index(fields=["recording", "verdict"])]

    def __str__(self) -> str:
        return self.snapshot
