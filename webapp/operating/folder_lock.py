"""Let only one Cutline at a time work with a data folder, even after a ``kill -9``.

The lock belongs to an open file that every process of the stack inherits, so it is free only when
the last of them has ended. Java closes inherited files; it is recognised by its environment.
"""

import fcntl
import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from webapp.operating import processes

VARIABLE = "CUTLINE_FOLDER"  # in the environment of every process of the stack
WAIT_SECONDS = 10  # for processes of a killed launcher; most end within about 7 s
DYING_SECONDS = 3.0  # a launcher that was just killed may still be listed as running
POLL_SECONDS = 0.1


class FolderInUse(Exception):
    """Another Cutline uses the folder; the message says which."""


def lock(folder: Path, **facts: Any) -> TextIO:
    """Return the open file whose lock shows that this folder is in use.

    The processes of a killed launcher get WAIT_SECONDS to end, and are killed then.

    Args:
        facts: what other commands may read about this stack, see ``running``.

    Raises: FolderInUse.
    """
    path = folder / "lock"
    path.touch(mode=0o600)
    file = path.open("a+")
    if not _wait(file, folder) and (running(folder) or not _end_what_is_left(file, folder)):
        file.close()
        raise FolderInUse(_sentence(folder))
    _write(file, facts)
    os.set_inheritable(file.fileno(), True)
    return file


def running(folder: Path) -> dict[str, Any] | None:
    """Return what the launcher that runs on this folder wrote, or None if there is none."""
    try:
        facts = json.loads((folder / "lock").read_text())
        alive = processes.started_at(facts["pid"]) == facts["started"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return facts if alive else None


def holders(folder: Path) -> list[processes.RunningProcess]:
    """Return the processes of a stack that uses this folder, without this one."""
    pids = set(processes.holders_of_file(folder / "lock"))
    pids |= set(processes.holders_of_variable(VARIABLE, str(folder)))
    return [processes.describe(pid) for pid in sorted(pids - {os.getpid()})]


def _wait(file: TextIO, folder: Path) -> bool:
    """Return whether the lock was taken, before a launcher or what it left has had its time."""
    began = time.monotonic()
    while not _take(file, folder):
        limit = DYING_SECONDS if running(folder) else WAIT_SECONDS
        if time.monotonic() - began > limit:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _end_what_is_left(file: TextIO, folder: Path) -> bool:
    """Kill what a launcher that has ended left, such as Java; return whether the lock was taken."""
    for pid in processes.holders_of_variable(VARIABLE, str(folder)):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + DYING_SECONDS
    while not (is_taken := _take(file, folder)) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return is_taken


def _take(file: TextIO, folder: Path) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return not processes.holders_of_variable(VARIABLE, str(folder))


def _write(file: TextIO, facts: dict[str, Any]) -> None:
    pid = os.getpid()
    file.truncate(0)
    file.write(json.dumps({"pid": pid, "started": processes.started_at(pid), **facts}))
    file.flush()


def _sentence(folder: Path) -> str:
    launcher = running(folder)
    if launcher:
        names = str(processes.describe(launcher["pid"]))
        return (
            f"Another Cutline runs with the data in {folder} ({names}): "
            "stop it, or set DATA_DIR to another folder."
        )
    names = "; ".join(map(str, holders(folder))) or "it belongs to another user or machine"
    return (
        f"Another Cutline runs with the data in {folder}: its launcher has ended, and these "
        f"processes go on ({names}). End them, then start again."
    )
