"""Make a recording of some events of a larger one, so that it says nothing that the whole does not.

* A message or marker has both its ends, or neither.
* The list of a ``record_channel`` has the messages of the part; the others are counted.
* A state stays where it still holds until the next event of the part. Where an application event
  was left out in between, the state is moved into ``original``, and is not known in the part.
* Each event has a field ``original`` with its index in the whole recording.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.recording import (
    APPLICATION_KINDS,
    RECORD_CHANNEL,
    LoggedEvent,
    MessageId,
)
from snapshots.domain.model.topology import ChannelId, Process, ProcessId, Topology
from snapshots.domain.model.values import canonical, parsed
from snapshots.domain.shrinking.surroundings import START, Surroundings, Unit
from snapshots.domain.shrinking.whole import EventKey
from snapshots.domain.shrinking.witness import Witness

ORIGINAL = "original"


@dataclass(frozen=True)
class Part:
    """Some events of a whole recording, as a log.

    Attributes:
        events: the events in the order of the whole, without indexes.
        indexes: for each process, the indexes of its events in the whole, in their order.
        left_out_of_lists: the messages that the lists of recorded channels no longer name.
    """

    header: Header
    events: tuple[LoggedEvent, ...]
    indexes: Mapping[ProcessId, Sequence[int]] = field(default_factory=dict)
    left_out_of_lists: int = 0


def part_of(
    header: Header,
    around: Surroundings,
    witness: Witness,
    units: Iterable[Unit],
    goals: Collection[ProcessId],
) -> Part:
    """Return the part that consists of these units.

    Args:
        header: the header of the part, whose topology is replaced.
        witness: the finding whose processes and channels stay in the header.
        goals: the processes to which the header must have the shortest path.
    """
    keys = sorted((key for unit in units for key in unit), key=lambda key: around.events[key].line)
    indexes: dict[ProcessId, list[int]] = defaultdict(list)
    for key in keys:
        indexes[key.process].append(key.index)
    standing = _standing_states(around, indexes)
    ids = _message_ids(around, witness, keys)
    events = [_projected(around.events[key], key in standing, ids) for key in keys]
    left_out = sum(
        len(around.events[key].messages or ()) - len(event.messages or ())
        for key, event in zip(keys, events, strict=True)
    )
    topology = _topology(around, witness, events, goals)
    processes = tuple(_process(process, standing) for process in topology.processes)
    topology = replace(topology, processes=processes)
    return Part(replace(header, topology=topology), tuple(events), dict(indexes), left_out)


def _standing_states(
    around: Surroundings, indexes: Mapping[ProcessId, Sequence[int]]
) -> set[EventKey]:
    """Return the starts and application events whose state holds until the next one in the part."""
    standing = set()
    for process, own in indexes.items():
        changes = [START, *(index for index in own if _changes_state(around, process, index))]
        for change, end in pairwise((*changes, own[-1])):
            after = around.following.get(EventKey(process, change))
            if after is None or after >= end:
                standing.add(EventKey(process, change))
    return standing


def _changes_state(around: Surroundings, process: ProcessId, index: int) -> bool:
    return around.events[EventKey(process, index)].kind in APPLICATION_KINDS


def _message_ids(
    around: Surroundings, witness: Witness, keys: Iterable[EventKey]
) -> Mapping[ChannelId, Collection[MessageId]]:
    """Return the messages that recorded lists keep: those of the part, and the witness's own."""
    ids: dict[ChannelId, set[MessageId]] = defaultdict(set)
    for event in (around.events[key] for key in keys):
        if event.channel is not None and event.message is not None:
            ids[event.channel].add(event.message)
    if witness.channel is not None and witness.message is not None:
        ids[witness.channel].add(witness.message)
    return ids


def _projected(
    event: LoggedEvent, has_state: bool, ids: Mapping[ChannelId, Collection[MessageId]]
) -> LoggedEvent:
    original: dict[str, object] = {"index": event.index}
    if event.kind in APPLICATION_KINDS and event.state is not None and not has_state:
        original["state"] = parsed(event.state)
        event = replace(event, state=None)
    if event.kind == RECORD_CHANNEL and event.messages and event.channel is not None:
        kept = tuple(name for name in event.messages if name in ids.get(event.channel, ()))
        if len(kept) < len(event.messages):
            original["messages_left_out"] = len(event.messages) - len(kept)
            event = replace(event, messages=kept)
    extra = parsed(event.extra)
    fields = extra if isinstance(extra, dict) else {}
    if ORIGINAL in fields:
        original[ORIGINAL] = fields[ORIGINAL]
    return replace(event, index=None, extra=canonical({**fields, ORIGINAL: original}))


def _topology(
    around: Surroundings,
    witness: Witness,
    events: Collection[LoggedEvent],
    goals: Collection[ProcessId],
) -> Topology:
    """Keep what the events or the witness name, the paths to the goals, and ends of channels."""
    topology = around.topology
    channels = {event.channel for event in events if event.channel is not None}
    channels.update(witness.channels)
    for goal in goals:
        channels.update(_path(around, goal))
    processes = {event.process for event in events} | set(witness.processes)
    for channel in channels:
        ends = topology.channel_by_id[channel]
        processes |= {ends.source, ends.target}
    return Topology(
        tuple(process for process in topology.processes if process.id in processes),
        tuple(channel for channel in topology.channels if channel.id in channels),
    )


def _path(around: Surroundings, goal: ProcessId) -> Iterator[ChannelId]:
    """Yield the channels of the shortest path to a process, the last one first."""
    while (channel := around.ways.get(goal)) is not None:
        yield channel
        goal = around.topology.channel_by_id[channel].source


def _process(process: Process, standing: Collection[EventKey]) -> Process:
    """Return a process of the part; its state at the start only if it holds until an event."""
    return process if EventKey(process.id, START) in standing else replace(process, state=None)
