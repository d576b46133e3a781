"""Read the events of a process as a sequence, to compare it with that of another recording."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from snapshots.domain.comparing.runs import Events
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.store.tables import Tables

Names = Mapping[str, Sequence[Any]]
"""The names behind the codes of each column; the code -1, for none, leads to the last."""


def read_events(tables: Tables, most: int) -> Iterator[Events]:
    """Yield the first ``most`` events of each process, in the order of their codes."""
    names: Names = {
        "kind": list(tables.manifest.kinds),
        "channel": [*(channel.id for channel in tables.topology.channels), None],
        "snapshot": [*tables.manifest.snapshots, None],
    }
    for code, total in enumerate(tables.events.length.tolist()):
        yield _events(tables, code, total, min(total, most), names)


def _events(tables: Tables, code: int, total: int, count: int, names: Names) -> Events:
    if not count:
        return Events([], [], total)
    keys = zip(*_columns(tables, code, count, names), strict=True)
    states = tables.events.texts("state", code, 0, count).to_pylist()
    return Events(list(map(_key, keys)), states, total)


def _columns(tables: Tables, code: int, count: int, names: Names) -> list[list[Any]]:
    """Return kind, channel, snapshot, value and label of the first events, with names for codes."""
    events = tables.events
    named = [
        [texts[number] for number in events.run(column, code, 0, count).tolist()]
        for column, texts in names.items()
    ]
    texts = [events.texts(name, code, 0, count).to_pylist() for name in ("value", "label")]
    return [*named, *texts]


def _key(columns: tuple[Any, ...]) -> Hashable:
    """Return what is compared of an event; the labels of messages are words for people."""
    kind, channel, snapshot, value, label = columns
    return kind, channel, snapshot, value, None if kind in (SEND, RECEIVE) else label
