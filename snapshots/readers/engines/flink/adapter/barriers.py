"""The ways of a checkpoint's barriers, as far as the REST API's durations bound them.

Known of a subtask are its first and its last barrier, and that a barrier leaves before it arrives.
Which channel brought the first and the last is inferred: whose sender recorded first, and last.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from snapshots.domain.model.topology import ChannelId
from snapshots.readers.engines.flink.adapter.runs import Link, Run
from snapshots.readers.engines.flink.adapter.states import Subtask
from snapshots.readers.engines.flink.adapter.times import Times


@dataclass(frozen=True, slots=True)
class Barrier:
    """sent, arrived: ms since the recording began; arrived: None where nothing is told of when it
    did, as of a receiver that has not acknowledged. end: the end of the channel stands for it, for
    its sender had finished."""

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
    """order: the run's subtasks, senders before receivers. floors: when each recorded for an
    earlier checkpoint; nothing is sent or comes before it."""
    found: dict[ChannelId, Barrier] = {}
    for subtask in order:
        here = times.get(subtask)
        if here is not None and here.first is not None:
            found |= _arriving(run.incoming.get(subtask, ()), here, times, finished, floors)
        elif subtask not in finished:
            for link in run.incoming.get(subtask, ()):
                sender = times.get((link.edge.source, link.source_subtask))
                if sender is not None:
                    sent = max(sender.recorded, floors.get(_sender(link), 0))
                    found[link.channel.id] = Barrier(link, sent, None)
    return found


def _sender(link: Link) -> Subtask:
    return link.edge.source, link.source_subtask


def _arriving(
    links: Iterable[Link],
    here: Times,
    times: Mapping[Subtask, Times],
    finished: set[Subtask],
    floors: Mapping[Subtask, int],
) -> dict[ChannelId, Barrier]:
    links = list(links)
    living = sorted(
        (link for link in links if _sender(link) not in finished),
        key=lambda link: _recorded(link, times, here),
    )
    found = {}
    for place, link in enumerate(living):
        recorded = _recorded(link, times, here)
        arrived = min(max(recorded, here.first), here.last)
        if place == 0:
            arrived = here.first
        elif place == len(living) - 1:
            arrived = here.last
        found[link.channel.id] = _barrier(link, min(recorded, arrived), arrived, floors)
    for link in links:
        if link.channel.id not in found:
            found[link.channel.id] = _barrier(link, here.first, here.first, floors, end=True)
    return found


def _recorded(link: Link, times: Mapping[Subtask, Times], here: Times) -> int:
    """Of the sender; of one that did not say, when the barrier came at the latest."""
    sender = times.get(_sender(link))
    return here.last if sender is None else sender.recorded


def _barrier(
    link: Link, sent: int, arrived: int, floors: Mapping[Subtask, int], *, end: bool = False
) -> Barrier:
    sent = max(sent, floors.get(_sender(link), 0))
    target = link.target, link.target_subtask
    return Barrier(link, sent, max(arrived, sent, floors.get(target, 0)), end)
