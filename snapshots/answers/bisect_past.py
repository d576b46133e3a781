"""Find the events between two snapshots that can have influenced what changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from snapshots.domain.bisecting.changes import PROCESS, Change, is_named
from snapshots.domain.model.recording import Message, SnapshotId
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.store import cones
from snapshots.store.cut import StoredCut
from snapshots.store.layout import NONE
from snapshots.store.mapped import Ints
from snapshots.store.reader import StoredRecording
from snapshots.store.stored_snapshot import SnapshotChannel

MOST_CAUSES = 50  # events whose pasts are joined
MOST_PROCESSES = 100  # processes that an answer lists
NO_CAUSE = (
    "The causal past of the change is not known: the log has no event between the two snapshots "
    "that changed it."
)


def past_of(
    stored: StoredRecording,
    before: str,
    after: str,
    changes: Sequence[Change],
    named: Mapping[str, set[str]] | None,
) -> tuple[dict[str, Any] | None, str | None]:
    """Return the causal past of what changed, as CausalPast, or None and why it is not known.

    Args:
        before, after: the ids of the two snapshots.
        changes: what differs between them.
        named: the processes and channels that the condition names; None if it is about all.
    """
    first, second = (stored.snapshot_positions(SnapshotId(name)) for name in (before, after))
    chosen = _chosen(changes, named)
    causes = list(dict.fromkeys(_causes(stored, (before, after), (first, second), chosen)))
    if not causes:
        return None, NO_CAUSE
    past = np.zeros(len(first), np.int64)
    for _, process, index in causes[:MOST_CAUSES]:
        code = stored.tables.process_code(process)
        past = np.maximum(past, cones.past(stored.tables, code, index))
    lacking = np.flatnonzero((past > 0) & (first == NONE))
    if len(lacking):
        name = stored.topology.processes[lacking[0]].id
        return None, (
            f"The causal past of the change is not known: {name} did not record in {before}, so "
            "nothing tells which of its events came later."
        )
    return {
        "causes": [
            {"of": of, "process": process, "index": index}
            for of, process, index in causes[:MOST_CAUSES]
        ],
        "causes_total": len(causes),
        "causes_joined": min(len(causes), MOST_CAUSES),
        **_between(stored, first, second, past),
    }, None


def _chosen(changes: Sequence[Change], named: Mapping[str, set[str]] | None) -> list[Change]:
    """Return the changes of what the condition names, or all if none of that changed."""
    if named is None:
        return list(changes)
    own = [item for item in changes if is_named(item, named)]
    return own or list(changes)


def _causes(
    stored: StoredRecording,
    names: tuple[str, str],
    positions: tuple[Ints, Ints],
    changes: Sequence[Change],
) -> Iterator[tuple[str, ProcessId, int]]:
    """Yield what changed, and the process and index of the last event that changed it."""
    first, second = positions
    inside = StoredCut(stored.tables, np.maximum(second, 0))
    contents = tuple(stored.snapshot(SnapshotId(name)).channels for name in names)
    for change in changes:
        if change.kind == PROCESS:
            code = stored.tables.process_code(ProcessId(change.name))
            index = int(inside.state_events[code])
            if index >= max(first[code], 0):
                yield f"the state of {change.name}", ProcessId(change.name), index
        else:
            channel = ChannelId(change.name)
            earlier, later = (own.get(channel) for own in contents)
            yield from _in_channel(stored, channel, second, earlier, later)


def _in_channel(
    stored: StoredRecording,
    channel: ChannelId,
    second: Ints,
    before: SnapshotChannel | None,
    after: SnapshotChannel | None,
) -> Iterator[tuple[str, ProcessId, int]]:
    """Yield the last send of what is in the channel now, and the last receive of what left it."""
    ends = stored.topology.channel_by_id[channel]
    earlier, later = (_messages(side) for side in (before, after))
    sent = [message.sent_index for id_, message in later.items() if id_ not in earlier]
    limit = second[stored.tables.process_code(ends.target)]
    received = [
        message.received_index
        for id_, message in earlier.items()
        if id_ not in later and message.received_index is not None
    ]
    of = f"the contents of {channel}"
    if sent:
        yield of, ends.source, max(sent)
    if inside := [index for index in received if index < limit]:
        yield of, ends.target, max(inside)


def _messages(side: SnapshotChannel | None) -> dict[int, Message]:
    """Return the messages that were in flight by ordinal."""
    waiting = () if side is None else side.recomputed or ()
    return {message.ordinal: message for message in waiting}


def _between(stored: StoredRecording, first: Ints, second: Ints, past: Ints) -> dict[str, Any]:
    """Return the part of a past that lies after the first of two snapshots, by process."""
    begin = np.maximum(first, 0)
    counts = np.maximum(past - begin, 0)
    order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist()
    processes = stored.topology.processes
    return {
        "events": int(counts.sum()),
        "events_between": int(np.maximum(second - begin, 0).sum()),
        "processes": [
            {
                "process": processes[code].id,
                "first": int(begin[code]),
                "last": int(past[code]) - 1,
                "count": int(counts[code]),
            }
            for code in order[:MOST_PROCESSES]
        ],
        "processes_total": len(order),
    }
