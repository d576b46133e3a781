"""The settings of an installation in which a sweep takes a lock of SQLite and keeps it.

SQLite takes this lock whenever it opens a database. Nobody can hold it on purpose through Python's
``sqlite3``, so the sweep takes it through SQLite's own functions.
"""

import _sqlite3
import ctypes
import threading

from django.apps import AppConfig

from webapp.settings import *  # noqa: F403
from webapp.settings import DATA_DIR
from webapp.settings import INSTALLED_APPS as APPS

STATIC_MAIN = 2  # SQLITE_MUTEX_STATIC_MAIN, which guards the list of file systems
HELD = DATA_DIR / "held"

INSTALLED_APPS = [*APPS, "tests.jobs.held_lock.HeldLock"]


class HeldLock(AppConfig):
    name = "tests.jobs"

    def ready(self) -> None:
        from tasks.queue import sweeping

        sweeping.PARTS = (hold_for_ever,)


def hold_for_ever() -> None:
    sqlite = ctypes.CDLL(_sqlite3.__file__)
    sqlite.sqlite3_mutex_alloc.restype = ctypes.c_void_p
    lock = ctypes.c_void_p(sqlite.sqlite3_mutex_alloc(STATIC_MAIN))
    sqlite.sqlite3_mutex_enter(lock)
    HELD.touch()
    threading.Event().wait()
