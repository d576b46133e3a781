from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("snapshots", "0002_job_kind_reordering")]

    operations = [
        migrations.AddField(
            model_name="job", name="expression", field=models.TextField(blank=True, default="")
        ),
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(
                choices=[
                    ("ingest", "Ingest"),
                    ("simulate", "Simulate"),
                    ("restore", "Restore"),
                    ("reordering", "Reordering"),
                    ("predicate", "Predicate"),
                ],
                max_length=10,
            ),
        ),
    ]
