"""Is what a protocol recorded right? Every snapshot judged from the log, worst verdict first.

The position of a snapshot at a process is the index of its first record_state. What was in flight
and what is an orphan follows from sends, receives and these positions alone; only then is it
compared with what was recorded. A channel is judged iff both its ends recorded.

orphan          received inside the cut, sent outside.
lost            in flight, but not in the recorded list of its channel.
duplicated      recorded more often than it is in flight: twice, or already received inside, or not
                yet sent. On a restore it would count twice.
state-mismatch  the recorded and the recomputed state are both known and differ.
marker-rule     by the first marker of the snapshot on each channel (see _judge_marker_rules).
fifo-violation  of each marker of the snapshot, and of each message in flight in it, on a FIFO
                channel: the earlier sent message that came last, if it came later, and the later
                sent one that came first, if it came earlier. And two messages in flight that were
                recorded in the other order than sent. Where a channel lets markers overtake, a
                message that the marker has overtaken is none.
incomplete      a process never recorded; where the log has markers of the snapshot, also a marker
                that never arrived, and one that a process that recorded never sent.
unknown         a recorded state whose recomputed one is not known; a receive inside the cut
                without a send; a recorded message that the log never sends. Of a derived recording
                what its header says is flawed, and one for all states that do not differ.
consistent      none of these; never of a derived recording.

A snapshot is judged in its scope (scopes.py). A channel of which the log has no record_channel is
not compared: what was recorded is not known.
Witnesses of one verdict stand by channel (or process) in the order of the header, then as sent.
"""

import itertools
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass

from snapshots.domain.judging import witnesses as say
from snapshots.domain.judging.cuts import ChannelLog, received_index, state_at
from snapshots.domain.judging.findings import INCOMPLETE, Finding, Findings
from snapshots.domain.judging.snapshot_log import SnapshotLog, snapshot_logs
from snapshots.domain.judging.totals import Totals, totals
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.derived import flaws, is_derived, states_not_judged
from snapshots.domain.model.recording import (
    RECEIVE,
    Instant,
    Marker,
    Message,
    MessageId,
    Recording,
    SnapshotId,
)
from snapshots.domain.model.scopes import recording_in_scope
from snapshots.domain.model.topology import Channel, ChannelId, JsonText, ProcessId


@dataclass(frozen=True)
class SnapshotReport:
    """One snapshot, judged. Processes and channels stand in the order of the header.

    findings: worst first, at most findings.MOST_WITNESSES of a verdict; counts: the true numbers.
    positions, recorded_at: of the processes that recorded. recorded_states, recomputed_states:
    only what is known, of these. recorded_channels: message ids as recorded; absent where the log
    does not say. in_flight: ordinals as sent, of every channel whose two ends recorded.
    """

    snapshot: SnapshotId
    processes: tuple[ProcessId, ...]
    findings: tuple[Finding, ...]
    counts: Mapping[str, int]
    initiators: tuple[ProcessId, ...]
    began_at: Instant
    ended_at: Instant | None
    markers_sent: int
    markers_received: int
    positions: Mapping[ProcessId, int]
    recorded_at: Mapping[ProcessId, Instant]
    recorded_states: Mapping[ProcessId, JsonText]
    recomputed_states: Mapping[ProcessId, JsonText]
    recorded_channels: Mapping[ChannelId, tuple[MessageId, ...]]
    in_flight: Mapping[ChannelId, tuple[int, ...]]
    totals: Totals

    @property
    def verdict(self) -> str:
        """The worst one."""
        return self.findings[0].verdict

    def summary(self) -> dict[str, object]:
        """Return the snapshot's summary as JSON, as the API answers it."""
        return {
            "snapshot": self.snapshot,
            "verdict": self.verdict,
            "verdicts": list(map(as_json, self.findings)),
            "verdict_counts": [
                {"verdict": verdict, "count": count} for verdict, count in self.counts.items()
            ],
            "initiators": list(self.initiators),
            "began_at": self.began_at,
            "ended_at": self.ended_at,
            "duration": None if self.ended_at is None else self.ended_at - self.began_at,
            "markers_sent": self.markers_sent,
            "markers_received": self.markers_received,
            "positions": dict(self.positions),
            "recorded_at": dict(self.recorded_at),
            "totals": as_json(self.totals),
        }


@dataclass(frozen=True)
class Case:
    """One snapshot before its judge: the log of it, and every channel's messages."""

    recording: Recording
    log: SnapshotLog
    channels: Mapping[ChannelId, ChannelLog]
    positions: Mapping[ProcessId, int]
    recomputed_states: Mapping[ProcessId, JsonText]
    in_flight: Mapping[ChannelId, tuple[Message, ...]]


def judge(recording: Recording) -> tuple[SnapshotReport, ...]:
    """A report for every snapshot that the log names, in the order of their first event."""
    channels = {
        channel.id: ChannelLog(recording.messages.get(channel.id, ()))
        for channel in recording.topology.channels
    }
    return tuple(
        _judged(_case(recording_in_scope(recording, log.involved), log, channels))
        for log in snapshot_logs(recording)
    )


def _case(recording: Recording, log: SnapshotLog, channels: Mapping[ChannelId, ChannelLog]) -> Case:
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
    _judge_strays(case, findings)
    _judge_completeness(case, findings)
    return SnapshotReport(
        snapshot=log.id,
        processes=tuple(process.id for process in case.recording.topology.processes),
        findings=findings.worst_first(),
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
        recorded_channels=_recorded_channels(case),
        in_flight={
            channel: tuple(message.ordinal for message in messages)
            for channel, messages in case.in_flight.items()
        },
        totals=_totals(case),
    )


def _judge_orphans(case: Case, channel: Channel, findings: Findings) -> None:
    sender_at, receiver_at = case.positions[channel.source], case.positions[channel.target]
    for message in case.channels[channel.id].orphans(sender_at, receiver_at):
        findings.add(say.orphan(channel, message))


def _judge_recorded_channel(case: Case, channel: Channel, findings: Findings) -> None:
    """Lost, duplicated, unsent: the k-th entry of an id stands for its k-th message in flight."""
    record = case.log.channels.get(channel.id)
    if record is None:
        return
    expected: dict[MessageId, deque[Message]] = defaultdict(deque)
    for message in case.in_flight[channel.id]:
        expected[message.id].append(message)
    surplus = []
    for entry in record.messages:
        if expected[entry]:
            expected[entry].popleft()
        else:
            surplus.append(entry)
    missing = [message for left in expected.values() for message in left]
    for message in sorted(missing, key=lambda message: message.ordinal):
        findings.add(say.lost(channel, message))
    flying = {message.id: message for message in reversed(case.in_flight[channel.id])}
    for entry in surplus:
        findings.add(_surplus(case, channel, entry, flying.get(entry)))


def _surplus(case: Case, channel: Channel, entry: MessageId, flying: Message | None) -> Finding:
    """The witness for a recorded id beyond what is in flight; of several of an id, the first."""
    if flying is not None:
        return say.recorded_twice(channel, flying)
    known = case.channels[channel.id].by_id.get(entry)
    if known is None:
        return say.recorded_unsent(channel, entry, say.place(case.log.channels[channel.id]))
    if received_index(known[0]) < case.positions[channel.target]:
        return say.recorded_but_received(channel, known[0])
    return say.recorded_but_not_sent(channel, known[0])


def _judge_marker_rules(case: Case, channel: Channel, findings: Findings) -> None:
    """Nothing is sent between the sender's recording and its marker (in either order of the two),
    and nothing received between the marker and the receiver's recording."""
    markers = case.log.markers.get(channel.id)
    if not markers:
        return
    marker, messages = markers[0], case.channels[channel.id]
    sender_at, receiver_at = map(case.positions.get, (channel.source, channel.target))
    if sender_at is not None:
        for message in messages.sent_between(sender_at, marker.sent_index):
            findings.add(say.sent_before_marker(channel, message, case.log.id))
        for message in messages.sent_between(marker.sent_index, sender_at):
            findings.add(say.sent_after_marker(channel, message, case.log.id))
    if receiver_at is not None:
        for message in messages.received_between(received_index(marker), receiver_at):
            findings.add(say.received_after_marker(channel, message, case.log.id))


def _judge_order(case: Case, channel: Channel, findings: Findings) -> None:
    messages = case.channels[channel.id]
    flying = case.in_flight.get(channel.id, ())
    seen = set()
    for travelling in (*case.log.markers.get(channel.id, ()), *flying):
        pairs = (
            (messages.latest_before(travelling.sent_index), travelling),
            (travelling, messages.earliest_after(travelling.sent_index)),
        )
        if channel.overtaking and isinstance(travelling, Marker):
            pairs = pairs[1:]
        for first, second in pairs:
            if first is None or second is None or received_index(first) <= received_index(second):
                continue
            if (first.sent_index, second.sent_index) not in seen:
                seen.add((first.sent_index, second.sent_index))
                findings.add(say.overtook(channel, first, second))
    for later, earlier in _recorded_backwards(case, channel, flying):
        if (earlier.sent_index, later.sent_index) not in seen:
            findings.add(say.recorded_out_of_order(channel, earlier, later))


def _recorded_backwards(
    case: Case, channel: Channel, flying: tuple[Message, ...]
) -> list[tuple[Message, Message]]:
    """Neighbours in the recorded list of which the second was sent before the first.

    Entries beyond what is in flight are passed over.
    """
    record = case.log.channels.get(channel.id)
    if record is None:
        return []
    expected: dict[MessageId, deque[Message]] = defaultdict(deque)
    for message in flying:
        expected[message.id].append(message)
    recorded = [expected[entry].popleft() for entry in record.messages if expected[entry]]
    neighbours = itertools.pairwise(recorded)
    return [(one, next_) for one, next_ in neighbours if next_.ordinal < one.ordinal]


def _judge_states(case: Case, findings: Findings) -> None:
    """Of a derived recording one witness stands for all states that do not differ."""
    told = case.recording.header_extra
    for flaw in flaws(told, case.log.id):
        findings.add(flaw)
    is_whole, unjudged = not is_derived(told), 0
    for process, event in case.log.states.items():
        recorded, recomputed = event.state, case.recomputed_states.get(process)
        if None not in (recorded, recomputed) and recorded != recomputed:
            findings.add(say.state_mismatch(process, say.place(event), recorded, recomputed))
        elif not is_whole:
            unjudged += 1
        elif recorded is not None and recomputed is None:
            findings.add(say.state_unknown(process, say.place(event), recorded))
    if unjudged:
        findings.add(states_not_judged(unjudged))


def _judge_strays(case: Case, findings: Findings) -> None:
    """In order of line."""
    for stray in case.recording.strays:
        if stray.kind == RECEIVE and stray.index < case.positions.get(stray.process, 0):
            channel = case.recording.topology.channel_by_id[stray.channel]
            findings.add(say.stray_inside(channel, stray))


def _judge_completeness(case: Case, findings: Findings) -> None:
    """Processes first, then the channels' markers."""
    log, topology = case.log, case.recording.topology
    initiators = log.initiators()

    def path(goal: ProcessId, *last: ChannelId) -> tuple[ChannelId, ...] | None:
        way = topology.path(initiators, goal) if findings.wants(INCOMPLETE) else None
        return None if way is None else (*way, *last)

    for process in topology.processes:
        if process.id not in case.positions:
            findings.add(say.never_recorded(process.id, log.id, path(process.id)))
    if not log.has_markers:
        return
    for channel in topology.channels:
        markers = log.markers.get(channel.id, ())
        if not markers and channel.source in case.positions:
            way = path(channel.source, channel.id)
            findings.add(say.marker_not_sent(channel, log.id, way))
        for marker in markers:
            if marker.received_index is None:
                way = path(channel.source, channel.id)
                findings.add(say.marker_in_flight(channel, marker, way))


def _recorded_channels(case: Case) -> dict[ChannelId, tuple[MessageId, ...]]:
    recorded = case.log.channels
    return {
        channel.id: recorded[channel.id].messages
        for channel in case.recording.topology.channels
        if channel.id in recorded
    }


def _totals(case: Case) -> Totals:
    """Of what was recorded; where the log does not say, of what it recomputes."""
    topology, log = case.recording.topology, case.log
    states = [
        log.states[process.id].state or case.recomputed_states.get(process.id)
        if process.id in log.states
        else None
        for process in topology.processes
    ]
    values: list[JsonText | None] = []
    for channel in topology.channels:
        values += _channel_values(case, channel)
    return totals([process.state for process in topology.processes], states, values)


def _channel_values(case: Case, channel: Channel) -> list[JsonText | None]:
    record = case.log.channels.get(channel.id)
    if record is None:
        flying = case.in_flight.get(channel.id)
        return [None] if flying is None else [message.value for message in flying]
    by_id = case.channels[channel.id].by_id
    return [by_id[entry][0].value if entry in by_id else None for entry in record.messages]
