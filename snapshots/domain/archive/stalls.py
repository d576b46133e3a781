"""Says whether a running job has silently stopped completing checkpoints.

The usual interval is learnt from the job itself: of the last intervals between two completed
checkpoints, all but 5 in 100 were not longer. So jitter does not count as a stall, and neither does
a checkpoint that fails now and then. A job that has completed nothing for more than three usual
intervals is stalled, until it completes a checkpoint.

All instants are epoch milliseconds by the clock of the engine. No clock is read here.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from snapshots.quantities import age, duration

LEAST_INTERVALS = 10  # from which a usual interval is learnt
MOST_INTERVALS = 100  # the newest of which one is learnt
PATIENCE = 3  # usual intervals without a completed checkpoint
_NOT_LONGER = 0.95  # the share of the intervals that the usual one covers

STALLED, WELL, NOT_KNOWN = "stalled", "well", "not known"


@dataclass(frozen=True, slots=True)
class Watch:
    """What is known of a job's progress. None stands for what is not known.

    Attributes:
        is_running: whether the job ran when it was last looked at.
        looked_at: when it was last looked at.
        fresh_for: the milliseconds after which that is too long ago to say how the job is now.
        usual: the usual interval.
        restorable_at: when the last completed checkpoint or savepoint was complete.
        began_at: when the job first began to run, or was restored, after ``restorable_at``.
    """

    is_running: bool
    looked_at: int | None
    fresh_for: int
    usual: int | None = None
    restorable_at: int | None = None
    began_at: int | None = None

    @property
    def waiting_since(self) -> int | None:
        """Return the instant since which the next completed checkpoint is waited for."""
        known = [at for at in (self.restorable_at, self.began_at) if at is not None]
        return max(known, default=None)


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


def usual_interval(completed: Iterable[int]) -> int | None:
    """Return the usual interval between completed checkpoints; None if too few are known.

    Args:
        completed: when checkpoints were complete. Savepoints are left out, because a person decides
            when they are taken.
    """
    newest = sorted(completed)[-MOST_INTERVALS - 1 :]
    intervals = sorted(later - earlier for earlier, later in pairwise(newest))
    if len(intervals) < LEAST_INTERVALS:
        return None
    return max(1, intervals[math.ceil(_NOT_LONGER * len(intervals)) - 1])


def first_start(known: int | None, told: int | None, restorable_at: int | None) -> int | None:
    """Return when the job first began to run after its last completed checkpoint.

    A job that fails and is restored again and again must not look well for ever. So only its first
    start counts until it completes a checkpoint.

    Args:
        known: what this function returned before.
        told: when the job began to run, as the engine says now.
        restorable_at: when the last completed checkpoint was complete.
    """
    starts = [at for at in (known, told) if at is not None]
    return min((at for at in starts if restorable_at is None or at > restorable_at), default=None)


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
    if not watch.is_running:
        return NOT_KNOWN, _not_known("it did not run when the collector last looked")
    if watch.usual is None or watch.waiting_since is None:
        few = f"fewer than {LEAST_INTERVALS + 1} completed checkpoints are known"
        return NOT_KNOWN, _not_known(f"{few}, so its usual interval is not")
    waited = now - watch.waiting_since
    usual = duration(watch.usual, "ms")
    if waited <= PATIENCE * watch.usual:
        return WELL, f"It completes a checkpoint at least every {usual}, as usual."
    return STALLED, f"{_nothing_since(watch, waited, usual)} {restorable(watch, now)}"


def _not_known(reason: str) -> str:
    return f"Whether this job completes checkpoints as usual is not known: {reason}."


def _nothing_since(watch: Watch, waited: int, usual: str) -> str:
    is_restored = watch.waiting_since != watch.restorable_at
    since = f"since it began to run, {age(waited)} ago" if is_restored else f"for {age(waited)}"
    return (
        f"The job runs, and has completed no checkpoint {since}. Usually it completes one at least "
        f"every {usual}."
    )


def restorable(watch: Watch, now: int) -> str:
    """Say how old the last point is from which the job can be restored."""
    if watch.restorable_at is None:
        return "No restorable point of it is known."
    return f"The last restorable point is {age(now - watch.restorable_at)} old."
