"""The launcher and the supervisor as processes of a test."""

import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tests.stack import ROOT, clean_environment
from webapp import embedded_redis

PATIENCE_SECONDS = 60


class Launched:
    """`make run`'s launcher in a session of its own, as a terminal would have it."""

    def __init__(self, data_dir: Path, **variables: object):
        self.mark = f"launched-by-{os.getpid()}-{data_dir}"
        self.log = (data_dir.parent / "log").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "webapp.launch"],
            cwd=ROOT,
            env=clean_environment()
            | {"DATA_DIR": str(data_dir), "MARK": self.mark}
            | {name: str(value) for name, value in variables.items()},
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def said(self) -> str:
        return Path(self.log.name).read_text()

    def wait_to_say(self, pattern: str) -> re.Match:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := re.search(pattern, self.said())):
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.1)
        return found

    def left(self) -> list[str]:
        """The command lines of what it started and what still runs."""
        return [self.command_of(process) for process in self.descendants()]

    def command_of(self, process: psutil.Process) -> str:
        try:
            return " ".join(process.cmdline())
        except psutil.NoSuchProcess:
            return "ended just now"

    def descendants(self) -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if self.is_ours(process)]

    def is_ours(self, process: psutil.Process) -> bool:
        try:
            alive = process.status() != psutil.STATUS_ZOMBIE
            return alive and process.environ().get("MARK") == self.mark
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return False

    def is_the_first(self, process: psutil.Process) -> bool:
        """Whether it is a line's own command: uvicorn's or Celery's process, no child of it."""
        command, parent = self.command_of(process), process.parent()
        is_command = "uvicorn webapp" in command or "celery --quiet" in command
        return is_command and not (parent and "celery --quiet" in self.command_of(parent))

    def end(self) -> None:
        for process in self.descendants():
            with suppress(psutil.NoSuchProcess):
                process.kill()


def write_program(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


SUPERVISE = """
import sys
from webapp.supervisor import Supervisor
supervisor = Supervisor()
supervisor.add("once", "echo done once", once=True)
supervisor.add("kept", {kept!r}, once=False)
supervisor.loop()
sys.exit(0 if supervisor.stopped_by_person else 1)
"""


class Supervised(Launched):
    """The supervisor with commands of the test's own."""

    def __init__(self, folder: Path, kept: str):
        self.mark = f"supervised-by-{os.getpid()}-{folder}"
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISE.format(kept=kept)],
            cwd=ROOT,
            env=os.environ | {"MARK": self.mark},
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


LAUNCH = """
from pathlib import Path
from webapp import launch
launch.PROCFILE = Path({procfile!r})
launch.main()
"""


class LaunchedWith(Launched):
    """The real launcher with a Procfile of the test's own, started by ``make`` if asked."""

    def __init__(self, folder: Path, procfile: str, *, by_make: bool = False, **variables: str):
        (folder / "Procfile").write_text(procfile)
        self.mark = f"launched-by-{os.getpid()}-{folder}"
        handle, path = tempfile.mkstemp(dir=folder, prefix="log")
        self.log = os.fdopen(handle, "w+")
        self.log_path = Path(path)
        command = [sys.executable, "-c", LAUNCH.format(procfile=str(folder / "Procfile"))]
        if by_make:
            (folder / "launch.py").write_text(command[-1])
            (folder / "Makefile").write_text(f"run:\n\t@{sys.executable} {folder}/launch.py\n")
            command = ["make", "-f", str(folder / "Makefile")]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=clean_environment()
            | {
                "DATA_DIR": str(folder / "var"),
                "PORT": str(embedded_redis.free_port()),
                "PYTHONPATH": str(ROOT),
                "MARK": self.mark,
            }
            | variables,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def said(self) -> str:
        return self.log_path.read_text()

    def workers(self) -> list[int]:
        """The shells of the Procfile's line that run now, of both launchers.

        A shell that starts a program is, for a moment, two processes with the same command.
        """
        shells = [p for p in self.descendants() if "trap" in self.command_of(p)]
        numbers = {shell.pid for shell in shells}
        return [shell.pid for shell in shells if parent_of(shell) not in numbers]

    def end(self) -> None:
        for process in self.descendants():
            with suppress(psutil.NoSuchProcess):
                process.resume()
        super().end()

    def keepers(self) -> list[psutil.Process]:
        return [p for p in self.descendants() if p.pid != self.process.pid and is_keeper(p)]


def parent_of(process: psutil.Process) -> int | None:
    with suppress(psutil.NoSuchProcess):
        return process.ppid()
    return None


def is_keeper(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return "webapp import launch" in " ".join(process.cmdline())
    return False


def wait_until_nothing_is_left(launched: Launched) -> None:
    deadline = time.monotonic() + 15
    while launched.left() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert launched.left() == []
