"""Open the journals of open recordings, which lie in ``UPLOADS_DIR``; the last few stay open."""

import os
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings

from snapshots.domain.assembling.assembly import Header
from snapshots.files import kept, uploads
from snapshots.growing.errors import JournalDamaged
from snapshots.growing.journal import Journal, first_frame
from snapshots.growing.recording import OpenRecording, SoFar
from snapshots.models import Recording
from snapshots.store.errors import OnAnotherMachine, StoreDamaged, StoreMissing
from snapshots.store.objects.paths import is_here

_KEPT_OPEN = 256  # each is an open file
_KEPT_LOOKED_AT = 8

_open: OrderedDict[str, Journal] = OrderedDict()
_looked_at: OrderedDict[str, OpenRecording] = OrderedDict()
_lock = threading.Lock()  # of what is open
_opening: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


def begin(draft: uploads.Draft, header: Header) -> None:
    """Write the beginning of a journal into a draft. Raises: TooLarge."""
    draft.write(first_frame(header))


def journal_of(recording: Recording) -> Journal:
    """Return the journal of a recording, as this process has it open.

    It may lack what other processes have written meanwhile; ``Journal.read_on`` reads that.
    Raises: FileNotFoundError, JournalDamaged, OSError.
    """
    name = recording.journal
    found = _kept(name)
    if found is not None:
        return found
    with _opening_of(name):
        return _kept(name) or _opened(name)


def _opened(name: str) -> Journal:
    found = Journal(uploads.path_of(name))
    with _lock:
        _open[name] = found
    return found


def _kept(name: str) -> Journal | None:
    """Return a journal that is open; drop what is kept of files that are gone, and the oldest."""
    with _lock:
        for each in [each for each, journal in _open.items() if journal.is_gone]:
            del _open[each]
        for each in [each for each in _looked_at if not uploads.path_of(each).exists()]:
            del _looked_at[each]
        if name in _open:
            _open.move_to_end(name)
        while len(_open) > _KEPT_OPEN:
            _open.popitem(last=False)
        return _open.get(name)


def so_far(recording: Recording) -> SoFar:
    """Return what has come to an open recording, to be asked like a stored one.

    The first time, this process reads all that has come.
    Raises: StoreError, OnAnotherMachine, OSError.
    """
    path = uploads.path_of(recording.journal)
    try:
        return looked_at(recording).so_far(recording.name)
    except FileNotFoundError:
        forget(path.name)
        if not is_here(kept.root()):
            raise OnAnotherMachine from None
        raise StoreMissing(path) from None
    except JournalDamaged as damaged:
        forget(path.name)
        raise StoreDamaged(path.name, str(damaged), "Was it changed?") from None
    except OSError:  # such as a full disk; what was made of the journal may lack a part
        forget(path.name)
        raise


def looked_at(recording: Recording) -> OpenRecording:
    """Return what this process has made of a journal; it begins when it is first asked."""
    path = uploads.path_of(recording.journal)
    with _opening_of(path.name):
        with _lock:
            found = _looked_at.get(path.name)
        if found is None:
            found = OpenRecording(path, path.parent)
        with _lock:
            _looked_at[path.name] = found
            _looked_at.move_to_end(path.name)
            while len(_looked_at) > _KEPT_LOOKED_AT:
                _looked_at.popitem(last=False)
        return found


def hand_on(recording: Recording) -> None:
    """End the journal of a recording that is closed, so that a worker on any machine can read it.

    Without an object store both have the same file, so nothing is handed on.
    Raises: FileNotFoundError, JournalDamaged, OSError, StoreUnreachable.
    """
    if not is_here(kept.root()):
        journal_of(recording).end()
        kept.put(uploads.path_of(recording.journal), recording.journal)


@contextmanager
def _opening_of(name: str) -> Iterator[None]:
    """Let one thread open a journal: it is read whole, which others need not wait for."""
    with _lock:
        opening = _opening[name]
    try:
        with opening:
            yield
    finally:
        with _lock:
            _opening.pop(name, None)


def forget(name: str) -> None:
    """Drop a journal that is no longer needed."""
    with _lock:
        _open.pop(name, None)
        _looked_at.pop(name, None)


def remove(name: str) -> None:
    """Remove the journal of a recording that was deleted.

    Its space on the disk is free at once, though other processes may have it open.
    """
    if not name:
        return
    forget(name)
    uploads.drop_far(name)
    path = uploads.path_of(name)
    with suppress(FileNotFoundError), path.open("r+b") as file:
        path.unlink()
        os.ftruncate(file.fileno(), 0)


def size_of(recording: Recording) -> int:
    """Return the bytes of a recording's journal; 0 if it has none."""
    return sizes_of([recording.journal]) if recording.journal else 0


def sizes_of(names: Iterable[str]) -> int:
    """Return the bytes of some journals together."""
    return sum(_size(uploads.path_of(name)) for name in names)


def _size(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


def most_bytes() -> int:
    """Return how many bytes a journal may have; its log as an upload is never longer."""
    return min(settings.MAX_UPLOAD_BYTES, settings.MAX_RECORDING_BYTES)
