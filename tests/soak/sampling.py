"""What an installation holds at a moment, in numbers: memory, open files, rows, bytes, keys.

The name of a quantity is ``KIND/WHAT``, such as ``threads/web1`` or ``rows/snapshots_job``. Memory
and bytes are in bytes, everything else is a count.
"""

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
from redis import Redis

from tasks.queue import periodic
from tests.campaign.system import CHILD, DAEMON, JVM, LAUNCHER, System, role_of

MEMORY, FILES, THREADS, PROCESSES = "memory", "open files", "threads", "processes"
STORED = "open files of stored recordings"  # of which a process keeps the last few open
TEMPORARY, ROWS, DISK, REDIS, SHARED = "temporary", "rows", "disk", "redis", "shared memory"
BLOCKS = "blocks of Spark"  # in folders that Spark makes when it first needs them
BLOCKS_OF_SPARK = "/blockmgr-"
WHOLE = "all"
LOGS = "logs"

Sample = dict[str, float]


def sample(system: System) -> Sample:
    """Measure everything. Nothing is under way while this is called."""
    parts = dict(parts_of(system))
    return (
        of_processes(parts)
        | of_java(parts)
        | of_database(system)
        | of_folders(system.folder)
        | of_redis(system.redis_url)
        | of_shared_memory(parts)
        | of_removed_files(parts)
    )


def parts_of(system: System) -> Iterator[tuple[str, list[psutil.Process]]]:
    """The processes by what they are: ``web1``, ``worker1 JVM``, and what has no such name."""
    own = {process.pid: process for process in system.own_processes()}
    named = [f"{kind}{n}" for kind in ("web", "worker") for n in range(_count(system, kind))]
    for name in ("redis", *named):
        roots = [each for each in system.process(name) if own.pop(each.pid, None)]
        yield name, roots
        below: dict[str, list[psutil.Process]] = {}
        for process in (child for root in roots for child in root.children(recursive=True)):
            if own.pop(process.pid, None):
                below.setdefault(f"{name} {_role(process)}", []).append(process)
        yield from below.items()
    yield LAUNCHER, list(own.values())


def _count(system: System, kind: str) -> int:
    return system.webs if kind == "web" else system.workers


def _role(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        if process.name() == periodic.NAME:
            return "periodic"
    return {CHILD: "jobs", JVM: "JVM", DAEMON: "Python"}.get(role_of(process), "other")


def of_processes(parts: dict[str, list[psutil.Process]]) -> Sample:
    """Memory that no file backs, open files and threads of each part; the PSS of all."""
    found: Counter[str] = Counter()
    for name, processes in parts.items():
        for process in processes:
            with suppress(psutil.Error, OSError):
                rollup = _rollup(process.pid)
                found[f"{MEMORY}/{name}"] += rollup["Anonymous"]
                found[f"{MEMORY}/{WHOLE}"] += rollup["Pss"]
                found[f"{FILES}/{name}"] += process.num_fds() - (stored := _stored(process.pid))
                found[f"{STORED}/{name}"] += stored
                found[f"{THREADS}/{name}"] += process.num_threads()
                found[f"{PROCESSES}/{name}"] += 1
    return dict(found)


def _stored(pid: int) -> int:
    targets = (str(link.readlink()) for link in Path(f"/proc/{pid}/fd").glob("*"))
    return sum("/data/store/" in target for target in targets)


def _rollup(pid: int) -> dict[str, int]:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return {name: 1024 * int(kib) for name, kib in re.findall(r"(\w+): +(\d+) kB", text)}


def of_java(parts: dict[str, list[psutil.Process]]) -> Sample:
    """What a collection leaves on the heap of each JVM; nothing where there is no jcmd."""
    found = {}
    for name, processes in parts.items():
        for process in processes if name.endswith(JVM) else []:
            if (used := _live_heap(process.pid)) is not None:
                found[f"{MEMORY}/{name} heap"] = used
    return found


def _live_heap(pid: int) -> int | None:
    try:
        _jcmd(pid, "GC.run")
        told = re.findall(r"(?:generation|heap) +total.* used (\d+)K", _jcmd(pid, "GC.heap_info"))
    except (OSError, subprocess.SubprocessError):
        return None
    return 1024 * sum(map(int, told)) if told else None


def _jcmd(pid: int, command: str) -> str:
    ran = subprocess.run(["jcmd", str(pid), command], capture_output=True, text=True, timeout=60)
    return ran.stdout


def of_database(system: System) -> Sample:
    """Rows of each table."""
    database = system.database
    query = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        if database.is_sqlite
        else "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    )
    tables = [name for (name,) in database.rows(query)]
    return {
        f"{ROWS}/{name}": database.rows(f'SELECT count(*) FROM "{name}"')[0][0] for name in tables
    }


def of_folders(data: Path) -> Sample:
    """Bytes of each folder in DATA_DIR and of the database; what lies in folders that are swept."""
    found: Counter[str] = Counter()
    for path in data.iterdir():
        kind = LOGS if path.suffix == ".log" else path.name.partition(".")[0]
        found[f"{DISK}/{kind}"] += sum(map(_size, _files(path)))
    for folder in ("uploads", "store"):
        found[f"{TEMPORARY}/{folder}"] = sum(1 for _ in (data / folder).iterdir())
    for folder in ("tmp", "TMPDIR"):
        for path in _files(data / folder):
            found[f"{BLOCKS if BLOCKS_OF_SPARK in str(path) else TEMPORARY}/{folder}"] += 1
    return dict(found)


def _files(path: Path) -> Iterator[Path]:
    """All entries below a folder, or the file itself."""
    if path.is_file():
        yield path
    for folder, folders, files in os.walk(path):
        yield from (Path(folder, name) for name in (*folders, *files))


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_blocks * 512
    return 0


def of_redis(url: str) -> Sample:
    """Keys by the word before their first colon or dot that holds no name, memory and clients."""
    with Redis.from_url(url) as redis:
        memory, clients = redis.info("memory"), redis.info("clients")
        return {
            f"{REDIS}/keys": redis.dbsize(),
            f"{REDIS}/clients": clients["connected_clients"],
            f"{MEMORY}/redis data": memory["used_memory_dataset"],
        }


def of_shared_memory(parts: dict[str, list[psutil.Process]]) -> Sample:
    """How many names in shared memory the processes map."""
    names = set()
    for process in (each for processes in parts.values() for each in processes):
        with suppress(psutil.Error, OSError):
            mapped = Path(f"/proc/{process.pid}/maps").read_text()
            names |= set(re.findall(r"/dev/shm/\S+", mapped))
    return {f"{SHARED}/names": len(names)}


def of_removed_files(parts: dict[str, list[psutil.Process]]) -> Sample:
    """Bytes of files that have no name any more and are kept on the disk by whoever has them open.

    Each file counts once, whoever has it open.
    """
    held: dict[tuple[int, int], int] = {}
    for process in (each for processes in parts.values() for each in processes):
        for link in Path(f"/proc/{process.pid}/fd").glob("*"):
            with suppress(OSError):
                if re.fullmatch(r"/(?!dev/|memfd:).* \(deleted\)", str(link.readlink())):
                    status = link.stat()
                    held[status.st_dev, status.st_ino] = status.st_blocks * 512
    return {f"{DISK}/removed and open": sum(held.values())}
