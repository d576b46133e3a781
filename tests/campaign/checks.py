"""What must hold when a campaign is over and everything is quiet. Each fault is a sentence."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

from tests.campaign.client import Client
from tests.campaign.database import ERRORS
from tests.campaign.system import JVM, System, role_of
from tests.campaign.work import Piece, Work

PATIENCE_SECONDS = 300
SWEEP_SECONDS = 60
LONGEST_WAIT = 30.0
SHARED_MEMORY = Path("/dev/shm")


def wait_until_quiet(system: System) -> list[str]:
    """Wait until no job is open and every process runs."""

    def is_quiet() -> bool:
        running = all(process.poll() is None for process in system.processes.values())
        return running and not open_jobs(system) and system.live_workers() == system.workers

    if within(PATIENCE_SECONDS, is_quiet):
        return []
    left = f"open jobs {open_jobs(system)}, {system.live_workers()} workers ready"
    return [f"it was not quiet after {PATIENCE_SECONDS} s: {left}"]


def open_jobs(system: System) -> list[tuple]:
    query = """
        SELECT id, kind, state, attempt, deaths, postponements, phase, error FROM snapshots_job
        WHERE state IN ('queued', 'running')
    """
    try:
        return system.database.rows(query)
    except ERRORS as error:
        return [(str(error),)]


def within(seconds: float, is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not (so := is_so()) and time.monotonic() < deadline:
        time.sleep(0.5)
    return so


def contents(work: Work, client: Client) -> list[str]:
    """Compare every piece of work with the calm one of its kind."""
    named: dict[str, list[int]] = {}
    for item in client.listed("/recordings"):
        named.setdefault(item["name"], []).append(item["id"])
    faults = []
    for piece in work.pieces:
        faults += piece_faults(work, client, piece, named.get(piece.name, []))
    many = [name for name, recordings in named.items() if len(recordings) > 1]
    return faults + [f"{name} became several recordings: {named[name]}" for name in many]


def piece_faults(work: Work, client: Client, piece: Piece, recordings: list[int]) -> list[str]:
    if piece.is_deleted:
        return [f"{piece.name} was deleted and is there"] if recordings else []
    if piece.recording is None and not recordings:
        return []  # it was never accepted
    if piece.recording is not None and piece.recording not in recordings:
        return [f"{piece.name} was accepted as {piece.recording} and is gone"]
    piece.recording = piece.recording or recordings[0]
    expected = expectation(work, piece)
    outcome = work.outcome(client, piece)
    if outcome == expected:
        return work.log_faults(piece)
    differing = {key for key in outcome if outcome.get(key) != expected.get(key)}
    shown = {key: (outcome.get(key), expected.get(key)) for key in sorted(differing)}
    return [f"{piece.name} (recording {piece.recording}) differs from the calm one: {shown}"]


def expectation(work: Work, piece: Piece) -> dict:
    """The calm outcome; without the restore, or the deletion, where it never came to that."""
    kind = "medium" if piece.kind == "deletion" else piece.kind
    expected = dict(work.calm[kind])
    if piece.kind == "restore" and piece.result is None:
        expected.pop("restored", None)
    return expected


def files(system: System) -> list[str]:
    """Compare the folders of uploads and stores with the rows, both ways."""
    if within(SWEEP_SECONDS, lambda: not file_faults(system)):
        return []
    return file_faults(system)


def file_faults(system: System) -> list[str]:
    faults = []
    for folder, columns in (("uploads", ("upload", "journal")), ("store", ("store",))):
        query = f"SELECT {', '.join(columns)} FROM snapshots_recording"
        rows = {name for row in system.database.rows(query) for name in row} - {""}
        held = system.held(folder)
        faults += [f"{folder}/{name} belongs to no recording" for name in sorted(held - rows)]
        faults += [f"{folder}/{name} is missing" for name in sorted(rows - held)]
    return faults


def scratch(system: System) -> list[str]:
    """Compare Spark's folders with the JVMs that live, and look for other leftovers."""
    jvms = [process for process in system.own_processes() if role_of(process) == JVM]
    folders = list((system.folder / "tmp" / "spark").rglob("blockmgr-*"))
    faults = []
    if len(folders) > len(jvms):
        faults.append(f"{len(jvms)} JVMs live and {len(folders)} folders of JVMs are there")
    return faults


def orphans(system: System) -> list[str]:
    """Find the processes of this system that descend from none that it keeps."""
    kept = {process.pid for process in system.processes.values()}
    below = {
        child.pid
        for pid in kept
        if psutil.pid_exists(pid)
        for child in psutil.Process(pid).children(recursive=True)
    }
    strays = [each for each in system.own_processes() if each.pid not in kept | below]
    return [f"process {each.pid} is an orphan: {words(each)}" for each in strays]


def survivors(system: System) -> list[str]:
    """Find the processes that are still there after everything was stopped."""
    if within(10, lambda: not system.own_processes()):
        return []
    return [
        f"process {each.pid} outlived the stop: {words(each)}" for each in system.own_processes()
    ]


def words(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())[:200]
    except psutil.Error:
        return "(gone)"


def shared_memory() -> set[str]:
    return {entry.name for entry in os.scandir(SHARED_MEMORY)} if SHARED_MEMORY.is_dir() else set()


def leftover_memory(before: Iterable[str]) -> list[str]:
    """Find what is new in shared memory and mapped by nobody who lives."""
    new = shared_memory() - set(before)
    return [f"/dev/shm/{name} was left" for name in sorted(new) if not is_mapped(name)]


def is_mapped(name: str) -> bool:
    for process in psutil.process_iter():
        try:
            if any(mapped.path.endswith(f"/{name}") for mapped in process.memory_maps()):
                return True
        except psutil.Error:
            continue
    return False


def temporary_files(system: System) -> list[str]:
    """Find what is left in TMPDIR after everything was stopped."""
    left = Counter(path.name[:6] for path in (system.folder / "TMPDIR").iterdir())
    return [f"{count} entries {name}… were left in TMPDIR" for name, count in left.items()]
