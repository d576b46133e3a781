"""Weigh the entries of a state by key group, by subtask, and by key, while they are read."""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Any

from snapshots.domain.inventory.entries import NotRead, StateEntry

MOST_KEYS = 50  # heaviest keys of a state that are kept, by each measure
LONGEST_KEY = 1_000  # characters of a key's JSON that are kept

Place = tuple[int | None, int]
"""The key group of an entry and 0, or None and the subtask if the state has no key groups."""


@dataclass(slots=True)
class KeyWeight:
    """What the entries of one key take.

    Attributes:
        key: the JSON of the key. None if it cannot be decoded.
        head: the first bytes of a key that cannot be decoded, in hexadecimal digits.
        key_group: the key group. None if the state has none.
        bytes: the size of the key's entries.
        entries: how many entries the key has, such as timers or windows.
        elements: how many elements the lists and maps in these entries hold; another value counts
            as one. None if a value cannot be decoded.
    """

    key: str | None
    head: str | None
    key_group: int | None
    bytes: int = 0
    entries: int = 0
    elements: int | None = 0

    def add(self, entry: StateEntry) -> None:
        """Add an entry of this key."""
        self.bytes += entry.bytes
        self.entries += 1
        if self.elements is not None:
            self.elements = _plus(self.elements, entry.value)


@dataclass(slots=True)
class Weights:
    """The bytes of one state's entries by place and by key.

    Attributes:
        places: the bytes and the number of entries at each place. All entries are counted.
        keys: the weight of each key among the entries that are kept.
        looked_at: how many entries were added to ``keys``.
    """

    places: dict[Place, list[int]] = field(default_factory=dict)
    keys: dict[bytes | str, KeyWeight] = field(default_factory=dict)
    looked_at: int = 0

    def add(self, entry: StateEntry) -> None:
        """Add an entry to the bytes of its place."""
        place = (None, entry.subtask) if entry.key_group is None else (entry.key_group, 0)
        weight = self.places.setdefault(place, [0, 0])
        weight[0] += entry.bytes
        weight[1] += 1

    def add_key(self, entry: StateEntry, key: bytes | None) -> None:
        """Add an entry to the weight of its key, whose JSON is ``key`` if it can be decoded."""
        self.looked_at += 1
        text = (
            None if key is None else key.decode()
        )  # what writes JSON leaves room behind its bytes
        identity = entry.identity if text is None else text
        if identity not in self.keys:
            head = entry.key.head.hex(" ") if isinstance(entry.key, NotRead) else None
            self.keys[identity] = KeyWeight(text, head, entry.key_group)
        self.keys[identity].add(entry)

    def summary(self) -> dict[str, Any]:
        """Return the bytes by place and the heaviest keys as JSON."""
        return {
            "places": [
                [group, None if group is not None else subtask, *weight]
                for (group, subtask), weight in sorted(self.places.items(), key=_in_order)
            ],
            "keys": len(self.keys),
            "looked_at": self.looked_at,
            "by_bytes": self._heaviest(lambda weight: weight.bytes),
            "by_entries": self._heaviest(lambda weight: weight.entries),
            "by_elements": self._heaviest(lambda weight: weight.elements or 0),
        }

    def _heaviest(self, measure: Callable[[KeyWeight], int]) -> list[dict[str, Any]]:
        return [_key_json(weight) for weight in nlargest(MOST_KEYS, self.keys.values(), measure)]


def _plus(count: int, value: object) -> int | None:
    if isinstance(value, NotRead):
        return None
    return count + (len(value) if isinstance(value, list | dict) else 1)


def _in_order(item: tuple[Place, list[int]]) -> tuple[int, int]:
    (group, subtask), _ = item
    return (-1 if group is None else group, subtask)


def _key_json(weight: KeyWeight) -> dict[str, Any]:
    key = weight.key
    return {
        "key": None if key is None else key[:LONGEST_KEY],
        "characters": None if key is None else len(key),
        "head": weight.head,
        "key_group": weight.key_group,
        "bytes": weight.bytes,
        "entries": weight.entries,
        "elements": weight.elements,
    }
