import time

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from snapshots.archive import collecting, services
from snapshots.archive.addresses import NotAnAddress, checked
from snapshots.quantities import counted
from webapp.accounts.services import OWNER, get_or_create_user
from webapp.accounts.services import NotAnAddress as NotAnEmail


class Command(BaseCommand):
    help = (
        "Follow a running engine and keep its checkpoints in the archive, until Ctrl-C. Begun "
        "again, it goes on where it stopped. The shell may ask any host; see COLLECTOR_HOSTS."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("engine", choices=services.ENGINES)
        parser.add_argument("url", metavar="URL", help="of the REST API, http://jobmanager:8081")
        parser.add_argument("--job", default="", metavar="ID", help="this job alone")
        parser.add_argument("--every", type=float, default=10.0, metavar="SECONDS")
        parser.add_argument("--once", action="store_true", help="one round")
        parser.add_argument("--owner", default=OWNER, metavar="EMAIL", help="whose it will be")

    def handle(self, *, url: str, job: str, every: float, once: bool, owner: str, **_) -> None:
        try:
            url = checked(url)
            user = get_or_create_user(owner)
        except (NotAnAddress, NotAnEmail) as error:
            raise CommandError(str(error)) from None
        if every <= 0:
            raise CommandError("--every is more than 0 seconds.")
        before: list[str] = []
        try:
            while True:
                began = time.monotonic()
                found = self._round(user, url, job)
                self._tell(found, before)
                before = found.problems
                if once:
                    if before:
                        raise CommandError(f"{counted(len(before), 'question')} not answered.")
                    return
                time.sleep(max(0.0, began + every - time.monotonic()))
        except KeyboardInterrupt:
            self.stdout.write("Stopped. Begun again, it goes on from here.")

    def _round(self, user, url: str, job: str) -> collecting.Round:
        try:
            return collecting.poll(user, url, job)
        except DatabaseError as error:
            lost = f"A round was lost, the next makes up for it: {error}"
            return collecting.Round(problems=[lost])

    def _tell(self, found: collecting.Round, before: list[str]) -> None:
        """before: the problems of the last round, which are not told again."""
        for problem in found.problems:
            if problem not in before:
                self.stderr.write(problem)
        if before and not found.problems:
            self.stdout.write("All questions are answered again.")
        if found.detailed:
            more, jobs = counted(found.detailed, "more checkpoint"), counted(len(found.jobs), "job")
            self.stdout.write(f"{more} of {jobs}")
        self.stdout.flush()
