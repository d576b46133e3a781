"""Open the restored run of a snapshot.

A small log is replayed here, by the reference. For a large one a job must have restored the
snapshot; its report and the first events after the cut then make the run.
"""

from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from snapshots.answers.restored_excerpt import course_from
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import Restored, SnapshotId
from snapshots.domain.replaying.following import follow
from snapshots.domain.replaying.incarnations import before_going_back
from snapshots.domain.replaying.restore import NotRestorable, restoring
from snapshots.domain.replaying.restored_course import course_of
from snapshots.domain.replaying.restored_run import RestoredRun
from snapshots.models import Job
from snapshots.problems import Conflict, NotFound
from snapshots.store.reader import StoredRecording
from snapshots.store.whole_log import event_count, read_log

MOST_EVENTS = 100_000  # of a recording that is replayed while a request waits
_KEPT = 4  # runs


class NotRestoredYet(Conflict):
    """The recording is large, and no job has restored the snapshot."""


@dataclass(frozen=True)
class Opened:
    """A restored run, and how it ends beside the original.

    Attributes:
        report: a RestoreReport as JSON.
        back: the restore of one of the processes with which the log goes back, and the run ends;
            None if it is followed to the end of the log.
    """

    run: RestoredRun
    report: dict[str, Any]
    back: Restored | None = None


_kept: OrderedDict[tuple[Path, str], Opened] = OrderedDict()
_lock = Lock()


def is_small(stored: StoredRecording) -> bool:
    """Tell whether the recording is replayed while a request waits."""
    return event_count(stored) <= MOST_EVENTS


def open_run(stored: StoredRecording, snapshot: str) -> Opened:
    """Return the restored run of a snapshot; the last few are kept.

    Raises: NotFound, Conflict if the snapshot cannot be restored, or no job has done so yet.
    """
    if snapshot not in stored.manifest.snapshots:
        raise NotFound(f"There is no snapshot “{snapshot[:80]}” in this recording.")
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
    if not is_small(stored):
        report = _report_of_job(stored, snapshot)
        return Opened(follow(course_from(stored, SnapshotId(snapshot), report)), report)
    whole = read_log(stored, stored.manifest.name)
    log, back = before_going_back(whole, SnapshotId(snapshot))
    try:
        under_way = restoring(log, SnapshotId(snapshot))
    except NotRestorable as reason:
        raise Conflict(str(reason)) from None
    return Opened(follow(course_of(under_way)), as_json(under_way.report()), back)


def _report_of_job(stored: StoredRecording, snapshot: str) -> dict[str, Any]:
    """Return the report of the newest job that restored the snapshot. Raises: NotRestoredYet."""
    jobs = Job.objects.filter(
        kind=Job.Kind.RESTORE,
        state=Job.State.DONE,
        snapshot=snapshot,
        recording__store=stored.folder.name,
    )
    job = jobs.order_by("-finished_at").first()
    if job is None or job.result is None:
        raise NotRestoredYet(
            f"The recording has {event_count(stored):,} events. Up to {MOST_EVENTS:,} are replayed "
            "at once; for more, a job restores the snapshot first."
        )
    return job.result
