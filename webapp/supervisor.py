"""Run the Procfile with honcho, and restart processes that die.

honcho alone stops everything when one process ends. Here a killed worker must not take the pages
down, nor a killed server the jobs.
"""

import multiprocessing
import os
import signal
import time
from functools import partial
from threading import Thread

from honcho.manager import SIGNALS, Manager
from honcho.printer import Message
from honcho.process import Popen, Process

from webapp.operating.processes import die_with_parent

POLL_SECONDS = 0.1
RESTART_SECONDS = 1
GRACE_SECONDS = 3  # less than honcho's own limit, 5 s
STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
QUICK_SECONDS = 10  # a process that ends sooner has failed to start
MOST_QUICK_ENDS = 3


class Supervisor(Manager):
    """Runs commands until one cannot start or a person stops them.

    ``inherited`` holds descriptors that every command keeps open.
    """

    def __init__(self, inherited: tuple[int, ...] = ()):
        super().__init__()
        self.inherited = inherited
        # An Event cannot be used: setting it waits for each waiter, even for killed ones.
        self.stopping = multiprocessing.RawValue("b", False)

    def add(self, name: str, command: str, *, once: bool) -> None:
        kind = OnceProcess if once else KeptProcess
        self._process_ctor = partial(kind, stopping=self.stopping, inherited=self.inherited)
        self.add_process(name, command)

    @property
    def stopped_by_person(self) -> bool:
        return self.returncode in {signal_["rc"] for signal_ in SIGNALS.values()}

    def terminate(self) -> None:
        """Let each process end what it started; honcho may not yet know what that is."""
        self.stopping.value = True

    def _start(self) -> None:
        """Start all commands; delay a Ctrl-C until the children, who get it too, ignore it."""
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        super()._start()
        signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        for name, entry in self._processes.items():
            Thread(target=self._await_end, args=(name, entry["process"]), daemon=True).start()

    def _await_end(self, name: str, keeper: multiprocessing.Process) -> None:
        """Report the end of a killed keeper, which could not report it itself."""
        keeper.join()
        if keeper.exitcode:
            now = self._clock.now()
            end = {"returncode": keeper.exitcode}
            self.events.put(Message(type="stop", data=end, time=now, name=name, colour=None))


class KeptProcess(Process):
    """Restarts its command when it ends, until everything stops or it keeps failing to start."""

    def __init__(self, *args, stopping, inherited, **kwargs):
        super().__init__(*args, **kwargs)
        self.stopping = stopping
        self.returncode = 0
        self._child_ctor = partial(Popen, preexec_fn=prepare_child, pass_fds=inherited)

    def run(self, events=None, ignore_signals=False):  # noqa: FBT002, honcho's signature
        set_signals(signal.SIG_IGN)
        self.launcher = os.getppid()
        Thread(target=self._end_what_must_not_go_on, daemon=True).start()
        self._keep(events, ignore_signals)
        super()._send_message({"returncode": self.returncode}, type="stop")

    @property
    def over(self) -> bool:
        return self.stopping.value or self.orphaned

    @property
    def orphaned(self) -> bool:
        """Tell whether the launcher was killed and so could not stop this process."""
        return os.getppid() != self.launcher

    def _keep(self, events, ignore_signals) -> None:
        quick_ends = 0
        while quick_ends < MOST_QUICK_ENDS and not self.over:
            began = time.monotonic()
            Process.run(self, events, ignore_signals)
            quick_ends = quick_ends + 1 if time.monotonic() - began < QUICK_SECONDS else 0
            time.sleep(0 if self.over else RESTART_SECONDS)

    def _send_message(self, data, type="line"):
        """Pass honcho's messages on, except an end that is followed by a restart."""
        if type == "stop":
            self.returncode = data["returncode"]
        else:
            super()._send_message(data, type)

    def _end_what_must_not_go_on(self) -> None:
        """End processes that must not continue.

        Those are all of them once everything stops, and what a dead command left (a pool, a JVM),
        which would work beside its successor.
        """
        ended = None
        while True:
            time.sleep(POLL_SECONDS)
            child = self._child
            if child not in (None, ended) and (self.over or child.poll() is not None):
                end_group(child.pid)
                ended = child
            if self.orphaned:
                os._exit(1)


class OnceProcess(KeptProcess):
    """Runs to its end, and lets the others continue."""

    def _keep(self, events, ignore_signals) -> None:
        Process.run(self, events, ignore_signals)
        while not self.over:
            time.sleep(POLL_SECONDS)


def prepare_child() -> None:
    """Reset what a child inherits from its keeper: ignored signals, and outliving it."""
    set_signals(signal.SIG_DFL)
    die_with_parent()


def set_signals(action: signal.Handlers) -> None:
    for number in STOP_SIGNALS:
        signal.signal(number, action)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


def end_group(group: int) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(group, number)
            wait_for_end(group)
        except ProcessLookupError:
            return


def wait_for_end(group: int) -> None:
    """Wait until no process of the group is left. Raises: ProcessLookupError when that is so."""
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline:
        os.killpg(group, 0)
        time.sleep(POLL_SECONDS)
