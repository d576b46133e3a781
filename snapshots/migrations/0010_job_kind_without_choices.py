from django.db import migrations, models


class Migration(migrations.Migration):
    """Changes no data: which kinds there are is what the code says."""

    dependencies = [("snapshots", "0009_values_kept_exactly")]

    operations = [
        migrations.AlterField(
            model_name="job", name="kind", field=models.CharField(max_length=10)
        ),
    ]
