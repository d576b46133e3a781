"""Answer whose the bytes of a checkpoint are: by operator, state, key group and key."""

from collections.abc import Iterator
from typing import Any

from snapshots.answers import inventory
from snapshots.answers.inventory_difference import previous
from snapshots.domain.inventory.byte_shares import (
    CheckpointBytes,
    OperatorBytes,
    StateBytes,
    Weighed,
    byte_shares,
)
from snapshots.domain.inventory.model import COORDINATOR
from snapshots.domain.inventory.series import Pair
from snapshots.store.inventory.reading import StoredInventory, as_checkpoint

STORED, ENTRIES = "stored", "entries"  # what a row of the table counts
HEAD = (
    *("counts", "operator id", "operator", "part or state", "key group", "subtask"),
    *("bytes", "bytes before", "new bytes", "entries"),
)
"""The columns of the table."""

Row = tuple[str | int | None, ...]


def bytes_of(opened: StoredInventory, number: int) -> CheckpointBytes:
    """Return whose the bytes of a checkpoint are, beside those of the one before it.

    Raises: NotFound.
    """
    now = _weighed(opened, number)
    earlier = previous(opened, number, of_same_job=True)
    before = None if earlier is None else _weighed(opened, earlier)
    return byte_shares(now, before)


def _weighed(opened: StoredInventory, number: int) -> Weighed:
    held = inventory.checkpoint(opened, number)
    return Weighed(as_checkpoint(held), opened.weights(number))


def table(shares: CheckpointBytes) -> Iterator[Row]:
    """Yield the rows of the table: a part of an operator, or a place of a state.

    A state whose places are not known has one row. What is not known is None.
    """
    for operator in shares.operators:
        owner = (operator.operator, operator.name)
        if not operator.parts and operator.bytes.after != 0:
            yield (STORED, *owner, None, None, None, *_sizes(operator.bytes), operator.new, None)
        for part in operator.parts:
            yield (STORED, *owner, part.name, None, None, part.bytes, None, part.new, None)
        for state in operator.states:
            yield from _rows(owner, state)


def _rows(owner: tuple[str, str | None], state: StateBytes) -> Iterator[Row]:
    if not state.places:
        yield (ENTRIES, *owner, state.name, None, None, *_sizes(state.bytes), None, state.entries)
    for item in state.places:
        place = (item.key_group, item.subtask)
        yield (ENTRIES, *owner, state.name, *place, *_sizes(item.bytes), None, item.entries)


def _sizes(pair: Pair) -> tuple[int | None, int | None]:
    return pair.after, pair.before


def place_name(key_group: int | None, subtask: int | None, engine: str) -> str:
    """Return the name of a place for people; Spark calls its subtasks partitions."""
    if key_group is not None:
        return f"key group {key_group}"
    if subtask == COORDINATOR:
        return "coordinator"
    return f"{'partition' if engine == 'spark' else 'subtask'} {subtask}"


def sectors(shares: CheckpointBytes, most: int, engine: str) -> dict[str, Any]:
    """Return both maps as Plotly's treemaps take them, with at most ``most`` places of states.

    ``hidden`` says how many places are not in the map because there are too many.
    """
    entries = _Sectors("entries", engine)
    stored = _Sectors("stored", engine)
    left = most
    hidden = 0
    for operator in shares.operators:
        name = operator.name or operator.operator
        stored.operator(operator, name)
        places = sum(len(state.places) for state in operator.states)
        shown = places <= left
        left -= places if shown else 0
        hidden += 0 if shown else places
        entries.states(operator, name, with_places=shown)
    return {"stored": stored.columns(), "entries": entries.columns(), "hidden": hidden}


class _Sectors:
    """Collects the sectors of a map, each with its parent, its size and what it is."""

    def __init__(self, root: str, engine: str) -> None:
        self._root = root
        self._engine = engine
        self._rows: list[tuple[str, str, str, int, str, int | None]] = []

    def operator(self, operator: OperatorBytes, name: str) -> None:
        """Add an operator with its parts, and each part divided into new and taken over."""
        if not operator.bytes.after:
            return
        id_ = operator.operator
        self._add(id_, name, self._root, operator.bytes.after, "operator", operator.bytes.before)
        for part in operator.parts:
            part_id = f"{id_}/{part.name}"
            kind = "unknown" if part.new is None else "new" if part.new == part.bytes else "part"
            self._add(part_id, part.name, id_, part.bytes, kind, None)
            if part.new is not None and part.new < part.bytes:
                self._add(f"{part_id}/new", "new", part_id, part.new, "new", None)
                old = part.bytes - part.new
                self._add(f"{part_id}/old", "taken over", part_id, old, "old", None)

    def states(self, operator: OperatorBytes, name: str, *, with_places: bool) -> None:
        """Add an operator with the entries of its states by key group or subtask."""
        if not operator.entry_bytes:
            return
        id_ = operator.operator
        before = [state.bytes.before for state in operator.states]
        then = None if None in before else sum(size or 0 for size in before)
        self._add(id_, name, self._root, operator.entry_bytes, "operator", then)
        for place, state in enumerate(operator.states):
            state_id = f"{id_}/{place}"
            size = state.bytes
            self._add(state_id, state.name or "not known", id_, size.after, "state", size.before)
            for item in state.places if with_places else ():
                group, subtask, pair = item.key_group, item.subtask, item.bytes
                title = place_name(group, subtask, self._engine)
                own = f"{state_id}/{group}/{subtask}"
                self._add(own, title, state_id, pair.after, "place", pair.before)

    def _add(
        self, id_: str, name: str, parent: str, size: int | None, kind: str, before: int | None
    ) -> None:
        if size:
            self._rows.append((id_, name, parent, size, kind, before))

    def columns(self) -> dict[str, list[Any]]:
        """Return a list for each field of the sectors."""
        names = ("ids", "labels", "parents", "values", "kinds", "before")
        columns = zip(*self._rows, strict=True) if self._rows else ((),) * len(names)
        return {name: list(column) for name, column in zip(names, columns, strict=True)}
