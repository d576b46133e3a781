"""Define the rows that people list and edit; events lie in the store, see ``store/layout.py``."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from snapshots.fields import JsonField, Line, Prose

LONGEST_PHASE = 60  # characters
LONGEST_FORMAT = 500  # characters, also of an execution that the format names


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
    parameters = JsonField(null=True)  # of a simulation; an upload has mapping and recognised
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
        """Return the name of the file; empty if the sender did not tell it."""
        return self.metadata.get("filename", "")

    @property
    def has_ended(self) -> bool:
        return self.status is not None


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


class Collector(models.Model):
    """A collector, which polls a running engine for its checkpoints.

    ``job_key`` is the key of the only job that it follows; it is blank if it follows all jobs of
    the cluster. ``next_poll_at`` is changed by compare-and-set, so that only one worker polls.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    engine = models.CharField(max_length=20)
    url = models.CharField(max_length=300)
    job_key = models.CharField(max_length=64, blank=True)
    interval_seconds = models.IntegerField(default=10)
    is_collecting = models.BooleanField(default=True)
    next_poll_at = models.DateTimeField(null=True)
    last_polled_at = models.DateTimeField(null=True)  # the last poll that was answered
    last_error = Prose(blank=True)  # why the last poll failed; blank: it did not
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["url", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "engine", "url", "job_key"], name="one_collector_per_address"
            ),
        ]

    def __str__(self) -> str:
        return self.url


class EngineJob(models.Model):
    """A job of an engine whose checkpoints the archive keeps, from collectors and uploads.

    ``run`` is 1, or more if the engine used the key again and numbered checkpoints from 1 again.
    ``version`` grows with every change of its checkpoints, in the same transaction. ``heard_from``
    and ``heard_at`` say which running engine reported it last, and when; they are blank if only
    uploads hold it. ``counts`` has the engine's own counts of checkpoints by status, which include
    checkpoints that never had a number. ``uploads`` are all uploads that hold the job.

    The fields from ``engine_clock`` to ``completed_at`` are those of ``domain/archive/stalls.py``
    when the job was last reported; instants are epoch ms by the clock of the engine.
    """

    GONE = "no longer listed"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    engine = models.CharField(max_length=20)
    key = models.CharField(max_length=128)
    run = models.IntegerField(default=1)
    name = Line(max_length=200, blank=True)
    state = Line(max_length=40, blank=True)  # as the engine calls it, or GONE
    heard_from = models.CharField(max_length=300, blank=True)
    heard_at = models.DateTimeField(null=True)
    engine_clock = models.BigIntegerField(null=True)  # at ``heard_at``
    began_at = models.BigIntegerField(null=True)
    usual_interval = models.BigIntegerField(null=True)  # ms
    restorable_at = models.BigIntegerField(null=True)
    completed_at = models.BigIntegerField(null=True)
    counts = JsonField(default=dict)
    collector = models.ForeignKey(Collector, null=True, on_delete=models.SET_NULL)
    uploads = models.ManyToManyField(Recording, related_name="engine_jobs")
    version = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-changed_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "engine", "key", "run"], name="one_row_per_engine_job"
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.key


class EngineCheckpoint(models.Model):
    """One checkpoint of an engine's job, with the fields of ``domain/archive/model.py``.

    The fields from ``start_delay_max`` to ``phase`` follow from the others and from the subtasks.
    ``contents`` is its number in the inventory of ``recording``, if an upload holds it. ``version``
    is that of the job when the row last changed.
    """

    job = models.ForeignKey(EngineJob, on_delete=models.CASCADE, related_name="checkpoints")
    pipeline = models.IntegerField(default=0)
    number = models.BigIntegerField()
    kind = Line(max_length=40, blank=True)
    status = models.CharField(max_length=12)
    triggered_at = models.BigIntegerField(null=True)  # epoch ms
    ended_at = models.BigIntegerField(null=True)
    duration = models.BigIntegerField(null=True)  # ms, like all durations
    bytes = models.BigIntegerField(null=True)
    is_bytes_told = models.BooleanField(default=False)  # the engine reported ``bytes``
    uploaded = models.BigIntegerField(null=True)
    in_flight = models.BigIntegerField(null=True)
    subtasks = models.IntegerField(null=True)
    acknowledged = models.IntegerField(null=True)
    failure = Prose(blank=True)
    told_phase = Line(max_length=40, blank=True)  # in which it failed, as the source reports
    path = Prose(blank=True)

    start_delay_max = models.BigIntegerField(null=True)
    alignment_max = models.BigIntegerField(null=True)
    sync_max = models.BigIntegerField(null=True)
    async_max = models.BigIntegerField(null=True)
    slowest = Line(max_length=220, blank=True)
    cause = Line(max_length=120, blank=True)
    phase = Line(max_length=40, blank=True)

    recording = models.ForeignKey(Recording, null=True, on_delete=models.SET_NULL)
    contents = models.IntegerField(null=True)
    version = models.BigIntegerField()

    class Meta:
        ordering = ["job", "pipeline", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["job", "pipeline", "number"], name="one_row_per_engine_checkpoint"
            ),
        ]
        indexes = [models.Index(fields=["job", "version"])]

    def __str__(self) -> str:
        return f"{self.number}"


class EngineCheckpointDetail(models.Model):
    """The numbers of every subtask, packed by ``domain/archive/packing.py``.

    They have their own table, so that a query for all rows of a job does not read them.
    """

    checkpoint = models.OneToOneField(
        EngineCheckpoint, primary_key=True, on_delete=models.CASCADE, related_name="detail"
    )
    packed = models.BinaryField()

    def __str__(self) -> str:
        return f"{self.checkpoint_id}"


class EngineRescale(models.Model):
    """One attempt of an engine to run a job with another parallelism.

    ``vertices`` has ``id``, ``name``, and the parallelisms ``before``, ``after`` and ``desired`` of
    each vertex; instants are epoch ms.
    """

    job = models.ForeignKey(EngineJob, on_delete=models.CASCADE, related_name="rescales")
    uuid = models.CharField(max_length=64)
    started_at = models.BigIntegerField(null=True)
    ended_at = models.BigIntegerField(null=True)
    state = Line(max_length=200, blank=True)
    cause = Line(max_length=200, blank=True)
    reason = Line(max_length=200, blank=True)
    vertices = JsonField(default=list)

    class Meta:
        ordering = ["job", "-started_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["job", "uuid"], name="one_row_per_engine_rescale"),
        ]

    def __str__(self) -> str:
        return self.uuid


class EnginePoll(models.Model):
    """What a collector was told of a checkpoint in progress, packed by ``domain/front/packing.py``.

    ``place`` counts the polls of the checkpoint from 1, with those that are no longer kept. ``at``
    is in epoch ms by the clock of the engine.
    """

    job = models.ForeignKey(EngineJob, on_delete=models.CASCADE, related_name="polls")
    pipeline = models.IntegerField(default=0)
    number = models.BigIntegerField()
    place = models.IntegerField()
    at = models.BigIntegerField()
    packed = models.BinaryField()

    class Meta:
        ordering = ["job", "pipeline", "number", "at"]
        constraints = [
            models.UniqueConstraint(
                fields=["job", "pipeline", "number", "at"], name="one_row_per_engine_poll"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.number} at {self.at}"
