"""Find what a document can hold of a recording that is too large for it."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

from snapshots.answers.shrinking import smallest_part
from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.findings import CONSISTENT
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import Recording as Log
from snapshots.files import uploads
from snapshots.models import Recording, Snapshot
from snapshots.problems import Conflict
from snapshots.quantities import counted

MOST_EVENTS = 1_000  # of one part
MOST_PARTS = 5  # of one document


@dataclass(frozen=True)
class SmallPart:
    """The smallest part of a recording that still has the first finding about a snapshot.

    Attributes:
        report: what is true of the snapshot in the part alone.
        sentence: how many events the part has, and the finding with its indexes in the whole.
    """

    log: Log
    report: SnapshotReport
    sentence: str


def small_part(snapshot: Snapshot) -> SmallPart:
    """Return the part of a recording that shows the worst finding about a snapshot.

    Raises: Conflict, if there is no such part that a document can hold; StoreError.
    """
    recording = snapshot.recording
    if snapshot.verdict == CONSISTENT:
        raise Conflict(
            f"That snapshot {snapshot.snapshot} is consistent is not checked here: no part of the "
            f"recording shows it, because it rests on all "
            f"{counted(recording.message_count, 'message')}. Cutline judged the whole log when it "
            "read it, and judges it again when the upload is read again."
        )
    shrunk = smallest_part(snapshot, 0)
    events = shrunk.part.events
    if len(events) > MOST_EVENTS:
        raise Conflict(
            f"The smallest part with its first finding has {len(events):,} events, more than the "
            f"{MOST_EVENTS:,} that a document holds of a part."
        )
    log = assemble(shrunk.part.header, events).recording
    [report] = [item for item in judge(log) if item.snapshot == snapshot.snapshot]
    sizes = f"{len(events):,} of {counted(recording.event_count, 'event')}"
    return SmallPart(
        log, report, f"This file has {sizes}. They show: {shrunk.witness.finding['sentence']}"
    )


def where_to_check(recording: Recording) -> str:
    """Say by which upload a reader can check what a document does not hold."""
    path = uploads.at_hand(recording.upload) if recording.upload else None
    if path is None or not path.is_file():
        return (
            "Its upload is not kept, so that only the Cutline that wrote this file can show it: "
            "the page of the snapshot there has the verdict."
        )
    return (
        "To check it, read its upload in any Cutline: the file with the SHA-256 "
        f"{_sha256(recording.upload)}. The page of each snapshot then has the verdict."
    )


@lru_cache(maxsize=64)
def _sha256(upload: str) -> str:
    """Return the hash of an upload, whose content never changes."""
    with uploads.at_hand(upload).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
