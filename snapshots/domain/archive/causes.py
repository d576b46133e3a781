"""Why a checkpoint failed, and in which phase, from the engine's words and who was missing.

The words are those of Flink's CheckpointFailureReason; of others nothing is guessed.
"""

import re
from collections.abc import Iterator

from snapshots.domain.archive.model import FAILED, CheckpointFacts, called

TRIGGER, ALIGN, SYNC, ASYNC, ACKNOWLEDGE, FINISH, RUN, NOT_KNOWN = FAILURE_PHASES = (
    "trigger",
    "alignment",
    "sync",
    "async",
    "acknowledgement",
    "completion",
    "failure of the job",
    "not known",
)
_WORDS = (
    ("asynchronous task checkpoint failed", ASYNC),
    ("channelstate file", ASYNC),
    ("task local checkpoint failure", SYNC),
    ("expired before completing", ACKNOWLEDGE),
    ("barrier from newer checkpoint", ALIGN),
    ("cancellation from one of its inputs", ALIGN),
    ("one input stream is finished", ALIGN),
    ("tasks not ready", TRIGGER),
    ("not all required tasks", TRIGGER),
    ("trigger checkpoint failure", TRIGGER),
    ("while triggering the checkpoint", TRIGGER),
    ("blocking output edge", TRIGGER),
    ("checkpoint was declined", SYNC),
    ("finalize checkpoint", FINISH),
    ("the job has failed", RUN),
    ("failoverregion is restarting", RUN),
    ("task has failed", RUN),
    ("checkpoint coordinator is suspending", RUN),
    ("checkpointcoordinator shutdown", RUN),
)
LONGEST_CAUSE = 120  # characters
_VARIABLE = re.compile(r"\b[0-9a-f]{8,}\b|\b\d+\b")


def phase_of(facts: CheckpointFacts) -> str:
    """One of FAILURE_PHASES, or what the source says; empty for what did not fail."""
    if facts.status != FAILED:
        return ""
    if facts.phase:
        return facts.phase
    text = facts.failure.lower()
    return next((phase for words, phase in _WORDS if words in text), NOT_KNOWN)


def cause_of(facts: CheckpointFacts) -> str:
    """The first line of the engine's words, numbers and ids left out, so that equal causes are
    equal texts; empty for what did not fail."""
    if facts.status != FAILED:
        return ""
    line = next((part.strip() for part in facts.failure.splitlines() if part.strip()), "")
    return _VARIABLE.sub("#", line[: 4 * LONGEST_CAUSE])[:LONGEST_CAUSE] or NOT_KNOWN


def missing(facts: CheckpointFacts) -> Iterator[str]:
    """The subtasks that are known not to have acknowledged in time, as ``map[1]``."""
    for vertex in facts.vertices:
        for subtask in vertex.subtasks:
            late = facts.status == FAILED and _is_later(subtask.duration, facts.duration)
            if subtask.acknowledged is False or late:
                yield called(vertex, subtask.index)


def slowest(facts: CheckpointFacts) -> str:
    """The subtask that was last to acknowledge; of a failed one the first that was missing.

    Empty where that is not known.
    """
    if facts.status == FAILED and (found := next(missing(facts), "")):
        return found
    known = [(one.duration, name) for name, one in facts.all_subtasks() if one.duration is not None]
    if not known:
        return ""
    longest = max(duration for duration, _ in known)
    return next(name for duration, name in known if duration == longest)


def most(facts: CheckpointFacts, number: str) -> int | None:
    """The largest of all subtasks' numbers, one of ``model.NUMBERS``; None where none is known, or
    not that of one who did not acknowledge: it may be the largest."""
    known = []
    for _, subtask in facts.all_subtasks():
        value = getattr(subtask, number)
        if value is not None:
            known.append(value)
        elif subtask.acknowledged is False and facts.is_final:
            return None
    return max(known, default=None)


def _is_later(duration: int | None, end: int | None) -> bool:
    return duration is not None and end is not None and duration > end
