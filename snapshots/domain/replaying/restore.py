"""Restoring a snapshot: start from what it recorded, replay the rest, compare the two ends.

The restored state of a process, and the restored contents of a channel, are what the snapshot
recorded; where the log does not hold that, what the log recomputes (``from_log`` names these). Then
every event after the process's position is replayed. A send puts its message on the channel; a
receive takes it from there, or cannot happen. How states follow: `replayed_state.replay_process`.

Differences, in this order: at events (by step; of one event the state before it, then the message
it receives), then the states at the end (by process), then the channels at the end. The restore is
equal to the original iff there are none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from snapshots.domain.judging.cuts import ChannelLog, state_at
from snapshots.domain.judging.findings import Place
from snapshots.domain.judging.snapshot_log import SnapshotLog, snapshot_logs
from snapshots.domain.model.as_json import Absent, Hidden, json_property
from snapshots.domain.model.recording import (
    APPLICATION_KINDS,
    RECEIVE,
    Event,
    Message,
    MessageId,
    Recording,
    SnapshotId,
)
from snapshots.domain.model.scopes import recording_in_scope
from snapshots.domain.model.topology import Channel, ChannelId, JsonText, ProcessId
from snapshots.domain.model.values import canonical
from snapshots.domain.replaying.replayed_state import (
    ChannelReplay,
    ProcessReplay,
    ReplayedStep,
    replay_channel,
    replay_process,
    same_contents,
)

MOST_DIFFERENCES = 100  # kept in a report; the number is always the true one


class NotRestorable(Exception):
    """The snapshot does not say enough to start from. A retry cannot help."""

    permanent = True


@dataclass(frozen=True, slots=True)
class Difference:
    """Where the restored run leaves the original.

    Attributes:
        event: the event at which it does; None for what differs at the end only.
        expected: the state, or the id of the message, in the original; None where there is nothing.
        found: the state, or the id of the message, in the restored run; None where there is
            nothing.
    """

    sentence: str
    process: Absent[ProcessId] = None
    channel: Absent[ChannelId] = None
    message: Absent[MessageId] = None
    event: Absent[Place] = None
    expected: JsonText | None = None
    found: JsonText | None = None


@dataclass(frozen=True)
class Contents:
    """States that are known, and the channels that hold something, each in header order."""

    processes: Mapping[ProcessId, JsonText]
    channels: Mapping[ChannelId, tuple[MessageId, ...]]


@dataclass(frozen=True)
class RestoreReport:
    """The outcome of a restore.

    Attributes:
        replayed: how many events of all kinds lie after the cut.
        skipped: how many events of all kinds lie before the cut.
        processes_from_log: the processes whose recorded state is not known, so that the restored
            one is what the log recomputes.
        channels_from_log: the channels of which the same is true.
        differences: the first MOST_DIFFERENCES of ``differences_total``.
    """

    snapshot: SnapshotId
    replayed: int
    skipped: int
    processes_from_log: Hidden[tuple[ProcessId, ...]]
    channels_from_log: Hidden[tuple[ChannelId, ...]]
    restored: Contents
    end: Contents
    original_end: Contents
    differences: tuple[Difference, ...]
    differences_total: int

    @json_property
    def equal(self) -> bool:
        """Tell whether the replay ends as the original did."""
        return not self.differences_total

    @json_property
    def first_difference(self) -> Difference | None:
        """Return the first difference from the original, or None."""
        return self.differences[0] if self.differences else None

    @json_property
    def from_log(self) -> dict[str, tuple[str, ...]]:
        """The processes and channels whose contents are the log's own."""
        return {"processes": self.processes_from_log, "channels": self.channels_from_log}


def restore(recording: Recording, snapshot: SnapshotId) -> RestoreReport:
    """Raises: NotRestorable for a snapshot that the log does not name, or that is not whole."""
    log = next((log for log in snapshot_logs(recording) if log.id == snapshot), None)
    if log is None:
        raise NotRestorable(f"the recording has no snapshot {snapshot}")
    recording = recording_in_scope(recording, log.involved)
    processes = [process.id for process in recording.topology.processes]
    require_all_recorded(snapshot, processes, log.positions)
    return _Restore(recording, log).report()


def require_all_recorded(
    snapshot: SnapshotId, processes: Sequence[ProcessId], recorded: Mapping[ProcessId, object]
) -> None:
    """Raises: NotRestorable, naming some of the processes that never recorded their state."""
    absent = [process for process in processes if process not in recorded]
    if absent:
        more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
        raise NotRestorable(
            f"snapshot {snapshot} cannot be restored: {', '.join(absent[:3])}{more} never recorded "
            "a state for it"
        )


def state_difference(event: Event, replay: ProcessReplay) -> Difference:
    """Describe a state that differs before an event."""
    return Difference(
        f"Before its event {event.index} ({event.kind}) the state of {event.process} is "
        f"{replay.found}; in the original it is {replay.expected}.",
        process=event.process,
        event=Place(event.process, event.index, event.at),
        expected=replay.expected,
        found=replay.found,
    )


def missing_message(event: Event) -> Difference:
    """Describe a receive whose message the restored system does not have."""
    return Difference(
        f"{event.process} cannot receive {event.message} on {event.channel}: the restored channel "
        "does not hold it, and it is not sent after the snapshot.",
        process=event.process,
        channel=event.channel,
        message=event.message,
        event=Place(event.process, event.index, event.at),
        expected=canonical(event.message),
    )


def overtaking_message(event: Event, head: MessageId) -> Difference:
    """Describe a receive on a FIFO channel whose message is not the first."""
    return Difference(
        f"{event.process} receives {event.message} on the FIFO channel {event.channel}, but {head} "
        "stands before it.",
        process=event.process,
        channel=event.channel,
        message=event.message,
        event=Place(event.process, event.index, event.at),
        expected=canonical(event.message),
        found=canonical(head),
    )


def end_state_difference(process: ProcessId, expected: JsonText, found: JsonText) -> Difference:
    """Describe a state that differs at the end."""
    return Difference(
        f"At the end the state of {process} is {found}; in the original it is {expected}.",
        process=process,
        expected=expected,
        found=found,
    )


def end_channel_difference(
    channel: Channel, expected: Sequence[MessageId], found: Sequence[MessageId]
) -> Difference:
    """The first place at which the contents differ; of a channel that is not FIFO, in id order."""
    one, other = (expected, found) if channel.fifo else (sorted(expected), sorted(found))
    place = next(
        (n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )
    wanted = one[place] if place < len(one) else None
    there = other[place] if place < len(other) else None
    return Difference(
        f"At the end {channel.id} holds {_messages(found)}; in the original {_messages(expected)}. "
        f"The first that differs: {there or 'nothing'} instead of {wanted or 'nothing'}.",
        channel=channel.id,
        message=there or wanted,
        expected=None if wanted is None else canonical(wanted),
        found=None if there is None else canonical(there),
    )


def _messages(messages: Sequence[MessageId]) -> str:
    return f"{len(messages)} message{'' if len(messages) == 1 else 's'}"


class _Restore:
    """One restore under way: the channels are replayed first, then the processes."""

    def __init__(self, recording: Recording, log: SnapshotLog) -> None:
        self.recording = recording
        self.log = log
        self.positions = log.positions
        self.processes = [process.id for process in recording.topology.processes]
        self.held = {channel.id: self.restored(channel) for channel in recording.topology.channels}
        receives = self.receives_after()
        self.replays = {
            channel.id: self.replayed(channel, receives[channel.id])
            for channel in recording.topology.channels
        }
        self.at_events: list[tuple[tuple[int, int], Difference]] = []
        self.missing: set[tuple[ProcessId, int]] = set()
        for channel, replay in self.replays.items():
            self.note(replay, receives[channel])

    def report(self) -> RestoreReport:
        restored = {process: self.restored_state(process) for process in self.processes}
        end = {process: self.end_state(process, state) for process, state in restored.items()}
        original = {process: self.original_state(process) for process in self.processes}
        left = {channel: replay.left for channel, replay in self.replays.items()}
        unreceived = {channel: self.unreceived(channel) for channel in left}
        differences = [difference for _, difference in sorted(self.at_events, key=itemgetter(0))]
        differences.extend(self.differences_at_the_end(end, original, left, unreceived))
        skipped = sum(self.positions.values())
        return RestoreReport(
            snapshot=self.log.id,
            replayed=sum(map(len, self.recording.events.values())) - skipped,
            skipped=skipped,
            processes_from_log=tuple(
                process
                for process in self.processes
                if self.log.states[process].state is None and restored[process] is not None
            ),
            channels_from_log=tuple(
                channel for channel in self.held if channel not in self.log.channels
            ),
            restored=_contents(restored, self.held),
            end=_contents(end, left),
            original_end=_contents(original, unreceived),
            differences=tuple(differences[:MOST_DIFFERENCES]),
            differences_total=len(differences),
        )

    def restored(self, channel: Channel) -> tuple[MessageId, ...]:
        record = self.log.channels.get(channel.id)
        if record is not None:
            return record.messages
        flying = ChannelLog(self.messages(channel.id)).in_flight(
            self.positions[channel.source], self.positions[channel.target]
        )
        return tuple(message.id for message in flying)

    def restored_state(self, process: ProcessId) -> JsonText | None:
        return self.log.states[process].state or self.logged_state(process)

    def logged_state(self, process: ProcessId) -> JsonText | None:
        return state_at(self.recording, process, self.positions[process])

    def original_state(self, process: ProcessId) -> JsonText | None:
        return state_at(self.recording, process, len(self.recording.events[process]))

    def messages(self, channel: ChannelId) -> tuple[Message, ...]:
        return self.recording.messages.get(channel, ())

    def unreceived(self, channel: ChannelId) -> tuple[MessageId, ...]:
        return tuple(m.id for m in self.messages(channel) if m.received_index is None)

    def events_after(self, process: ProcessId) -> tuple[Event, ...]:
        return self.recording.events.get(process, ())[self.positions[process] :]

    def receives_after(self) -> dict[ChannelId, list[Event]]:
        receives: dict[ChannelId, list[Event]] = {channel: [] for channel in self.held}
        for process in self.processes:
            for event in self.events_after(process):
                if event.kind == RECEIVE:
                    receives[event.channel].append(event)
        return receives

    def replayed(self, channel: Channel, receives: Sequence[Event]) -> ChannelReplay:
        sender_at = self.positions[channel.source]
        sent_after = (m.id for m in self.messages(channel.id) if m.sent_index >= sender_at)
        return replay_channel(
            (*self.held[channel.id], *sent_after),
            [event.message for event in receives],
            fifo=channel.fifo,
        )

    def note(self, replay: ChannelReplay, receives: Sequence[Event]) -> None:
        for place in replay.missing:
            event = receives[place]
            self.missing.add((event.process, event.index))
            self.at_events.append(((event.step, 1), missing_message(event)))
        for place, head in replay.overtaking:
            event = receives[place]
            self.at_events.append(((event.step, 1), overtaking_message(event, head)))

    def end_state(self, process: ProcessId, restored: JsonText | None) -> JsonText | None:
        """Notes the process's first difference on the way."""
        steps = [event for event in self.events_after(process) if event.kind in APPLICATION_KINDS]
        replay = replay_process(
            restored,
            self.logged_state(process),
            (
                ReplayedStep(event.state, (process, event.index) not in self.missing)
                for event in steps
            ),
        )
        if replay.differs_at is not None:
            event = steps[replay.differs_at]
            self.at_events.append(((event.step, 0), state_difference(event, replay)))
        return replay.end

    def differences_at_the_end(
        self,
        end: Mapping[ProcessId, JsonText | None],
        original: Mapping[ProcessId, JsonText | None],
        left: Mapping[ChannelId, tuple[MessageId, ...]],
        unreceived: Mapping[ChannelId, tuple[MessageId, ...]],
    ) -> Iterator[Difference]:
        for process, state in end.items():
            if None not in (state, original[process]) and state != original[process]:
                yield end_state_difference(process, original[process], state)
        for channel in self.recording.topology.channels:
            found, expected = left[channel.id], unreceived[channel.id]
            if not same_contents(found, expected, fifo=channel.fifo):
                yield end_channel_difference(channel, expected, found)


def _contents(
    states: Mapping[ProcessId, JsonText | None],
    channels: Mapping[ChannelId, tuple[MessageId, ...]],
) -> Contents:
    return Contents(
        {process: state for process, state in states.items() if state is not None},
        {channel: messages for channel, messages in channels.items() if messages},
    )
