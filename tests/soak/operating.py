"""What an operator and the clock do between two hours: a backup, and the next sign-in link.

    python -m tests.soak.operating FOLDER HOURS

It makes a backup in the folder. Then it lets time pass for all that the installation remembers:
every moment in every table, and the times of files that wait for their end, move so many hours into
the past, and the sweep of a worker runs once with all that it does each hour, so that what has
expired goes. At the end it prints a sign-in link. It is called while nothing is under way.
"""

import os
import sys
from datetime import timedelta

import django
from django.core.management import call_command


def age(hours: float) -> None:
    """Move all moments of all tables so many hours into the past."""
    from django.apps import apps
    from django.db import models, transaction

    by = timedelta(hours=hours)
    with transaction.atomic():
        for model in apps.get_models(include_auto_created=True):
            moments = [
                field.name
                for field in model._meta.local_fields
                if isinstance(field, models.DateTimeField)
            ]
            if moments:
                moved = {name: models.F(name) - by for name in moments}
                models.QuerySet(model).update(**moved)


def age_files(hours: float) -> None:
    """Move the times of what lies in the folders of uploads and of scratch into the past."""
    from django.conf import settings

    for folder in (settings.UPLOADS_DIR, settings.DATA_DIR / "tmp"):
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                moved = path.stat().st_mtime - hours * 3600
                os.utime(path, (moved, moved))


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    from tasks.queue import sweeping

    folder, hours = sys.argv[1], float(sys.argv[2])
    call_command("backup", folder)
    age(hours)
    age_files(hours)
    sweeping.sweep()
    call_command("sign_in_link")


if __name__ == "__main__":
    main()
