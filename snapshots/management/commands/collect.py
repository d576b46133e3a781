import time

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from snapshots.archive import collecting, services
from snapshots.archive.addresses import NotAnAddress, checked
from snapshots.archive.folders import checked_folder
from snapshots.quantities import counted
from webapp.accounts.services import OWNER, get_or_create_user
from webapp.accounts.services import NotAnAddress as NotAnEmail


class Command(BaseCommand):
    help = (
        "Follow a running engine and keep its checkpoints in the archive, until Ctrl-C. When it "
        "is run again, the command continues where it stopped. The shell may poll any host; see "
        "COLLECTOR_HOSTS."
    )
    requires_system_checks = ()

    def add_arguments(self, parser) -> None:
        parser.add_argument("engine", choices=services.ENGINES)
        parser.add_argument(
            "url",
            metavar="URL",
            help="address of the REST API, http://jobmanager:8081; for spark the checkpoint folder",
        )
        parser.add_argument("--job", default="", metavar="ID", help="only this job")
        parser.add_argument("--every", type=float, default=10.0, metavar="SECONDS")
        parser.add_argument("--once", action="store_true", help="only one round")
        parser.add_argument("--owner", default=OWNER, metavar="EMAIL", help="who will own it")

    def handle(
        self, *, engine: str, url: str, job: str, every: float, once: bool, owner: str, **_
    ) -> None:
        try:
            url = checked_folder(url) if engine == services.SPARK else checked(url)
            user = get_or_create_user(owner)
        except (NotAnAddress, NotAnEmail) as error:
            raise CommandError(str(error)) from None
        if every <= 0:
            raise CommandError("--every must be more than 0 seconds.")
        problems: list[str] = []
        try:
            while True:
                began = time.monotonic()
                outcome = self._round(engine, user, url, job)
                self._print(outcome, problems)
                problems = outcome.problems
                if once:
                    if problems:
                        raise CommandError(f"{counted(len(problems), 'request')} not answered.")
                    return
                time.sleep(max(0.0, began + every - time.monotonic()))
        except KeyboardInterrupt:
            self.stdout.write("Stopped. Run the command again to continue from here.")

    def _round(self, engine: str, user, url: str, job: str) -> collecting.Round:
        try:
            return collecting.POLLS[engine](user, url, job)
        except DatabaseError as error:
            lost = f"A round failed and will be repeated: {error}"
            return collecting.Round(problems=[lost])

    def _print(self, outcome: collecting.Round, known_problems: list[str]) -> None:
        """Print a round's outcome, without the problems that the last round had already."""
        for problem in outcome.problems:
            if problem not in known_problems:
                self.stderr.write(problem)
        if known_problems and not outcome.problems:
            self.stdout.write("All requests are answered again.")
        if outcome.detailed:
            more, jobs = (
                counted(outcome.detailed, "more checkpoint"),
                counted(len(outcome.jobs), "job"),
            )
            self.stdout.write(f"{more} of {jobs}")
        self.stdout.flush()
