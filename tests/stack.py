"""The whole of Cutline in processes of its own: Redis, a worker with a warm Spark, the server.

It has its own DATA_DIR. Tests reach it like users: over HTTP and with manage.py.
"""

import atexit
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import psutil
import redis

from tasks.queue import periodic
from tests import postgres
from webapp import embedded_redis

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "artifacts" / "pictures"  # docs/tests.md says which of them the pages show
PATIENCE_SECONDS = 90
SHARED_TABLES = "CUTLINE_TEST_TABLES"
"""The variable with a folder that all processes of a run share, for an empty database."""


@dataclass
class Stack:
    folder: Path
    database_url: str = ""  # empty: the one that the tests run on
    port: int = field(default_factory=embedded_redis.free_port)
    processes: dict[str, subprocess.Popen] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def redis_url(self) -> str:
        return self.environment["REDIS_URL"]

    @property
    def empty_redis_url(self) -> str:
        """Return the address of another database of the same Redis, which no process of a stack
        uses."""
        return self.redis_url.removesuffix("/0") + "/7"

    def beside(self, folder: Path, **settings: object) -> "Stack":
        """Return another stack on this Redis, migrated, with data and settings of its own."""
        other = Stack(folder)
        own = {"DATA_DIR": folder, "PORT": other.port, **settings}
        if postgres.IS_CHOSEN:
            own["DATABASE_URL"] = postgres.server().new_database()
        other.environment = self.environment | {name: str(value) for name, value in own.items()}
        other.make_tables()
        return other

    def start_redis(self) -> None:
        self.redis = embedded_redis.prepare(self.folder / "redis")
        self.environment = clean_environment() | {
            "PUBLIC_LINKS": "yes",
            "DATA_DIR": str(self.folder),
            "REDIS_URL": self.redis.url,
            "PORT": str(self.port),
        }
        if postgres.IS_CHOSEN and not self.database_url:
            postgres.server().start()
            self.database_url = postgres.server().new_database()
        if self.database_url:
            self.environment["DATABASE_URL"] = self.database_url
        self.run_redis()
        self.make_tables()

    def make_tables(self) -> None:
        """Migrate the database. One in a file is a copy of one that is migrated once."""
        if "DATABASE_URL" in self.environment:
            self.manage("migrate", "--verbosity", "0")
        else:
            shutil.copy(migrated_database(), self.environment["DATA_DIR"])

    def run_redis(self) -> None:
        """Start Redis, and wait until it answers: it takes connections only after a moment."""
        self.start("redis", self.redis.server, self.redis.config)
        self.wait_for("Redis", self.redis_answers)

    def redis_answers(self) -> bool:
        with redis.Redis.from_url(self.redis.url) as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False

    def start_server(self, *arguments: object) -> None:
        self.start(
            *["server", sys.executable, "-m", "uvicorn", "webapp.asgi:application"],
            *["--port", self.port, "--lifespan", "off", "--no-access-log", "--no-proxy-headers"],
            *["--http", "webapp.edge.protocol:HttpProtocol"],
            *["--ws", "webapp.edge.protocol:WebSocketProtocol"],
            *["--ws-ping-interval", 5, "--ws-ping-timeout", 20],
            *["--timeout-graceful-shutdown", 2, *arguments],
        )
        self.wait_for("the server", self.answers)

    def start_worker(self) -> None:
        ready = self.log("worker").stat().st_size if self.log("worker").exists() else 0
        self.start(
            *["worker", sys.executable, "-m", "celery", "--app", "webapp", "worker"],
            *["--loglevel", "info", "--without-gossip", "--without-mingle"],
        )
        self.wait_for("the worker", lambda: " ready." in self.said("worker")[ready:])

    def start(self, name: str, *command: object) -> None:
        with self.log(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [str(word) for word in command],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                umask=0o022,  # that of most machines
            )

    def job_processes(self) -> list[int]:
        """Return the pids of the processes in which the worker runs jobs."""
        return self._below_worker(is_beside=False)

    def beside_worker(self) -> list[int]:
        """Return the pids of the processes that do the worker's periodic work."""
        return self._below_worker(is_beside=True)

    def _below_worker(self, *, is_beside: bool) -> list[int]:
        pids = []
        for child in psutil.Process(self.processes["worker"].pid).children():
            with suppress(psutil.Error):  # it has ended
                if (child.name() == periodic.NAME) == is_beside:
                    pids.append(child.pid)
        return pids

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """End a process and all that it started. After SIGKILL, ``start_…`` starts it again."""
        process = self.processes.pop(name)
        for each in (number, signal.SIGKILL):
            try:
                os.killpg(process.pid, each)
                process.wait(timeout=10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill(name, signal.SIGTERM)

    def manage(self, *arguments: str) -> str:
        """Return what ``manage.py`` prints. If it fails, raise with its complaint."""
        command = [sys.executable, "manage.py", *arguments]
        ran = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True
        )
        assert ran.returncode == 0, f"manage.py {' '.join(arguments)}: {ran.stderr or ran.stdout}"
        return ran.stdout.strip()

    def token(self, email: str = "owner@localhost") -> str:
        """Return a token of a person, the same one each time."""
        if email not in self.tokens:
            self.tokens[email] = self.manage("create_token", email)
        return self.tokens[email]

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def said(self, name: str) -> str:
        return self.log(name).read_text(errors="replace")

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=2) as answer:
                return answer.status == 200
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def wait_for(self, what: str, is_there, patience: float = PATIENCE_SECONDS) -> None:
        deadline = time.monotonic() + patience
        while not is_there():
            ended = [name for name, process in self.processes.items() if process.poll() is not None]
            logs = "\n".join(self.said(name)[-3000:] for name in self.processes)
            assert not ended, f"{', '.join(ended)} ended while {what} was starting.\n{logs}"
            assert time.monotonic() < deadline, f"{what} did not start in time.\n{logs}"
            time.sleep(0.1)


@cache
def migrated_database() -> Path:
    """Return the file of an empty database with all tables, alone in its folder.

    The processes of a run share the one that the first of them makes.
    """
    shared = os.environ.get(SHARED_TABLES)
    folder = Path(shared or tempfile.mkdtemp(prefix="cutline-tables-"))
    if not shared:
        atexit.register(shutil.rmtree, folder)
    made, tables = folder / "made", folder / "tables"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not tables.exists():
            made.mkdir()
            stack = Stack(made, environment=clean_environment() | {"DATA_DIR": str(made)})
            stack.manage("migrate", "--verbosity", "0", "--skip-checks")
            made.rename(tables)
    return tables / "cutline.sqlite3"


def clean_environment() -> dict[str, str]:
    """Return this process's environment without the settings that would lead to somebody's real
    data."""
    from webapp.env import SETTINGS

    ours = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    return ours | {"DJANGO_SETTINGS_MODULE": "webapp.settings"}
