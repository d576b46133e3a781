"""A whole Cutline for a campaign: several web processes and workers, started again when they end.

The launcher of ``make run`` keeps the first web process and the first worker. The others run the
commands of the Procfile beside it. What a process leaves when it ends (a pool, a JVM) is ended
before its successor starts, as the launcher does it.
"""

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from honcho.environ import parse_procfile

from tasks.queue import periodic
from tests import postgres
from tests.campaign.database import Database, new_database
from tests.campaign.objects import Objects
from tests.stack import ROOT, Stack
from webapp import embedded_redis, machine

RESTART_SECONDS = 1.0
POLL_SECONDS = 0.1
START_SECONDS = 300  # on a machine that does much else
LASTING_PORTS = range(20_000, 32_000)  # below those of outgoing connections
ASIDE, INSTALLATION = "aside", "installation.json"  # lie beside uploads and stores
DISK_BYTES = 3 * 2**30

CHILD, JVM, DAEMON = "child", "JVM", "Python daemon"
LAUNCHER = "launcher"
LAUNCHED = {"web0": "uvicorn", "worker0": "celery"}  # with a word of their commands


@dataclass
class System(Stack):
    """``ports``: one for each web process. ``starts``: how often each process was started.

    ``objects`` is where the store and the uploads are kept; without it they are in the folder.
    """

    webs: int = 2
    workers: int = 2
    objects: Objects | None = None
    settings: dict[str, str] = field(default_factory=dict)
    is_mounted: bool = False
    ports: list[int] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._is_over = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="keeper", daemon=True)

    def begin(self) -> None:
        """Start everything and wait until it answers."""
        self._commands = parse_procfile((ROOT / "Procfile").read_text()).processes
        self._commands[LAUNCHER] = f"exec {sys.executable} -m webapp.launch"
        self.ports = [a_port() for _ in range(self.webs)]
        self.port = self.ports[0]
        if postgres.IS_CHOSEN and not self.database_url:
            self.database_url = new_database()
        if self.objects:
            self.objects.start()
        self.extra = self._settings()
        self.start_redis()
        for name in self.names[1:]:
            self._launch(name)
        self._keeper.start()
        self.wait_for("every process", self.is_up, START_SECONDS)

    def is_up(self) -> bool:
        return self.answers() and self.live_workers() > 0

    def _settings(self) -> dict[str, str]:
        scratch = self.folder / "TMPDIR"
        scratch.mkdir(exist_ok=True)
        own = {
            "DATABASE_URL": self.database_url,
            "TMPDIR": str(scratch),
            "JAVA_HOME": str(machine.ensure_java()),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOST": "127.0.0.1",
            "PYTHONUNBUFFERED": "1",
            **self.settings,
            **(self.objects.settings if self.objects else {}),
        }
        return {name: value for name, value in own.items() if value}

    @property
    def names(self) -> list[str]:
        """The processes that are kept here; the launcher keeps those of LAUNCHED."""
        webs = [f"web{number}" for number in range(1, self.webs)]
        workers = [f"worker{number}" for number in range(1, self.workers)]
        return ["redis", LAUNCHER, *webs, *workers]

    @property
    def database(self) -> Database:
        return Database(self.database_url or f"sqlite:///{self.folder / 'cutline.sqlite3'}")

    def start_redis(self) -> None:
        """Prepare the environment, the database and Redis."""
        (self.folder / "redis").mkdir()
        (self.folder / "redis" / "url").write_text(f"redis://127.0.0.1:{a_port()}/0")
        self.redis = embedded_redis.prepare(self.folder / "redis")
        self.environment = self._clean() | self.extra
        self._launch("redis")
        self.manage("migrate", "--verbosity", "0")

    def _clean(self) -> dict[str, str]:
        from tests.stack import clean_environment

        return clean_environment() | {
            "DATA_DIR": str(self.folder),
            "REDIS_URL": self.redis.url,
            "REDIS_SERVER": str(self.redis.server),
            "REDIS_CONFIG": str(self.redis.config),
        }

    def _launch(self, name: str) -> None:
        kind = name.rstrip("0123456789")
        number = int(name[3:]) if kind == "web" else 0
        self.environment["PORT"] = str(self.ports[number])
        self.starts[name] = self.starts.get(name, 0) + 1
        self.start(name, "sh", "-c", self._commands[kind])

    def _keep(self) -> None:
        while not self._is_over.wait(POLL_SECONDS):
            for name in self.names:
                with self._lock:
                    if self.processes[name].poll() is not None and not self._is_over.is_set():
                        self.end_group(name)
                        time.sleep(RESTART_SECONDS)
                        self._launch(name)

    def end_group(self, name: str) -> None:
        """Kill a process and all of its group."""
        with suppress(ProcessLookupError):
            os.killpg(self.processes[name].pid, 9)

    def stop(self) -> None:
        """Stop everything as an operator would, and then what did not stop."""
        self._is_over.set()
        if self._keeper.is_alive():
            self._keeper.join()
        super().stop()
        if self.objects:
            self.objects.stop()

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Nothing is started again while this lasts."""
        with self._lock:
            yield

    def process(self, name: str) -> list[psutil.Process]:
        """The process of this name, alone in a list; nothing while it is being started again."""
        with suppress(psutil.NoSuchProcess, KeyError):  # a stop takes them out of the dict
            if name not in LAUNCHED:
                return [psutil.Process(self.processes[name].pid)]
            below = psutil.Process(self.processes[LAUNCHER].pid).children(recursive=True)
            return [each for each in below if is_first(each, LAUNCHED[name])][:1]
        return []

    def part(self, worker: str, role: str) -> list[psutil.Process]:
        """The processes below a worker that have a role: its pool's children, JVMs, daemons."""
        with suppress(psutil.NoSuchProcess):
            below = [
                process
                for each in self.process(worker)
                for process in each.children(recursive=True)
            ]
            return [process for process in below if role_of(process) == role]
        return []

    def live_workers(self) -> int:
        """How many workers are ready for a job: their Spark has forked its Python daemon."""
        return sum(bool(self._ready(f"worker{number}")) for number in range(self.workers))

    def _ready(self, worker: str) -> bool:
        return any(not is_stopped(each) for each in self.part(worker, DAEMON))

    def own_processes(self) -> list[psutil.Process]:
        """All processes whose DATA_DIR is this folder, whoever started them."""
        return [each for each in psutil.process_iter() if data_dir_of(each) == str(self.folder)]

    def kill_own(self) -> None:
        """Leave nothing running on this machine, also after a campaign that went wrong."""
        for process in self.own_processes():
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def held(self, folder: str) -> set[str]:
        """What lies in the folder of uploads, or of stores, beside what is set aside."""
        return self._names(folder) - self.set_aside(folder) - {ASIDE, INSTALLATION}

    def set_aside(self, folder: str) -> set[str]:
        """What of it a sweep has set aside, because no row named it."""
        notes = {name for name in self._names(f"{folder}/{ASIDE}") if name.endswith(".json")}
        return {name.removesuffix(".json") for name in notes}

    def _names(self, folder: str) -> set[str]:
        if self.objects is not None:
            return {key.partition("/")[0] for key in self.objects.keys(folder)}
        here = self.folder / folder
        return {path.name for path in here.iterdir()} if here.is_dir() else set()

    def upload(self, name: str) -> bytes:
        """The bytes of an upload where it is kept."""
        if self.objects is None:
            return (self.folder / "uploads" / name).read_bytes()
        return self.objects.read(f"uploads/{name}")

    def mount_disk(self) -> bool:
        """Give the folder a small disk of its own; False where this machine lets nobody mount."""
        options = f"size={DISK_BYTES},mode=700"
        command = ["mount", "-t", "tmpfs", "-o", options, "cutline-campaign", str(self.folder)]
        self.is_mounted = subprocess.run(command, capture_output=True).returncode == 0
        return self.is_mounted

    def unmount_disk(self) -> None:
        if self.is_mounted:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)


def a_port() -> int:
    """A free port that the system gives to no connection while its owner is being restarted."""
    while not embedded_redis.port_is_free("127.0.0.1", port := random.choice(LASTING_PORTS)):
        pass
    return port


def role_of(process: psutil.Process) -> str:
    """Name what a process below a worker is; empty for what is none of the three."""
    with suppress(psutil.Error):
        if process.name() == "java":
            return JVM
        words = commands(process)
        if "worker_daemon" in words or process.name() == "spark daemon":
            return DAEMON
        if process.name() in {"nursery", periodic.NAME}:
            return ""
        if "celery" in words:
            return CHILD
    return ""


def is_first(process: psutil.Process, word: str) -> bool:
    """Tell whether a process has this word in its command and its parent has not."""
    with suppress(psutil.Error):
        parent = process.parent()
        return word in commands(process) and (parent is None or word not in commands(parent))
    return False


def commands(process: psutil.Process) -> str:
    return " ".join(process.cmdline())


def is_stopped(process: psutil.Process) -> bool:
    try:
        return process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def data_dir_of(process: psutil.Process) -> str | None:
    """The DATA_DIR of a living process; None where it has none or cannot be asked."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return process.environ().get("DATA_DIR")
    except psutil.Error:
        return None
