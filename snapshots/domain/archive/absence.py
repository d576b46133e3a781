"""Who did not acknowledge a checkpoint, who did too late, and who was last."""

from collections.abc import Iterator

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

MOST_NAMED = 3  # subtasks in a sentence


def silent(facts: CheckpointFacts) -> list[str]:
    """The subtasks that are known not to have acknowledged, as ``map[1]``."""
    return [name for name, subtask in facts.all_subtasks() if subtask.acknowledged is False]


def late(facts: CheckpointFacts) -> list[tuple[str, SubtaskFacts]]:
    """Those that acknowledged when it had failed already, the latest first."""
    if facts.status != FAILED or facts.duration is None:
        return []
    known = [
        (name, subtask)
        for name, subtask in facts.all_subtasks()
        if subtask.acknowledged is not False and (subtask.duration or 0) > facts.duration
    ]
    return sorted(known, key=lambda one: -one[1].duration)


def missing(facts: CheckpointFacts) -> Iterator[str]:
    """The subtasks that are known not to have acknowledged in time; those that never did first."""
    yield from silent(facts)
    yield from (name for name, _ in late(facts))


def slowest(facts: CheckpointFacts) -> str:
    """The subtask that was last to acknowledge; of a failed one the first that was missing.

    Empty where that is not known, as of a checkpoint that goes on.
    """
    if facts.status == FAILED and (found := next(missing(facts), "")):
        return found
    known = [(one.duration, name) for name, one in facts.all_subtasks() if one.duration is not None]
    if facts.status == IN_PROGRESS or not known:
        return ""
    longest = max(duration for duration, _ in known)
    return next(name for duration, name in known if duration == longest)


def sentence(facts: CheckpointFacts) -> str:
    """Who lacks, as a sentence; empty where nobody is known to."""
    parts = []
    if names := silent(facts):
        word = "Not acknowledged" if facts.is_final else "Not yet acknowledged"
        parts.append(f"{word} by {_listed(names)}")
    if behind := late(facts):
        names = [f"{name} ({one.duration - facts.duration:,} ms)" for name, one in behind]
        parts.append(f"{'too late' if parts else 'Acknowledged too late'} by {_listed(names)}")
    return f"{'; '.join(parts)}." if parts else ""


def phase_at_end(facts: CheckpointFacts) -> str:
    """One of PHASES: in which the last of the late subtasks was when the checkpoint failed.

    Empty where a subtask is silent, for what it did is not known, or where no phase covers that.
    """
    behind = late(facts)
    if silent(facts) or not behind:
        return ""
    _, one = behind[0]
    order = (START_DELAY, ALIGNMENT, SYNC, ASYNC)
    if one.unaligned:
        order = (START_DELAY, SYNC, ASYNC)  # the alignment goes on beside the rest
    end = 0
    for phase in order:
        length = getattr(one, phase)
        if length is None:
            return ""
        end += length
        if facts.duration < end:
            return phase
    return ""


def _listed(names: list[str]) -> str:
    named, more = names[:MOST_NAMED], len(names) - MOST_NAMED
    if more > 0:
        named = [*named, f"{more:,} more"]
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
