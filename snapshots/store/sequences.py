"""Read the events of a process as a sequence, to compare it with that of another recording."""

from collections.abc import Hashable
from typing import Any

from snapshots.domain.comparing.runs import Events
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.store.tables import Tables


def read_events(tables: Tables, code: int, most: int) -> Events:
    """Return the first ``most`` events of the process with this code."""
    total = int(tables.events.length[code])
    count = min(total, most)
    if not count:
        return Events([], [], total)
    keys = zip(*_columns(tables, code, count), strict=True)
    states = tables.events.texts("state", code).slice(0, count).to_pylist()
    return Events(list(map(_key, keys)), states, total)


def _columns(tables: Tables, code: int, count: int) -> list[list[Any]]:
    """Return kind, channel, snapshot, value and label of the first events, with names for codes."""
    kinds = list(tables.manifest.kinds)
    channels = [*(channel.id for channel in tables.topology.channels), None]
    snapshots = [*tables.manifest.snapshots, None]
    events = tables.events
    named = [
        [names[number] for number in events.run(column, code)[:count].tolist()]
        for column, names in (("kind", kinds), ("channel", channels), ("snapshot", snapshots))
    ]
    texts = [events.texts(name, code).slice(0, count).to_pylist() for name in ("value", "label")]
    return [*named, *texts]


def _key(columns: tuple[Any, ...]) -> Hashable:
    """Return what is compared of an event; the labels of messages are words for people."""
    kind, channel, snapshot, value, label = columns
    return kind, channel, snapshot, value, None if kind in (SEND, RECEIVE) else label
