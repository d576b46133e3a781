"""Finds who was still copying state for an earlier checkpoint when a checkpoint was triggered.

While a subtask copies its state it handles no barrier, so that its start delay includes this time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from snapshots.domain.archive.model import CheckpointFacts, SubtaskFacts

MOST_EARLIER = 10
"""How many checkpoints before one are searched."""


@dataclass(frozen=True, slots=True)
class Busy:
    """The copy of state that kept a subtask busy.

    Attributes:
        number: the number of the earlier checkpoint.
        until: the milliseconds from the trigger of the later checkpoint to the end of the copy,
            above 0.
    """

    number: int
    until: int


def busy(facts: CheckpointFacts, earlier: Iterable[CheckpointFacts]) -> Mapping[str, Busy]:
    """Return what kept each subtask busy, by name, as far as it is known.

    ``earlier``: checkpoints of the same pipeline.
    """
    busy_by_name: dict[str, Busy] = {}
    if facts.triggered_at is None:
        return busy_by_name
    for checkpoint in earlier:
        if checkpoint.triggered_at is None or checkpoint.triggered_at > facts.triggered_at:
            continue
        ahead = facts.triggered_at - checkpoint.triggered_at
        for name, subtask in checkpoint.all_subtasks():
            until = _copied(subtask) - ahead
            if until > 0 and (name not in busy_by_name or until > busy_by_name[name].until):
                busy_by_name[name] = Busy(checkpoint.number, until)
    return busy_by_name


def _copied(subtask: SubtaskFacts) -> int:
    """Return the milliseconds from the trigger to the end of the copy; 0 if that is not known."""
    parts = [subtask.start_delay, subtask.sync]
    if not subtask.unaligned:  # else the alignment goes on beside the copy
        parts.append(subtask.alignment)
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else 0
