"""Answer which checkpoints of an upload have no times, and why."""

from snapshots.files import recordings
from snapshots.models import Recording
from snapshots.payloads.checkpoints import UntimedCheckpoint
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.reader import StoredRecording

_NO_TIMES = "No answer of the engine says when anything happened."


def untimed(recording: Recording, stored: StoredRecording) -> list[UntimedCheckpoint]:
    """Return the checkpoints of an engine's upload that have no report, in their order."""
    inventory = StoredInventory(recordings.store().folder(recording.store))
    if not stored.is_dataflow or not inventory.exists:
        return []
    reported = stored.checkpoint_names
    return [
        {
            "number": number,
            "id": item["id"],
            "kind": item["kind"],
            "status": item["status"],
            "reason": item["problem"] or _NO_TIMES,
        }
        for number, item in enumerate(inventory.upload["checkpoints"])
        if (item.get("snapshot") or str(item["id"])) not in reported
    ]
