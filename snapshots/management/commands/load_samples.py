from snapshots.management.files import FilesCommand
from snapshots.management.jobs import see_through
from snapshots.services import gallery


class Command(FilesCommand):
    help = "Load the sample gallery; samples whose content is the same stay as they are."

    def add_arguments(self, parser) -> None:
        parser.add_argument("--wait", action="store_true", help="wait until they are ready")
        parser.add_argument("--inline", action="store_true", help="ingest here, without a worker")

    def handle(self, *, wait: bool, inline: bool, **options) -> None:
        jobs, unchanged = gallery.load()
        if jobs and (wait or inline):
            see_through(self, jobs, inline=inline)
        self.stdout.write(f"Samples: {len(jobs)} loaded, {len(unchanged)} unchanged.")
