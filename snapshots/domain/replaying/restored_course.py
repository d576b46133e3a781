"""What a restored run is made of: where both runs start, and the events after the cut."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from snapshots.domain.judging.cuts import ChannelLog, received_index
from snapshots.domain.model.recording import APPLICATION_KINDS, MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId, Topology
from snapshots.domain.model.values import total
from snapshots.domain.replaying.restore import Restoring


@dataclass(frozen=True, slots=True)
class Held:
    """A message in a channel; its value is None if the log does not hold it."""

    id: MessageId
    value: JsonText | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """An application event after the cut.

    Attributes:
        state: the state after it in the log; None if it is not known.
        received_before: of a send, whether its message was received before the cut.
    """

    process: ProcessId
    index: int
    step: int
    kind: str
    state: JsonText | None = None
    channel: ChannelId | None = None
    message: MessageId | None = None
    value: JsonText | None = None
    label: str | None = None
    received_before: bool = False


@dataclass(frozen=True)
class Course:
    """What a restored run is made of.

    Attributes:
        topology: the processes and channels of the snapshot's scope.
        logged: the state of each process at the cut, as the log recomputes it.
        restored: the state that each process gets; None if neither snapshot nor log holds it.
        from_log: the processes and channels that start from what the log recomputes.
        in_flight: the messages of each channel that are in flight at the cut.
        held: the messages that are put back in each channel.
        events: the application events after the cut, by step.
        left_out: how many further ones are not here.
        start: the sum of all states at the start of the recording; None if it is not known.
    """

    snapshot: SnapshotId
    topology: Topology
    logged: Mapping[ProcessId, JsonText | None]
    restored: Mapping[ProcessId, JsonText | None]
    from_log: frozenset[str]
    in_flight: Mapping[ChannelId, tuple[Held, ...]]
    held: Mapping[ChannelId, tuple[Held, ...]]
    events: tuple[Replayed, ...]
    left_out: int = 0
    start: int | float | None = None


def course_of(restoring: Restoring) -> Course:
    """Return what a restored run is made of, from a recording that is in memory."""
    topology, processes = restoring.recording.topology, restoring.processes
    logs = {item.id: ChannelLog(restoring.messages(item.id)) for item in topology.channels}
    restored = {process: restoring.restored_state(process) for process in processes}
    return Course(
        restoring.log.id,
        topology,
        {process: restoring.logged_state(process) for process in processes},
        restored,
        frozenset(
            (
                *(name for name in processes if restoring.log.states[name].state is None),
                *(name for name in restoring.held if name not in restoring.log.channels),
            )
        ),
        {channel: _in_flight(restoring, log, channel) for channel, log in logs.items()},
        {
            channel: tuple(_held(logs[channel], message) for message in held)
            for channel, held in restoring.held.items()
        },
        tuple(sorted(_events(restoring), key=lambda event: event.step)),
        start=total(process.state for process in topology.processes),
    )


def _in_flight(restoring: Restoring, log: ChannelLog, channel: ChannelId) -> tuple[Held, ...]:
    own = restoring.recording.topology.channel_by_id[channel]
    positions = restoring.positions
    in_flight = log.in_flight(positions[own.source], positions[own.target])
    return tuple(Held(message.id, message.value) for message in in_flight)


def _held(log: ChannelLog, message: MessageId) -> Held:
    """Return a recorded message with its value, if the log holds a send of it."""
    sent = log.by_id.get(message)
    return Held(message, sent[0].value if sent else None)


def _events(restoring: Restoring) -> Iterator[Replayed]:
    early = _received_before(restoring)
    for process in restoring.processes:
        for event in restoring.events_after(process):
            if event.kind in APPLICATION_KINDS:
                yield Replayed(
                    process,
                    event.index,
                    event.step,
                    event.kind,
                    event.state,
                    event.channel,
                    event.message,
                    event.value,
                    event.label,
                    (process, event.index) in early,
                )


def _received_before(restoring: Restoring) -> set[tuple[ProcessId, int]]:
    """Return the sends after the cut whose messages were received before it: the orphans."""
    positions = restoring.positions
    return {
        (channel.source, message.sent_index)
        for channel in restoring.recording.topology.channels
        for message in restoring.messages(channel.id)
        if message.sent_index >= positions[channel.source]
        and received_index(message) < positions[channel.target]
    }
