"""Finds why a checkpoint failed, and in which phase, from the engine's words and subtasks' times.

The words are those of Flink's CheckpointFailureReason; nothing is guessed from other words.
"""

import re

from snapshots.domain.archive import model
from snapshots.domain.archive.absence import phase_at_end
from snapshots.domain.archive.model import FAILED, CheckpointFacts

TRIGGER, BARRIER, ALIGN, SYNC, ASYNC, ACKNOWLEDGE, FINISH, RUN, NOT_KNOWN = FAILURE_PHASES = (
    "trigger",
    "start delay",
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
_AT_END = {
    model.START_DELAY: BARRIER,
    model.ALIGNMENT: ALIGN,
    model.SYNC: SYNC,
    model.ASYNC: ASYNC,
}
LONGEST_CAUSE = 120  # characters
_VARIABLE = re.compile(r"\b[0-9a-f]{8,}\b|\b\d+\b")


def phase_of(facts: CheckpointFacts) -> str:
    """Return in which phase a checkpoint failed; empty if it did not fail.

    It is the phase that the source tells, or else one of FAILURE_PHASES, which may be NOT_KNOWN.
    The phase of an expired checkpoint is what the subtask that was too late did when the time was
    over. If its times are not known, the phase is ACKNOWLEDGE.
    """
    if facts.status != FAILED:
        return ""
    if facts.phase:
        return facts.phase
    text = facts.failure.lower()
    phase = next((phase for words, phase in _WORDS if words in text), NOT_KNOWN)
    return _AT_END.get(phase_at_end(facts), phase) if phase == ACKNOWLEDGE else phase


def cause_of(facts: CheckpointFacts) -> str:
    """Return the first line of the engine's words; empty if the checkpoint did not fail.

    Numbers and ids are replaced, so that equal causes are equal texts.
    """
    if facts.status != FAILED:
        return ""
    line = next((part.strip() for part in facts.failure.splitlines() if part.strip()), "")
    return _VARIABLE.sub("#", line[: 4 * LONGEST_CAUSE])[:LONGEST_CAUSE] or NOT_KNOWN


def most(facts: CheckpointFacts, number: str) -> int | None:
    """Return the largest of all subtasks' values of one of ``model.NUMBERS``.

    None if no value is known, or if a subtask did not acknowledge, since its value may be the
    largest.
    """
    values = []
    for _, subtask in facts.all_subtasks():
        value = getattr(subtask, number)
        if value is not None:
            values.append(value)
        elif subtask.acknowledged is False and facts.is_final:
            return None
    return max(values, default=None)
