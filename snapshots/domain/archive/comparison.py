"""Two checkpoints of one job, a slow and a healthy one: where the difference comes from.

The time of a checkpoint is that of the subtask that acknowledged last. Its time falls into phases:
the barrier on its way (start delay), alignment, sync, async, and what is left. Their differences
from the same subtask in the other checkpoint add up to the difference of its time. A later barrier
is made upstream, or waits for a copy for an earlier checkpoint, so what rose most in other subtasks
is ranked, too, and who was busy is told.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from snapshots.domain.archive.absence import missing, sentence, slowest
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

REST = "rest"
WORDS = {
    START_DELAY: "the time until its first barrier (start delay)",
    ALIGNMENT: "alignment",
    SYNC: "the copy of its state (sync)",
    ASYNC: "the upload (async)",
    REST: "what no phase covers",
}
MOST_RISES = 20
_WORTH_TELLING = 0.1  # of the difference


@dataclass(frozen=True, slots=True)
class Share:
    """How long one phase of a subtask took in both checkpoints, in milliseconds.

    Attributes:
        phase: ``start_delay``, ``alignment``, ``sync``, ``async_`` or ``rest``.
    """

    phase: str
    slow: int
    healthy: int

    @json_property
    def more(self) -> int:
        """Return how much higher the slow checkpoint's value is; negative if it is lower."""
        return self.slow - self.healthy


@dataclass(frozen=True, slots=True)
class Rise:
    """A phase of a subtask that took longer than in the healthy checkpoint."""

    subtask: str
    phase: str
    slow: int
    healthy: int

    @json_property
    def more(self) -> int:
        """Return how much higher the slow checkpoint's value is; negative if it is lower."""
        return self.slow - self.healthy


@dataclass(frozen=True, slots=True)
class Difference:
    """Why one checkpoint took longer than another.

    Attributes:
        more: how many milliseconds longer the slow one took; None where it is not known.
        last: the subtask of the slow one that acknowledged last.
        shares: the phases of ``last``, the one that adds most first.
        rises: the phases of all subtasks that took longer, the largest rise first.
        rises_total: how many such phases there are; not all of them are listed.
        more_bytes: how many bytes of state the slow one has more.
        absent: the subtasks of the slow one that did not acknowledge.
    """

    sentence: str
    more: int | None
    last: str
    shares: tuple[Share, ...]
    rises: tuple[Rise, ...]
    rises_total: int
    more_bytes: int | None
    absent: tuple[str, ...]


def compare(
    slow: CheckpointFacts, healthy: CheckpointFacts, earlier: Iterable[CheckpointFacts] = ()
) -> Difference:
    """earlier: checkpoints before the slow one, of its pipeline, as far as they are known."""
    absent = tuple(missing(slow))
    last = slowest(slow)
    one, other = _subtask(slow, last), _subtask(healthy, last)
    shares = tuple(sorted(_shares(one, other), key=lambda share: -share.more))
    rises = sorted(_rises(slow, healthy), key=lambda rise: (-rise.more, rise.subtask, rise.phase))
    is_over = slow.status != IN_PROGRESS
    more = _minus(slow.duration, healthy.duration) if is_over else None
    found = Difference(
        "",
        more,
        last,
        shares,
        tuple(rises[:MOST_RISES]),
        len(rises),
        _minus(slow.bytes, healthy.bytes),
        absent,
    )
    told = " ".join(_sentences(slow, healthy, found, busy(slow, earlier)))
    return Difference(told, *(getattr(found, name) for name in Difference.__slots__[1:]))


def _subtask(facts: CheckpointFacts, name: str) -> SubtaskFacts | None:
    return next((one for called, one in facts.all_subtasks() if called == name), None)


def _shares(one: SubtaskFacts | None, other: SubtaskFacts | None) -> Iterator[Share]:
    if one is None or other is None:
        return
    for phase in (*PHASES, REST):
        slow, healthy = _length(one, phase), _length(other, phase)
        if slow is not None and healthy is not None:
            yield Share(phase, slow, healthy)


def _length(subtask: SubtaskFacts, phase: str) -> int | None:
    if phase != REST:
        return getattr(subtask, phase)
    parts = [getattr(subtask, name) or 0 for name in PHASES]
    if subtask.unaligned:
        parts[PHASES.index(ALIGNMENT)] = 0  # goes on beside the copy and the upload
    return None if subtask.duration is None else subtask.duration - sum(parts)


def _rises(slow: CheckpointFacts, healthy: CheckpointFacts) -> Iterator[Rise]:
    before = dict(healthy.all_subtasks())
    for name, subtask in slow.all_subtasks():
        other = before.get(name)
        for phase in PHASES if other is not None else ():
            one, two = getattr(subtask, phase), getattr(other, phase)
            if one is not None and two is not None and one > two:
                yield Rise(name, phase, one, two)


def _sentences(
    slow: CheckpointFacts,
    healthy: CheckpointFacts,
    found: Difference,
    occupied: Mapping[str, Busy],
) -> Iterator[str]:
    yield _durations(slow, healthy, found.more)
    if found.absent:
        yield sentence(slow)
    if not found.shares:
        if not found.absent:
            who = f"{found.last}, the last to acknowledge," if found.last else "single subtasks"
            yield f"What {who} took is not known of both."
        return
    yield from _of_last(found)
    yield from _of_delay(found, occupied)
    if found.more_bytes and healthy.bytes and abs(found.more_bytes) > healthy.bytes / 10:
        word = "more" if found.more_bytes > 0 else "less"
        share = abs(found.more_bytes) / healthy.bytes
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


def _of_last(found: Difference) -> Iterator[str]:
    """What adds most to the time of the last subtask."""
    longer = [share for share in found.shares if share.more > 0]
    if not longer:
        yield f"The last was {found.last}; no phase of it took longer."
        return
    total = sum(share.more for share in longer)
    worth = [share for share in longer if share.more >= _WORTH_TELLING * total][:3]
    parts = [f"{share.more:,} ms more for {WORDS[share.phase]}" for share in worth]
    yield f"The last was {found.last}: {', '.join(parts)}."


def _of_delay(found: Difference, occupied: Mapping[str, Busy]) -> Iterator[str]:
    """Why the first barrier was taken up late, where that is known: the subtask was busy, or
    others were or worked longer. What else holds a barrier up no source says."""
    first = found.shares[0]
    if first.phase != START_DELAY or first.more <= 0:
        return
    worth = _WORTH_TELLING * first.more
    own = occupied.get(found.last)
    if own is not None and own.until >= worth:
        yield f"It was {_busy_with(own)}, and took up no barrier before."
        if own.until >= first.more:
            return
    others = [
        *(_longer(rise) for rise in _of_others(found, worth)[:1]),
        *_busiest(found, occupied, worth),
    ]
    if others:
        yield from others
    elif own is None or own.until < worth:
        yield (
            "No other subtask took longer in alignment, copy or upload by as much: what held its "
            "barrier up is not known."
        )


def _of_others(found: Difference, worth: float) -> list[Rise]:
    return [
        rise
        for rise in found.rises
        if rise.phase in (SYNC, ASYNC, ALIGNMENT)
        and rise.subtask != found.last
        and rise.more >= worth
    ]


def _longer(rise: Rise) -> str:
    words = WORDS[rise.phase].replace("its state", "state")
    return f"Elsewhere {rise.subtask} took {rise.more:,} ms more for {words}."


def _busiest(found: Difference, occupied: Mapping[str, Busy], worth: float) -> Iterator[str]:
    others = [(one.until, name) for name, one in occupied.items() if name != found.last]
    until, name = max(others, default=(0, ""))
    if name and until >= worth:
        yield f"{name} was {_busy_with(occupied[name])}."


def _busy_with(one: Busy) -> str:
    return (
        f"busy with the copy for checkpoint {one.number} until {one.until:,} ms after the trigger"
    )


def _minus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other
