"""Who was still copying state for an earlier checkpoint when a checkpoint was triggered.

While a subtask copies its state it takes up no barrier, so that its start delay holds this time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from snapshots.domain.archive.model import CheckpointFacts, SubtaskFacts

MOST_EARLIER = 10  # checkpoints before one that are looked at


@dataclass(frozen=True, slots=True)
class Busy:
    """number: of the earlier checkpoint. until: ms since the trigger of the later one, over 0."""

    number: int
    until: int


def busy(facts: CheckpointFacts, earlier: Iterable[CheckpointFacts]) -> Mapping[str, Busy]:
    """By subtask; without those of which it is not known. earlier: of the same pipeline."""
    found: dict[str, Busy] = {}
    for one in earlier if facts.triggered_at is not None else ():
        if one.triggered_at is None or one.triggered_at > facts.triggered_at:
            continue
        ahead = facts.triggered_at - one.triggered_at
        for name, subtask in one.all_subtasks():
            until = _copied(subtask) - ahead
            if until > 0 and (name not in found or until > found[name].until):
                found[name] = Busy(one.number, until)
    return found


def _copied(subtask: SubtaskFacts) -> int:
    """When the copy was done, ms since the trigger; 0 where that is not known."""
    parts = [subtask.start_delay, subtask.sync]
    if not subtask.unaligned:  # else the alignment goes on beside the copy
        parts.append(subtask.alignment)
    return 0 if None in parts else sum(parts)
