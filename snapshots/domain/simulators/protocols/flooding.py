"""Collecting a snapshot's pieces by flooding, and when which process knew the whole state.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 3.3: each process
sends what it recorded along all outgoing channels, and each process that receives such information
for the first time copies it and passes it on along all its outgoing channels. On a strongly
connected graph every process so comes to know the whole recorded state.

A process's piece is its recorded state and the recorded states of its incoming channels. Pieces
travel as ordinary messages: sends and receives that leave the state of the process as it is, with
the value ``{"piece": {...}, "worth": 0}``. So other snapshots record them like any message, and
their totals do not change. A piece names the messages in its channels by their ids, as
``record_channel`` does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from snapshots.domain.judging.findings import Place
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import (
    RECEIVE,
    RECORD_CHANNEL,
    RECORD_STATE,
    Event,
    MessageId,
    Recording,
    SnapshotId,
)
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId
from snapshots.domain.model.values import canonical, parsed

COLLECTS = "collects"  # in the header of a log in which processes collect pieces
MARK = '"piece"'  # in the text of every value that holds a piece


@dataclass(frozen=True, slots=True)
class Collector:
    """The processes whose pieces of one snapshot a process knows, its own included."""

    outgoing: tuple[ChannelId, ...]
    known: frozenset[ProcessId] = frozenset()


def on_piece(collector: Collector, owner: ProcessId) -> tuple[Collector, tuple[ChannelId, ...]]:
    """Note a piece that has come, or the process's own; return the channels on which to pass it on.

    A new piece goes out on every outgoing channel, a known one on none.
    """
    if owner in collector.known:
        return collector, ()
    return Collector(collector.outgoing, collector.known | {owner}), collector.outgoing


@dataclass(frozen=True)
class Piece:
    """What one process recorded. ``channels``: ids of the messages in its incoming channels."""

    snapshot: SnapshotId
    process: ProcessId
    state: JsonText
    channels: Mapping[ChannelId, tuple[MessageId, ...]]

    @cached_property
    def message(self) -> MessageId:
        """The id of the message with the piece.

        It is unique, since a piece passes each channel at most once.
        """
        return MessageId(f"{self.snapshot}:{self.process}")

    @cached_property
    def label(self) -> str:
        return f"piece of {self.process} for {self.snapshot}"

    @cached_property
    def value(self) -> JsonText:
        piece = {
            "snapshot": self.snapshot,
            "process": self.process,
            "state": parsed(self.state),
            "channels": self.channels,
        }
        return canonical({"piece": piece, "worth": 0})


def piece_of(value: JsonText | None) -> tuple[SnapshotId, ProcessId] | None:
    """Return the snapshot and process of the piece that a value is; None for any other message."""
    if value is None or MARK not in value:
        return None
    return _named(parsed(value))


def is_piece(value: object) -> bool:
    """Tell whether a message's value, as JSON, is a piece and so no part of the computation."""
    return _named(value) is not None


def _named(value: object) -> tuple[SnapshotId, ProcessId] | None:
    piece = value.get("piece") if isinstance(value, dict) else None
    if not isinstance(piece, dict) or not {"snapshot", "process"} <= piece.keys():
        return None
    return piece["snapshot"], piece["process"]


@dataclass(frozen=True)
class Knowledge:
    """When each process knew each piece of a snapshot.

    ``learned``: for every process, in the order of the header, where it first knew each piece; its
    own piece at the last of its records.
    """

    snapshot: SnapshotId
    learned: Mapping[ProcessId, Mapping[ProcessId, Place]]

    def whole(self, process: ProcessId) -> Place | None:
        """Return the event at which a process knew the whole recorded state, or None."""
        if self.missing(process):
            return None
        return max(self.learned[process].values(), key=lambda place: place.index)

    def missing(self, process: ProcessId) -> tuple[ProcessId, ...]:
        """Return the processes whose pieces a process never knew."""
        return tuple(owner for owner in self.learned if owner not in self.learned[process])

    def to_json(self) -> dict[str, object]:
        return {
            "snapshot": self.snapshot,
            "processes": {
                process: {
                    "whole": _json(self.whole(process)),
                    "missing": list(self.missing(process)),
                    "pieces": {owner: as_json(place) for owner, place in pieces.items()},
                }
                for process, pieces in self.learned.items()
            },
        }


def knowledge(recording: Recording, snapshot: SnapshotId) -> Knowledge:
    """Find out from the log alone: from the records of the snapshot, and the receives of its
    pieces.
    """
    learned: dict[ProcessId, dict[ProcessId, Place]] = {}
    for process in recording.topology.processes:
        pieces = learned[process.id] = {}
        to_record = {channel.id for channel in recording.topology.incoming[process.id]} | {None}
        for event in recording.events.get(process.id, ()):
            if event.kind == RECEIVE:
                piece = piece_of(event.value)
                if piece is not None and piece[0] == snapshot:
                    pieces.setdefault(piece[1], _place(event))
            elif event.snapshot == snapshot and event.kind in (RECORD_STATE, RECORD_CHANNEL):
                to_record.discard(event.channel)
                if not to_record:
                    pieces.setdefault(process.id, _place(event))
    return Knowledge(snapshot, learned)


def _place(event: Event) -> Place:
    return Place(event.process, event.index, event.at)


def _json(place: Place | None) -> dict[str, object] | None:
    return None if place is None else as_json(place)
