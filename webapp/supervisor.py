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

POLL_SECONDS = 0.1
RESTART_SECONDS = 1
GRACE_SECONDS = 3  # less than honcho's own patience, 5 s
QUICK_SECONDS = 10  # a process that lives no longer than this has failed to start
MOST_QUICK_ENDS = 3


class Supervisor(Manager):
    def __init__(self):
        super().__init__()
        # No Event: setting one waits for each waiter, also for those that were killed.
        self.stopping = multiprocessing.RawValue("b", False)

    def add(self, name: str, command: str, *, once: bool) -> None:
        self._process_ctor = partial(OnceProcess if once else KeptProcess, stopping=self.stopping)
        self.add_process(name, command)

    @property
    def stopped_by_person(self) -> bool:
        return self.returncode in {known["rc"] for known in SIGNALS.values()}

    def terminate(self) -> None:
        self.stopping.value = True
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
        self.launcher = os.getppid()
        Thread(target=self._end_with_launcher, daemon=True).start()
        self._keep(events, ignore_signals)
        super()._send_message({"returncode": self.returncode}, type="stop")

    @property
    def over(self) -> bool:
        return self.stopping.value or os.getppid() != self.launcher

    def _keep(self, events, ignore_signals) -> None:
        quick_ends = 0
        while quick_ends < MOST_QUICK_ENDS and not self.over:
            began = time.monotonic()
            Process.run(self, events, ignore_signals)
            quick_ends = quick_ends + 1 if time.monotonic() - began < QUICK_SECONDS else 0
            time.sleep(0 if self.over else RESTART_SECONDS)

    def _send_message(self, data, type="line"):
        """honcho must not hear of an end that is followed by a new start."""
        if type == "stop":
            self.returncode = data["returncode"]
        else:
            super()._send_message(data, type)

    def _end_with_launcher(self) -> None:
        """A launcher that was killed could not tell anyone to stop."""
        while os.getppid() == self.launcher:
            time.sleep(POLL_SECONDS)
        if self._child is not None:
            end_group(self._child.pid)
        os._exit(1)


class OnceProcess(KeptProcess):
    """Runs to its end, and lets the others go on."""

    def _keep(self, events, ignore_signals) -> None:
        Process.run(self, events, ignore_signals)
        while not self.over:
            time.sleep(POLL_SECONDS)


def start_watched(command: str, **options) -> Popen:
    child = Popen(command, preexec_fn=hear_signals, **options)
    Thread(target=clear_after, args=(child,), daemon=True).start()
    return child


def hear_signals() -> None:
    """honcho ignores these from the first start on, and what is started later would inherit it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def clear_after(child: Popen) -> None:
    """What a process leaves behind (a pool, a JVM) must not go on beside its successor."""
    while child.poll() is None:
        time.sleep(POLL_SECONDS)
    end_group(child.pid)


def end_group(group: int) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(group, number)
            wait_for_end(group)
        except ProcessLookupError:
            return


def wait_for_end(group: int) -> None:
    """Raises: ProcessLookupError as soon as no process of the group is left."""
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline:
        os.killpg(group, 0)
        time.sleep(POLL_SECONDS)
