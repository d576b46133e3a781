"""Answer with the smallest part of a recording that shows one finding about a snapshot."""

import json
import re
from collections.abc import Mapping
from typing import Any

from snapshots.domain.judging.findings import CONSISTENT
from snapshots.domain.model.derived import is_untimed
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.model.topology import Topology
from snapshots.domain.shrinking.shrink import NoEvents, NotShown, Shrunk, shrink
from snapshots.domain.shrinking.surroundings import MOST_EVENTS, TooManyEvents
from snapshots.domain.shrinking.whole import EventKey
from snapshots.domain.shrinking.witness import Witness
from snapshots.files.recordings import open_recording
from snapshots.models import Snapshot
from snapshots.payloads.shrinking import PartEvent, PartSizes, SmallestPart
from snapshots.problems import Conflict, Invalid
from snapshots.readers.logs.native import write_lines
from snapshots.store.reader import StoredRecording
from snapshots.store.whole import StoredWhole

REFUSALS: Mapping[type[Exception], str] = {
    NoEvents: "This finding rests on what the engine's files hold, not on events that could be "
    "left out.",
    NotShown: "The events around the witness do not lead to this finding. Was the recording judged "
    "by an older version? Read the file again.",
    TooManyEvents: f"More than {MOST_EVENTS:,} events belong to this witness, so there is no small "
    "recording with it.",
}
NOT_MINIMAL = (
    "So many events belong to the witness that not each of them was tried. The part may not be the "
    "smallest."
)
_UNUSUAL = re.compile(r"[^\w ,.()>+-]")
_LONGEST_NAME = 150  # characters of a file's name


def smallest_part(row: Snapshot, number: int) -> Shrunk:
    """Return the smallest part of a recording with one finding about a snapshot.

    Args:
        row: the snapshot.
        number: the place of the finding in the snapshot's list, from 0.

    Raises: Invalid, Conflict, StoreDamaged.
    """
    if not 0 <= number < len(row.verdicts):
        raise Invalid(
            f"The snapshot has {len(row.verdicts):,} listed findings, counted from 0.",
            field="finding",
        )
    stored = open_recording(row.recording)
    snapshot = SnapshotId(row.snapshot)
    whole = StoredWhole(stored.tables, snapshot, row.recording.name, row.initiators)
    witness = _witness(stored, snapshot, row.verdicts[number])
    try:
        return shrink(whole, witness)
    except tuple(REFUSALS) as refusal:
        raise Conflict(REFUSALS[type(refusal)]) from None


def _witness(stored: StoredRecording, snapshot: SnapshotId, finding: Mapping[str, Any]) -> Witness:
    """Return the witness for a finding; for a consistent snapshot, a message that was in flight."""
    if finding["verdict"] != CONSISTENT:
        return Witness(finding)
    for channel, contents in stored.snapshot(snapshot).channels.items():
        for message in contents.recomputed or ():
            if message.id in (contents.recorded or ()):
                source = stored.topology.channel_by_id[channel].source
                return Witness(finding, EventKey(source, message.sent_index), channel)
    return Witness(finding)


def native_file(shrunk: Shrunk) -> bytes:
    """Return a part as a file of the native format."""
    return b"".join(write_lines(shrunk.part.header, shrunk.part.events))


def file_name(shrunk: Shrunk) -> str:
    """Return a name for the file of a part that every file system takes."""
    return f"{_UNUSUAL.sub('_', shrunk.part.header.name)[:_LONGEST_NAME]}.jsonl"


def summary(row: Snapshot, number: int, shrunk: Shrunk) -> SmallestPart:
    """Return what a part holds and what was left out."""
    stored = open_recording(row.recording)
    extra = shrunk.part.header.extra
    notes = extra["notes"]
    assert isinstance(notes, list)  # as the part's description writes them
    events = int(stored.tables.events.length.sum())
    return {
        "snapshot": row.snapshot,
        "finding": number,
        "witness": dict(shrunk.witness.finding),
        "verdict": shrunk.verdict,
        "minimal": shrunk.is_minimal,
        "sentences": [*notes, *([] if shrunk.is_minimal else [NOT_MINIMAL])],
        "kept": _sizes(len(shrunk.part.events), shrunk.part.header.topology),
        "whole": _sizes(events, stored.topology),
        "events": _events(shrunk, has_times=not is_untimed(extra, row.snapshot)),
    }


def _sizes(events: int, topology: Topology) -> PartSizes:
    return {
        "events": events,
        "processes": len(topology.processes),
        "channels": len(topology.channels),
    }


def _events(shrunk: Shrunk, *, has_times: bool) -> list[PartEvent]:
    return [
        {
            "process": event.process,
            "index": json.loads(event.extra or "{}")["original"]["index"],
            "kind": event.kind,
            "at": event.at if has_times else None,
            "channel": event.channel,
            "message": event.message,
            "snapshot": event.snapshot,
        }
        for event in shrunk.part.events
    ]
