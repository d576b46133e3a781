"""What a campaign does to a running system. Each strike says in a few words what it hit.

The clock cannot be moved for some processes alone without replacing their C library's. Instead, all
that is remembered of the time, in rows of open jobs and on files, is moved by an hour, which is
what a clock that jumps looks like to those who compare with it.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import psutil
from redis import Redis

from tests.campaign.system import CHILD, DAEMON, JVM, LAUNCHER, System

Strike = Callable[[System, Random, bool], str]
HOUR = 3600


def a_worker(system: System, dice: Random, role: str = "") -> str:
    """One of the workers; one that has a part with this role, where any has."""
    workers = [f"worker{number}" for number in range(system.workers)]
    having = [worker for worker in workers if role and system.part(worker, role)]
    return dice.choice(having or workers)


def a_web(system: System, dice: Random) -> str:
    return f"web{dice.randrange(system.webs)}"


def send(process: psutil.Process, number: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def kill_process(name: str) -> Strike:
    """A strike that ends a process that the system starts again."""

    def strike(system: System, dice: Random, short: bool) -> str:
        chosen = {"worker": a_worker, "web": a_web}.get(name, lambda *_: name)(system, dice)
        with system.at_rest():
            for process in (struck := system.process(chosen)):
                send(process, signal.SIGKILL)
        return chosen if struck else f"{chosen} was not there"

    return strike


def freeze_process(name: str, seconds: tuple[float, float]) -> Strike:
    """A strike that stops a process for a while."""

    def strike(system: System, dice: Random, short: bool) -> str:
        chosen = {"worker": a_worker, "web": a_web}.get(name, lambda *_: name)(system, dice)
        return freeze(system.process(chosen), dice, seconds, short, chosen)

    return strike


def kill_part(role: str) -> Strike:
    """A strike that ends what runs below a worker."""

    def strike(system: System, dice: Random, short: bool) -> str:
        worker = a_worker(system, dice, role)
        parts = system.part(worker, role)
        for process in parts:
            send(process, signal.SIGKILL)
        return f"{len(parts)} of {worker}"

    return strike


def freeze_part(role: str, seconds: tuple[float, float]) -> Strike:
    """A strike that stops what runs below a worker for a while."""

    def strike(system: System, dice: Random, short: bool) -> str:
        worker = a_worker(system, dice, role)
        return freeze(system.part(worker, role), dice, seconds, short, worker)

    return strike


def freeze(
    processes: list[psutil.Process],
    dice: Random,
    seconds: tuple[float, float],
    short: bool,
    whose: str,
) -> str:
    duration = dice.uniform(*seconds) / (4 if short else 1)
    for process in processes:
        send(process, signal.SIGSTOP)
    time.sleep(duration)
    for process in processes:
        send(process, signal.SIGCONT)
    return f"{len(processes)} of {whose} for {duration:.0f} s"


def kill_everything(system: System, dice: Random, short: bool) -> str:
    """End every process at once, as a power cut does."""
    with system.at_rest():
        own = system.own_processes()
        for process in own:
            send(process, signal.SIGKILL)
    return f"{len(own)} processes"


def empty_redis(system: System, dice: Random, short: bool) -> str:
    with Redis.from_url(system.redis_url) as redis:
        redis.flushall()
    return "FLUSHALL"


def lock_database(system: System, dice: Random, short: bool) -> str:
    seconds = 6 if short else 25
    with system.database.locked():
        time.sleep(seconds)
    return f"for {seconds} s"


def fill_disk(system: System, dice: Random, short: bool) -> str:
    """Fill the small disk of the system for a while."""
    filler, seconds = system.folder / "filler", 5 if short else dice.uniform(5, 20)
    with filler.open("wb") as file, suppress(OSError):
        while True:
            os.posix_fallocate(file.fileno(), file.tell(), 2**20)
            file.seek(2**20, os.SEEK_CUR)
    time.sleep(seconds)
    size = filler.stat().st_size
    filler.unlink()
    return f"with {size >> 20} MiB for {seconds:.0f} s"


def make_store_read_only(system: System, dice: Random, short: bool) -> str:
    seconds = 5 if short else dice.uniform(5, 20)
    with read_only(system.folder / "store"):
        time.sleep(seconds)
    return f"for {seconds:.0f} s"


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Keep everyone from writing to a folder: root by a mount, others by its mode."""
    if os.geteuid():
        folder.chmod(0o500)
        yield
        folder.chmod(0o700)
        return
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def cut_objects(system: System, dice: Random, short: bool) -> str:
    """Break the connections with the object store, and refuse new ones for a while."""
    seconds = dice.uniform(3, 20) / (4 if short else 1)
    with system.objects.cut():
        time.sleep(seconds)
    return f"for {seconds:.0f} s"


def freeze_objects(system: System, dice: Random, short: bool) -> str:
    """Let the object store take requests and answer none for a while."""
    seconds = dice.uniform(3, 20) / (4 if short else 1)
    with system.objects.server.frozen():
        time.sleep(seconds)
    return f"for {seconds:.0f} s"


def slow_objects(system: System, dice: Random, short: bool) -> str:
    delay, seconds = dice.uniform(0.1, 0.5), dice.uniform(5, 20) / (4 if short else 1)
    with system.objects.slow(delay):
        time.sleep(seconds)
    return f"by {delay:.1f} s a chunk for {seconds:.0f} s"


def move_clock(system: System, dice: Random, short: bool) -> str:
    hours = dice.choice((-1, 1))
    system.database.move_times(hours)
    for kind in ("uploads", "store", "tmp"):
        for path in (system.folder / kind).rglob("*"):
            with suppress(OSError):
                moved = path.stat().st_mtime + hours * HOUR
                os.utime(path, (moved, moved))
    return f"what is remembered looks {-hours:+} h older"


STRIKES: dict[str, Strike] = {
    "kill worker": kill_process("worker"),
    "kill child": kill_part(CHILD),
    "kill JVM": kill_part(JVM),
    "kill Python daemon": kill_part(DAEMON),
    "kill web": kill_process("web"),
    "kill Redis": kill_process("redis"),
    "kill launcher": kill_process(LAUNCHER),
    "kill everything": kill_everything,
    "freeze worker": freeze_process("worker", (3, 30)),
    "freeze child": freeze_part(CHILD, (3, 30)),
    "freeze JVM": freeze_part(JVM, (3, 20)),
    "freeze web": freeze_process("web", (3, 15)),
    "freeze Redis": freeze_process("redis", (3, 15)),
    "empty Redis": empty_redis,
    "lock database": lock_database,
    "fill disk": fill_disk,
    "store read-only": make_store_read_only,
    "move clock": move_clock,
    "cut object store": cut_objects,
    "freeze object store": freeze_objects,
    "slow object store": slow_objects,
}
NEED_A_DISK = {"fill disk"}
NEED_OBJECTS = {"cut object store", "freeze object store", "slow object store"}
TIMES_WITH_OBJECTS = 4  # as often as others, where there is an object store


def possible(system: System) -> list[str]:
    """The strikes that this machine lets us do."""
    root = os.geteuid() == 0
    lacking = set() if system.is_mounted else NEED_A_DISK
    if root and (shutil.which("mount") is None or not system.is_mounted):
        lacking = lacking | {"store read-only"}  # where the disk could not be mounted
    if system.objects is None:
        return [name for name in STRIKES if name not in lacking | NEED_OBJECTS]
    here = [name for name in STRIKES if name not in lacking | {"store read-only"}]
    return here + [name for name in here if name in NEED_OBJECTS] * (TIMES_WITH_OBJECTS - 1)
