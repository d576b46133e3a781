"""Refuse an ingest that its disk cannot hold: before it begins, and when its events are counted."""

import shutil
from pathlib import Path

from snapshots.store.objects.paths import is_here


class NoRoom(OSError):
    """The disk has less room than an ingest needs at least; the job waits until it has."""

    permanent = False


class TooLittleRoom(NoRoom):
    """The room is missing after all of the log was read, which waiting would only repeat."""

    permanent = True
    is_explained = True


def require_room(folder: Path, needed: int, error: type[NoRoom] = NoRoom) -> None:
    """Raise an error unless the disk of ``folder`` has so many bytes free."""
    if not is_here(folder):
        return  # an object store does not say how much room it has
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise error(
            f"This takes at least {needed / 1e6:,.1f} MB on the disk that keeps the recordings, "
            f"and only {free / 1e6:,.1f} MB of it are free. Its operator has to make room."
        )
