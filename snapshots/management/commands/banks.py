import contextlib
import queue
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from snapshots.banks.server import Server, ServerRefuses
from snapshots.banks.system import System
from webapp.accounts.services import OWNER, make_token

TELL_SECONDS = 0.4
NAIVE_SKEW_MS = 400
MOST_DELAY_MS = 500  # of a handshake of three steps, which may take five seconds
SHELL = "snapshot [BANK], kill BANK, restore, close"
_GONE = (404, 409)  # the recording was deleted, or closed by somebody else


class Command(BaseCommand):
    help = (
        "Start banks that send each other money, as processes of the operating system, into an "
        "open recording of a running Cutline. They are on the page Live. Type "
        f"{SHELL}; Ctrl-C ends all and closes the recording."
    )
    requires_system_checks = ()

    def add_arguments(self, parser) -> None:
        parser.add_argument("--processes", type=int, default=5, metavar="N", help="2 to 20")
        parser.add_argument("--rate", type=float, default=1.0, help="payments of a bank a second")
        parser.add_argument(
            "--delay", type=int, default=200, metavar="MS", help="how long a payment is on its way"
        )
        parser.add_argument("--server", default="", metavar="URL", help="by default this machine's")
        parser.add_argument("--token", default="", help="of the API; needed with --server")
        parser.add_argument(
            "--as",
            dest="person",
            default="",
            metavar="EMAIL",
            help=f"whose recording it is; by default the only superuser's, else {OWNER}'s",
        )
        parser.add_argument(
            "--skewed",
            action="store_true",
            help="beside each snapshot, read all states at one moment by clocks that are wrong",
        )

    def handle(self, *, processes: int, rate: float, delay: int, skewed: bool, **options) -> None:
        if not 2 <= processes <= 20:
            raise CommandError("--processes must be from 2 to 20.")
        if not 0 < rate <= 100:
            raise CommandError("--rate must be above 0, and at most 100.")
        if not 0 <= delay <= MOST_DELAY_MS:
            raise CommandError(f"--delay must be from 0 to {MOST_DELAY_MS}.")
        with self._server(**options) as server, tempfile.TemporaryDirectory() as folder:
            skew = NAIVE_SKEW_MS if skewed else 0
            system = System(processes, Path(folder), rate, skew_ms=skew, delay_ms=delay)
            try:
                number = server.open(system.header)
            except (ServerRefuses, OSError) as error:
                raise CommandError(
                    f"No recording could be opened at {server.address}: {error}. Does Cutline run "
                    "there (make run)?"
                ) from None
            self.say(
                f"{processes} banks with {system.total} in all send money into recording {number}, "
                f"{server.address}/live\nType {SHELL}, or press Ctrl-C to end."
            )
            for ending in (signal.SIGINT, signal.SIGTERM):  # also where a shell ignores the first
                signal.signal(ending, signal.default_int_handler)
            Run(self, system, server, number).run()

    def say(self, sentence: str) -> None:
        """Print a sentence now, also into a file or a pipe."""
        self.stdout.write(sentence)
        self.stdout.flush()

    @contextlib.contextmanager
    def _server(self, *, server: str, token: str, person: str, **_) -> Iterator[Server]:
        """Yield the server; without a token, with one that is made now and removed at the end."""
        if token:
            address = server or settings.PUBLIC_URL
            if not address.startswith(("http://", "https://")):
                raise CommandError(f"{address} is not the http or https address of a Cutline.")
            yield Server(address, token)
            return
        if server:
            raise CommandError(
                "--server needs --token. The account page of that Cutline makes one."
            )
        try:
            row, token = make_token(self._person(person), "the banks of manage.py banks", days=2)
        except DatabaseError as error:
            raise CommandError(f"The database does not answer: {error}") from None
        try:
            yield Server(f"http://{settings.HOST}:{settings.PORT}", token)
        finally:
            row.delete()

    def _person(self, name: str) -> User:
        people = User.objects.filter(is_active=True)
        if name:
            person = people.filter(username=name).first()
            if person is None:
                raise CommandError(f"There is no account {name}.")
            return person
        superusers = list(people.filter(is_superuser=True)[:2])
        only = superusers[0] if len(superusers) == 1 else people.filter(username=OWNER).first()
        if only is None:
            raise CommandError("Say whose recording it is: --as EMAIL.")
        return only


class Run:
    """The banks while they run: what they say, and what people ask for in the shell and page."""

    def __init__(self, command: Command, system: System, server: Server, recording: int) -> None:
        self.command, self.system, self.server = command, system, server
        self.recording = recording
        self.is_closing = self.is_gone = False
        self.problem = ""
        self.asked: queue.Queue[tuple[str, str]] = queue.Queue()

    def run(self) -> None:
        self.system.begin(self.server, self.recording)
        try:
            for work in (self._listen, self._keep_telling):
                threading.Thread(target=work, daemon=True).start()
            while not self.is_closing:
                self._hear()
                self._obey()
        except KeyboardInterrupt:
            self.say("Ending …")
        finally:
            self._end()

    def say(self, sentence: str) -> None:
        self.system.notes.append(sentence)
        self.command.say(sentence)

    def _hear(self) -> None:
        with contextlib.suppress(queue.Empty):
            if sentence := self.system.hear(*self.system.said.get(timeout=0.1)):
                self.say(sentence)

    def _obey(self) -> None:
        with contextlib.suppress(queue.Empty):
            action, bank = self.asked.get_nowait()
            if action == "close":
                self.is_closing = True
            elif action == "snapshot":
                self.say(self.system.snapshot(bank or self.system.names[0]))
            elif action == "kill":
                self.say(self.system.kill(bank))
            elif action == "restore":
                self.say(self.system.restore())
            else:
                self.say(f"There is no command {action}. Type {SHELL}.")

    def _listen(self) -> None:
        """Read commands from the shell, if there is one."""
        while select.select([sys.stdin], [], [])[0]:
            line = sys.stdin.readline()
            if not line:
                return
            if words := line.split():
                self.asked.put((words[0], words[1] if len(words) > 1 else ""))

    def _keep_telling(self) -> None:
        """Tell the server how the banks are, and take what people ask for on the page."""
        while not self.is_closing:
            try:
                for order in self.server.tell(self.recording, self.system.told()):
                    self.asked.put((order["action"], order["process"] or ""))
                self._note_recovery()
            except (ServerRefuses, OSError, ValueError) as error:
                self._note_problem(error)
                if isinstance(error, ServerRefuses) and error.status in _GONE:
                    self.is_gone = self.is_closing = True
            time.sleep(TELL_SECONDS)

    def _note_recovery(self) -> None:
        if self.problem:
            self.problem = ""
            self.command.say("The page hears from the banks again.")

    def _note_problem(self, error: Exception) -> None:
        sentence = f"The server could not be told how the banks are: {error}"
        if sentence != self.problem:
            self.problem = sentence
            self.command.stderr.write(sentence)

    def _end(self) -> None:
        """End the banks, send what they have left, and close the recording."""
        self.is_closing = True
        self.system.leave()
        if self.is_gone:
            self.command.stderr.write(
                "The recording takes no more events, so the banks have ended."
            )
            return
        if left := self.system.send_rest():
            self.command.stderr.write(
                f"Not all events of {', '.join(left)} could be sent. The recording was not closed."
            )
            return
        try:
            self.server.close(self.recording)
            self.command.say(f"Recording {self.recording} is closed.")
        except (ServerRefuses, OSError) as error:
            self.command.stderr.write(f"The recording could not be closed: {error}")
