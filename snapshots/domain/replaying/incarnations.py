"""Cut a log off where its system goes back after a snapshot, so that one run is left to replay.

A receive belongs to the epoch of its send, so no process receives before its restore what another
sent after its own: what is left is a consistent part of the run.
"""

from dataclasses import replace
from typing import TypeVar

from snapshots.domain.judging.snapshot_log import snapshot_logs
from snapshots.domain.model.recording import Marker, Message, Recording, Restored, SnapshotId
from snapshots.domain.model.topology import ChannelId, ProcessId

Flight = TypeVar("Flight", Message, Marker)


def before_going_back(
    recording: Recording, snapshot: SnapshotId
) -> tuple[Recording, Restored | None]:
    """Return what the log holds until all processes go back after a snapshot, and that restore.

    The recording stays whole, and there is no restore, if not all that recorded go back in one
    epoch.
    """
    log = next((log for log in snapshot_logs(recording) if log.id == snapshot), None)
    if log is None:
        return recording, None
    found = {
        process: next(
            (item for item in recording.restores.get(process, ()) if item.row >= at), None
        )
        for process, at in log.positions.items()
    }
    first = next(iter(found.values()), None)
    if first is None or {item.epoch if item else None for item in found.values()} != {first.epoch}:
        return recording, None
    ends = {process: item.row for process, item in found.items() if item is not None}
    return _until(recording, ends), first


def _until(recording: Recording, ends: dict[ProcessId, int]) -> Recording:
    """Return the recording without the events of each process from these indexes on."""
    channels = recording.topology.channel_by_id

    def flights(channel: ChannelId, items: tuple[Flight, ...]) -> tuple[Flight, ...]:
        own = channels[channel]
        sent, received = ends.get(own.source), ends.get(own.target)
        kept = [item for item in items if sent is None or item.sent_index < sent]
        return tuple(_still_flying(item, received) for item in kept)

    return replace(
        recording,
        events={name: events[: ends.get(name)] for name, events in recording.events.items()},
        messages={name: flights(name, items) for name, items in recording.messages.items()},
        markers={name: flights(name, items) for name, items in recording.markers.items()},
        strays=tuple(
            event
            for event in recording.strays
            if event.process not in ends or event.index < ends[event.process]
        ),
        restores={
            name: tuple(item for item in own if name not in ends or item.row < ends[name])
            for name, own in recording.restores.items()
        },
    )


def _still_flying(item: Flight, end: int | None) -> Flight:
    """Return a message or marker as not received, if it is received from ``end`` on."""
    if end is None or item.received_index is None or item.received_index < end:
        return item
    return replace(item, received_index=None, received_at=None, taken_back=False)
