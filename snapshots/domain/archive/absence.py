"""Finds for whom a checkpoint waited: who did not acknowledge, who did too late, who was last.

This is the only rule for blame. The archive, the page of a checkpoint and the first answer to an
upload all use it. Subtasks that are equally to blame are all named.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

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


def answer(acknowledged: bool | None, *, is_missing: bool, is_over: bool) -> str:
    """Return the word for whether a subtask acknowledged.

    Args:
        acknowledged: what is known of it.
        is_missing: whether it is one of ``missing``.
        is_over: whether the checkpoint has ended.
    """
    if is_missing and acknowledged is not False:
        return "too late"
    if acknowledged is None:
        return "not known"
    if acknowledged:
        return "yes"
    return "no" if is_over else "not yet"


@dataclass(frozen=True, slots=True)
class Blame:
    """The subtasks for which a checkpoint waited.

    Attributes:
        names: all subtasks that did not acknowledge in time, those that never did first; else all
            that acknowledged last. None if that is not known.
        most: those of them that are to blame most, and equally.
        is_missing: whether they did not acknowledge in time. Else they acknowledged last.
        after: the milliseconds from the trigger to the acknowledgement of ``most``. None if they
            did not acknowledge.
        late: those of ``names`` that acknowledged too late, if others never did.
        is_expired: whether the time for the checkpoint may have run out, by the engine's words.
    """

    names: tuple[str, ...] = ()
    most: tuple[str, ...] = ()
    is_missing: bool = False
    after: int | None = None
    late: tuple[str, ...] = ()
    is_expired: bool = True

    @property
    def is_tie(self) -> bool:
        """Tell whether several subtasks acknowledged last, at the same time."""
        return not self.is_missing and len(self.names) > 1

    @property
    def text(self) -> str:
        """Return the names in words; empty if nobody is known."""
        return listed(self.names, MOST_NAMED)

    @property
    def late_text(self) -> str:
        """Return the names of those that were too late in words; empty if nobody was."""
        return listed(self.late, MOST_NAMED)

    @property
    def sentence(self) -> str:
        """Say for whom the checkpoint waited; empty if that is not known."""
        if not self.names:
            return ""
        if self.is_missing:
            too_late = f"; {self.late_text} acknowledged too late" if self.late else ""
            in_time = " in time" if self.is_expired else ""
            return f"Not acknowledged{in_time} by {self.text}{too_late}."
        if not self.is_tie:
            return f"{self.text} acknowledged last."
        after = "" if self.after is None else f", after {self.after:,} ms"
        return f"{self.text} acknowledged last, at the same time{after}."


def may_be_expired(facts: CheckpointFacts) -> bool:
    """Tell whether a checkpoint failed because its time ran out, or nothing says why it failed."""
    return not facts.failure or "expired" in facts.failure.lower()


def blame(facts: CheckpointFacts) -> Blame:
    """Return for whom a checkpoint waited.

    In a failed one these are the subtasks that did not acknowledge in time, else as in a completed
    one those that acknowledged last. For a checkpoint in progress it is not known yet.
    """
    if facts.status == IN_PROGRESS:
        return Blame()
    if facts.status == FAILED:
        names, behind = tuple(dict.fromkeys(missing(facts))), late(facts)
        if never := tuple(silent(facts)):
            too_late = tuple(name for name, *_ in behind)
            return Blame(
                names, never, is_missing=True, late=too_late, is_expired=may_be_expired(facts)
            )
        if behind:
            _, longest, latest = behind[0]
            most = tuple(name for name, more, _ in behind if more == longest)
            return Blame(
                names,
                most,
                is_missing=True,
                after=latest.duration,
                is_expired=may_be_expired(facts),
            )
    return _last(facts)


def _last(facts: CheckpointFacts) -> Blame:
    durations = {
        name: subtask.duration
        for name, subtask in facts.all_subtasks()
        if subtask.duration is not None
    }
    longest = max(durations.values(), default=None)
    names = tuple(name for name, duration in durations.items() if duration == longest)
    return Blame(names, names, after=longest)


def slowest(facts: CheckpointFacts) -> str:
    """Return for whom a checkpoint waited, in words; empty if that is not known."""
    return blame(facts).text


def times_missing(checkpoints: Iterable[CheckpointFacts]) -> Counter[str]:
    """Count in how many checkpoints each subtask did not acknowledge in time."""
    return Counter(name for facts in checkpoints for name in dict.fromkeys(missing(facts)))


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
