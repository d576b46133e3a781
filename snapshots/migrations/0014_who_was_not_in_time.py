"""Failed checkpoints in the archive name all that did not acknowledge in time, as their pages do."""

from django.db import migrations, models

from snapshots.domain.archive import absence
from snapshots.domain.archive.model import CheckpointFacts
from snapshots.domain.archive.packing import unpack


def name_all(apps, schema_editor):
    """Name those that were too late beside those that never acknowledged."""
    checkpoint = apps.get_model("snapshots", "EngineCheckpoint")
    job = apps.get_model("snapshots", "EngineJob")
    rows = checkpoint.objects.filter(status="failed").select_related("detail", "job")
    changed = [row for row in rows.iterator(chunk_size=500) if _is_renamed(row)]
    checkpoint.objects.bulk_update(changed, ["slowest", "version"], batch_size=50)
    for pk in {row.job_id for row in changed}:
        job.objects.filter(pk=pk).update(version=models.F("version") + 1)


def _is_renamed(row) -> bool:
    if not hasattr(row, "detail"):
        return False
    facts = CheckpointFacts(
        row.number,
        status=row.status,
        duration=row.duration,
        vertices=unpack(bytes(row.detail.packed)),
    )
    before, row.slowest = row.slowest, absence.slowest(facts)[:220]
    row.version = row.job.version + 1
    return before != row.slowest


class Migration(migrations.Migration):
    dependencies = [
        ("snapshots", "0013_job_asker"),
    ]

    operations = [
        migrations.RunPython(name_all, migrations.RunPython.noop),
    ]
