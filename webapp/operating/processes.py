"""Find the processes of this machine that hold a port, a file or a folder, in Linux' ``/proc``.

On other systems, and for other users' processes, the lists are empty.
"""

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
LISTENING = "0A"  # the state of a socket in /proc/net/tcp
LONGEST_COMMAND = 100
PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15


@dataclass(frozen=True, slots=True)
class RunningProcess:
    pid: int
    command: str

    def __str__(self) -> str:
        return f"pid {self.pid}: {self.command}"


def describe(pid: int) -> RunningProcess:
    """Return a process with its command line, visibly shortened if it is long."""
    try:
        words = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    command = " ".join(word.decode(errors="replace") for word in words).strip()
    if len(command) > LONGEST_COMMAND:
        command = f"{command[: LONGEST_COMMAND - 1]}…"
    return RunningProcess(pid, command or "its command cannot be read")


def command_of(pid: int) -> str:
    """Return the name of a process's program, of at most 15 letters; empty if it has ended."""
    try:
        return (PROC / str(pid) / "comm").read_text().strip()
    except OSError:
        return ""


def started_at(pid: int) -> str:
    """Return when a process started, in the kernel's ticks; empty if it does not run."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def children_of(pid: int) -> list[int]:
    """Return the pids of the living processes that the main thread of a process started."""
    try:
        words = (PROC / str(pid) / "task" / str(pid) / "children").read_text().split()
    except OSError:
        return []
    return [child for child in map(int, words) if started_at(child)]


def holders_of_port(port: int) -> list[RunningProcess]:
    """Return the processes that listen on a TCP port of this machine."""
    sockets = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    return [describe(pid) for pid in _pids() if sockets & _open_files(pid)]


def holders_of_file(path: Path) -> list[int]:
    """Return the pids of the processes that have a file open."""
    return [pid for pid in _pids() if str(path) in _open_files(pid)]


def holders_of_variable(name: str, value: str) -> list[int]:
    """Return the pids of the processes that were started with this environment variable."""
    wanted = f"{name}={value}".encode()
    return [pid for pid in _pids() if wanted in _environment(pid)]


def die_with_parent() -> None:
    """Let the kernel kill this process when the thread that started it ends."""
    parent = os.getppid()
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    except AttributeError:  # not Linux
        return
    if os.getppid() != parent:  # the parent ended before the call
        os.kill(os.getpid(), signal.SIGKILL)


def name_this(name: str) -> None:
    """Give this process a name of at most 15 letters, since a fork has its parent's command."""
    with suppress(AttributeError):  # not Linux
        ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode())


def _pids() -> Iterator[int]:
    if PROC.is_dir():
        yield from (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())


def _listening_inodes(port: int) -> set[str]:
    inodes = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = (PROC / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(fields[9])
    return inodes


def _open_files(pid: int) -> set[str]:
    files = set()
    try:
        for entry in (PROC / str(pid) / "fd").iterdir():
            files.add(str(entry.readlink()))
    except OSError:  # it ended, or belongs to somebody else
        pass
    return files


def _environment(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []
