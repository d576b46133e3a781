"""Open the restored run of a snapshot: in this process if the log is small."""

from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.replaying.following import follow
from snapshots.domain.replaying.restore import NotRestorable, RestoreReport, restoring
from snapshots.domain.replaying.restored_course import course_of
from snapshots.domain.replaying.restored_run import RestoredRun
from snapshots.problems import Conflict, NotFound
from snapshots.store.reader import StoredRecording
from snapshots.store.whole_log import event_count, read_log

MOST_EVENTS = 100_000  # of a recording that is replayed while a request waits
_KEPT = 4  # runs


@dataclass(frozen=True)
class Opened:
    """A restored run, and how it ends beside the original."""

    run: RestoredRun
    report: RestoreReport


_kept: OrderedDict[tuple[Path, str], Opened] = OrderedDict()
_lock = Lock()


def is_small(stored: StoredRecording) -> bool:
    """Tell whether the recording is replayed while a request waits."""
    return event_count(stored) <= MOST_EVENTS


def open_run(stored: StoredRecording, snapshot: str) -> Opened:
    """Return the restored run of a snapshot; the last few are kept.

    Raises: NotFound, Conflict if the snapshot cannot be restored or the log is too large.
    """
    if snapshot not in stored.manifest.snapshots:
        raise NotFound(f"There is no snapshot “{snapshot[:80]}” in this recording.")
    if not is_small(stored):
        raise Conflict(
            f"The recording has {event_count(stored):,} events. Up to {MOST_EVENTS:,} are replayed "
            "here; for more, a job restores the snapshot."
        )
    key = stored.folder, snapshot
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    opened = _opened(stored, snapshot)
    with _lock:
        _kept[key] = opened
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return opened


def _opened(stored: StoredRecording, snapshot: str) -> Opened:
    try:
        under_way = restoring(read_log(stored, stored.manifest.name), SnapshotId(snapshot))
    except NotRestorable as reason:
        raise Conflict(str(reason)) from None
    return Opened(follow(course_of(under_way)), under_way.report())
