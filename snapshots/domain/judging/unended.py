"""Say why a snapshot does not end: which condition is violated first, and what follows from it.

The algorithm ends if no marker remains for ever in an incident channel (condition L1), and if every
process records its state within finite time (condition L2). The marker-receiving rule makes a
process record that a marker reaches, and the marker-sending rule sends one on. So where the log has
markers, each recording or marker that is missing is a cause or follows from one:

* L1: a marker was sent and never arrives.
* L2: a marker reached a process, and the process never records.
* the marker-sending rule: a process recorded and sent no marker on a channel.
* no path: no channel leads to a process from one that recorded. Only the process itself could
  begin the snapshot there, so L2 is not met.

A process that never records sends no marker, so its channels stay open, and the processes behind
them never record either. "Never" means: up to the end of the log.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 3.3.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from snapshots.domain.judging.cuts import has_arrived
from snapshots.domain.judging.snapshot_log import SnapshotLog
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import MARKER_RECEIVE, Recording
from snapshots.domain.model.scopes import in_scope
from snapshots.domain.model.topology import Channel, ChannelId, ProcessId, Topology

L1, L2, SENDING_RULE, NO_PATH = "L1", "L2", "marker-sending rule", "no path"
MOST_CAUSES = 10
MOST_EFFECTS = 20  # names of each list of effects


@dataclass(frozen=True)
class Traces:
    """What a log holds of the records and markers of one snapshot, by the steps of the events.

    Attributes:
        topology: the processes and channels in the snapshot's scope.
        recorded: where each process recorded its state, if it did.
        sent: where the first marker was sent on each channel, if one was.
        arrived: where the first marker arrived on each channel, if it did.
    """

    topology: Topology
    recorded: Mapping[ProcessId, int]
    sent: Mapping[ChannelId, int]
    arrived: Mapping[ChannelId, int]


@dataclass(frozen=True)
class Effect:
    """One step of what follows from a cause.

    Attributes:
        processes: processes that never record, at most MOST_EFFECTS.
        processes_total: how many there are.
        channels: channels that stay open, because their target recorded and no marker comes, at
            most MOST_EFFECTS.
        channels_total: how many there are.
        sentence: the step in words.
    """

    processes: tuple[ProcessId, ...]
    processes_total: int
    channels: tuple[ChannelId, ...]
    channels_total: int
    sentence: str


@dataclass(frozen=True)
class Cause:
    """A violated condition, before what follows from it.

    Attributes:
        condition: ``L1``, ``L2``, ``marker-sending rule`` or ``no path``.
        process: the process that violates it; for L1 the one that waits for the marker.
        channel: the channel with the marker, or on which none is sent; None without a path.
        sentence: the cause in words.
        effects: what follows, step by step. What follows from several causes stands with the first.
    """

    condition: str
    process: ProcessId
    channel: ChannelId | None
    sentence: str
    effects: tuple[Effect, ...]


@dataclass(frozen=True)
class Unended:
    """Why a snapshot does not end.

    Attributes:
        causes: the causes, the one that comes first in the log first; at most MOST_CAUSES.
        causes_total: how many there are.
    """

    causes: tuple[Cause, ...]
    causes_total: int


def traces_of(recording: Recording, log: SnapshotLog) -> Traces:
    """Collect what a recording holds of one snapshot."""
    arrived: dict[ChannelId, int] = {}
    topology = in_scope(recording.topology, log.involved)
    steps = {process: [event.step for event in run] for process, run in recording.events.items()}
    channels = recording.topology.channel_by_id
    sent = {
        channel: steps[channels[channel].source][markers[0].sent_index]
        for channel, markers in log.markers.items()
        if markers
    }
    for channel, markers in log.markers.items():
        if markers and has_arrived(markers[0]):
            assert markers[0].received_index is not None  # it has arrived
            arrived[channel] = steps[channels[channel].target][markers[0].received_index]
    for stray in recording.strays:
        if stray.kind == MARKER_RECEIVE and stray.snapshot == log.id and stray.channel:
            arrived.setdefault(stray.channel, stray.step)
    recorded = {process: event.step for process, event in log.states.items()}
    return Traces(topology, recorded, sent, arrived)


def why_unended(recording: Recording, log: SnapshotLog) -> Unended | None:
    """Return why a snapshot does not end; None if it does, or if nothing tells."""
    if not log.has_markers or is_derived(recording.header_extra):
        return None
    return unended(traces_of(recording, log))


def unended(traces: Traces) -> Unended | None:
    """Find the causes for which a snapshot does not end; None if it ends.

    The log must hold a marker of the snapshot.
    """
    roots = sorted(_roots(traces), key=lambda root: root[0])
    told = {cause.process for _, cause, _ in roots if cause.condition == L2}
    causes = [
        replace(cause, effects=tuple(_effects(traces, channels, told)))
        for _, cause, channels in roots
    ]
    for process in traces.topology.processes:
        if process.id not in traces.recorded and process.id not in told:
            causes.append(_without_path(traces, process.id, told))
    return Unended(tuple(causes[:MOST_CAUSES]), len(causes)) if causes else None


Root = tuple[int, Cause, tuple[Channel, ...]]
"""The step of a cause, the cause, and the channels through which it acts."""


def _roots(traces: Traces) -> Iterable[Root]:
    """Yield the violations that follow from nothing else."""
    for channel in traces.topology.channels:
        if channel.id in traces.arrived:
            continue
        if channel.id in traces.sent:
            sentence = (
                f"The marker that {channel.source} sent on {channel.id} never arrives at "
                f"{channel.target}: it remains in the channel (condition L1)."
            )
            cause = Cause(L1, channel.target, channel.id, sentence, ())
            yield traces.sent[channel.id], cause, (channel,)
        elif channel.source in traces.recorded:
            sentence = (
                f"{channel.source} records and sends no marker on {channel.id} (marker-sending "
                "rule)."
            )
            cause = Cause(SENDING_RULE, channel.source, channel.id, sentence, ())
            yield traces.recorded[channel.source], cause, (channel,)
    for process in traces.topology.processes:
        came = [c for c in traces.topology.incoming[process.id] if c.id in traces.arrived]
        if process.id in traces.recorded or not came:
            continue
        first = min(came, key=lambda channel: traces.arrived[channel.id])
        sentence = (
            f"{process.id} never records, although a marker reached it on {first.id} (condition "
            "L2)."
        )
        cause = Cause(L2, process.id, first.id, sentence, ())
        yield traces.arrived[first.id], cause, _unsent(traces, [process.id])


def _unsent(traces: Traces, processes: Iterable[ProcessId]) -> tuple[Channel, ...]:
    """Return the outgoing channels on which processes that never record send no marker."""
    return tuple(
        channel
        for process in processes
        for channel in traces.topology.outgoing[process]
        if channel.id not in traces.sent and channel.id not in traces.arrived
    )


def _effects(
    traces: Traces, channels: tuple[Channel, ...], told: set[ProcessId]
) -> Iterator[Effect]:
    """Yield what follows where no marker comes out of some channels, step by step.

    Args:
        told: the processes of which it is told already why they never record; it grows.
    """
    while channels:
        still_open = [channel.id for channel in channels if channel.target in traces.recorded]
        targets = dict.fromkeys(channel.target for channel in channels)
        silent = [
            process for process in targets if process not in traces.recorded and process not in told
        ]
        told.update(silent)
        if silent or still_open:
            yield _effect(silent, still_open)
        channels = _unsent(traces, silent)


def _effect(silent: list[ProcessId], still_open: list[ChannelId]) -> Effect:
    clauses = []
    if silent:
        clauses.append(f"{_listed(silent)} never {'records' if len(silent) == 1 else 'record'}")
    if still_open:
        clauses.append(f"{_listed(still_open)} {'stays' if len(still_open) == 1 else 'stay'} open")
    return Effect(
        tuple(silent[:MOST_EFFECTS]),
        len(silent),
        tuple(still_open[:MOST_EFFECTS]),
        len(still_open),
        f"Therefore {', and '.join(clauses)}.",
    )


def _without_path(traces: Traces, process: ProcessId, told: set[ProcessId]) -> Cause:
    """Return the cause for a process to which no channel leads from one that recorded."""
    told.add(process)
    sentence = (
        f"{process} never records: no channel leads there from a process that recorded, so "
        "condition L2 is met only if it begins the snapshot, too."
    )
    effects = tuple(_effects(traces, _unsent(traces, [process]), told))
    return Cause(NO_PATH, process, None, sentence, effects)


def _listed(names: Sequence[str]) -> str:
    """Join names for a sentence: ``A``, ``A and B``, ``A, B, C and 3 more``."""
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
