from pathlib import Path

from django.core.management.base import CommandError

from snapshots.management.files import FilesCommand
from snapshots.management.jobs import see_through, workers_answer
from snapshots.models import Job
from snapshots.problems import Problem
from snapshots.services.recordings import accept_file, accept_folder
from webapp.accounts.services import OWNER, NotAnAddress, get_or_create_user


class Command(FilesCommand):
    help = (
        "Ingest logs, packages, or folders that an engine wrote, as an upload does. Without a "
        "worker they are ingested here."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--owner", default=OWNER, metavar="EMAIL", help="who will own it")
        parser.add_argument(
            "--format", default="", help="read as this format instead of recognising it"
        )
        parser.add_argument("--wait", action="store_true", help="wait until they are ready")
        parser.add_argument("--inline", action="store_true", help="ingest here, without a worker")

    def handle(self, *, files: list[Path], owner: str, **options) -> None:
        try:
            user = get_or_create_user(owner)
        except NotAnAddress as error:
            raise CommandError(str(error)) from None
        jobs = [self._accept(user, path, options["format"]) for path in files]
        inline = options["inline"]
        if not inline and not workers_answer():
            self.stderr.write("No worker answers: ingesting here instead.")
            inline = True
        if inline or options["wait"]:
            see_through(self, jobs, inline=inline)

    def _accept(self, user, path: Path, format: str) -> Job:
        try:
            accept = accept_folder if path.is_dir() else accept_file
            job = accept(user, path, format=format)
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from None
        except Problem as problem:
            raise CommandError(f"{path}: {problem.detail}") from None
        self.stdout.write(f"{path}: recording {job.recording_id}, job {job.pk}")
        return job
