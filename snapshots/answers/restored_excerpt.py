"""What a restored run is made of where the recording is large: read from the store, up to a point.

A job has restored the snapshot and replayed all. From its report come the states and contents that
were restored, from the store what the log recomputes, and the first events after the cut.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from snapshots.domain.model.recording import APPLICATION_KINDS, MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId, JsonText
from snapshots.domain.model.values import canonical, total
from snapshots.domain.replaying.restored_course import Course, Held, Replayed
from snapshots.problems import Conflict
from snapshots.store.cut import StoredCut
from snapshots.store.layout import NONE
from snapshots.store.mapped import Ints
from snapshots.store.reader import StoredRecording

MOST_FOLLOWED = 3_000  # events after the cut
MOST_HELD = 5_000  # messages in all channels at the cut


def course_from(stored: StoredRecording, snapshot: SnapshotId, report: Mapping[str, Any]) -> Course:
    """Return what the restored run is made of.

    Args:
        report: a RestoreReport as JSON.

    Raises: Conflict if too many messages are in flight to draw them.
    """
    topology = stored.scope(snapshot)
    recorded = stored.snapshot_positions(snapshot)
    positions = np.where(recorded == NONE, 0, recorded)
    cut = stored.cut(positions)
    _require_few(cut, report)
    names = [process.id for process in stored.topology.processes]
    logged = dict(zip(names, cut.states, strict=True))
    restored = report["restored"]
    in_flight = cut.all_contents()
    flying = {
        channel.id: tuple(Held(item.id, item.value) for item in in_flight.get(channel.id, ()))
        for channel in topology.channels
    }
    length = np.where(recorded == NONE, 0, stored.tables.events.length)
    until = _until(stored, positions, length)
    return Course(
        snapshot,
        topology,
        {process.id: logged[process.id] for process in topology.processes},
        {
            process.id: canonical(restored["processes"][process.id])
            if process.id in restored["processes"]
            else None
            for process in topology.processes
        },
        frozenset((*report["from_log"]["processes"], *report["from_log"]["channels"])),
        flying,
        {
            channel.id: tuple(_held(flying, channel.id, restored["channels"]))
            for channel in topology.channels
        },
        tuple(sorted(_events(stored, cut, until), key=lambda event: event.step)),
        left_out=int((length - until).sum()),
        start=total(process.state for process in topology.processes),
    )


def _require_few(cut: StoredCut, report: Mapping[str, Any]) -> None:
    held = sum(map(len, report["restored"]["channels"].values()))
    many = max(held, int(cut.depths.sum()))
    if many > MOST_HELD:
        raise Conflict(
            f"{many:,} messages are in flight at the cut. Up to {MOST_HELD:,} are drawn; the job's "
            "report on the snapshot's page says how both ends compare."
        )


def _text(state: Any) -> JsonText | None:
    return None if state is None else JsonText(state)


def _held(
    flying: Mapping[ChannelId, tuple[Held, ...]],
    channel: ChannelId,
    restored: Mapping[ChannelId, list[str]],
) -> Iterator[Held]:
    """Yield the messages that are put back, with the values of those that are in flight."""
    values = {item.id: item.value for item in flying[channel]}
    for name in restored.get(channel, ()):
        yield Held(MessageId(name), values.get(MessageId(name)))


def _until(stored: StoredRecording, positions: Ints, length: Ints) -> Ints:
    """Return the positions after the first MOST_FOLLOWED events behind the cut, by step: int64[P].

    Args:
        positions: the cut: int64[P].
        length: how many events of each process belong to the scope: int64[P].
    """

    def at(step: int) -> Ints:
        return np.clip(stored.positions_at(step=step), positions, np.maximum(length, positions))

    low, high = 0, stored.manifest.extent.steps
    while low < high:
        middle = (low + high + 1) // 2
        if int((at(middle) - positions).sum()) <= MOST_FOLLOWED:
            low = middle
        else:
            high = middle - 1
    return at(low)


def _events(stored: StoredRecording, cut: StoredCut, until: Ints) -> Iterator[Replayed]:
    tables, positions = stored.tables, cut.positions
    early = {(item.channel, item.sent_index) for item in cut.orphans()}
    for code, process in enumerate(stored.topology.processes):
        first, end = int(positions[code]), int(until[code])
        if first >= end:
            continue
        indexes = np.arange(first, end)
        rows = tables.events.pick(np.full(len(indexes), code), indexes)
        kinds, steps, channels = (
            rows.values(name).tolist() for name in ("kind", "step", "channel")
        )
        texts = [rows.texts(name) for name in ("state", "message", "value", "label")]
        for row, index in enumerate(indexes.tolist()):
            kind = tables.manifest.kinds[kinds[row]]
            if kind not in APPLICATION_KINDS:
                continue
            state, message, value, label = (column[row] for column in texts)
            channel = None if channels[row] == NONE else stored.topology.channels[channels[row]].id
            yield Replayed(
                process.id,
                index,
                steps[row],
                kind,
                _text(state),
                channel,
                None if message is None else MessageId(message),
                _text(value),
                label,
                kind == "send" and (channel, index) in early,
            )
