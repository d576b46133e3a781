"""Restore a snapshot: start from what it recorded, replay the rest, and compare the two ends.

States and channel contents are restored as the snapshot recorded them. Where the log does not hold
what was recorded, what it recomputes is restored; ``from_log`` names these. Then every event after
the position of its process is replayed. A send puts its message on the channel. A receive takes it
from there, or cannot happen. `replayed_state.replay_process` computes the states.

Differences are sorted: first those at events (by step; for one event first the state before it,
then the message it receives), then the states at the end (by process), then the channels at the
end. The restored run is equal to the original iff there are none.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from snapshots.domain.assembling.restores import restore_before
from snapshots.domain.judging.cuts import ChannelLog, state_at
from snapshots.domain.judging.findings import Place
from snapshots.domain.judging.snapshot_log import SnapshotLog, snapshot_logs
from snapshots.domain.judging.witnesses import place
from snapshots.domain.model.as_json import Absent, Hidden, json_property
from snapshots.domain.model.derived import PROVES_NOTHING, is_derived
from snapshots.domain.model.recording import (
    APPLICATION_KINDS,
    RECEIVE,
    Event,
    Message,
    MessageId,
    Recording,
    Restored,
    SnapshotId,
)
from snapshots.domain.model.scopes import recording_in_scope
from snapshots.domain.model.topology import Channel, ChannelId, JsonText, ProcessId
from snapshots.domain.model.values import canonical
from snapshots.domain.replaying.computations import channel_of
from snapshots.domain.replaying.replayed_state import (
    ChannelReplay,
    ProcessReplay,
    ReplayedStep,
    replay_channel,
    replay_process,
    same_contents,
)

MOST_DIFFERENCES = 100  # kept in a report; further ones are counted


class NotRestorable(Exception):
    """The recording does not hold the snapshot, or it is not complete enough to start from."""

    permanent = True  # a retry cannot help


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between the restored run and the original.

    Attributes:
        event: the event at which the runs differ; None for a difference at the end only.
        expected: the state, or the id of the message, in the original; None if there is nothing.
        found: the state, or the id of the message, in the restored run; None if there is nothing.
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
    """The states that are known and the channels that are not empty, in the order of the header."""

    processes: Mapping[ProcessId, JsonText]
    channels: Mapping[ChannelId, tuple[MessageId, ...]]


@dataclass(frozen=True)
class RestoreReport:
    """The outcome of a restore.

    Attributes:
        replayed: how many events of all kinds lie after the cut.
        skipped: how many events of all kinds lie before the cut.
        processes_from_log: the processes that start from a recomputed state, because the recorded
            one is not known.
        channels_from_log: the channels that start with recomputed contents, because the recorded
            ones are not known.
        differences: the first MOST_DIFFERENCES of ``differences_total``.
        states_unknown: how many processes have no known state at one of the two ends, and were not
            compared.
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
    states_unknown: int
    is_derived: Hidden[bool] = False

    @json_property
    def equal(self) -> bool | None:
        """Whether the restored run has no difference from the original.

        None where the recording is derived and no difference shows, which proves nothing.
        """
        if self.differences_total:
            return False
        return None if self.is_derived else True

    @json_property
    def not_known(self) -> str | None:
        """Why ``equal`` is not known; None where it is."""
        return PROVES_NOTHING if self.equal is None else None

    @json_property
    def first_difference(self) -> Difference | None:
        """The first difference from the original; None if there is none."""
        return self.differences[0] if self.differences else None

    @json_property
    def from_log(self) -> dict[str, tuple[str, ...]]:
        """The processes and channels that start from what the log recomputes."""
        return {"processes": self.processes_from_log, "channels": self.channels_from_log}


def restore(recording: Recording, snapshot: SnapshotId) -> RestoreReport:
    """Restore a snapshot, replay the rest of the run, and report the differences.

    Raises: NotRestorable for a snapshot that the log does not name, that is not complete, or that
    the log goes back behind later.
    """
    return restoring(recording, snapshot).report()


def restoring(recording: Recording, snapshot: SnapshotId) -> "Restoring":
    """Return a restore of a snapshot under way, with all that it starts from.

    Raises: NotRestorable as ``restore`` does.
    """
    log = next((log for log in snapshot_logs(recording) if log.id == snapshot), None)
    if log is None:
        raise NotRestorable(f"the recording has no snapshot {snapshot}")
    recording = recording_in_scope(recording, log.involved)
    processes = [process.id for process in recording.topology.processes]
    require_all_recorded(snapshot, processes, log.positions)
    for process, position in log.positions.items():
        require_one_run(snapshot, process, position, recording.restores.get(process, ()))
    return Restoring(recording, log)


def require_one_run(
    snapshot: SnapshotId, process: ProcessId, position: int, restores: Sequence[Restored]
) -> None:
    """Check that a process does not go back after the position, nor was still at it there.

    Raises: NotRestorable.
    """
    later = next((restored for restored in restores if restored.row >= position), None)
    if later is not None:
        raise NotRestorable(
            f"snapshot {snapshot} cannot be replayed to the end of the log: {process} goes back to "
            f"a snapshot at its event {later.row}, and what follows there does not follow from "
            f"{snapshot}"
        )
    last = restore_before(restores, position)
    if last is not None and (last.done is None or last.done >= position):
        raise NotRestorable(
            f"snapshot {snapshot} cannot be replayed: when {process} recorded it, it had not "
            f"received again all that the snapshot held to which it went back at event {last.row}"
        )


def require_all_recorded(
    snapshot: SnapshotId, processes: Sequence[ProcessId], recorded: Mapping[ProcessId, object]
) -> None:
    """Raise NotRestorable, with the first three, if processes are not among ``recorded``."""
    missing = [process for process in processes if process not in recorded]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise NotRestorable(
            f"snapshot {snapshot} cannot be restored: {', '.join(missing[:3])}{more} never "
            "recorded a state for it"
        )


def state_difference(event: Event, replay: ProcessReplay) -> Difference:
    """Describe a state that differs before an event."""
    return Difference(
        f"Before its event {event.index} ({event.kind}) the state of {event.process} is "
        f"{replay.found}; in the original it is {replay.expected}.",
        process=event.process,
        event=place(event),
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
        event=place(event),
        expected=canonical(event.message),
    )


def overtaking_message(event: Event, head: MessageId) -> Difference:
    """Describe a receive on a FIFO channel whose message is not the first."""
    return Difference(
        f"{event.process} receives {event.message} on the FIFO channel {event.channel}, but {head} "
        "is before it.",
        process=event.process,
        channel=event.channel,
        message=event.message,
        event=place(event),
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
    channel: Channel,
    expected: Sequence[MessageId],
    found: Sequence[MessageId],
    sent_again: Sequence[MessageId] = (),
) -> Difference:
    """Describe the first message that differs at the end; without FIFO, both lists are sorted.

    Args:
        sent_again: the orphans: received before the snapshot, and sent again after it.
    """
    lists = (expected, found) if channel.fifo else (sorted(expected), sorted(found))
    pairs = itertools.zip_longest(*lists)
    original, restored = next(pair for pair in pairs if pair[0] != pair[1])
    return Difference(
        f"At the end {channel.id} holds {_messages(found)}; in the original {_messages(expected)}. "
        f"The first that differs: {restored or 'nothing'} instead of {original or 'nothing'}."
        f"{_twice(channel, sent_again)}",
        channel=channel.id,
        message=restored or original,
        expected=None if original is None else canonical(original),
        found=None if restored is None else canonical(restored),
    )


def _twice(channel: Channel, sent_again: Sequence[MessageId]) -> str:
    if not sent_again:
        return ""
    if len(sent_again) == 1:
        return (
            f" {channel.target} received {sent_again[0]} before the snapshot, and {channel.source} "
            "sends it again after it: it is delivered twice."
        )
    return (
        f" {channel.target} received {_messages(sent_again)} before the snapshot, {sent_again[0]} "
        f"first, and {channel.source} sends them again after it: they are delivered twice."
    )


def _messages(messages: Sequence[MessageId]) -> str:
    return f"{len(messages)} message{'' if len(messages) == 1 else 's'}"


class Restoring:
    """A restore under way; it replays the channels first, then the processes.

    Attributes:
        recording: the recording in the scope of the snapshot.
        positions: the position of each process in the cut.
        held: the messages with which each channel starts.
    """

    def __init__(self, recording: Recording, log: SnapshotLog) -> None:
        """Take the recording in the scope of a complete snapshot, and what it holds of that."""
        self.recording = recording
        self.log = log
        self.positions = log.positions
        self.processes = [process.id for process in recording.topology.processes]
        self.held = {
            channel.id: self.restored_contents(channel) for channel in recording.topology.channels
        }
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
        """Return the report."""
        restored = {process: self.restored_state(process) for process in self.processes}
        end = {process: self.end_state(process, state) for process, state in restored.items()}
        original = {process: self.original_state(process) for process in self.processes}
        left = {channel: replay.left for channel, replay in self.replays.items()}
        unreceived = {
            channel: tuple(
                message.id for message in self.messages(channel) if message.received_index is None
            )
            for channel in left
        }
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
            states_unknown=sum(None in (end[name], original[name]) for name in self.processes),
            is_derived=is_derived(self.recording.header_extra),
        )

    def restored_contents(self, channel: Channel) -> tuple[MessageId, ...]:
        """Return the messages with which a channel starts."""
        record = self.log.channels.get(channel.id)
        if record is not None:
            return record.messages or ()
        in_flight = ChannelLog(self.messages(channel.id)).in_flight(
            self.positions[channel.source], self.positions[channel.target]
        )
        return tuple(message.id for message in in_flight)

    def restored_state(self, process: ProcessId) -> JsonText | None:
        """Return the state with which a process starts; None if it is not known."""
        return self.log.states[process].state or self.logged_state(process)

    def logged_state(self, process: ProcessId) -> JsonText | None:
        """Return the state of a process at the cut, as the log recomputes it."""
        return state_at(self.recording, process, self.positions[process])

    def original_state(self, process: ProcessId) -> JsonText | None:
        """Return the state of a process at the end of the log."""
        return state_at(self.recording, process, len(self.recording.events[process]))

    def messages(self, channel: ChannelId) -> tuple[Message, ...]:
        """Return all messages of a channel."""
        return self.recording.messages.get(channel, ())

    def orphans(self, channel: Channel) -> tuple[MessageId, ...]:
        """Return the messages that were received before the snapshot and sent after it."""
        sender_at, receiver_at = self.positions[channel.source], self.positions[channel.target]
        orphans = ChannelLog(self.messages(channel.id)).orphans(sender_at, receiver_at)
        return tuple(message.id for message in orphans)

    def events_after(self, process: ProcessId) -> tuple[Event, ...]:
        """Return the events of a process after the cut."""
        return self.recording.events.get(process, ())[self.positions[process] :]

    def receives_after(self) -> dict[ChannelId, list[Event]]:
        """Return the receives on each channel after the cut."""
        receives: dict[ChannelId, list[Event]] = {channel: [] for channel in self.held}
        for process in self.processes:
            for event in self.events_after(process):
                if event.kind == RECEIVE:
                    receives[channel_of(event)].append(event)
        return receives

    def replayed(self, channel: Channel, receives: Sequence[Event]) -> ChannelReplay:
        """Replay the receives on a channel."""
        sender_at = self.positions[channel.source]
        sent_after = (
            message.id for message in self.messages(channel.id) if message.sent_index >= sender_at
        )
        received = [event.message for event in receives if event.message is not None]  # all of them
        return replay_channel((*self.held[channel.id], *sent_after), received, fifo=channel.fifo)

    def note(self, replay: ChannelReplay, receives: Sequence[Event]) -> None:
        """Note the differences that a channel makes at events."""
        for number in replay.missing:
            event = receives[number]
            self.missing.add((event.process, event.index))
            self.at_events.append(((event.step, 1), missing_message(event)))
        for number, head in replay.overtaking:
            event = receives[number]
            self.at_events.append(((event.step, 1), overtaking_message(event, head)))

    def end_state(self, process: ProcessId, restored: JsonText | None) -> JsonText | None:
        """Return the state of a process at the end, and note its first difference."""
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
        """Yield how the two ends differ."""
        for process, found_state in end.items():
            expected_state = original[process]
            if found_state is None or expected_state is None:
                continue
            if found_state != expected_state:
                yield end_state_difference(process, expected_state, found_state)
        for channel in self.recording.topology.channels:
            found, expected = left[channel.id], unreceived[channel.id]
            if not same_contents(found, expected, fifo=channel.fifo):
                yield end_channel_difference(channel, expected, found, self.orphans(channel))


def _contents(
    states: Mapping[ProcessId, JsonText | None],
    channels: Mapping[ChannelId, tuple[MessageId, ...]],
) -> Contents:
    return Contents(
        {process: state for process, state in states.items() if state is not None},
        {channel: messages for channel, messages in channels.items() if messages},
    )
