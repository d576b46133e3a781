"""Yield all events, and all messages, of a stored recording, some thousands at a time."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from snapshots.store.layout import IN_FLIGHT, NONE
from snapshots.store.mapped import Ints
from snapshots.store.tables import Tables

ROWS = 5_000  # that are read at once


def all_events(tables: Tables) -> Iterator[dict[str, Any]]:
    """Yield every event by process and index; what an event does not have is None."""
    manifest, channels = tables.manifest, tables.topology.channels
    for code, indices in _parts(tables.events.length):
        rows = tables.events.pick(np.full(len(indices), code), indices)
        columns = (
            indices.tolist(),
            *(rows.values(name).tolist() for name in ("kind", "at", "step", "channel", "snapshot")),
            rows.json("state"),
            rows.texts("label"),
        )
        process = tables.topology.processes[code].id
        for index, kind, at, step, channel, snapshot, state, label in zip(*columns, strict=True):
            yield {
                "process": process,
                "index": index,
                "kind": manifest.kinds[kind],
                "at": at,
                "step": step,
                "channel": None if channel == NONE else channels[channel].id,
                "snapshot": None if snapshot == NONE else manifest.snapshots[snapshot],
                "state": None if state is None else json.loads(state),
                "label": label,
            }


def all_messages(tables: Tables) -> Iterator[dict[str, Any]]:
    """Yield every message by channel, as it was sent; one in flight at the end has no receive."""
    for code, ordinals in _parts(tables.messages.table.length):
        rows = tables.messages.table.pick(np.full(len(ordinals), code), ordinals)
        columns = (
            rows.ids("message"),
            rows.json("value"),
            rows.values("sent_index").tolist(),
            rows.values("sent_at").tolist(),
            rows.nullable("received_index").tolist(),
            rows.nullable("received_at").tolist(),
        )
        channel = tables.topology.channels[code]
        for message, value, sent, sent_at, received, received_at in zip(*columns, strict=True):
            has_arrived = received not in (NONE, IN_FLIGHT)
            yield {
                "channel": channel.id,
                "source": channel.source,
                "target": channel.target,
                "message": message,
                "value": None if value is None else json.loads(value),
                "sent_index": sent,
                "sent_at": sent_at,
                "received_index": received if has_arrived else None,
                "received_at": received_at if has_arrived else None,
            }


def _parts(lengths: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each code with the offsets of at most ROWS of its rows."""
    for code, length in enumerate(lengths.tolist()):
        for begin in range(0, length, ROWS):
            yield code, np.arange(begin, min(begin + ROWS, length))
