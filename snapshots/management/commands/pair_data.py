from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection

from snapshots.files import identity, recordings, starting
from snapshots.files.folders import stored_names, upload_names
from snapshots.models import Recording
from snapshots.store.errors import StoreUnreachable

MEANING = """\
Pairing gives this database and these folders a new common identity:

  database   {database}: {recordings:,} recordings
  uploads    {uploads}: {upload_count:,} files, {unknown_uploads:,} of them unknown to the database
  store      {store}: {store_count:,} folders, {unknown_stores:,} of them unknown to the database

{lacking}No file is changed or removed: what the database does not name stays where it is, and
“python manage.py check_data” lists it. The database that these folders belonged to before, and the
folders that this database belonged to before, are refused from now on. Stop every process first."""


class Command(BaseCommand):
    help = (
        "Pair the database (DATABASE_URL) with the folders (DATA_DIR, STORE_URL) although they did "
        "not belong together. Without --yes it only explains what that means."
    )
    requires_system_checks = ()

    def add_arguments(self, parser) -> None:
        parser.add_argument("--yes", action="store_true", help="do it")

    def handle(self, *, yes: bool, **_) -> None:
        try:
            starting.require_tables()
            self.stdout.write(_meaning())
            if yes:
                identity.pair_anew()
        except (starting.CannotStart, StoreUnreachable, DatabaseError) as problem:
            raise CommandError(str(problem)) from None
        self.stdout.write("They are paired." if yes else "Add --yes to do it.")


def _meaning() -> str:
    uploads, folders = set(upload_names()), stored_names(recordings.store().root)
    named_uploads, named_stores = recordings.named()
    lacking = len(named_uploads - uploads) + len(named_stores - folders)
    return MEANING.format(
        database=connection.settings_dict["NAME"],
        recordings=Recording.objects.count(),
        uploads=settings.UPLOADS_DIR,
        upload_count=len(uploads),
        unknown_uploads=len(uploads - named_uploads),
        store=recordings.store().root,
        store_count=len(folders),
        unknown_stores=len(folders - named_stores),
        lacking=f"The database names {lacking:,} files that are missing.\n" if lacking else "",
    )
