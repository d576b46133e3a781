from pathlib import Path

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from snapshots.files import restoring
from snapshots.quantities import counted
from snapshots.store.errors import StoreUnreachable


class Command(BaseCommand):
    help = (
        "Restore the backup in FOLDER into an empty installation: its own DATA_DIR and a new "
        "database of either kind. The backup is verified before anything is changed."
    )
    requires_system_checks = ()

    def add_arguments(self, parser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER")

    def handle(self, *, folder: Path, **_) -> None:
        try:
            rows = restoring.restore(folder)
        except (restoring.CannotRestore, OSError, StoreUnreachable, DatabaseError) as error:
            raise CommandError(f"Nothing was restored. {error}") from None
        recordings = counted(rows.get("snapshots.recording", 0), "recording")
        self.stdout.write(
            f"Restored: {counted(sum(rows.values()), 'row')}, {recordings} among them. Everyone "
            "must sign in again: “python manage.py sign_in_link EMAIL”. Tokens work as before."
        )
