"""A PostgreSQL server for the tests, on a socket in a temporary folder. Nothing of it is kept.

With TEST_DATABASE=postgres the tests, and the stacks that they start, use it instead of SQLite.
"""

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from itertools import count
from pathlib import Path
from urllib.parse import quote

from webapp import machine

IS_CHOSEN = os.environ.get("TEST_DATABASE") == "postgres"
ADMIN = "postgres"  # the role, and the user of the machine where the tests run as root
PATIENCE_SECONDS = 60
# These lose data only where the machine stops, never where the server is killed.
PLAIN_FILES = ("fsync=off", "full_page_writes=off")
OPTIONS = (*PLAIN_FILES, "listen_addresses=", "max_connections=200", "shared_buffers=32MB")


class Postgres:
    """A server with a data folder of its own, which ends with this process."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cutline-postgres-"))
        self.data = self.folder / "data"
        self.process: subprocess.Popen | None = None
        self._numbers = count(1)
        atexit.register(self.remove)

    def start(self) -> None:
        """Start the server unless it runs. The first time, make its data folder."""
        if self.process is not None:
            return
        if not self.data.exists():
            self._make_data()
        options = [word for option in OPTIONS for word in ("-c", option)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self._command("postgres", "-D", self.data, "-k", self.folder, *options),
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._ran("pg_isready", "-h", self.folder, "-q").returncode != 0:
            said = (self.folder / "log").read_text(errors="replace")
            assert self.process.poll() is None, f"PostgreSQL ended while it was starting.\n{said}"
            assert time.monotonic() < deadline, f"PostgreSQL did not start in time.\n{said}"
            time.sleep(0.05)

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """End the server and every connection to it. SIGQUIT ends it without waiting for
        clients."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(timeout=PATIENCE_SECONDS)
            self.process = None

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_database(self) -> str:
        """Create an empty database and return its DATABASE_URL."""
        name = f"stack_{next(self._numbers)}"
        self._run("createdb", "-h", self.folder, "-U", ADMIN, name)
        return self.url_of(name)

    def url_of(self, name: str) -> str:
        return f"postgres://{ADMIN}@{quote(str(self.folder), safe='')}/{name}"

    def _make_data(self) -> None:
        if os.geteuid() == 0:
            os.chown(self.folder, pwd.getpwnam(ADMIN).pw_uid, -1)
        self._run("initdb", "-D", self.data, "-U", ADMIN, "-A", "trust", "--no-sync", "-E", "UTF8")

    def _run(self, program: str, *arguments: object) -> None:
        ran = self._ran(program, *arguments)
        assert ran.returncode == 0, f"{program}: {ran.stderr or ran.stdout}"

    def _ran(self, program: str, *arguments: object) -> subprocess.CompletedProcess:
        command = self._command(program, *arguments)
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True)

    def _command(self, program: str, *arguments: object) -> list[str]:
        """Return the command, as another user than root, whom PostgreSQL refuses. The death signal
        ends it with killed tests."""
        as_whom = []
        if os.geteuid() == 0:
            as_whom = [f"--reuid={ADMIN}", f"--regid={ADMIN}", "--clear-groups"]
        path = machine.ensure_postgres() / program
        words = ["setpriv", "--pdeathsig=QUIT", *as_whom, path, *arguments]
        return [str(word) for word in words]


@cache
def server() -> Postgres:
    """Return the server of this process. Whoever needs it running must start it."""
    return Postgres()
