"""The places in a recording or an archived job at which a note can point.

A place consists of what the log says: ids of processes, channels, messages and snapshots, numbers
of events and checkpoints. It holds no rows and no pixels, so it stays right when the same upload is
read again. ``place_text`` writes places as text and reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

TIME, ORDER = AXES = ("time", "order")


@dataclass(frozen=True, slots=True)
class MomentPlace:
    """A moment of a recording.

    Attributes:
        axis: ``time`` or ``order``.
        value: an instant in the recording's time unit, or on the axis ``order`` the number of
            events that have happened.
    """

    axis: str
    value: int


@dataclass(frozen=True, slots=True)
class ProcessPlace:
    """A process, by its id."""

    process: str


@dataclass(frozen=True, slots=True)
class EventPlace:
    """An event: the number ``index`` of its process, counted from 0."""

    process: str
    index: int


@dataclass(frozen=True, slots=True)
class ChannelPlace:
    """A channel, by its id."""

    channel: str


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """A message, by its channel and its id."""

    channel: str
    message: str


@dataclass(frozen=True, slots=True)
class CutPlace:
    """A cut: how many events of each process lie inside; an absent process has 0."""

    positions: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, positions: Mapping[str, int]) -> "CutPlace":
        """Return the cut at these positions; equal cuts are equal values."""
        return cls(tuple(sorted((name, count) for name, count in positions.items() if count)))


@dataclass(frozen=True, slots=True)
class SnapshotPlace:
    """A snapshot, by its id."""

    snapshot: str


@dataclass(frozen=True, slots=True)
class SnapshotChannelPlace:
    """A channel as one snapshot recorded it."""

    snapshot: str
    channel: str


@dataclass(frozen=True, slots=True)
class CheckpointPlace:
    """A checkpoint of a dataflow.

    Attributes:
        checkpoint: its name in a recording, or its number in the archive.
        pipeline: the number of its pipeline in the archive; 0 for all others.
    """

    checkpoint: str
    pipeline: int = 0


@dataclass(frozen=True, slots=True)
class SubtaskPlace:
    """A subtask in one checkpoint, such as ``sink[1]``; see ``CheckpointPlace``."""

    checkpoint: str
    pipeline: int
    subtask: str


@dataclass(frozen=True, slots=True)
class StatePlace:
    """An entry of the state that a checkpoint of an engine's upload holds.

    Attributes:
        checkpoint: the name of the checkpoint.
        operator: the engine's id of the operator.
        state: the name of the state.
        key: the key of the entry, as JSON text.
    """

    checkpoint: str
    operator: str
    state: str
    key: str


Place = (
    MomentPlace
    | ProcessPlace
    | EventPlace
    | ChannelPlace
    | MessagePlace
    | CutPlace
    | SnapshotPlace
    | SnapshotChannelPlace
    | CheckpointPlace
    | SubtaskPlace
    | StatePlace
)


def in_words(place: Place) -> str:
    """Return the name of a place for people, such as ``event 2 of B``.

    An instant is written as a number: its unit is known to the recording alone.
    """
    match place:
        case MomentPlace(axis, value):
            return f"moment {value:,}" if axis == TIME else f"after {value:,} events"
        case ProcessPlace(process):
            return f"process {process}"
        case EventPlace(process, index):
            return f"event {index:,} of {process}"
        case ChannelPlace(channel):
            return f"channel {channel}"
        case MessagePlace(channel, message):
            return f"message {message} on {channel}"
        case CutPlace(positions):
            return f"cut of {sum(count for _, count in positions):,} events"
        case SnapshotPlace(snapshot):
            return f"snapshot {snapshot}"
        case SnapshotChannelPlace(snapshot, channel):
            return f"channel {channel} in snapshot {snapshot}"
        case CheckpointPlace(checkpoint, pipeline):
            return _checkpoint(checkpoint, pipeline)
        case SubtaskPlace(checkpoint, pipeline, subtask):
            return f"{subtask} in {_checkpoint(checkpoint, pipeline)}"
        case StatePlace(checkpoint, _, state, key):
            return f"key {key} of state {state} in checkpoint {checkpoint}"


def _checkpoint(checkpoint: str, pipeline: int) -> str:
    return f"checkpoint {checkpoint}{f' of pipeline {pipeline}' if pipeline else ''}"
