import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def ask_for_owners(apps, schema_editor):
    """Count the jobs of before for the turns of their owners, as it was then."""
    apps.get_model("snapshots", "Job").objects.update(asker=models.F("owner"))


class Migration(migrations.Migration):
    dependencies = [
        ("snapshots", "0012_longer_formats"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="asker",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunPython(ask_for_owners, migrations.RunPython.noop),
        migrations.RemoveIndex(model_name="job", name="turns_of_owners"),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["asker", "-started_at"], name="turns_of_askers"),
        ),
    ]
