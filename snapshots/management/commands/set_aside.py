from django.core.management.base import CommandError

from snapshots.files import aside
from snapshots.jobs import sweeping
from snapshots.management.files import FilesCommand, in_bytes
from snapshots.services import returning
from webapp.accounts.services import OWNER, NotAnAddress, get_or_create_user


class Command(FilesCommand):
    help = (
        "List the uploads and stored recordings that a sweep has set aside because no recording "
        "named them; bring them back, or remove them before SET_ASIDE_DAYS are over."
    )

    def add_arguments(self, parser) -> None:
        actions = parser.add_mutually_exclusive_group()
        actions.add_argument(
            "--bring-back",
            metavar="NAME",
            help="put it back for its recording, or as a new recording of --owner",
        )
        actions.add_argument(
            "--remove",
            metavar="NAME",
            nargs="?",
            const="",
            help="remove it for good; or --remove --all",
        )
        actions.add_argument(
            "--take", metavar="NAME", help="set aside what check_data lists without a recording"
        )
        parser.add_argument("--all", action="store_true", help="with --remove: remove everything")
        parser.add_argument("--owner", default=OWNER, metavar="EMAIL", help="who will own it")

    def handle(self, *, bring_back: str | None, remove: str | None, owner: str, **options) -> None:
        if options["all"] and remove != "":
            raise CommandError("--all can only go with --remove.")
        if options["take"] is not None:
            self._take(options["take"])
        elif bring_back is not None:
            self._bring_back(bring_back, owner)
        elif remove is not None:
            self._remove(sweeping.all_aside() if options["all"] else [_entry(remove)])
        else:
            self._list()

    def _take(self, name: str) -> None:
        try:
            entry = returning.take(name)
        except (returning.CannotSetAside, OSError) as fault:
            raise CommandError(str(fault)) from None
        self.stdout.write(f"{entry.name} is set aside now.")

    def _bring_back(self, name: str, owner: str) -> None:
        entry = _entry(name)
        try:
            self.stdout.write(returning.bring_back(entry, get_or_create_user(owner)))
        except (NotAnAddress, returning.CannotBringBack) as fault:
            raise CommandError(str(fault)) from None

    def _remove(self, entries: list[aside.Entry]) -> None:
        for entry in entries:
            try:
                aside.remove(entry)
            except OSError as error:
                raise CommandError(f"{entry.name} cannot be removed: {error}") from None
            self.stdout.write(f"{entry.name} is removed.")
        if not entries:
            self.stdout.write("Nothing is set aside.")

    def _list(self) -> None:
        entries = sweeping.all_aside()
        for entry in entries:
            since = f"{entry.since:%Y-%m-%d %H:%M} UTC"
            self.stdout.write(f"{entry.name}  {in_bytes(entry.size())}  since {since}")
            self.stdout.write(f"  {returning.described(entry)}")
            self.stdout.write(f"  {entry.why}")
        if not entries:
            self.stdout.write("Nothing is set aside.")


def _entry(name: str) -> aside.Entry:
    """Return the entry of this name. Raises: CommandError."""
    entries = [entry for entry in sweeping.all_aside() if name in (entry.name, entry.was)]
    if not entries:
        raise CommandError(
            f"Nothing called {name!r} is set aside. Without options all entries are listed."
        )
    if len(entries) > 1:
        names = ", ".join(entry.name for entry in entries)
        raise CommandError(f"Several entries are set aside for {name!r}: give one of {names}.")
    return entries[0]
