from django.db import migrations

import snapshots.fields


class Migration(migrations.Migration):
    """Adds the four answers. Those of older rows are not known until their upload is read again."""

    dependencies = [("snapshots", "0010_job_kind_without_choices")]

    operations = [
        migrations.AddField(
            model_name="snapshot",
            name="answers",
            field=snapshots.fields.JsonField(default=list),
        ),
    ]
