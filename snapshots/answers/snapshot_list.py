"""List the snapshots of a recording, whole or in brief, in the order in which they began."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from snapshots.answers.outcomes import of_checkpoints, outcome_of, outcome_word
from snapshots.domain.model.recording import SnapshotId
from snapshots.files.recordings import open_recording
from snapshots.models import Recording, Snapshot
from snapshots.payloads.recordings import BriefSnapshot, snapshot_summary
from snapshots.store.stored_snapshot import recorded_cuts

_IN_BRIEF = ("recording", "code", "snapshot", "verdict", "answers", "began_at", "ended_at")


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list.

    Attributes:
        limit: how many items it has at most; None for all that follow.
        after: the code of the snapshot before its first one; None where it begins with the first.
    """

    limit: int | None
    after: int | None

    def of(self, rows: QuerySet[Snapshot]) -> tuple[list[Snapshot], str | None]:
        """Return the rows of this page, and the id of the last one if more follow."""
        following = rows if self.after is None else rows.filter(code__gt=self.after)
        if self.limit is None:
            return list(following), None
        listed = list(following[: self.limit + 1])
        kept = listed[: self.limit]
        return kept, kept[-1].snapshot if len(listed) > len(kept) else None


def whole(recording: Recording, page: Page) -> dict[str, Any]:
    """Return a page of snapshots with their findings and positions, as SnapshotList."""
    rows, following = page.of(recording.snapshots.all())
    items = [snapshot_summary(row, outcome_of(row)) for row in rows]
    return {"items": items, "total": recording.snapshots.count(), "next": following}


def in_brief(recording: Recording, page: Page) -> dict[str, Any]:
    """Return a page of snapshots, as BriefSnapshotList. Raises: StoreError."""
    rows, following = page.of(recording.snapshots.only(*_IN_BRIEF))
    checkpoints = of_checkpoints(recording)
    tables = open_recording(recording).tables
    cuts = recorded_cuts(tables, [SnapshotId(row.snapshot) for row in rows])
    processes = len(tables.topology.processes)
    items = [
        _brief(row, checkpoints, recorded, events if recorded == processes else None)
        for row, (recorded, events) in zip(rows, cuts, strict=True)
    ]
    return {"items": items, "total": recording.snapshots.count(), "next": following}


def _brief(
    row: Snapshot, checkpoints: Mapping[str, str] | None, recorded: int, events: int | None
) -> BriefSnapshot:
    return {
        "snapshot": row.snapshot,
        "verdict": row.verdict,
        "outcome": outcome_word(row.snapshot, row.verdict, checkpoints),
        "answers": {item["question"]: item["answer"] for item in row.answers},
        "began_at": row.began_at,
        "ended_at": row.ended_at,
        "recorded": recorded,
        "events": events,
    }
