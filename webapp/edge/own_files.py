"""Remove what a web process need not hold of uploads that are kept on an object store.

It receives each upload into ``UPLOADS_DIR`` of its machine, and copies what it reads to there. A
worker's sweep removes them, and a machine may have no worker.
"""

import logging
import threading
import time

from django.db import DatabaseError, connections

from snapshots.files import kept
from snapshots.files.identity import NotPaired
from snapshots.jobs import sweeping
from snapshots.store.errors import StoreUnreachable
from snapshots.store.objects.paths import is_here

logger = logging.getLogger(__name__)

SECONDS = 600.0


def sweep_while_this_process_runs() -> None:
    """Sweep at times in a thread, if uploads are kept on an object store."""
    if not is_here(kept.root()):
        threading.Thread(target=_sweep_for_ever, name="own files", daemon=True).start()


def _sweep_for_ever() -> None:
    while True:
        time.sleep(SECONDS)
        try:
            sweeping.sweep_own_files()
        except (DatabaseError, OSError, NotPaired, StoreUnreachable) as error:
            logger.warning("Copies of uploads could not be swept and will be later: %s", error)
        finally:
            connections.close_all()
