"""When a subtask did what for a checkpoint, from the durations that the REST API gives.

The barrier arrives at the trigger plus the start delay, the alignment follows, then the copy
(sync) and the upload (async). Unaligned, the copy begins with the first barrier, and the alignment
goes on meanwhile; a subtask whose durations are together longer than it took did it so, too.
"""

from dataclasses import dataclass

from snapshots.readers.engines.flink.rest.checkpoints import SubtaskTimes

LONGEST = 2**52  # ms since the recording began; later instants are cut


@dataclass(frozen=True, slots=True)
class Times:
    """Instants in ms since the recording began.

    first, last: barrier; None at a source and where not told. recorded: the copy begins. copied,
    uploaded: None where not told. acked: None where it did not acknowledge in time.
    unaligned: recorded with the first barrier. is_told: False where ``recorded`` is no more than
    the latest instant possible.
    """

    first: int | None
    last: int | None
    recorded: int
    copied: int | None
    uploaded: int | None
    acked: int | None
    unaligned: bool
    is_told: bool = True


def times_of(one: SubtaskTimes, trigger: int, *, is_source: bool) -> Times | None:
    """None where the answers do not say enough. trigger: ms since the recording began."""
    if one.status != "completed" or one.duration is None:
        return None
    end = trigger + one.duration
    copy, upload = one.sync or 0, one.async_ or 0
    if one.start_delay is None:
        recorded = max(end - copy - upload, trigger)
        return _times(one, None, None, recorded, end, is_told=False)
    first = min(trigger + one.start_delay, end)
    alignment = one.alignment or 0
    in_one = one.start_delay + alignment + copy + upload > one.duration
    unaligned = one.unaligned is True or (in_one and alignment > 0)
    last = min(first + alignment, end)
    recorded = first if unaligned else last
    if is_source:
        return _times(one, None, None, recorded, end, unaligned=one.unaligned is True)
    return _times(one, first, last, recorded, end, unaligned=unaligned)


def _times(
    one: SubtaskTimes,
    first: int | None,
    last: int | None,
    recorded: int,
    end: int,
    *,
    unaligned: bool = False,
    is_told: bool = True,
) -> Times:
    copied = None if one.sync is None else min(recorded + one.sync, end)
    known = None not in (copied, one.async_)
    return Times(
        _within(first),
        _within(last),
        _within(recorded),
        _within(copied),
        _within(min(copied + one.async_, end)) if known else None,
        None if one.aborted else _within(end),
        unaligned,
        is_told,
    )


def _within(instant: int | None) -> int | None:
    return None if instant is None else min(instant, LONGEST)
