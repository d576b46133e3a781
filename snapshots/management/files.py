"""The base of commands that touch uploads and stores."""

from django.core.management.base import BaseCommand, CommandError

from snapshots.files import starting
from snapshots.store.errors import StoreUnreachable


class FilesCommand(BaseCommand):
    """A command that runs only if the database and the data folder belong together."""

    requires_system_checks = ()  # they would import every page, which takes a second

    def execute(self, *args, **options):
        try:
            starting.require_all(patience=0)
        except starting.CannotStart as problem:
            raise CommandError(str(problem)) from None
        try:
            return super().execute(*args, **options)
        except StoreUnreachable as error:
            raise CommandError(str(error)) from None


def in_bytes(size: int) -> str:
    """Return a size as people read it, such as “3.1 MB”."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{size} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
