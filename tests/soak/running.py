"""A soak: hour after hour of the same work on a whole installation, and a sample after each."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psutil

from tests.campaign import checks
from tests.campaign.client import Client
from tests.campaign.logs import BROKEN
from tests.campaign.strikes import send
from tests.campaign.system import CHILD, JVM, LAUNCHER, System
from tests.campaign.work import Piece, Work
from tests.soak.hour import Book, Engines, Hour, engines, expected, forget
from tests.soak.people import Notified, People
from tests.soak.sampling import Sample, sample
from tests.soak.visitor import Visitor
from tests.stack import ROOT, Stack

SETTINGS = {
    "COLLECTOR_HOSTS": "127.0.0.1",
    "WEBHOOK_HTTP": "yes",
    "WEBHOOK_PRIVATE_NETWORKS": "127.0.0.0/8",
    "SET_ASIDE_DAYS": "1",
}
KINDS = ("small", "damaged", BROKEN, "simulation", "pieces", "restore", "deletion", "reading")
SHORT_KINDS = ("small", "damaged", "restore")
RESTARTS = (
    *("nothing", "worker", "nothing", "web", "nothing", "redis"),
    *("nothing", "JVM", "nothing", LAUNCHER, "nothing", "jobs"),
)
"""What ends in the first hour, in the second and so on. The second web process and the second
worker never do: what they hold would grow."""
AGE_HOURS = 120
"""The hours that pass after each hour of work, so that what is kept for a day, for two weeks or for
30 days goes in the course of the soak."""
RESTORE_HOURS = 12  # every so many, a backup is restored elsewhere
REST_SECONDS = 7  # longer than from one sweep to the next
ONCE = ("load_samples", "sign_in_link", "make_classes")


@dataclass
class Report:
    """``samples``: the first before any hour. ``faults``: what must not have happened."""

    samples: list[Sample] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class Soak:
    """``restarts``: what ends in which hour. ``keep``: gets the report after each hour."""

    folder: Path
    hours: int = 24
    webs: int = 2
    workers: int = 2
    kinds: tuple[str, ...] = KINDS
    restarts: tuple[str, ...] = RESTARTS
    age_hours: int = AGE_HOURS
    keep: Callable[[Report], None] = lambda report: None
    tell: Callable[[str], None] = lambda line: None
    engines: Engines = field(default_factory=engines)

    def run(self) -> Report:
        """Begin, work for all hours, and stop. Raises: AssertionError where something fails."""
        data = self.folder / "data"
        data.mkdir()
        system = System(data, webs=self.webs, workers=self.workers, settings=SETTINGS)
        report, began = Report(), time.monotonic()
        try:
            self._work(system, report)
            report.seconds = time.monotonic() - began
            system.stop()
            report.faults += checks.survivors(system) + checks.temporary_files(system)
        finally:
            system.stop()
            system.kill_own()
        return report

    def _work(self, system: System, report: Report) -> None:
        system.begin()
        wait_until_begun(system)
        self.tell(f"Everything runs in {self.folder}.")
        work = Book(system, 1, dict.fromkeys(self.kinds, 1))
        try:
            self._pass_hours(system, work, report)
        finally:
            work.end()
        report.faults += checks.files(system) + checks.scratch(system) + checks.orphans(system)
        report.faults += work.faults + [fault for each in work.clients for fault in each.faults]

    def _pass_hours(self, system: System, work: Work, report: Report) -> None:
        work.begin_calm()
        client = work.client()
        team = expected(client.post("/teams", {"name": "payments"}), 201).body["id"]
        link, before = system.manage("sign_in_link"), []
        self._sample(system, report)
        for number in range(1, self.hours + 1):
            began = time.monotonic()
            what = self.restarts[(number - 1) % len(self.restarts)]
            restart(system, what)
            now = self._hour(number, system, work, client, team, link)
            report.faults += checks.wait_until_quiet(system) + checks.contents(work, client)
            forget(client, before)
            work.pieces = [piece for piece in work.pieces if not piece.is_deleted]
            is_restored = number % RESTORE_HOURS == 1
            link = operate(system, self.folder, self.age_hours, restores=is_restored)
            before = now
            self._sample(system, report)
            self.tell(f"hour {number}: {what} ended, {time.monotonic() - began:.0f} s")
            self.keep(report)

    def _hour(
        self, number: int, system: System, work: Work, client: Client, team: int, link: str
    ) -> list[Piece]:
        """Do the work of an hour, and return what was accepted. Nobody ends the owner's session."""
        dice = Random(number)
        person, notified = Visitor(system, dice), Notified(client)
        person.get(link)
        person.post(link)
        notified.open()
        hour = Hour(number, work, client, person, dice, self.engines, self.kinds)
        for part in hour.parts():
            part()
        People(number, system, client, dice, team).come_and_go()
        notified.close()
        return hour.pieces

    def _sample(self, system: System, report: Report) -> None:
        report.faults += checks.wait_until_quiet(system)
        time.sleep(REST_SECONDS)
        report.samples.append(sample(system))


def wait_until_begun(system: System) -> None:
    """Wait until what runs once after a start has ended."""
    checks.within(checks.PATIENCE_SECONDS, lambda: not runs_once(system))


def runs_once(system: System) -> bool:
    told = [checks.words(process) for process in system.own_processes()]
    return any(word in each for each in told for word in ONCE)


def restart(system: System, what: str) -> None:
    """End a part as an operator would, or kill it where none would, and wait for the next."""
    victims = {
        "worker": lambda: system.process("worker0"),
        "web": lambda: system.process("web0"),
        "redis": lambda: system.process("redis"),
        "JVM": lambda: system.part("worker0", JVM),
        "jobs": lambda: system.part("worker0", CHILD),
        LAUNCHER: lambda: system.process(LAUNCHER),
    }
    ended = victims[what]() if what in victims else []
    for process in ended:
        send(process, signal.SIGKILL if what in ("JVM", "jobs") else signal.SIGTERM)
    psutil.wait_procs(ended, timeout=60)
    ready = system.workers - (what == "JVM")  # the next job starts the next one
    assert checks.within(checks.PATIENCE_SECONDS, lambda: is_up(system, ready)), what
    if what == LAUNCHER:
        wait_until_begun(system)


def is_up(system: System, workers: int) -> bool:
    """Tell whether each process runs, and every web process and so many workers are ready."""
    for port in system.ports:
        system.port = port
        if not system.answers():
            return False
    system.port = system.ports[0]
    return system.redis_answers() and system.live_workers() >= workers


def operate(system: System, folder: Path, hours: int, *, restores: bool) -> str:
    """Make a backup, verify and remove it, let hours pass, and return the next sign-in link."""
    backup = folder / "backup"
    command = [sys.executable, "-m", "tests.soak.operating", str(backup), str(hours)]
    environment = system.environment
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    verify(system, backup, folder / "restored" if restores else None)
    shutil.rmtree(backup)
    return done.stdout.decode().split()[-1]


def verify(system: System, backup: Path, elsewhere: Path | None) -> None:
    """Check the sums of a backup, and restore it elsewhere if there is an elsewhere."""
    sums = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    subprocess.run(sums, cwd=backup, check=True)
    if elsewhere is not None:
        elsewhere.mkdir()
        other = Stack(elsewhere)
        other.environment = system.environment | {"DATA_DIR": str(elsewhere)}
        told = other.manage("restore_backup", str(backup))
        assert "Restored" in told, told
        shutil.rmtree(elsewhere)
