"""Note in Redis, from a thread of each web process, what the process has taken of its limits.

The same thread measures its machine at times (``history.py``), for machines without a worker.
"""

import logging
import os
import resource
import socket
import threading
import time
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connections
from redis import RedisError

from webapp.operating import history, observed, presence
from webapp.operating.observed import Level
from webapp.operating.presence import Taken, Web

logger = logging.getLogger(__name__)

OPEN_FILES = Path("/proc/self/fd")


def note_while_this_process_runs() -> None:
    started_at = presence.now()
    threading.Thread(target=_note_for_ever, args=(started_at,), name="notes", daemon=True).start()


def _note_for_ever(started_at: str) -> None:
    while True:
        try:
            presence.note_web(this_process(started_at))
            history.measure()
        except (RedisError, DatabaseError, OSError) as error:
            logger.debug("This web process was not noted in Redis: %s", error)
        except Exception:
            logger.exception("This web process was not noted in Redis")
        finally:
            connections.close_all()
        time.sleep(presence.SECONDS_BETWEEN_NOTES)


def this_process(started_at: str) -> Web:
    """Return the note of this process. Open files are counted where the system lists them."""
    observed.files.note(len(list(OPEN_FILES.iterdir())) if OPEN_FILES.is_dir() else 0)
    return Web(
        host=socket.gethostname(),
        pid=os.getpid(),
        started_at=started_at,
        websockets=observed.websockets.now,
        files=_taken(observed.files, resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
        bodies=_taken(observed.bodies, settings.MAX_BODIES_AT_ONCE),
    )


def _taken(level: Level, limit: int) -> Taken:
    return Taken(level.now, limit, level.most, level.most_at)
