"""When each subtask did what for a checkpoint, and the ways of its barriers, by the REST API.

The API gives durations of each subtask. The barrier arrives at the trigger plus the start delay,
the alignment follows, then the copy (sync) and the upload (async). Unaligned, the copy begins with
the first barrier, and the alignment goes on meanwhile; a subtask whose durations add up to more
than it took did so, too.

So the first and the last barrier of a subtask are known, and that a barrier leaves before it
arrives. Which channels brought these two is inferred: those whose senders recorded first and last.
Instants are milliseconds since the recording began.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from snapshots.domain.model.topology import ChannelId
from snapshots.readers.engines.flink.adapter.runs import Link, Run, Subtask
from snapshots.readers.engines.flink.rest.checkpoints import SubtaskTimes

LONGEST = 2**52  # later instants are cut


@dataclass(frozen=True, slots=True)
class Times:
    """The instants of one subtask; None where the answers do not give one.

    Attributes:
        first: when the first barrier came; None at a source.
        last: when the last barrier came; None at a source.
        recorded: when the copy of the state began.
        acked: when it acknowledged; None if that was too late.
        unaligned: whether it recorded with the first barrier.
        is_told: False where ``recorded`` is only the latest possible instant.
    """

    first: int | None
    last: int | None
    recorded: int
    copied: int | None
    uploaded: int | None
    acked: int | None
    unaligned: bool
    is_told: bool = True


def times_of(answer: SubtaskTimes, trigger: int, *, is_source: bool) -> Times | None:
    """Return the instants of a subtask; None where the answer does not say enough."""
    if answer.status != "completed" or answer.duration is None:
        return None
    end = trigger + answer.duration
    copy, upload = answer.sync or 0, answer.async_ or 0
    first = last = None
    unaligned = answer.unaligned is True
    if answer.start_delay is None:
        recorded = max(end - copy - upload, trigger)
        unaligned = False
    else:
        first = min(trigger + answer.start_delay, end)
        alignment = answer.alignment or 0
        too_long = answer.start_delay + alignment + copy + upload > answer.duration
        is_unaligned = unaligned or (too_long and alignment > 0)
        last = min(first + alignment, end)
        recorded = first if is_unaligned else last
        if is_source:
            first = last = None
        else:
            unaligned = is_unaligned
    copied = None if answer.sync is None else min(recorded + answer.sync, end)
    uploaded = None
    if copied is not None and answer.async_ is not None:
        uploaded = min(copied + answer.async_, end)
    return Times(
        _cut(first),
        _cut(last),
        min(recorded, LONGEST),
        _cut(copied),
        _cut(uploaded),
        None if answer.aborted else _cut(end),
        unaligned,
        answer.start_delay is not None,
    )


def _cut(instant: int | None) -> int | None:
    return None if instant is None else min(instant, LONGEST)


@dataclass(frozen=True, slots=True)
class Barrier:
    """A barrier on a channel.

    Attributes:
        arrived: None where nothing says when, as of a receiver that has not acknowledged.
        end: whether the end of the channel stands for it, because its sender had finished.
    """

    link: Link
    sent: int
    arrived: int | None
    end: bool = False


def barriers(
    run: Run,
    order: Iterable[Subtask],
    times: Mapping[Subtask, Times],
    finished: set[Subtask],
    floors: Mapping[Subtask, int],
) -> dict[ChannelId, Barrier]:
    """Return the barriers of a checkpoint by channel.

    Args:
        order: the subtasks of the run, senders before receivers.
        finished: the subtasks that had ended before.
        floors: when each subtask recorded an earlier checkpoint; it neither sends nor receives
            a barrier before that.
    """
    by_channel: dict[ChannelId, Barrier] = {}
    for subtask in order:
        at = times.get(subtask)
        if at is not None and at.first is not None and at.last is not None:
            barriers_here = _arriving(run, subtask, (at.first, at.last), times, finished, floors)
            by_channel |= barriers_here
        elif subtask not in finished:
            for link in run.incoming.get(subtask, ()):
                if (sender := times.get(link.sender)) is not None:
                    sent = max(sender.recorded, floors.get(link.sender, 0))
                    by_channel[link.channel.id] = Barrier(link, sent, None)
    return by_channel


def _arriving(
    run: Run,
    subtask: Subtask,
    bounds: tuple[int, int],
    times: Mapping[Subtask, Times],
    finished: set[Subtask],
    floors: Mapping[Subtask, int],
) -> dict[ChannelId, Barrier]:
    """Return the barriers that arrived at a subtask; ``bounds`` are the first and the last."""
    first, last = bounds

    def recorded(link: Link) -> int:
        """Return when the sender recorded, or else when its barrier came at the latest."""
        sender = times.get(link.sender)
        return last if sender is None else sender.recorded

    def barrier(link: Link, sent: int, arrived: int, *, end: bool = False) -> Barrier:
        sent = max(sent, floors.get(link.sender, 0))
        return Barrier(link, sent, max(arrived, sent, floors.get(subtask, 0)), end)

    links = run.incoming.get(subtask, ())
    living = sorted((link for link in links if link.sender not in finished), key=recorded)
    by_channel = {}
    for place, link in enumerate(living):
        arrived = min(max(recorded(link), first), last)
        if place == 0:
            arrived = first
        elif place == len(living) - 1:
            arrived = last
        by_channel[link.channel.id] = barrier(link, min(recorded(link), arrived), arrived)
    for link in links:
        if link.channel.id not in by_channel:
            by_channel[link.channel.id] = barrier(link, first, first, end=True)
    return by_channel
