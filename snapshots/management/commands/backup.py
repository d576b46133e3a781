from pathlib import Path

from django.core.management.base import CommandError
from django.db import DatabaseError

from snapshots.files import backup
from snapshots.management.files import FilesCommand, in_bytes
from snapshots.quantities import counted
from webapp.accounts import audit


class Command(FilesCommand):
    help = (
        "Write a backup of everything (rows, uploads, stored recordings) into a new FOLDER while "
        "Cutline runs. On the same disk it needs little space: files are linked, not copied."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER")

    def handle(self, *, folder: Path, **_) -> None:
        try:
            report = backup.back_up(folder)
        except (backup.CannotBackUp, OSError, DatabaseError) as error:
            raise CommandError(f"No backup was made. {error}") from None
        self.stdout.write(
            f"{folder}: {counted(sum(report.rows.values()), 'row')}, "
            f"{counted(report.uploads, 'upload')}, {counted(report.stores, 'stored recording')}, "
            f"{in_bytes(report.size)}."
        )
        for name in report.missing:
            self.stderr.write(f"{name} is missing although a recording names it.")
        self._note(folder, len(report.missing))

    def _note(self, folder: Path, missing: int) -> None:
        """Let the operator's page know when this was; a backup is whole without it."""
        name = str(folder.resolve()).encode(errors="replace").decode()
        try:
            audit.note(audit.BACKED_UP, None, name, missing=missing)
        except DatabaseError as error:
            self.stderr.write(
                f"The backup is complete, but the database could not note it: {error}. "
                "“manage.py check” will not know of it."
            )
