"""Runs the Procfile with honcho, and starts again what dies.

honcho alone stops everything when one process ends; here a killed worker must not take the pages
down, nor a killed server the jobs.
"""

import multiprocessing
import os
import signal
import time
from functools import partial
from threading import Thread

from honcho.manager import SIGNALS, Manager
from honcho.process import Popen, Process

RESTART_SECONDS = 1
GRACE_SECONDS = 3  # less than honcho's own patience, 5 s
QUICK_SECONDS = 10  # a process that lives no longer than this has failed to start
MOST_QUICK_ENDS = 3


class Supervisor(Manager):
    def __init__(self):
        super().__init__()
        self.stopping = multiprocessing.Event()

    def add(self, name: str, command: str, *, once: bool) -> None:
        self._process_ctor = partial(OnceProcess if once else KeptProcess, stopping=self.stopping)
        self.add_process(name, command)

    @property
    def stopped_by_person(self) -> bool:
        return self.returncode in {known["rc"] for known in SIGNALS.values()}

    def terminate(self) -> None:
        self.stopping.set()
        super().terminate()

    def _start(self) -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the children's; they are told to stop
        super()._start()
        signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))


class KeptProcess(Process):
    """Started again when it ends, until everything stops or it keeps failing to start."""

    def __init__(self, *args, stopping, **kwargs):
        super().__init__(*args, **kwargs)
        self.stopping = stopping
        self.returncode = 0
        self._child_ctor = start_watched

    def run(self, events=None, ignore_signals=False):
        quick_ends = 0
        while quick_ends < MOST_QUICK_ENDS and not self.stopping.is_set():
            began = time.monotonic()
            super().run(events, ignore_signals)
            quick_ends = quick_ends + 1 if time.monotonic() - began < QUICK_SECONDS else 0
            self.stopping.wait(RESTART_SECONDS)
        super()._send_message({"returncode": self.returncode}, type="stop")

    def _send_message(self, data, type="line"):
        """honcho must not hear of an end that is followed by a new start."""
        if type == "stop":
            self.returncode = data["returncode"]
        else:
            super()._send_message(data, type)


class OnceProcess(KeptProcess):
    """Runs to its end, and lets the others go on."""

    def run(self, events=None, ignore_signals=False):
        Process.run(self, events, ignore_signals)
        self.stopping.wait()
        Process._send_message(self, {"returncode": self.returncode}, type="stop")


def start_watched(command: str, **options) -> Popen:
    child = Popen(command, **options)
    Thread(target=clear_after, args=(child, os.getppid()), daemon=True).start()
    return child


def clear_after(child: Popen, launcher: int) -> None:
    """What a process leaves behind (a pool, a JVM) ends with it; all ends with the launcher."""
    while child.poll() is None and os.getppid() == launcher:
        time.sleep(0.1)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if group_ends(child.pid, number):
            return


def group_ends(group: int, number: int) -> bool:
    """Send the signal; whether all of the group are gone soon after."""
    deadline = time.monotonic() + GRACE_SECONDS
    try:
        os.killpg(group, number)
        while time.monotonic() < deadline:
            os.killpg(group, 0)
            time.sleep(0.1)
    except ProcessLookupError:
        return True
    return False
