"""Do the periodic work of a worker in a process of its own, which ``beside.py`` starts.

The main process of a worker forks the processes that run jobs. A fork copies each lock as it is at
that moment. A lock that another thread holds just then, such as one of SQLite, stays closed in the
copy for ever. So the main process has a single thread, and the threads of the periodic work are
here, where nothing is forked.
"""

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import django

from webapp.operating import processes

STOP_SIGNALS = {signal.SIGTERM, signal.SIGINT}
LOOK_SECONDS = 1.0
NAME = "periodic work"


def load() -> None:
    """Load all modules of the periodic work."""
    django.setup()
    from tasks.queue import collectors, notices, presence, sweeping  # noqa: F401


def main(started_at: str) -> None:
    """Work until a signal to stop, or until the worker or a part of the work ends.

    Raises: what a part raised.

    Args:
        started_at: when the worker started, in ISO 8601.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)  # they are waited for below
    worker = os.getppid()
    processes.name_this(NAME)
    load()
    from tasks.queue import collectors, notices, presence, sweeping

    works = (
        sweeping.sweep_until,
        collectors.collect_until,
        notices.send_until,
        partial(presence.note_until, started_at=started_at),
    )
    stopping = threading.Event()
    with ThreadPoolExecutor(len(works)) as pool:
        parts = [pool.submit(work, stopping) for work in works]
        while not any(part.done() for part in parts):
            is_told = signal.sigtimedwait(STOP_SIGNALS, LOOK_SECONDS)
            if is_told or os.getppid() != worker:  # not every system ends it with the worker
                break
        stopping.set()
    for part in parts:
        part.result()


if __name__ == "__main__":
    main(*sys.argv[1:])
