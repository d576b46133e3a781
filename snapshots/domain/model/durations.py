"""What the durations of checkpoints and snapshots are, in the words of all pages.

An engine's own duration of a checkpoint is longer than the time between the first and the last
event of its snapshot, because a task records only after it has waited for a barrier.
"""

FLINK = "flink"
_ACKNOWLEDGED = "from the trigger to the last acknowledgement"
_COMPLETED = "from the trigger to the completion"
_GIVEN_UP = "from the trigger until it was given up"
_UNDER_WAY = "from the trigger to the latest acknowledgement so far"

OF_SNAPSHOT = "from its first event to its last"


def of_checkpoint(status: str, engine: object = None) -> str:
    """Say from when to when the duration of a checkpoint counts.

    Args:
        status: a status of the inventory, of a checkpoint's report, or of the archive.
        engine: the engine that gave the duration. Flink counts until the last acknowledgement.
    """
    if status in ("in progress", "pending"):
        return _UNDER_WAY
    if status != "completed":
        return _GIVEN_UP
    return _ACKNOWLEDGED if engine == FLINK else _COMPLETED
