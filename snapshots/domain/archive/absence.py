"""Finds who did not acknowledge a checkpoint, who did too late, and who was last."""

from collections.abc import Iterator
from operator import itemgetter

from snapshots.domain.archive.model import (
    ALIGNMENT,
    ASYNC,
    FAILED,
    IN_PROGRESS,
    START_DELAY,
    SYNC,
    CheckpointFacts,
    SubtaskFacts,
)
from snapshots.domain.model.listing import listed

MOST_NAMED = 3  # subtasks in a sentence


def silent(facts: CheckpointFacts) -> list[str]:
    """Return the subtasks that are known not to have acknowledged, as ``map[1]``."""
    return [name for name, subtask in facts.all_subtasks() if subtask.acknowledged is False]


def late(facts: CheckpointFacts) -> list[tuple[str, int, SubtaskFacts]]:
    """Return the subtasks that acknowledged after the checkpoint had failed, the latest first.

    Each comes as its name, how many milliseconds it was late, and its facts.
    """
    end = facts.duration
    if facts.status != FAILED or end is None:
        return []
    subtasks = [
        (name, subtask.duration - end, subtask)
        for name, subtask in facts.all_subtasks()
        if subtask.acknowledged is not False
        and subtask.duration is not None
        and subtask.duration > end
    ]
    return sorted(subtasks, key=lambda item: -item[1])


def missing(facts: CheckpointFacts) -> Iterator[str]:
    """Yield the subtasks that did not acknowledge in time; those that never did come first."""
    yield from silent(facts)
    yield from (name for name, *_ in late(facts))


def slowest(facts: CheckpointFacts) -> str:
    """Return the subtask that acknowledged last; of a failed checkpoint the first missing one.

    Empty if that is not known, or if the checkpoint is in progress.
    """
    if facts.status == FAILED and (first := next(missing(facts), "")):
        return first
    durations = [
        (subtask.duration, name)
        for name, subtask in facts.all_subtasks()
        if subtask.duration is not None
    ]
    if facts.status == IN_PROGRESS or not durations:
        return ""
    return max(durations, key=itemgetter(0))[1]


def sentence(facts: CheckpointFacts) -> str:
    """Say in a sentence who did not acknowledge in time; empty if nobody is known to."""
    parts = []
    if names := silent(facts):
        words = "Not acknowledged" if facts.is_final else "Not yet acknowledged"
        parts.append(f"{words} by {listed(names, MOST_NAMED)}")
    if names := [f"{name} ({more:,} ms)" for name, more, _ in late(facts)]:
        words = "too late" if parts else "Acknowledged too late"
        parts.append(f"{words} by {listed(names, MOST_NAMED)}")
    return f"{'; '.join(parts)}." if parts else ""


def phase_at_end(facts: CheckpointFacts) -> str:
    """Return the phase in which the last of the late subtasks was when the checkpoint failed.

    One of PHASES. Empty if a subtask is silent, because what it did is not known, or if no phase
    covers that time.
    """
    behind = late(facts)
    if silent(facts) or not behind:
        return ""
    _, _, subtask = behind[0]
    left = facts.duration or 0
    phases: tuple[str, ...] = (START_DELAY, ALIGNMENT, SYNC, ASYNC)
    if subtask.unaligned:
        phases = (START_DELAY, SYNC, ASYNC)  # the alignment goes on beside the rest
    for phase in phases:
        length = getattr(subtask, phase)
        if length is None:
            return ""
        left -= length
        if left < 0:
            return phase
    return ""
