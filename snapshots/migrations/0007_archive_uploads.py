"""Which uploads filled a job, and what was wrong in the archive: failures in the words of a page,
who was last of a checkpoint that goes on or that some never acknowledged, and phases."""

import re

from django.db import migrations, models

from snapshots.domain.archive import absence, causes
from snapshots.domain.archive.model import CheckpointFacts
from snapshots.domain.archive.packing import unpack

_OURS = re.compile(
    r"It failed, so that there are no files of it: (?:The REST API does not say why\.)?"
)
_CHANGED = ["failure", "phase", "slowest", "cause", "version"]


def mend(apps, schema_editor):
    """From what is stored; of those that completed only whose they are."""
    checkpoint = apps.get_model("snapshots", "EngineCheckpoint")
    job = apps.get_model("snapshots", "EngineJob")
    held = checkpoint.objects.filter(recording__isnull=False).order_by()
    for pk, recording in held.values_list("job", "recording").distinct():
        job.uploads.through.objects.create(enginejob_id=pk, recording_id=recording)
    rows = checkpoint.objects.exclude(status="completed").select_related("detail", "job")
    changed = [row for row in rows.iterator(chunk_size=500) if _is_mended(row)]
    checkpoint.objects.bulk_update(changed, _CHANGED, batch_size=50)
    for pk in {row.job_id for row in changed}:
        job.objects.filter(pk=pk).update(version=models.F("version") + 1)


def _is_mended(row) -> bool:
    before = row.failure, row.phase, row.slowest, row.cause
    row.failure = _OURS.sub("", row.failure)
    facts = CheckpointFacts(
        row.number,
        status=row.status,
        duration=row.duration,
        failure=row.failure,
        phase=row.told_phase,
        vertices=unpack(bytes(row.detail.packed)) if hasattr(row, "detail") else (),
    )
    row.phase = causes.phase_of(facts)[:40]
    row.slowest, row.cause = absence.slowest(facts)[:220], causes.cause_of(facts)
    row.version = row.job.version + 1
    return before != (row.failure, row.phase, row.slowest, row.cause)


class Migration(migrations.Migration):
    dependencies = [
        ("snapshots", "0006_archive_heard"),
    ]

    operations = [
        migrations.AddField(
            model_name="enginejob",
            name="uploads",
            field=models.ManyToManyField(related_name="engine_jobs", to="snapshots.recording"),
        ),
        migrations.RunPython(mend, migrations.RunPython.noop),
    ]
