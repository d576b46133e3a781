from collections.abc import Sequence

from django.core.management.base import BaseCommand, CommandError

from snapshots.problems import Problem
from snapshots.quantities import counted, file_size
from webapp.accounts import deleting, people

HEADS = ("person", "account", "recordings", "stored", "jobs", "collectors", "last seen")
ACTIONS = {
    "close": "close the account: sessions end, jobs are cancelled, collectors stop",
    "open": "open a closed account",
    "end-sessions": "sign the person out everywhere",
    "make-operator": "let the person manage people and read the audit log",
    "unmake-operator": "let the person no longer do so",
    "delete": "delete a closed account that holds nothing that others could miss",
}


class Command(BaseCommand):
    help = "List everybody with what they use, or change somebody's account."
    requires_system_checks = ()

    def add_arguments(self, parser) -> None:
        group = parser.add_mutually_exclusive_group()
        for name, meaning in ACTIONS.items():
            group.add_argument(f"--{name}", metavar="EMAIL", help=meaning)
        group.add_argument(
            "--hand-over",
            nargs=2,
            metavar=("FROM", "TO"),
            help="give recordings, topologies, mappings, reviews, archive and collectors to "
            "another person",
        )
        group.add_argument(
            "--allow",
            nargs="+",
            metavar=("EMAIL", "LIMIT=VALUE"),
            help="limits of one person: open_jobs, collectors, stored_bytes (also as 50GB), "
            "retention_days; 0: no limit, nothing after the =: as the settings say",
        )

    def handle(self, **options) -> None:
        name = next((name for name in ACTIONS if options[name.replace("-", "_")]), None)
        try:
            if name is not None:
                self._act(name, options[name.replace("-", "_")])
            elif options["hand_over"]:
                self._hand_over(*options["hand_over"])
            elif options["allow"]:
                self._allow(*options["allow"])
            else:
                self._list()
        except Problem as problem:
            raise CommandError(problem.detail) from None

    def _act(self, name: str, email: str) -> None:
        user = people.named(email)
        match name:
            case "close":
                closed = people.close(user, None)
                self.stdout.write(
                    f"{user} is closed: {counted(closed.sessions, 'session')} ended, "
                    f"{counted(closed.jobs, 'job')} cancelled, "
                    f"{counted(closed.collectors, 'collector')} stopped."
                )
            case "open":
                people.open_again(user, None)
                self.stdout.write(f"{user} is open.")
            case "end-sessions":
                ended = people.end_sessions(user, None)
                self.stdout.write(f"{counted(ended, 'session')} of {user} ended.")
            case "make-operator":
                people.make_operator(user, None)
                self.stdout.write(f"{user} is an operator.")
            case "unmake-operator":
                people.unmake_operator(user, None)
                self.stdout.write(f"{user} is no longer an operator.")
            case "delete":
                gone = deleting.delete(user, None)
                self.stdout.write(" ".join([f"The account of {user} is deleted.", *gone]))

    def _hand_over(self, giver: str, taker: str) -> None:
        handed_over = people.hand_over(people.named(giver), people.named(taker), None)
        self.stdout.write(f"{taker} received {handed_over.words} from {giver}.")
        for sentence in handed_over.left:
            self.stdout.write(sentence)

    def _allow(self, email: str, *limits: str) -> None:
        user = people.named(email)
        wrong = [limit for limit in limits if "=" not in limit]
        if wrong or not limits:
            raise CommandError("Write a limit as NAME=VALUE, such as open_jobs=50.")
        people.allow(user, None, dict(limit.split("=", 1) for limit in limits))
        self.stdout.write(f"The limits of {user} are changed.")

    def _list(self) -> None:
        rows: list[tuple[str, ...]] = [HEADS]
        rows += [_row(user) for user in people.people().order_by("username")]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            self.stdout.write(_line(row, widths))


def _row(user) -> tuple[str, ...]:
    account = "operator" if user.is_staff else "open"
    seen = user.seen_at
    return (
        user.username,
        account if user.is_active else "closed",
        f"{user.recordings:,}",
        file_size(user.stored),
        f"{user.jobs_open:,}",
        f"{user.collectors:,}",
        f"{seen:%Y-%m-%d %H:%M}" if seen else "never",
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
