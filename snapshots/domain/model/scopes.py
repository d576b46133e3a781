"""Processes that take snapshots of their own, and what is left of a recording for one snapshot.

Processes name their scope in the header; those that name none are of one scope. A snapshot is of
the scopes in which a process recorded a state for it, and is judged, restored and reordered as if
nothing else ran. No channel leads from scope to scope, so that nothing is overlooked. One that
nobody recorded is of all. So run the pipelines of a SeaTunnel job, each with a coordinator of its
own; a Flink job has one coordinator and is one scope, however many pipelines it has.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from snapshots.domain.model.recording import Recording
from snapshots.domain.model.topology import ProcessId, Topology


def in_scope(topology: Topology, recorded: Iterable[ProcessId]) -> Topology:
    """What a snapshot is of. recorded: the processes that recorded a state for it."""
    scopes = {topology.process_by_id[process].scope for process in recorded}
    if not scopes or scopes == topology.scopes:
        return topology
    processes = tuple(process for process in topology.processes if process.scope in scopes)
    kept = {process.id for process in processes}
    channels = tuple(channel for channel in topology.channels if channel.source in kept)
    return Topology(processes, channels)


def recording_in_scope(recording: Recording, recorded: Collection[ProcessId]) -> Recording:
    """The same recording without what is outside the scope; steps, times and lines stay."""
    topology = in_scope(recording.topology, recorded)
    if topology is recording.topology:
        return recording
    processes, channels = topology.process_by_id, topology.channel_by_id
    return replace(
        recording,
        topology=topology,
        events={name: events for name, events in recording.events.items() if name in processes},
        messages={name: sent for name, sent in recording.messages.items() if name in channels},
        markers={name: sent for name, sent in recording.markers.items() if name in channels},
        strays=tuple(stray for stray in recording.strays if stray.process in processes),
    )
