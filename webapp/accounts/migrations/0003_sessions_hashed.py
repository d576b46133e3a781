"""Takes sessions over under the hash of their key, so that people stay signed in.

The table of sessions that could be used by whoever reads it is emptied. The owner that the first
sign-in link made becomes an operator.
"""

import hashlib

import django.utils.timezone
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations, models
from django.utils import timezone

OWNER = "owner@localhost"


def take_sessions_over(apps, schema_editor):
    plain = apps.get_model("sessions", "Session")
    hashed = apps.get_model("accounts", "Session")
    users = set(apps.get_model("auth", "User").objects.values_list("pk", flat=True))
    for row in plain.objects.filter(expire_date__gt=timezone.now()).iterator():
        user = SessionStore().decode(row.session_data).get(SESSION_KEY, "")
        if user.isdigit() and int(user) in users:
            hashed.objects.create(
                session_key=hashlib.sha256(row.session_key.encode()).hexdigest(),
                session_data=row.session_data,
                expire_date=row.expire_date,
                user_id=int(user),
            )
    plain.objects.all().delete()


def make_the_owner_an_operator(apps, schema_editor):
    apps.get_model("auth", "User").objects.filter(username=OWNER).update(is_staff=True)


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0002_sessions_scopes_audit"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("sessions", "0001_initial"),
    ]

    operations = [
        migrations.AlterField(
            model_name="session",
            name="session_key",
            field=models.CharField(max_length=64, primary_key=True, serialize=False),
        ),
        migrations.AddField(
            model_name="session",
            name="created_at",
            field=models.DateTimeField(default=django.utils.timezone.now),
        ),
        migrations.AddField(
            model_name="session",
            name="last_used_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AlterModelOptions(
            name="session",
            options={"ordering": ["-created_at", "session_key"], "verbose_name": "session", "verbose_name_plural": "sessions"},
        ),
        migrations.AddField(
            model_name="auditentry",
            name="person_id",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["person_id", "-id"], name="audit_of_persons"),
        ),
        migrations.RunPython(take_sessions_over, migrations.RunPython.noop),
        migrations.RunPython(make_the_owner_an_operator, migrations.RunPython.noop),
    ]
