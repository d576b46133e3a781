"""A campaign: strikes at random moments under mixed work, and the checks afterwards."""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.campaign import checks, collecting, webhooks
from tests.campaign.objects import Objects
from tests.campaign.strikes import STRIKES, possible
from tests.campaign.system import System, a_port
from tests.campaign.watch import Watch
from tests.campaign.work import Work

PAUSE_SECONDS = (1.0, 8.0)


@dataclass
class Struck:
    """One strike. ``at``: seconds since the first. ``wait``, ``served``: the longest lost job's."""

    name: str
    at: float
    what: str
    wait: float = 0.0
    served: float = 0.0

    def row(self) -> str:
        return (
            f"| {self.name} | {self.at:.0f} s | {self.what} | {self.wait:.1f} s | "
            f"{self.served:.1f} s |"
        )


HEAD = (
    "| strike | when | what happened | longest wait | of it, with a worker ready |\n"
    "| --- | --- | --- | --- | --- |"
)


@dataclass
class Report:
    """``faults``: what must not have happened. ``notes``: what one may want to know."""

    strikes: list[Struck] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass
class Campaign:
    """``logs``: a folder that gets the logs. ``tell``: gets each line of the table at once."""

    folder: Path
    seed: int = 1
    webs: int = 2
    workers: int = 2
    threads: int = 5
    database_url: str = ""
    has_objects: bool = False
    is_short: bool = False
    kinds: dict[str, int] | None = None
    logs: Path | None = None
    tell: Callable[[str], None] = lambda line: None

    def run(self, strikes: Iterable[str] | int) -> Report:
        """Strike so often, or with these, and check. Raises: AssertionError if nothing starts."""
        system = System(
            self.folder,
            webs=self.webs,
            workers=self.workers,
            database_url=self.database_url,
            settings=collecting.SETTINGS | webhooks.SETTINGS,
            objects=Objects(a_port()) if self.has_objects else None,
        )
        memory = checks.shared_memory()
        if not system.mount_disk():
            self.tell("This machine lets nobody mount a disk: it is neither filled nor read-only.")
        report = Report()
        try:
            self._run(system, strikes, report)
            system.stop()
            report.faults += checks.survivors(system)  # before what survived is killed
            report.faults += checks.temporary_files(system)
            report.faults += checks.leftover_memory(memory)
        finally:
            system.stop()
            system.kill_own()
            self._keep_logs()
            system.unmount_disk()
        return report

    def _keep_logs(self) -> None:
        if self.logs is not None:
            self.logs.mkdir(parents=True, exist_ok=True)
            for log in self.folder.glob("*.log"):
                shutil.copy(log, self.logs)

    def _run(self, system: System, strikes: Iterable[str] | int, report: Report) -> None:
        system.begin()
        work, watch = Work(system, self.seed, self.kinds), Watch(system)
        self.tell(f"Everything runs in {self.folder}.")
        try:
            work.begin_calm()
            work.start(self.threads)
            watch.start()
            self._strike(system, watch, strikes, report)
            work.stop()
            report.faults += checks.wait_until_quiet(system)
            watch.stop()
            self._judge(system, work, watch, report)
        finally:
            work.end()

    def _strike(
        self, system: System, watch: Watch, strikes: Iterable[str] | int, report: Report
    ) -> None:
        dice = Random(self.seed)
        if isinstance(strikes, int):
            strikes = [dice.choice(possible(system)) for _ in range(strikes)]
        began, before = time.monotonic(), []
        for name in strikes:
            time.sleep(dice.uniform(*PAUSE_SECONDS))
            self._settle(watch, before)
            moment = time.monotonic()
            what = STRIKES[name](system, dice, self.is_short)
            struck = Struck(name, moment - began, what)
            report.strikes.append(struck)
            before.append((moment, struck))
            self.tell(f"{struck.at:6.0f} s  {name}: {what}")
        time.sleep(PAUSE_SECONDS[1])
        self._settle(watch, before)

    def _settle(self, watch: Watch, before: list[tuple[float, Struck]]) -> None:
        """Note for the strikes so far which lost job has waited longest."""
        following = [*(moment for moment, _ in before[1:]), float("inf")][: len(before)]
        for (moment, struck), end in zip(before, following, strict=True):
            wait = watch.longest_between(moment, end)
            if wait is not None:
                struck.wait, struck.served = wait.seconds, wait.served

    def _judge(self, system: System, work: Work, watch: Watch, report: Report) -> None:
        client = work.client()
        report.faults += checks.contents(work, client)
        report.faults += work.book_faults(client)
        report.faults += checks.files(system)
        report.faults += checks.scratch(system)
        report.faults += checks.orphans(system)
        report.faults += work.faults
        report.faults += [fault for each in work.clients for fault in each.faults]
        longest = watch.longest
        if longest is not None and longest.served > checks.LONGEST_WAIT:
            report.faults.append(
                f"job {longest.job} waited {longest.served:.0f} s while a worker was ready"
            )
        report.notes += self._notes(
            system, work, watch, Counter(each.name for each in report.strikes)
        )

    def _notes(self, system: System, work: Work, watch: Watch, struck: Counter[str]) -> list[str]:
        accepted = work.accepted()
        unanswered = sum(client.unanswered for client in work.clients)
        put_off = sum(client.put_off for client in work.clients)
        starts = ", ".join(f"{name} {count}" for name, count in system.starts.items())
        aside = sum(len(system.set_aside(folder)) for folder in ("uploads", "store"))
        longest = max((wait.seconds for wait in watch.ended), default=0.0)
        return [
            "accepted: " + ", ".join(f"{kind} {count}" for kind, count in accepted.items()),
            "strikes: " + ", ".join(f"{name} {count}" for name, count in struck.items()),
            f"{unanswered} requests without an answer, {put_off} put off with 429, 503 or 507",
            f"{len(watch.ended)} lost jobs; the longest wait {longest:.1f} s in all, "
            f"{watch.longest.served if watch.longest else 0:.1f} s while a worker was ready",
            f"set aside: {aside}",
            f"starts: {starts}",
        ]
