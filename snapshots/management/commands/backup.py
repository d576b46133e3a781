from pathlib import Path

from django.core.management.base import CommandError
from django.db import DatabaseError

from snapshots.files import backup
from snapshots.management.files import FilesCommand, in_bytes
from snapshots.quantities import counted


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
