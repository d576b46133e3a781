"""Kill what a run of tests started once the run has ended, however it ended.

A run that is killed stops no server that it started, and those would go on for ever.
"""

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

from tests.stack import ROOT
from webapp.operating import processes

VARIABLE = "CUTLINE_TEST_RUN"  # in the environment of all that a run starts
SECONDS = 10  # in which what is killed may still start something


def watch() -> None:
    """Mark all that this process starts from now on, and let another process wait for its end."""
    if VARIABLE in os.environ:  # a run in a run, or a process of xdist
        return
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    subprocess.Popen(
        [sys.executable, "-m", "tests.leftovers", str(os.getpid()), mark],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.environ[VARIABLE] = mark


def wait(pid: int) -> None:
    """Return when a process has ended."""
    with suppress(ProcessLookupError):
        select.select([os.pidfd_open(pid)], [], [])


def kill_all(mark: str) -> None:
    """Kill all processes with a mark, until there are none."""
    deadline = time.monotonic() + SECONDS
    while left := processes.holders_of_variable(VARIABLE, mark):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(0.1)


if __name__ == "__main__":
    wait(int(sys.argv[1]))
    kill_all(sys.argv[2])
