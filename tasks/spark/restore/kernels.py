"""Restore a snapshot: first the channels, then the processes.

The reference is ``snapshots.domain.replaying.restore``. A process that continues from the log's own
state needs no replay. The others, and the channels, are replayed one by one with
``snapshots.domain.replaying.replayed_state``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.model.recording import (
    APPLICATION_KINDS,
    KINDS,
    RECEIVE,
    RECORD_CHANNEL,
    Event,
    Instant,
    MessageId,
)
from snapshots.domain.model.topology import Channel, JsonText
from snapshots.domain.replaying.replayed_state import (
    ChannelReplay,
    ReplayedStep,
    replay_channel,
    replay_process,
    same_contents,
)
from snapshots.domain.replaying.restore import (
    MOST_DIFFERENCES,
    Difference,
    end_channel_difference,
    end_state_difference,
    missing_message,
    overtaking_message,
    state_difference,
)
from snapshots.store.layout import NONE, RECORD_COLUMNS, RECORDS, STRAY_COLUMNS, STRAYS
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import read_batch
from snapshots.store.objects.paths import path_of
from snapshots.store.tables import Tables
from tasks.spark.judge.lanes import NEVER, Lane
from tasks.spark.judge.recorded import first_records, positions_of
from tasks.spark.judge.states import states_at
from tasks.spark.task_tables import TaskTables

_RECEIVE = KINDS.index(RECEIVE)
_APPLICATION = [KINDS.index(kind) for kind in sorted(APPLICATION_KINDS)]


@dataclass(frozen=True)
class RestoreTask:
    """A half-open range of channel or process codes of the store in ``folder``.

    For processes, ``missing`` lists (code, index) of the receives whose message is missing.
    """

    folder: str
    snapshot: int
    first: int
    end: int
    missing: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Placed:
    """A difference at an event, and the event's step."""

    step: int
    difference: Difference


@dataclass(frozen=True)
class RestoredChannel:
    """The message ids as restored, left at the end, and never received in the original.

    Args:
        at_events: the first MOST_DIFFERENCES by step, out of at_events_total.
        missing: the indexes of all receives that cannot happen.
        at_end: how the ends differ.
    """

    is_recorded: bool
    restored: list[MessageId]
    left: list[MessageId]
    unreceived: list[MessageId]
    at_events: list[Placed]
    at_events_total: int
    missing: list[int]
    at_end: Difference | None


@dataclass(frozen=True)
class RestoredProcess:
    """The states as restored, at the end, and at the end of the original; None if unknown."""

    is_recorded: bool
    restored: JsonText | None
    end: JsonText | None
    original_end: JsonText | None
    at_event: Placed | None
    at_end: Difference | None


class _Store:
    """The store of a task, and what its snapshot recorded."""

    def __init__(self, task: RestoreTask) -> None:
        folder = path_of(task.folder)
        manifest = Manifest.read(folder)
        self.tables = TaskTables(folder, manifest)
        self.processes = self.tables.topology.processes
        self.records = pa.Table.from_batches([read_batch(folder / RECORDS, RECORD_COLUMNS)])
        is_own = pc.equal(self.records["snapshot"], task.snapshot)
        self.records = self.records.filter(is_own)
        positions = positions_of(self.records, len(manifest.snapshots), len(self.processes))
        self.positions = positions[task.snapshot]
        self.strays = read_batch(folder / STRAYS, STRAY_COLUMNS)

    def event(self, process: int, index: int, channel: Channel | None = None) -> Event:
        """Return an event, with its channel if that is given."""
        row = self.tables.events.pick(np.array([process]), np.array([index]))
        message = row.texts("message")[0]
        return Event(
            process=self.processes[process].id,
            index=index,
            kind=KINDS[int(row.values("kind")[0])],
            at=Instant(int(row.values("at")[0])),
            step=int(row.values("step")[0]),
            line=int(row.values("line")[0]),
            channel=None if channel is None else channel.id,
            message=None if message is None else MessageId(message),
        )


# --- channels --------------------------------------------------------------------------------


def restore_channels(task: RestoreTask) -> list[RestoredChannel]:
    """Restore each channel of the task that is in the snapshot's scope."""
    store = _Store(task)
    recorded = _recorded_lists(store.records)
    strays = _stray_receives(store, task)
    return [
        _restore_channel(store, code, recorded.get(code), strays.get(code, []))
        for code in range(task.first, task.end)
        if store.positions[store.tables.source[code]] != NONE
    ]


def _recorded_lists(records: pa.Table) -> dict[int, list[MessageId]]:
    """Return the first record_channel of each channel; ``records`` are those of one snapshot."""
    rows = records.filter(pc.equal(records["kind"], KINDS.index(RECORD_CHANNEL)))
    pairs = zip(rows["channel"].to_pylist()[::-1], rows["messages"].to_pylist()[::-1], strict=True)
    return dict(pairs)  # sorted by index; reversed, so that the first of a channel wins


def _stray_receives(store: _Store, task: RestoreTask) -> dict[int, list[tuple[int, MessageId]]]:
    """Return (index, message) of the task's stray receives of messages, by channel."""
    columns = ("channel", "process", "index", "message")
    channel, process, index, message = (store.strays.column(name) for name in columns)
    lanes = process.to_numpy().astype(np.int64), index.to_numpy()
    kind = store.tables.events.values("kind", *lanes)
    is_own = (channel.to_numpy() >= task.first) & (channel.to_numpy() < task.end)
    by_channel: dict[int, list[tuple[int, MessageId]]] = {}
    for row in np.flatnonzero(is_own & (kind == _RECEIVE)).tolist():
        stray = index[row].as_py(), message[row].as_py()
        by_channel.setdefault(channel[row].as_py(), []).append(stray)
    return by_channel


def _restore_channel(
    store: _Store,
    code: int,
    recorded: list[MessageId] | None,
    strays: list[tuple[int, MessageId]],
) -> RestoredChannel:
    channel = store.tables.topology.channels[code]
    lane = Lane(channel, store.tables.messages, code)
    target = int(store.tables.target[code])
    source_at = store.positions[store.tables.source[code]]
    target_at = store.positions[target]
    sent = int(np.searchsorted(lane.sent, source_at))
    arrivals = lane.arrivals[np.searchsorted(lane.received[lane.arrivals], target_at) :]
    if recorded is None:
        flying = np.flatnonzero(lane.received[:sent] >= target_at)
        restored = lane.ids(flying)
    else:
        restored = recorded
    late = [stray for stray in strays if stray[0] >= target_at]
    held = [*restored, *lane.ids(lane.ordinals[sent:])]
    received = lane.ids(arrivals)
    indexes = lane.received[arrivals].tolist()
    if late:
        merged = sorted([*zip(indexes, received, strict=True), *late])
        indexes, received = map(list, zip(*merged, strict=True))
    replay = replay_channel(held, received, fifo=channel.fifo)
    placed = list(_placed(store, channel, target, replay, indexes))
    left = list(replay.left)
    unreceived = lane.ids(np.flatnonzero(lane.received == NEVER))
    same = same_contents(left, unreceived, fifo=channel.fifo)
    orphans = lane.ordinals[sent:][(lane.received[sent:] < target_at) & ~lane.taken[sent:]]
    return RestoredChannel(
        is_recorded=recorded is not None,
        restored=restored,
        left=left,
        unreceived=unreceived,
        at_events=placed,
        at_events_total=len(replay.missing) + len(replay.overtaking),
        missing=[indexes[row] for row in replay.missing],
        at_end=None
        if same
        else end_channel_difference(channel, unreceived, left, lane.ids(orphans)),
    )


def _placed(
    store: _Store, channel: Channel, target: int, replay: ChannelReplay, indexes: list[int]
) -> Iterator[Placed]:
    """Yield the first MOST_DIFFERENCES; along a channel the steps of its receives rise."""
    faults = [*((row, None) for row in replay.missing), *replay.overtaking]
    for row, head in sorted(faults, key=lambda item: item[0])[:MOST_DIFFERENCES]:
        event = store.event(target, indexes[row], channel)
        difference = missing_message(event) if head is None else overtaking_message(event, head)
        yield Placed(event.step, difference)


# --- processes -------------------------------------------------------------------------------


def restore_processes(task: RestoreTask) -> list[RestoredProcess]:
    """Restore each process of the task that is in the snapshot's scope."""
    store = _Store(task)
    codes = task.first + np.flatnonzero(store.positions[task.first : task.end] != NONE)
    logged = states_at(store.tables, codes, store.positions[codes])
    original = states_at(store.tables, codes, store.tables.events.length[codes])
    first = first_records(store.records)
    recorded = dict(zip(first["process"].to_pylist(), first["state"].to_pylist(), strict=True))
    missing: dict[int, set[int]] = {}
    for process, index in task.missing:
        missing.setdefault(process, set()).add(index)
    return [
        _restore_process(
            store, code, recorded[code], logged[row], original[row], missing.get(code, set())
        )
        for row, code in enumerate(codes.tolist())
    ]


def _restore_process(
    store: _Store,
    code: int,
    recorded: JsonText | None,
    logged: JsonText | None,
    original: JsonText | None,
    missing: set[int],
) -> RestoredProcess:
    restored = recorded or logged
    position = int(store.positions[code])
    indexes = _steps_after(store.tables, code, position)
    at_event = None
    if not missing and (logged is None or restored == logged):
        end = original if len(indexes) else restored if logged is not None else None
    else:
        states = store.tables.events.pick(np.full(len(indexes), code), indexes).texts("state")
        steps = (
            ReplayedStep(None if state is None else JsonText(state), index not in missing)
            for state, index in zip(states, indexes.tolist(), strict=True)
        )
        replay = replay_process(restored, logged, steps)
        end = replay.end
        if replay.differs_at is not None:
            event = store.event(code, int(indexes[replay.differs_at]))
            at_event = Placed(event.step, state_difference(event, replay))
    at_end = None
    if end is not None and original is not None and end != original:
        at_end = end_state_difference(store.processes[code].id, original, end)
    return RestoredProcess(
        is_recorded=recorded is not None,
        restored=restored,
        end=end,
        original_end=original,
        at_event=at_event,
        at_end=at_end,
    )


def _steps_after(tables: Tables, code: int, position: int) -> np.ndarray:
    """Return the indexes of the process's application events from ``position`` on."""
    events = tables.events
    if not events.length[code]:
        return np.zeros(0, np.int64)
    kind = events.run("kind", code, position)
    return position + np.flatnonzero(np.isin(kind, _APPLICATION))
