"""Narrow a recording to the processes that take part in a snapshot.

The header may give each process a scope; the processes without one form one scope. A snapshot
belongs to every scope in which a process recorded a state or a channel for it, or sent or received
a marker of it. It is judged, restored and reordered as if nothing else ran. No channel leads from
scope to scope, so nothing is overlooked. A snapshot in which no process took part belongs to all
scopes.

The pipelines of a SeaTunnel job run like this, each with a coordinator of its own. A Flink job has
one coordinator and is one scope, however many pipelines it has.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from snapshots.domain.model.recording import Recording
from snapshots.domain.model.topology import ProcessId, Topology


def in_scope(topology: Topology, involved: Iterable[ProcessId]) -> Topology:
    """Return the scopes of these processes; without processes, the whole topology."""
    scopes = {topology.process_by_id[process].scope for process in involved}
    if not scopes or scopes == topology.scopes:
        return topology
    processes = tuple(process for process in topology.processes if process.scope in scopes)
    kept = {process.id for process in processes}
    channels = tuple(channel for channel in topology.channels if channel.source in kept)
    return Topology(processes, channels)


def recording_in_scope(recording: Recording, involved: Collection[ProcessId]) -> Recording:
    """Return the recording narrowed by ``in_scope``; steps, times and lines stay as they are."""
    topology = in_scope(recording.topology, involved)
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
