"""Count the messages of section 3.1 of the paper, n, n', m and m', on channels of a snapshot."""

from collections.abc import Sequence

import numpy as np

from snapshots.domain.judging.channel_counts import (
    DERIVED,
    NO_SEND,
    RESTORED,
    ChannelCounts,
    Contents,
    counts,
    not_known,
)
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.topology import Channel, ChannelId
from snapshots.store.mapped import Ints
from snapshots.store.stored_snapshot import SnapshotChannel, StoredSnapshot
from snapshots.store.tables import Tables


def channel_counts(
    tables: Tables, snapshot: StoredSnapshot, channels: Sequence[ChannelId]
) -> list[ChannelCounts]:
    """Return the counts of these channels of a snapshot, in the same order.

    Args:
        channels: ids of channels in the snapshot's scope.
    """
    if is_derived(tables.manifest.header_extra):
        return [not_known(channel, DERIVED) for channel in channels]
    ends = [tables.topology.channel_by_id[channel] for channel in channels]
    codes = np.array([tables.channel_code(channel) for channel in channels], np.int64)
    source, target = _positions(snapshot, ends)
    sent = tables.messages.sent(codes, source)
    received = tables.messages.ended(codes, target)
    in_order = tables.messages.end_of_received(codes, target) == received
    without_send = channels_with_strays(tables)
    return [
        not_known(channel.id, RESTORED if went_back else NO_SEND)
        if (went_back := int(tables.target[code]) in tables.restores) or code in without_send
        else counts(
            channel.id,
            Contents(
                None if snapshot.states[channel.source].position is None else n,
                None if snapshot.states[channel.target].position is None else m,
                _recorded(snapshot.channels[channel.id]),
                ordered,
            ),
        )
        for channel, code, n, m, ordered in zip(
            ends, codes.tolist(), sent.tolist(), received.tolist(), in_order.tolist(), strict=True
        )
    ]


def _positions(snapshot: StoredSnapshot, channels: Sequence[Channel]) -> tuple[Ints, Ints]:
    """Return the positions of both ends of each channel, 0 where an end never recorded."""
    positions = {name: state.position or 0 for name, state in snapshot.states.items()}
    source = [positions[channel.source] for channel in channels]
    target = [positions[channel.target] for channel in channels]
    return np.array(source, np.int64), np.array(target, np.int64)


def channels_with_strays(tables: Tables) -> frozenset[int]:
    """Return the codes of the channels on which a received message has no send."""
    batch = tables.strays.batch
    codes = batch.column("channel").to_numpy()
    is_message = batch.column("message").is_valid().to_numpy(zero_copy_only=False)
    return frozenset(codes[is_message].tolist())


def _recorded(channel: SnapshotChannel) -> list[int | None] | None:
    if channel.recorded is None:
        return None
    return [None if message is None else message.ordinal for message in channel.sent]
