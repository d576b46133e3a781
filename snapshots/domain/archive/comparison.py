"""Compares a slow and a healthy checkpoint of one job: where does the difference come from?

The time of a checkpoint is that of the subtask that acknowledged last. It consists of phases: the
barrier on its way (start delay), alignment, sync, async, and a rest. Their differences from the
same subtask in the other checkpoint add up to the difference of its time. A barrier is late because
of what happened upstream, or because the subtask was copying state for an earlier checkpoint. So
what rose most in other subtasks is ranked, too, and the sentences name who was busy.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from snapshots.domain.archive.absence import MOST_NAMED, blame, missing, sentence
from snapshots.domain.archive.busy import Busy, busy
from snapshots.domain.archive.model import (
    ALIGNMENT,
    ASYNC,
    IN_PROGRESS,
    PHASES,
    START_DELAY,
    SYNC,
    CheckpointFacts,
    SubtaskFacts,
)
from snapshots.domain.model.as_json import json_property
from snapshots.domain.model.listing import listed

REST = "rest"
WORDS = {
    START_DELAY: "the time until its first barrier (start delay)",
    ALIGNMENT: "alignment",
    SYNC: "the copy of its state (sync)",
    ASYNC: "the upload (async)",
    REST: "what no phase covers",
}
MOST_RISES = 20
_WORTH_TELLING = 0.1
"""The least share of the difference that is mentioned."""


@dataclass(frozen=True, slots=True)
class Share:
    """How long one phase of a subtask took in both checkpoints, in milliseconds.

    Attributes:
        phase: ``start_delay``, ``alignment``, ``sync``, ``async_`` or ``rest``.
        slow: how long the phase took in the slow checkpoint, in milliseconds.
        healthy: how long the phase took in the healthy checkpoint, in milliseconds.
    """

    phase: str
    slow: int
    healthy: int

    @json_property
    def more(self) -> int:
        """How many milliseconds longer the phase took in the slow checkpoint; negative if it was
        shorter.
        """
        return self.slow - self.healthy


@dataclass(frozen=True, slots=True)
class Rise:
    """A phase of a subtask that took longer than in the healthy checkpoint.

    Attributes:
        subtask: the name of the subtask, such as ``map[1]``.
        phase: ``start_delay``, ``alignment``, ``sync`` or ``async_``.
        slow: how long the phase took in the slow checkpoint, in milliseconds.
        healthy: how long the phase took in the healthy checkpoint, in milliseconds.
    """

    subtask: str
    phase: str
    slow: int
    healthy: int

    @json_property
    def more(self) -> int:
        """How many milliseconds longer the phase took in the slow checkpoint."""
        return self.slow - self.healthy


@dataclass(frozen=True, slots=True)
class Difference:
    """Why one checkpoint took longer than another.

    Attributes:
        sentence: a summary in a few sentences.
        more: how many milliseconds longer the slow checkpoint took. None if it is not known.
        last: the subtask for which the slow checkpoint waited, the first of several that tie; empty
            if it is not known.
        shares: the phases of ``last``; the one that adds most comes first.
        rises: the phases of all subtasks that took longer; the largest rise comes first.
        rises_total: how many such phases there are; not all of them are listed.
        more_bytes: how many bytes of state the slow checkpoint has more. None if it is not known.
        absent: the subtasks of the slow checkpoint that did not acknowledge in time.
        tied: the further subtasks for which it waited just as long.
    """

    sentence: str
    more: int | None
    last: str
    shares: tuple[Share, ...]
    rises: tuple[Rise, ...]
    rises_total: int
    more_bytes: int | None
    absent: tuple[str, ...]
    tied: tuple[str, ...] = ()


def compare(
    slow: CheckpointFacts, healthy: CheckpointFacts, earlier: Iterable[CheckpointFacts] = ()
) -> Difference:
    """Compare two checkpoints.

    ``earlier``: checkpoints before the slow one, of its pipeline, as far as they are known.
    """
    last, *tied = blame(slow).most or ("",)
    shares = sorted(_shares(slow, healthy, last), key=lambda share: -share.more)
    rises = sorted(_rises(slow, healthy), key=lambda rise: (-rise.more, rise.subtask, rise.phase))
    is_over = slow.status != IN_PROGRESS
    difference = Difference(
        sentence="",
        more=_minus(slow.duration, healthy.duration) if is_over else None,
        last=last,
        shares=tuple(shares),
        rises=tuple(rises[:MOST_RISES]),
        rises_total=len(rises),
        more_bytes=_minus(slow.bytes, healthy.bytes),
        absent=tuple(missing(slow)),
        tied=tuple(tied),
    )
    sentences = _sentences(slow, healthy, difference, busy(slow, earlier))
    return replace(difference, sentence=" ".join(sentences))


def _shares(slow: CheckpointFacts, healthy: CheckpointFacts, name: str) -> Iterator[Share]:
    """Yield the phases of a subtask that are known in both checkpoints."""
    before, after = dict(healthy.all_subtasks()).get(name), dict(slow.all_subtasks()).get(name)
    if before is None or after is None:
        return
    for phase in (*PHASES, REST):
        longer, shorter = _length(after, phase), _length(before, phase)
        if longer is not None and shorter is not None:
            yield Share(phase, longer, shorter)


def _length(subtask: SubtaskFacts, phase: str) -> int | None:
    if phase != REST:
        length: int | None = getattr(subtask, phase)
        return length
    parts = [getattr(subtask, name) or 0 for name in PHASES]
    if subtask.unaligned:
        parts[PHASES.index(ALIGNMENT)] = 0  # goes on beside the copy and the upload
    return None if subtask.duration is None else subtask.duration - sum(parts)


def _rises(slow: CheckpointFacts, healthy: CheckpointFacts) -> Iterator[Rise]:
    subtasks = dict(healthy.all_subtasks())
    for name, subtask in slow.all_subtasks():
        if name not in subtasks:
            continue
        for phase in PHASES:
            before, after = getattr(subtasks[name], phase), getattr(subtask, phase)
            if before is not None and after is not None and after > before:
                yield Rise(name, phase, after, before)


def _sentences(
    slow: CheckpointFacts,
    healthy: CheckpointFacts,
    difference: Difference,
    occupied: Mapping[str, Busy],
) -> Iterator[str]:
    yield _durations(slow, healthy, difference.more)
    if difference.absent:
        yield sentence(slow)
    if not difference.shares:
        if not difference.absent:
            subject = (
                f"{difference.last}, the last to acknowledge,"
                if difference.last
                else "single subtasks"
            )
            yield f"What {subject} took is not known of both."
        return
    yield from _of_last(difference)
    yield from _of_delay(difference, occupied)
    if difference.more_bytes and healthy.bytes and abs(difference.more_bytes) > healthy.bytes / 10:
        word = "more" if difference.more_bytes > 0 else "less"
        share = abs(difference.more_bytes) / healthy.bytes
        yield f"Its state was {share:.0%} {word}."


def _durations(slow: CheckpointFacts, healthy: CheckpointFacts, more: int | None) -> str:
    if slow.status == IN_PROGRESS:
        return f"Checkpoint {slow.number} is in progress: how long it takes is not known yet."
    if more is None:
        return f"How long {slow.number} and {healthy.number} took is not known of both."
    verb = "took" if slow.status == "completed" else f"is {slow.status}; it took"
    word = "longer" if more >= 0 else "less"
    return (
        f"Checkpoint {slow.number} {verb} {slow.duration:,} ms, {abs(more):,} ms {word} than "
        f"{healthy.number} ({healthy.duration:,} ms)."
    )


def _of_last(difference: Difference) -> Iterator[str]:
    """Say what adds most to the time of the last subtask."""
    longer = [share for share in difference.shares if share.more > 0]
    if not longer:
        which = difference.last if difference.tied else "it"
        yield f"{_last(difference)}; no phase of {which} took longer."
        return
    total = sum(share.more for share in longer)
    worth = [share for share in longer if share.more >= _WORTH_TELLING * total][:3]
    parts = [f"{share.more:,} ms more for {WORDS[share.phase]}" for share in worth]
    which = f"; {difference.last} took" if difference.tied else ":"
    yield f"{_last(difference)}{which} {', '.join(parts)}."


def _last(difference: Difference) -> str:
    if not difference.tied:
        return f"The last was {difference.last}"
    names = listed((difference.last, *difference.tied), MOST_NAMED)
    return f"{names} were last, at the same time"


def _of_delay(difference: Difference, occupied: Mapping[str, Busy]) -> Iterator[str]:
    """Say why the first barrier was handled late, as far as that is known.

    The subtask was busy, or others were busy or worked longer. No source names other reasons.
    """
    first = difference.shares[0]
    if first.phase != START_DELAY or first.more <= 0:
        return
    worth = _WORTH_TELLING * first.more
    own = occupied.get(difference.last)
    if own is not None and own.until >= worth:
        yield f"It was {_busy_with(own)}, and took up no barrier before."
        if own.until >= first.more:
            return
    others = [
        *(_longer(rise) for rise in _of_others(difference, worth)[:1]),
        *_busiest(difference, occupied, worth),
    ]
    if others:
        yield from others
    elif own is None or own.until < worth:
        yield (
            "No other subtask took longer in alignment, copy or upload by as much: what held its "
            "barrier up is not known."
        )


def _of_others(difference: Difference, worth: float) -> list[Rise]:
    return [
        rise
        for rise in difference.rises
        if rise.phase in (SYNC, ASYNC, ALIGNMENT)
        and rise.subtask != difference.last
        and rise.more >= worth
    ]


def _longer(rise: Rise) -> str:
    words = WORDS[rise.phase].replace("its state", "state")
    return f"Elsewhere {rise.subtask} took {rise.more:,} ms more for {words}."


def _busiest(difference: Difference, occupied: Mapping[str, Busy], worth: float) -> Iterator[str]:
    others = [(copy.until, name) for name, copy in occupied.items() if name != difference.last]
    until, name = max(others, default=(0, ""))
    if name and until >= worth:
        yield f"{name} was {_busy_with(occupied[name])}."


def _busy_with(copy: Busy) -> str:
    return (
        f"busy with the copy for checkpoint {copy.number} until {copy.until:,} ms after the trigger"
    )


def _minus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other
