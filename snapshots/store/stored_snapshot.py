"""Read one snapshot of a stored recording: what it recorded and what the log recomputes."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from snapshots.domain.judging.entries import messages_of
from snapshots.domain.model.derived import is_derived, is_untimed
from snapshots.domain.model.recording import Message, MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId, Topology
from snapshots.store.layout import (
    NONE,
    SNAPSHOT_CHANNEL_COLUMNS,
    SNAPSHOT_CHANNELS,
    SNAPSHOT_STATE_COLUMNS,
    SNAPSHOT_STATES,
)
from snapshots.store.mapped import rows_of_snapshot
from snapshots.store.tables import Tables


@dataclass(frozen=True, slots=True)
class SnapshotState:
    """One process in a snapshot.

    Attributes:
        position: the number of events before the process recorded; None if it never did.
        recorded_at: the instant at which the process recorded; None if it never did.
        recorded: the recorded state; None if it is not known.
        recomputed: the state according to the log; None if it is not known.
    """

    position: int | None
    recorded_at: int | None
    recorded: JsonText | None
    recomputed: JsonText | None


@dataclass(frozen=True, slots=True)
class SnapshotChannel:
    """One channel in a snapshot.

    Attributes:
        recorded: the recorded messages; None if the log does not say.
        recomputed: the messages in flight according to the log; None if an end never recorded. A
            derived recording has only messages that were recorded, so it is None also where none
            was.
        sent: the message for which each entry of ``recorded`` stands; None for one that was never
            sent.
    """

    recorded: tuple[MessageId, ...] | None
    recomputed: tuple[Message, ...] | None
    sent: tuple[Message | None, ...]


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """One snapshot: what it recorded and what the log recomputes.

    Attributes:
        summary: the snapshot's entry of ``StoredRecording.snapshots``.
        topology: the processes and channels in the snapshot's scope.
        states: the state of every process of the topology.
        channels: the contents of every channel of the topology.
    """

    id: SnapshotId
    summary: Mapping[str, Any]
    topology: Topology
    states: Mapping[ProcessId, SnapshotState]
    channels: Mapping[ChannelId, SnapshotChannel]


def recorded_cuts(tables: Tables, snapshots: Iterable[SnapshotId]) -> list[tuple[int, int]]:
    """Return how many processes recorded for each snapshot, and how many events lie before them.

    Raises: KeyError if there is no such snapshot.
    """
    batch = tables.judged(SNAPSHOT_STATES, SNAPSHOT_STATE_COLUMNS)
    found = []
    for snapshot in snapshots:
        rows = rows_of_snapshot(batch, tables.snapshot_code(snapshot))
        positions = rows.column("position").to_numpy()
        inside = positions[positions != NONE]
        found.append((len(inside), int(inside.sum())))
    return found


def read_snapshot(
    tables: Tables, summary: Mapping[str, Any], *, inferred: bool = False
) -> StoredSnapshot:
    """Return what one snapshot recorded and what the log recomputes.

    Args:
        summary: the snapshot's entry of ``StoredRecording.snapshots``.
        inferred: add what the events of a derived recording say of channels that nobody recorded.
    """
    snapshot = summary["snapshot"]
    code = tables.snapshot_code(snapshot)
    rows = _rows(tables, SNAPSHOT_STATES, SNAPSHOT_STATE_COLUMNS, code)
    topology = tables.scope(code)
    states = read_states(tables, snapshot, topology, rows)
    rows = _rows(tables, SNAPSHOT_CHANNELS, SNAPSHOT_CHANNEL_COLUMNS, code)
    derived = is_derived(tables.manifest.header_extra) and not inferred
    listed = {
        row["channel"]: read_channel(tables, row["channel"], row["recorded"], row["recomputed"])
        for row in rows
        if row["recorded"] is not None or not derived
    }
    unknown = SnapshotChannel(None, None, ())
    empty = unknown if derived else SnapshotChannel(None, (), ())
    channels = {}
    for number, channel in enumerate(tables.topology.channels):
        if channel.source in states:
            ends = (channel.source, channel.target)
            unlisted = unknown if any(states[end].position is None for end in ends) else empty
            channels[channel.id] = listed.get(number, unlisted)
    return StoredSnapshot(snapshot, summary, topology, states, channels)


def _rows(tables: Tables, name: str, schema: pa.Schema, snapshot: int) -> list[dict[str, Any]]:
    return rows_of_snapshot(tables.judged(name, schema), snapshot).to_pylist()


def read_states(
    tables: Tables, snapshot: SnapshotId, topology: Topology, rows: list[dict[str, Any]]
) -> dict[ProcessId, SnapshotState]:
    """Return the states of the processes of a topology.

    Args:
        rows: rows of SNAPSHOT_STATE_COLUMNS of the snapshot.
    """
    never = SnapshotState(None, None, None, None)
    states = {process.id: never for process in topology.processes}
    for row in rows:
        position = None if row["position"] == NONE else row["position"]
        process = tables.topology.processes[row["process"]].id
        if process in states:
            states[process] = SnapshotState(
                position,
                None if position is None else row["recorded_at"],
                row["recorded"],
                row["recomputed"],
            )
    if is_untimed(tables.manifest.header_extra, snapshot):
        return {name: replace(state, recorded_at=None) for name, state in states.items()}
    return states


def read_channel(
    tables: Tables,
    channel: int,
    recorded: list[MessageId] | None,
    recomputed: list[int] | None,
    budget: int | None = None,
) -> SnapshotChannel:
    """Return the contents of one channel, given by its code, from the columns of its row.

    Values are shortened to ``budget`` bytes in all; None leaves them whole.
    """
    waiting = None if recomputed is None else messages_at(tables, channel, recomputed, budget)
    if recorded is None:
        return SnapshotChannel(None, waiting, ())
    in_flight = [(message.id, message) for message in waiting or ()]
    first_sent: dict[MessageId, Message] = {}
    if extra := Counter(recorded) - Counter(name for name, _ in in_flight):
        ordinals = tables.messages.table.find_texts("message", channel, sorted(extra))
        first_sent = {
            message.id: message for message in messages_at(tables, channel, ordinals[::-1], budget)
        }
    sent = messages_of(recorded, in_flight, first_sent)
    return SnapshotChannel(tuple(recorded), waiting, tuple(sent))


def messages_at(
    tables: Tables, channel: int, ordinals: ArrayLike, budget: int | None = None
) -> tuple[Message, ...]:
    """Return the messages with these ordinals on a channel, which is given by its code.

    Their values are shortened to ``budget`` bytes in all; None leaves them whole.
    """
    numbers = np.asarray(ordinals, np.int64)
    return tables.read_messages(np.full(len(numbers), channel), numbers, budget)
