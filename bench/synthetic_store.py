"""A large recording for measurements, written straight into the store, vectorised.

It has FIFO channels, random delays, about 300 messages in flight at any time, and states on every
event.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from snapshots.domain.model.recording import INTERNAL, KINDS, RECEIVE, RECORD_STATE, SEND
from snapshots.store import parts, writer
from snapshots.store.layout import (
    CHANNEL_COLUMNS,
    CHANNELS,
    EVENT_COLUMNS,
    PROCESS_COLUMNS,
    PROCESSES,
    RECORD_COLUMNS,
    RECORDS,
    STRAY_COLUMNS,
    STRAYS,
)
from snapshots.store.manifest import Extent, Manifest, Part

_IN_FLIGHT = 300
_PARTS = 4


@dataclass(frozen=True)
class _Run:
    """Columns of messages, by (channel, ordinal), and of events, by (process, index)."""

    channel: np.ndarray
    sent: np.ndarray  # row of the send in the events
    received: np.ndarray  # row of the receive
    process: np.ndarray
    kind: np.ndarray
    at: np.ndarray
    step: np.ndarray
    begins: np.ndarray  # first row of each process, and the end
    message: np.ndarray  # row of the message, or -1
    snapshot: np.ndarray  # the snapshot for which a process records its state, or -1

    def index(self, rows: np.ndarray) -> np.ndarray:
        return rows - self.begins[self.process[rows]]


def write_synthetic(
    folder: Path,
    events: int,
    processes: int = 50,
    channels: int = 800,
    seed: int = 1,
    snapshots: tuple[str, ...] = (),
    in_flight: int = _IN_FLIGHT,
    *,
    are_consistent: bool = False,
) -> Manifest:
    """Write a recording of about ``events`` events into an empty folder.

    Args:
        snapshots: the names of snapshots, for each of which every process records its state.
        in_flight: how many messages are under way at any time.
        are_consistent: True to record all states of a snapshot at one instant, by further events.
            Otherwise the only snapshot is recorded in the middle of each process's events.
    """
    random = np.random.default_rng(seed)
    source = random.integers(0, processes, channels)
    target = (source + random.integers(1, processes, channels)) % processes
    at_once = len(snapshots) if are_consistent else 0
    run = _run(random, events, source, target, processes, in_flight, at_once)
    if not are_consistent:
        run.snapshot[_middle(run, processes if snapshots else 0)] = 0
    run.kind[run.snapshot >= 0] = KINDS.index(RECORD_STATE)
    recorded = np.flatnonzero(run.snapshot >= 0)
    recorded = recorded[np.argsort(run.snapshot[recorded], kind="stable")]
    _write_small(folder, source, target, processes)
    parts.write_table(folder / RECORDS, _records(run, recorded), RECORD_COLUMNS)
    written = [*_write_events(folder, run, processes), *_write_messages(folder, run, channels)]
    total = len(run.at)
    counts = {
        "events": total,
        "messages": len(run.sent),
        "processes": processes,
        "channels": channels,
        "snapshots": len(snapshots),
        **dict.fromkeys(("markers", "defects"), 0),
    }
    extent = Extent(int(run.at.min()), int(run.at.max()), total)
    manifest = Manifest(
        f"synthetic {total}", "us", "synthetic", KINDS, snapshots, counts, extent, tuple(written)
    )
    return writer.finish(folder, manifest)


def _run(
    random,
    events: int,
    source: np.ndarray,
    target: np.ndarray,
    processes: int,
    in_flight: int,
    at_once: int,
) -> _Run:
    messages = int(events * 0.45)
    internals = events - 2 * messages
    span = 10 * events
    channel = np.sort(random.integers(0, len(source), messages))
    sent_at = random.integers(0, span, messages)
    sent_at = sent_at[np.lexsort((sent_at, channel))]
    delays = random.exponential(in_flight * span / messages, messages).astype(np.int64) + 1
    lift = channel * (4 * span)
    received_at = np.maximum.accumulate(sent_at + delays + lift) - lift

    instants = np.repeat(span * np.arange(1, at_once + 1) // (at_once + 1), processes)
    at = np.concatenate((sent_at, received_at, random.integers(0, span, internals), instants))
    internal_process = random.integers(0, processes, internals)
    recording = np.tile(np.arange(processes), at_once)
    process = np.concatenate((source[channel], target[channel], internal_process, recording))
    codes = [KINDS.index(kind) for kind in (SEND, RECEIVE, INTERNAL, RECORD_STATE)]
    kind = np.repeat(codes, (messages, messages, internals, len(instants)))
    row_of_message = np.arange(messages)
    others = np.full(internals + len(instants), -1)
    message = np.concatenate((row_of_message, row_of_message, others))
    taken = np.repeat(np.arange(at_once), processes)
    snapshot = np.concatenate((np.full(len(at) - len(taken), -1), taken))

    step = np.empty(len(at), np.int64)
    step[np.argsort(at, kind="stable")] = np.arange(len(at))
    order = np.lexsort((step, process))
    place = np.empty(len(at), np.int64)
    place[order] = np.arange(len(at))
    return _Run(
        channel=channel,
        sent=place[:messages],
        received=place[messages : 2 * messages],
        process=process[order],
        kind=kind[order],
        at=at[order],
        step=step[order],
        begins=np.searchsorted(process[order], np.arange(processes + 1)),
        message=message[order],
        snapshot=snapshot[order],
    )


def _middle(run: _Run, processes: int) -> np.ndarray:
    """Return the row of the middle one of each process's internal events, if it has any."""
    rows = np.flatnonzero(run.kind == KINDS.index(INTERNAL))
    bounds = np.searchsorted(run.process[rows], np.arange(processes + 1))
    begin, end = bounds[:-1], bounds[1:]
    return rows[((begin + end) // 2)[begin < end]]


def _records(run: _Run, rows: np.ndarray) -> pa.Table:
    columns = {
        "snapshot": run.snapshot[rows],
        "process": run.process[rows],
        "index": run.index(rows),
        "at": run.at[rows],
        "kind": run.kind[rows],
        "channel": np.full(len(rows), -1),
        "state": pa.array(run.at[rows] % 10_000).cast(pa.large_string()),
        "messages": pa.nulls(len(rows), pa.list_(pa.large_string())),
        "line": run.step[rows] + 2,
    }
    return pa.table(columns).cast(RECORD_COLUMNS)


def _write_small(folder: Path, source: np.ndarray, target: np.ndarray, processes: int) -> None:
    ids = [f"p{code}" for code in range(processes)]
    known = {"id": ids, "state": ["0"] * processes, "scope": [None] * processes}
    states = pa.table(known, PROCESS_COLUMNS)
    links = {
        "id": [f"c{code}" for code in range(len(source))],
        "source": source,
        "target": target,
        "fifo": [True] * len(source),
        "overtaking": [False] * len(source),
    }
    parts.write_table(folder / PROCESSES, states, PROCESS_COLUMNS)
    parts.write_table(folder / CHANNELS, pa.table(links).cast(CHANNEL_COLUMNS), CHANNEL_COLUMNS)
    parts.write_table(folder / STRAYS, STRAY_COLUMNS.empty_table(), STRAY_COLUMNS)


def _write_events(folder: Path, run: _Run, processes: int) -> list[Part]:
    written = []
    for codes in np.array_split(np.arange(processes), min(_PARTS, processes)):
        rows = slice(run.begins[codes[0]], run.begins[codes[-1] + 1])
        count = rows.stop - rows.start
        named = run.message[rows] >= 0
        ids = pa.array(run.message[rows], mask=~named).cast(pa.large_string())
        channel = np.where(named, run.channel[run.message[rows]], -1)
        is_send = run.kind[rows] == KINDS.index(SEND)
        values = np.arange(rows.start, rows.stop) % 100
        absent = pa.nulls(count, pa.large_string())
        table = {
            "process": run.process[rows],
            "kind": run.kind[rows],
            "at": run.at[rows],
            "step": run.step[rows],
            "line": run.step[rows] + 2,
            "channel": channel,
            "snapshot": run.snapshot[rows],
            "message": ids,
            "value": pa.array(values, mask=~is_send).cast(pa.large_string()),
            "state": pa.array(run.at[rows] % 10_000).cast(pa.large_string()),
            "label": absent,
            "extra": absent,
            "logged_at": pa.nulls(count, pa.int64()),
        }
        written += parts.write_events(folder, pa.table(table).cast(EVENT_COLUMNS))
    return written


def _write_messages(folder: Path, run: _Run, channels: int) -> list[Part]:
    written = []
    for codes in np.array_split(np.arange(channels), min(_PARTS, channels)):
        first, end = np.searchsorted(run.channel, [codes[0], codes[-1] + 1])
        sent, received = run.sent[first:end], run.received[first:end]
        table = {
            "channel": pa.array(run.channel[first:end], pa.int32()),
            "sent_index": run.index(sent),
            "received_index": run.index(received),
        }
        written += parts.write_messages(folder, pa.table(table))
    return written
