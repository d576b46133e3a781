"""Two checkpoints of one job, a slow and a healthy one: where the difference comes from.

The time of a checkpoint is that of the subtask that acknowledged last. Its time falls into phases:
the barrier on its way (start delay), alignment, sync, async, and what is left. Their differences
from the same subtask in the other checkpoint add up to the difference of its time. A later barrier
is made upstream, so what rose most in other subtasks is ranked, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from snapshots.domain.archive.causes import missing, slowest
from snapshots.domain.archive.model import (
    ALIGNMENT,
    ASYNC,
    PHASES,
    START_DELAY,
    SYNC,
    CheckpointFacts,
    SubtaskFacts,
)

REST = "rest"
WORDS = {
    START_DELAY: "the barrier’s way to it (start delay)",
    ALIGNMENT: "alignment",
    SYNC: "the copy of its state (sync)",
    ASYNC: "the upload (async)",
    REST: "what no phase covers",
}
MOST_RISES = 20
_WORTH_TELLING = 0.1  # of the difference


@dataclass(frozen=True, slots=True)
class Share:
    """phase: one of PHASES or REST. slow, healthy: ms."""

    phase: str
    slow: int
    healthy: int

    @property
    def more(self) -> int:
        return self.slow - self.healthy


@dataclass(frozen=True, slots=True)
class Rise:
    """A phase of a subtask that took longer than in the healthy checkpoint."""

    subtask: str
    phase: str
    slow: int
    healthy: int

    @property
    def more(self) -> int:
        return self.slow - self.healthy


@dataclass(frozen=True, slots=True)
class Difference:
    """more: ms that the slow one took longer, None where not known. last: who acknowledged last.

    shares: of ``last``, what adds most first. rises: of all subtasks, the largest first, at most
    MOST_RISES of rises_total. more_bytes: of state. absent: who did not acknowledge.
    """

    sentence: str
    more: int | None
    last: str
    shares: tuple[Share, ...]
    rises: tuple[Rise, ...]
    rises_total: int
    more_bytes: int | None
    absent: tuple[str, ...]


def compare(slow: CheckpointFacts, healthy: CheckpointFacts) -> Difference:
    absent = tuple(missing(slow))
    last = slowest(slow)
    one, other = _subtask(slow, last), _subtask(healthy, last)
    shares = tuple(sorted(_shares(one, other), key=lambda share: -share.more))
    rises = sorted(_rises(slow, healthy), key=lambda rise: (-rise.more, rise.subtask, rise.phase))
    more = _minus(slow.duration, healthy.duration)
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
    sentence = " ".join(_sentences(slow, healthy, found))
    return Difference(sentence, *(getattr(found, name) for name in Difference.__slots__[1:]))


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


def _sentences(slow: CheckpointFacts, healthy: CheckpointFacts, found: Difference) -> Iterator[str]:
    yield _durations(slow, healthy, found.more)
    if found.absent:
        count = len(found.absent)
        others = f" and {count - 1:,} more" if count > 1 else ""
        yield f"Not acknowledged in time by {found.absent[0]}{others}."
    if not found.shares:
        if not found.absent:
            who = f"{found.last}, the last to acknowledge," if found.last else "single subtasks"
            yield f"What {who} took is not known of both."
        return
    yield from _of_last(found)
    yield from _of_others(found)
    if found.more_bytes and healthy.bytes and abs(found.more_bytes) > healthy.bytes / 10:
        word = "more" if found.more_bytes > 0 else "less"
        share = abs(found.more_bytes) / healthy.bytes
        yield f"Its state was {share:.0%} {word}."


def _durations(slow: CheckpointFacts, healthy: CheckpointFacts, more: int | None) -> str:
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


def _of_others(found: Difference) -> Iterator[str]:
    """A barrier comes late because of others: who of them worked longer."""
    first = found.shares[0]
    if first.phase != START_DELAY or first.more <= 0:
        return
    own = [
        rise
        for rise in found.rises
        if rise.phase in (SYNC, ASYNC, ALIGNMENT)
        and rise.subtask != found.last
        and rise.more >= _WORTH_TELLING * first.more
    ]
    if own:
        most = own[0]
        yield (
            f"Elsewhere {most.subtask} took {most.more:,} ms more for "
            f"{WORDS[most.phase].replace('its state', 'state')}."
        )
    else:
        yield (
            "No other subtask took longer in alignment, copy or upload by as much: the barrier "
            "waited behind records, which is back pressure."
        )


def _minus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other
