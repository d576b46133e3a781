"""Define the archive: collectors, jobs of engines, and what was collected of them."""

from django.conf import settings
from django.db import models

from snapshots.fields import JsonField, Line, Prose
from snapshots.models.recordings import Recording


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
