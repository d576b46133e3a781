"""How the barriers of a checkpoint were handled: aligned, unaligned, or at least once.

The type in an answer of the REST API does not tell it: before Flink 1.15 an unaligned checkpoint is
a CHECKPOINT, too, and later that word leaves open whether the job runs at least once. What decides
is data in flight that was stored, what the subtasks say, and the configuration of the checkpoints.
"""

from collections.abc import Mapping

from snapshots.readers.engines.flink.metadata import Metadata
from snapshots.readers.engines.flink.rest.checkpoints import COMPLETED, RestCheckpoint

ALIGNED, UNALIGNED, AT_LEAST_ONCE = "aligned", "unaligned", "at-least-once"
TIMEOUT = "timeout"  # aligned at first, unaligned after some time

NO_ANSWER = (
    "The upload has no answer of the REST API about this checkpoint, and its files hold no data in "
    "flight, which an unaligned checkpoint need not have either."
)
NO_CONFIGURATION = (
    "No data in flight is known to be stored, and the configuration of the checkpoints (the answer "
    "of /checkpoints/config) is not in the upload."
)


def mode_of(
    rest: RestCheckpoint | None,
    metadata: Metadata | None,
    config: Mapping[str, object],
    *,
    is_savepoint: bool,
) -> str | None:
    """Return how the barriers were handled; None if nothing tells it.

    Args:
        rest: what the REST API says of the checkpoint.
        metadata: its `_metadata`, if it can be read.
        config: the configuration of the job's checkpoints; empty if the upload lacks it.
    """
    if config.get("mode") == "at_least_once":
        return AT_LEAST_ONCE
    if _holds_data_in_flight(metadata) or (rest is not None and _was_unaligned(rest)):
        return _unaligned(config)
    if config.get("mode") != "exactly_once":
        return None
    if is_savepoint or (rest is not None and _was_never_unaligned(rest)):
        return ALIGNED
    is_asked_for = config.get("unaligned_checkpoints")
    if not isinstance(is_asked_for, bool):
        return None
    return _unaligned(config) if is_asked_for else ALIGNED


def _holds_data_in_flight(metadata: Metadata | None) -> bool:
    operators = () if metadata is None else metadata.operators
    return any(one.inputs or one.outputs for operator in operators for one in operator.subtasks)


def _was_unaligned(rest: RestCheckpoint) -> bool:
    """Tell whether data in flight was stored, or a subtask took part unaligned."""
    subtasks = [subtask for vertex in rest.vertices for subtask in vertex.subtasks]
    return (
        (rest.kind or "").startswith("UNALIGNED")
        or bool(rest.totals.persisted)
        or any(subtask.unaligned or subtask.persisted for subtask in subtasks)
    )


def _was_never_unaligned(rest: RestCheckpoint) -> bool:
    """Tell whether the answers name all unaligned subtasks of the checkpoint, which were none.

    Flink 1.15 and later, whose answers have the size of what was uploaded, name the type of a
    completed checkpoint after them.
    """
    if rest.status != COMPLETED:
        return False
    flags = [subtask.unaligned for vertex in rest.vertices for subtask in vertex.subtasks]
    is_complete = bool(flags) and len(flags) == rest.totals.subtasks
    return rest.totals.uploaded_size is not None or (is_complete and set(flags) == {False})


def _unaligned(config: Mapping[str, object]) -> str:
    return TIMEOUT if config.get("aligned_checkpoint_timeout") else UNALIGNED
