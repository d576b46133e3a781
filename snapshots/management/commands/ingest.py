from argparse import ArgumentTypeError
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from snapshots.management.files import FilesCommand
from snapshots.management.jobs import see_through, workers_answer
from snapshots.models import Job
from snapshots.problems import Problem
from snapshots.reviews.bundles.accepting import accept_path, taken_by
from snapshots.services import places
from snapshots.services.recordings import accept_folder
from snapshots.store.errors import StoreUnreachable
from snapshots.store.objects.paths import SCHEME, is_here, object_root
from webapp.accounts.services import OWNER, NotAnAddress, get_or_create_user


def _place(text: str) -> Path:
    """Return a path of this machine, or one on an object store."""
    try:
        return object_root(text) if text.startswith(f"{SCHEME}://") else Path(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


class Command(FilesCommand):
    help = (
        "Ingest logs, packages, or folders that an engine wrote, as an upload does. A folder of "
        "Parquet files or of files of JSON lines is one recording, read from its place in the "
        "order of the names, also at s3://BUCKET/PREFIX. Without a worker they are ingested here."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("files", nargs="+", type=_place, metavar="PATH")
        parser.add_argument("--owner", default=OWNER, metavar="EMAIL", help="who will own it")
        parser.add_argument(
            "--format", default="", help="read as this format instead of recognising it"
        )
        parser.add_argument(
            "--header", type=_place, metavar="FILE", help="the header of a folder of parts"
        )
        parser.add_argument(
            "--no-limits",
            action="store_true",
            help="read a log from its place, also one above MAX_RECORDING_BYTES",
        )
        parser.add_argument("--wait", action="store_true", help="wait until they are ready")
        parser.add_argument("--inline", action="store_true", help="ingest here, without a worker")

    def handle(self, *, files: list[Path], owner: str, **options) -> None:
        try:
            user = get_or_create_user(owner)
        except NotAnAddress as error:
            raise CommandError(str(error)) from None
        accepted = [self._accept(user, path, options) for path in files]
        jobs = [job for job in accepted if job is not None]
        inline = options["inline"]
        if not inline and not workers_answer():
            self.stderr.write("No worker answers: ingesting here instead.")
            inline = True
        if inline or options["wait"]:
            see_through(self, jobs, inline=inline)

    def _accept(self, user, path: Path, options: Mapping[str, Any]) -> Job | None:
        format, header, unlimited = (options[name] for name in ("format", "header", "no_limits"))
        try:
            is_parts = path.is_dir() and places.is_folder_of_parts(path)
            if not (is_parts or is_here(path) or path.is_file()):
                raise CommandError(
                    f"{path} is no log and no folder of parts. Only these are read from an "
                    "object store: copy anything else to this machine first."
                )
            if is_parts or header or unlimited or not is_here(path):
                own = str(header.resolve()) if header else ""
                place = places.Place(str(path.resolve()), own, is_unlimited=unlimited)
                (taken,) = taken_by([places.accept_place(user, place, format=format)])
            elif path.is_dir():
                (taken,) = taken_by([accept_folder(user, path, format=format)])
            else:
                taken = accept_path(user, path, format=format)
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror or error}") from None
        except StoreUnreachable as error:
            raise CommandError(str(error)) from None
        except Problem as problem:
            raise CommandError(f"{path}: {problem.detail}") from None
        job = f", job {taken.job.pk}" if taken.job is not None else ""
        self.stdout.write(f"{path}: recording {taken.recording.pk}{job}")
        if taken.notes is not None:
            self.stdout.write(f"{path}: {taken.notes}")
        return taken.job
