"""Judge every snapshot from the log: did the protocol record what was really there?

The position of a snapshot at a process is the index of its first record_state. Sends, receives and
positions alone decide what was in flight and what is an orphan; the result is then compared with
what was recorded. A channel is judged iff both its ends recorded.

orphan          A message is received inside the cut and sent outside. A message that a restore
                undid, and that arrives behind it all the same, was sent outside of that run.
lost            A message is in flight, but not in the recorded list of its channel.
duplicated      A message is recorded more often than it is in flight: it is recorded twice, or it
                was already received inside, or not yet sent. A restore would count it twice.
state-mismatch  The recorded and the recomputed state are both known and differ.
marker-rule     See _judge_marker_rules; the first marker of the snapshot on each channel counts.
fifo-violation  A FIFO channel delivered in the wrong order. This is checked for each marker of the
                snapshot and each message in flight in it: against the message sent earlier that
                arrived last, and the message sent later that arrived first. On a channel that lets
                markers overtake, a marker may overtake messages. Two messages in flight that were
                recorded in the wrong order also count.
incomplete      A process never recorded. If the log has markers of the snapshot: a marker never
                arrived, or a process that recorded never sent one.
unknown         A receive inside the cut has no send; a recorded message is never sent. A restore
                leaves it open, see restored.py; then nothing else is said of the snapshot. For a
                derived recording: the flaws in its header, and one witness for all states that do
                not differ.
consistent      None of these. Never the verdict on a derived recording.

This is the reference. ``check_snapshots`` runs it; uploads are judged by ``tasks.spark.judge``, and
tests compare the two.

A snapshot is judged in its scope (scopes.py). A channel without a record_channel is not compared,
because what was recorded is not known. Witnesses of a verdict are sorted by channel (or process) in
the order of the header, then in the order of sending.
"""

import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from snapshots.domain.assembling.restores import restore_before
from snapshots.domain.judging import witnesses
from snapshots.domain.judging.answers import Judged, answers, apart
from snapshots.domain.judging.cuts import (
    ChannelLog,
    end_index,
    has_arrived,
    received_index,
    state_after,
    state_at,
)
from snapshots.domain.judging.entries import messages_of
from snapshots.domain.judging.findings import INCOMPLETE, Finding, Findings
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.restored import judged_after_restores
from snapshots.domain.judging.snapshot_log import SnapshotLog, snapshot_logs
from snapshots.domain.judging.totals import NOT_SUMMED, Totals
from snapshots.domain.model.derived import flaws, is_derived, only_clocks, states_not_judged
from snapshots.domain.model.engine_words import why_not_recorded, words_of
from snapshots.domain.model.recording import (
    RECEIVE,
    Event,
    Marker,
    Message,
    MessageId,
    Recording,
    Restored,
    SnapshotId,
)
from snapshots.domain.model.scopes import recording_in_scope
from snapshots.domain.model.topology import Channel, ChannelId, JsonText, ProcessId
from snapshots.domain.model.values import total


@dataclass(frozen=True)
class Case:
    """What is known of one snapshot before it is judged.

    Attributes:
        recorded_at: the positions of all snapshots of the recording.
    """

    recording: Recording
    log: SnapshotLog
    channels: Mapping[ChannelId, ChannelLog]
    positions: Mapping[ProcessId, int]
    recomputed_states: Mapping[ProcessId, JsonText]
    in_flight: Mapping[ChannelId, tuple[Message, ...]]
    recorded_at: Mapping[SnapshotId, Mapping[ProcessId, int]]

    def recorded(self, channel: ChannelId) -> tuple[MessageId, ...]:
        """Return the ids that were recorded for a channel; none if the log holds no record."""
        record = self.log.channels.get(channel)
        return () if record is None else record.messages or ()


def judge(recording: Recording) -> tuple[SnapshotReport, ...]:
    """Return a report for every snapshot in the log, in the order of their first events."""
    channels = {
        channel.id: ChannelLog(recording.messages.get(channel.id, ()))
        for channel in recording.topology.channels
    }
    logs = snapshot_logs(recording)
    recorded_at = {log.id: log.positions for log in logs}
    reports = tuple(
        _judged(_case(recording_in_scope(recording, log.involved), log, channels, recorded_at))
        for log in logs
    )
    return judged_after_restores(
        reports,
        recording.restores,
        {process.id: process.state for process in recording.topology.processes},
        lambda process, restored: state_after(recording, process, restored),
    )


def judge_one(
    recording: Recording, log: SnapshotLog, channels: Mapping[ChannelId, ChannelLog]
) -> SnapshotReport:
    """Return the report of one snapshot that no restore comes before.

    Args:
        recording: of its events, those that set the states at the positions are enough.
        channels: of their messages, those that its cut and its markers concern are enough.
    """
    recorded_at = {log.id: log.positions}
    return _judged(_case(recording_in_scope(recording, log.involved), log, channels, recorded_at))


def _case(
    recording: Recording,
    log: SnapshotLog,
    channels: Mapping[ChannelId, ChannelLog],
    recorded_at: Mapping[SnapshotId, Mapping[ProcessId, int]],
) -> Case:
    positions = log.positions
    states = {
        process: state_at(recording, process, position) for process, position in positions.items()
    }
    return Case(
        recording=recording,
        log=log,
        channels=channels,
        positions=positions,
        recomputed_states={
            process: state for process, state in states.items() if state is not None
        },
        in_flight={
            channel.id: channels[channel.id].in_flight(
                positions[channel.source], positions[channel.target]
            )
            for channel in recording.topology.channels
            if channel.source in positions and channel.target in positions
        },
        recorded_at=recorded_at,
    )


def _judged(case: Case) -> SnapshotReport:
    log, findings = case.log, Findings()
    for channel in case.recording.topology.channels:
        if channel.id in case.in_flight:
            _judge_orphans(case, channel, findings)
            _judge_recorded_channel(case, channel, findings)
        _judge_marker_rules(case, channel, findings)
        if channel.fifo:
            _judge_order(case, channel, findings)
    _judge_states(case, findings)
    strays = _judge_strays(case, findings)
    _judge_completeness(case, findings)
    return SnapshotReport(
        snapshot=log.id,
        processes=tuple(process.id for process in case.recording.topology.processes),
        findings=findings.worst_first(),
        answers=answers(_compared(case, findings, strays)),
        counts=findings.worst_first_counts(),
        initiators=log.initiators(),
        began_at=log.began[1],
        ended_at=log.ended_at,
        markers_sent=log.markers_sent,
        markers_received=log.markers_received,
        positions=case.positions,
        recorded_at={process: event.at for process, event in log.states.items()},
        recorded_states={
            process: event.state for process, event in log.states.items() if event.state is not None
        },
        recomputed_states=case.recomputed_states,
        recorded_channels={
            channel.id: case.recorded(channel.id)
            for channel in case.recording.topology.channels
            if channel.id in log.channels
        },
        in_flight={
            channel: tuple(message.ordinal for message in messages)
            for channel, messages in case.in_flight.items()
        },
        totals=_totals(case),
    )


def _judge_orphans(case: Case, channel: Channel, findings: Findings) -> None:
    sender_at, receiver_at = case.positions[channel.source], case.positions[channel.target]
    for message in case.channels[channel.id].orphans(sender_at, receiver_at):
        findings.add(witnesses.orphan(channel, message))


def _judge_recorded_channel(case: Case, channel: Channel, findings: Findings) -> None:
    """Add what is lost, duplicated or never sent.

    The k-th entry with an id stands for the k-th message in flight with that id.
    """
    if channel.id not in case.log.channels:
        return
    expected = _waiting(case.in_flight[channel.id])
    surplus = []
    for entry in case.recorded(channel.id):
        if expected[entry]:
            expected[entry].popleft()
        else:
            surplus.append(entry)
    missing = itertools.chain.from_iterable(expected.values())
    for message in sorted(missing, key=attrgetter("ordinal")):
        findings.add(witnesses.lost(channel, message))
    in_flight = {message.id: message for message in reversed(case.in_flight[channel.id])}
    for entry in surplus:
        findings.add(_surplus(case, channel, entry, in_flight.get(entry)))


def _waiting(messages: Iterable[Message]) -> dict[MessageId, deque[Message]]:
    """Group messages by id; each group keeps their order."""
    groups: dict[MessageId, deque[Message]] = defaultdict(deque)
    for message in messages:
        groups[message.id].append(message)
    return groups


def _surplus(case: Case, channel: Channel, entry: MessageId, in_flight: Message | None) -> Finding:
    """Return the witness for a recorded id beyond what is in flight.

    If several messages have the id, the first one sent is named.
    """
    if in_flight is not None:
        return witnesses.recorded_twice(channel, in_flight)
    sent = case.channels[channel.id].by_id.get(entry)
    if sent is None:
        event = witnesses.place(case.log.channels[channel.id])
        return witnesses.recorded_unsent(channel, entry, event)
    if received_index(sent[0]) < case.positions[channel.target]:
        return witnesses.recorded_but_received(channel, sent[0])
    if end_index(sent[0]) < case.positions[channel.target]:
        return witnesses.recorded_but_taken_back(channel, sent[0])
    return witnesses.recorded_but_not_sent(channel, sent[0])


def _judge_marker_rules(case: Case, channel: Channel, findings: Findings) -> None:
    """Add each message that the marker rules of the paper forbid.

    A process sends nothing between its recording and its marker, whichever comes first. It receives
    nothing between a marker and its recording.
    """
    markers = case.log.markers.get(channel.id)
    if not markers:
        return
    marker, messages = markers[0], case.channels[channel.id]
    sender_at, receiver_at = map(case.positions.get, (channel.source, channel.target))
    if sender_at is not None:
        for message in messages.sent_between(sender_at, marker.sent_index):
            findings.add(witnesses.sent_before_marker(channel, message, case.log.id))
        for message in messages.sent_between(marker.sent_index, sender_at):
            findings.add(witnesses.sent_after_marker(channel, message, case.log.id))
    if receiver_at is not None:
        for message in messages.received_between(received_index(marker), receiver_at):
            findings.add(witnesses.received_after_marker(channel, message, case.log.id))


def _judge_order(case: Case, channel: Channel, findings: Findings) -> None:
    messages = case.channels[channel.id]
    in_flight = case.in_flight.get(channel.id, ())
    seen = set()
    for travelling in (*case.log.markers.get(channel.id, ()), *in_flight):
        before = messages.latest_before(travelling.sent_index)
        after = messages.earliest_after(travelling.sent_index)
        pairs: list[tuple[Message | Marker, Message | Marker]] = []
        if before and not (channel.overtaking and isinstance(travelling, Marker)):
            pairs.append((before, travelling))
        if after:
            pairs.append((travelling, after))
        for first, second in pairs:
            ends = first.sent_index, second.sent_index
            if end_index(first) > end_index(second) and ends not in seen:
                seen.add(ends)
                findings.add(witnesses.overtook(channel, first, second))
    for later, earlier in _recorded_backwards(case, channel, in_flight):
        if (earlier.sent_index, later.sent_index) not in seen:
            findings.add(witnesses.recorded_out_of_order(channel, earlier, later))


def _recorded_backwards(
    case: Case, channel: Channel, in_flight: tuple[Message, ...]
) -> list[tuple[Message, Message]]:
    """Return neighbours in the recorded list of which the second was sent before the first.

    Entries beyond what is in flight are skipped.
    """
    expected, entries = _waiting(in_flight), case.recorded(channel.id)
    recorded = [expected[entry].popleft() for entry in entries if expected[entry]]
    return [
        (first, second)
        for first, second in itertools.pairwise(recorded)
        if second.ordinal < first.ordinal
    ]


def _judge_states(case: Case, findings: Findings) -> None:
    """Add what is wrong with recorded states.

    In a derived recording, one witness stands for all states that do not differ.
    """
    header_extra = case.recording.header_extra
    for flaw in flaws(header_extra, case.log.id):
        findings.add(flaw)
    unjudged = 0
    for process, event in case.log.states.items():
        recorded, recomputed = event.state, case.recomputed_states.get(process)
        if recorded is not None and recomputed is not None and recorded != recomputed:
            place = witnesses.place(event)
            findings.add(witnesses.state_mismatch(process, place, recorded, recomputed))
        elif is_derived(header_extra):
            unjudged += 1
    if unjudged:
        findings.add(states_not_judged(unjudged))


def _judge_strays(case: Case, findings: Findings) -> int:
    """Add each receive inside the cut that has no send, in the order of lines.

    What was received before the last restore is undone. A message whose send is undone has one all
    the same. Return how many have none.
    """
    count = 0
    for stray in case.recording.strays:
        position = case.positions.get(stray.process, 0)
        if stray.kind != RECEIVE or stray.index >= position:
            continue
        restored = restore_before(case.recording.restores.get(stray.process, ()), position)
        if restored is not None and stray.index < restored.row:
            continue
        assert stray.channel is not None  # assembly refuses a receive without a channel
        channel = case.recording.topology.channel_by_id[stray.channel]
        sent = None if restored is None else _undone(case, channel, stray, restored)
        if sent is not None:
            findings.add(witnesses.received_late(channel, sent, stray))
            continue
        findings.add(witnesses.stray_inside(channel, stray))
        count += 1
    return count


def _undone(case: Case, channel: Channel, stray: Event, restored: Restored) -> Message | None:
    """Return the message that a receive after a restore takes, if that undid its send.

    The snapshot of the restore was recorded before that send.
    """
    assert stray.message is not None  # assembly refuses a receive without a message
    sent = case.channels[channel.id].last_ended(stray.message, restored.row)
    if restored.snapshot is None or sent is None:
        return sent
    position = case.recorded_at.get(restored.snapshot, {}).get(channel.source)
    return sent if position is not None and sent.sent_index >= position else None


def _compared(case: Case, findings: Findings, strays: int) -> Judged:
    """Count what could be compared."""
    recorded = {process for process, event in case.log.states.items() if event.state is not None}
    unrecorded = [channel for channel in case.in_flight if channel not in case.log.channels]
    return Judged(
        counts=findings.counts,
        processes=len(case.recording.topology.processes),
        recorded=len(case.positions),
        channels=len(case.recording.topology.channels),
        compared=len(case.in_flight) - len(unrecorded),
        unrecorded=len(unrecorded),
        unrecorded_in_flight=sum(len(case.in_flight[channel]) for channel in unrecorded),
        states_compared=len(recorded & case.recomputed_states.keys()),
        states_unlogged=len(recorded - case.recomputed_states.keys()),
        strays=strays,
        has_markers=case.log.has_markers,
        apart=apart((event.at for event in case.log.states.values()), case.recording.time_unit),
        only_clocks=only_clocks(case.recording.header_extra),
        words=words_of(case.recording.header_extra),
    )


def _judge_completeness(case: Case, findings: Findings) -> None:
    """Add what is missing: first processes, then the markers of channels."""
    log, topology = case.log, case.recording.topology
    initiators = log.initiators()

    header_extra = case.recording.header_extra
    words = words_of(header_extra)

    def path(goal: ProcessId, *last: ChannelId) -> tuple[ChannelId, ...] | None:
        is_wanted = words is None and findings.wants(INCOMPLETE)
        channels = topology.path(initiators, goal) if is_wanted else None
        return None if channels is None else (*channels, *last)

    for process in topology.processes:
        if process.id not in case.positions:
            in_derived = why_not_recorded(header_extra, log.id, process.id)
            findings.add(witnesses.never_recorded(process.id, log.id, path(process.id), in_derived))
    if not log.has_markers:
        return
    for channel in topology.channels:
        markers = log.markers.get(channel.id, ())
        if not markers and channel.source in case.positions:
            to_marker = path(channel.source, channel.id)
            findings.add(witnesses.marker_not_sent(channel, log.id, to_marker, words))
        for marker in markers:
            if not has_arrived(marker):
                to_marker = path(channel.source, channel.id)
                findings.add(witnesses.marker_in_flight(channel, marker, to_marker, words))


def _totals(case: Case) -> Totals:
    """Sum up what was recorded, and what the log recomputes where it holds no record.

    The states of a derived recording are descriptions of files, of which a sum says nothing.
    """
    if is_derived(case.recording.header_extra):
        return NOT_SUMMED
    topology, log = case.recording.topology, case.log
    states = [
        log.states[process.id].state or case.recomputed_states.get(process.id)
        if process.id in log.states
        else None
        for process in topology.processes
    ]
    values = [value for channel in topology.channels for value in _channel_values(case, channel)]
    return Totals(
        start=total(process.state for process in topology.processes),
        processes=total(states),
        channels=total(values),
    )


def _channel_values(case: Case, channel: Channel) -> list[JsonText | None]:
    if channel.id not in case.log.channels:
        in_flight = case.in_flight.get(channel.id)
        return [None] if in_flight is None else [message.value for message in in_flight]
    waiting = [(message.id, message) for message in case.in_flight.get(channel.id, ())]
    entries, by_id = case.recorded(channel.id), case.channels[channel.id].by_id
    first_sent = {name: by_id[name][0] for name in entries if name in by_id}
    messages = messages_of(entries, waiting, first_sent)
    return [None if message is None else message.value for message in messages]
