"""Answer why a snapshot does not end: the violated condition, and what follows from it."""

from snapshots.domain.judging.findings import INCOMPLETE
from snapshots.domain.judging.unended import Unended
from snapshots.domain.model.recording import SnapshotId
from snapshots.models import Snapshot
from snapshots.store.reader import StoredRecording
from snapshots.store.unended import why_unended


def unended(stored: StoredRecording, row: Snapshot) -> Unended | None:
    """Return why a snapshot does not end; None if it does, or if the log has no marker of it."""
    if not any(item["verdict"] == INCOMPLETE for item in row.verdict_counts):
        return None
    return why_unended(stored.tables, SnapshotId(row.snapshot))
