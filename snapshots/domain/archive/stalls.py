"""Says whether a running job has silently stopped completing checkpoints.

The usual interval is learnt from the job itself: of the last intervals between two completed
checkpoints, all but 5 in 100, and at least one, were not longer. So jitter does not count as a
stall, and neither does a checkpoint that fails now and then, or one outage. A job that has
completed nothing for more than three usual intervals is stalled, until it completes a checkpoint.
Savepoints do not count, because a person decides when they are taken.

All instants are epoch milliseconds by the clock of the engine. No clock is read here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from snapshots.quantities import age, duration

LEAST_INTERVALS = 10  # from which a usual interval is learnt
MOST_INTERVALS = 100  # the newest of which one is learnt
PATIENCE = 3  # usual intervals without a completed checkpoint
_ONE_LONGER_IN = 20  # intervals; at least one is longer than the usual one

STALLED, WELL, NOT_KNOWN = "stalled", "well", "not known"


@dataclass(frozen=True, slots=True)
class Watch:
    """What is known of a job's progress. None stands for what is not known.

    Attributes:
        is_running: whether the job ran when it was last looked at. None if this is not known.
        looked_at: when it was last looked at.
        fresh_for: the milliseconds after which that is too long ago to say how the job is now.
        usual: the usual interval.
        restorable_at: when the last completed checkpoint or savepoint was complete.
        completed_at: when the last completed checkpoint was complete, savepoints left out.
        began_at: when the job first began to run, or was restored, after ``completed_at``.
    """

    is_running: bool | None
    looked_at: int | None
    fresh_for: int
    usual: int | None = None
    restorable_at: int | None = None
    completed_at: int | None = None
    began_at: int | None = None

    @property
    def waiting_since(self) -> int | None:
        """Return the instant since which the next completed checkpoint is waited for."""
        known = [at for at in (self.completed_at, self.began_at) if at is not None]
        return max(known, default=None)

    @property
    def is_starting(self) -> bool:
        """Tell whether the first completed checkpoint since a start is waited for."""
        return self.waiting_since != self.completed_at


@dataclass(frozen=True, slots=True)
class Stall:
    """Whether a job has stopped completing checkpoints.

    Attributes:
        status: ``stalled``, ``well`` or ``not known``.
        sentence: the same in a sentence, with the reason if it is not known.
        usual_interval: the usual milliseconds from one completed checkpoint to the next. None if
            they are not known.
        restorable_at: when the last completed checkpoint or savepoint was complete, in epoch
            milliseconds. None if it is not known.
        waiting_since: since when the next one is waited for, in epoch milliseconds. None if it is
            not known.
    """

    status: str
    sentence: str
    usual_interval: int | None = None
    restorable_at: int | None = None
    waiting_since: int | None = None

    @property
    def is_stalled(self) -> bool:
        """Tell whether the job has stopped completing checkpoints."""
        return self.status == STALLED


@dataclass(frozen=True, slots=True)
class Kept:
    """A checkpoint or savepoint that is kept.

    Attributes:
        number: its number.
        ended_at: when it was complete. None if it did not complete, or that is not known.
        is_regular: whether it is a completed checkpoint and no savepoint.
    """

    number: int
    ended_at: int | None
    is_regular: bool


def usual_interval(kept: Iterable[Kept]) -> int | None:
    """Return the usual interval between completed checkpoints; None if too few are known.

    Only time that was observed counts: an interval in which a number is missing is left out,
    because checkpoints that nobody saw may have completed in it.

    Args:
        kept: the checkpoints and savepoints of one pipeline.
    """
    known = [later - earlier for ends in _stretches(kept) for earlier, later in pairwise(ends)]
    intervals = sorted(known[-MOST_INTERVALS:])
    if len(intervals) < LEAST_INTERVALS:
        return None
    longer = max(1, len(intervals) // _ONE_LONGER_IN)
    return max(1, intervals[-1 - longer])


def _stretches(kept: Iterable[Kept]) -> Iterator[list[int]]:
    """Yield when checkpoints were complete, for each stretch without a missing number, in order."""
    ends: list[int] = []
    last = None
    for one in sorted(kept, key=lambda one: one.number):
        is_unseen = one.is_regular and one.ended_at is None
        if is_unseen or (last is not None and one.number > last + 1):
            yield sorted(ends)
            ends = []
        if one.is_regular and one.ended_at is not None:
            ends.append(one.ended_at)
        last = one.number
    yield sorted(ends)


def first_start(known: int | None, told: int | None, completed_at: int | None) -> int | None:
    """Return when the job first began to run after its last completed checkpoint.

    A job that fails and is restored again and again must not look well for ever. So only its first
    start counts until it completes a checkpoint.

    Args:
        known: what this function returned before.
        told: when the job began to run, as the engine says now.
        completed_at: when the last completed checkpoint was complete.
    """
    starts = [at for at in (known, told) if at is not None]
    return min((at for at in starts if completed_at is None or at > completed_at), default=None)


def judge(watch: Watch, now: int) -> Stall:
    """Say how a job is at an instant. It is not known if nobody has looked lately."""
    status, sentence = _judged(watch, now)
    return Stall(status, sentence, watch.usual, watch.restorable_at, watch.waiting_since)


def _judged(watch: Watch, now: int) -> tuple[str, str]:
    if watch.looked_at is None:
        return NOT_KNOWN, _not_known("no running engine has reported it with its own clock")
    if now - watch.looked_at > watch.fresh_for:
        ago = age(now - watch.looked_at)
        return NOT_KNOWN, _not_known(f"no collector has looked at it for {ago}")
    if watch.is_running is False:
        return NOT_KNOWN, _not_known("it did not run when the collector last looked")
    if watch.usual is None or watch.waiting_since is None:
        few = f"fewer than {LEAST_INTERVALS} intervals between completed checkpoints"
        return NOT_KNOWN, _not_known(f"{few}, savepoints left out, were observed")
    waited = now - watch.waiting_since
    usual = duration(watch.usual, "ms")
    if waited <= PATIENCE * watch.usual and watch.is_starting:
        return WELL, _starting(waited, usual)
    if waited <= PATIENCE * watch.usual:
        return WELL, f"It completes a checkpoint at least every {usual}, as usual."
    if watch.is_running is None:
        return NOT_KNOWN, _not_known(
            f"it has completed none for {age(waited)}, usually it completes one at least every "
            f"{usual}, and nothing tells whether it runs"
        )
    return STALLED, f"{_nothing_since(watch, waited, usual)} {restorable(watch, now)}"


def _not_known(reason: str) -> str:
    return f"Whether this job completes checkpoints as usual is not known: {reason}."


def _starting(waited: int, usual: str) -> str:
    return (
        f"The job began to run {age(waited)} ago, and its first checkpoint since then is waited "
        f"for. Usually it completes one at least every {usual}."
    )


def _nothing_since(watch: Watch, waited: int, usual: str) -> str:
    began = f"since it began to run, {age(waited)} ago"
    since = began if watch.is_starting else f"for {age(waited)}"
    return (
        f"The job runs, and has completed no checkpoint {since}. Usually it completes one at least "
        f"every {usual}."
    )


def restorable(watch: Watch, now: int) -> str:
    """Say how old the last point is from which the job can be restored."""
    if watch.restorable_at is None:
        return "No restorable point of it is known."
    return f"The last restorable point is {age(now - watch.restorable_at)} old."
