"""Yield all events, and all messages, of a stored recording, some thousands at a time.

Of a derived recording they say what is ``inferred``, in the words of its events: true if no file
says that there was such an event, a list of what no file says of it, or false.
"""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from snapshots.domain.model.derived import is_derived, is_untimed
from snapshots.domain.model.topology import ProcessId
from snapshots.store.layout import IN_FLIGHT, NONE
from snapshots.store.mapped import Ints, Picked
from snapshots.store.tables import Tables

ROWS = 5_000  # that are read at once


def all_events(tables: Tables) -> Iterator[dict[str, Any]]:
    """Yield every event by process and index; what an event does not have is None.

    An event of a snapshot of which nothing says when it was taken has no time.
    """
    manifest, channels = tables.manifest, tables.topology.channels
    untimed = {name for name in manifest.snapshots if is_untimed(manifest.header_extra, name)}
    for code, indices in _parts(tables.events.length):
        rows = tables.events.pick(np.full(len(indices), code), indices)
        columns = (
            indices.tolist(),
            *(rows.values(name).tolist() for name in ("kind", "at", "step", "channel", "snapshot")),
            rows.json("state"),
            rows.texts("label"),
            _inferred(tables, rows),
        )
        process = tables.topology.processes[code].id
        for index, kind, at, step, channel, code_of_snapshot, state, label, inferred in zip(
            *columns, strict=True
        ):
            snapshot = None if code_of_snapshot == NONE else manifest.snapshots[code_of_snapshot]
            yield {
                "process": process,
                "index": index,
                "kind": manifest.kinds[kind],
                "at": None if snapshot in untimed else at,
                "step": step,
                "channel": None if channel == NONE else channels[channel].id,
                "snapshot": snapshot,
                "state": None if state is None else json.loads(state),
                "label": label,
                "inferred": inferred,
            }


def all_messages(tables: Tables) -> Iterator[dict[str, Any]]:
    """Yield every message by channel, as it was sent.

    One that was in flight at the end, or that a restore took back, has no receive.

    Whether it ``arrived`` is not known in a derived recording.
    """
    derived = is_derived(tables.manifest.header_extra)
    for code, ordinals in _parts(tables.messages.table.length):
        rows = tables.messages.table.pick(np.full(len(ordinals), code), ordinals)
        channel = tables.topology.channels[code]
        sent_indexes = rows.values("sent_index")
        received_indexes = rows.values("received_index")
        columns = (
            rows.ids("message"),
            rows.json("value"),
            sent_indexes.tolist(),
            rows.values("sent_at").tolist(),
            received_indexes.tolist(),
            rows.values("received_at").tolist(),
            _inferred_at(tables, channel.source, sent_indexes),
            _inferred_at(tables, channel.target, received_indexes),
        )
        arrived = ~np.isin(received_indexes, (NONE, IN_FLIGHT))
        arrived &= ~tables.messages.taken(np.full(len(ordinals), code), received_indexes)
        for has_arrived, message, value, sent, sent_at, received, received_at, *inferred in zip(
            arrived.tolist(), *columns, strict=True
        ):
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
                "arrived": None if derived else has_arrived,
                "sent_inferred": inferred[0],
                "received_inferred": inferred[1],
            }


def _inferred_at(tables: Tables, process: ProcessId, indexes: Ints) -> list[Any]:
    """Return what is inferred of events of a process; None where there is no such event."""
    found: list[Any] = [None] * len(indexes)
    [places] = np.nonzero((indexes != NONE) & (indexes != IN_FLIGHT))
    code = np.full(len(places), tables.process_code(process))
    events = tables.events.pick(code, indexes[places])
    for place, inferred in zip(places.tolist(), _inferred(tables, events), strict=True):
        found[place] = inferred
    return found


def _inferred(tables: Tables, events: Picked) -> list[Any]:
    """Return what is inferred of events; None in a recording that is not derived."""
    if not is_derived(tables.manifest.header_extra):
        return [None] * events.count
    extras = (json.loads(text or "{}") for text in events.texts("extra"))
    return [extra.get("inferred", False) if isinstance(extra, dict) else False for extra in extras]


def _parts(lengths: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each code with the offsets of at most ROWS of its rows."""
    for code, length in enumerate(lengths.tolist()):
        for begin in range(0, length, ROWS):
            yield code, np.arange(begin, min(begin + ROWS, length))
