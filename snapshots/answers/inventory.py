"""Answer questions of pages and API about what the checkpoints of an upload hold."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from snapshots.access import require_ready
from snapshots.domain.inventory.model import WHOLE
from snapshots.files import recordings
from snapshots.models import Recording
from snapshots.problems import Invalid, NotFound
from snapshots.readers.engines.flink.channels.elements import (
    NO_TIME,
    RECORD,
    Element,
    Elements,
    printable_runs,
    split,
)
from snapshots.readers.engines.flink.checkpoint_state import types_described
from snapshots.readers.engines.flink.types.element_types import UnknownType, decoded, parse_type
from snapshots.readers.engines.flink.types.type_suggestions import is_named, suggest
from snapshots.readers.engines.flink.types.values import Serializer
from snapshots.readers.formats.cursor import Malformed
from snapshots.store.inventory.reading import StoredInventory

SHOWN_BYTES = 64  # of each value that cannot be decoded, in a list


def opened(recording: Recording) -> StoredInventory:
    """Open the inventory of a recording.

    Raises: Conflict unless the recording is ready, NotFound if no engine wrote it.
    """
    require_ready(recording)
    inventory = StoredInventory(recordings.store().folder(recording.store))
    if not inventory.exists:
        raise NotFound(
            f"“{recording.name}” is a log and not an engine's files, so it holds no state."
        )
    return inventory


def checkpoint(inventory: StoredInventory, number: int) -> dict[str, Any]:
    """Return one checkpoint of an upload. Raises: NotFound."""
    try:
        return inventory.checkpoint(number)
    except KeyError:
        count = len(inventory.upload["checkpoints"])
        raise NotFound(
            f"There is no checkpoint {number}: the upload has 0 to {count - 1}."
        ) from None


def entries(
    inventory: StoredInventory,
    number: int,
    operator: str,
    state: str,
    *,
    containing: str = "",
    offset: int = 0,
    limit: int = 100,
) -> dict[str, Any]:
    """Return one page of a state's entries. Raises: NotFound."""
    held = checkpoint(inventory, number)
    try:
        page = inventory.entries(
            held, operator, state, containing=containing, offset=offset, limit=limit
        )
    except KeyError:
        raise NotFound(f"Checkpoint {held['id']} has no such state in that operator.") from None
    return {"items": [entry(row) for row in page.rows], "total": page.total}


def entry(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the entries as JSON.

    What cannot be decoded has ``head`` in hex and ``reason``.
    """
    decoded_fields = {
        name: None if row[name] is None else orjson.Fragment(row[name])
        for name in ("namespace", "key", "value")
    }
    head = row["head"]
    return {
        "subtask": row["subtask"],
        "key_group": row["key_group"],
        **decoded_fields,
        "bytes": row["bytes"],
        "reason": row["reason"],
        "head": None if head is None else head[:SHOWN_BYTES].hex(" "),
    }


def channel(
    inventory: StoredInventory,
    number: int,
    place: int,
    *,
    type_name: str = "",
    offset: int = 0,
    limit: int = 100,
) -> dict[str, Any]:
    """Return the in-flight data of a channel by element, with records decoded as ``type_name``.

    The type is spelt out, or is the name of a type in the checkpoint's states.
    Raises: NotFound. Invalid for an unknown type, or one that some record does not have.
    """
    held = checkpoint(inventory, number)
    own = next((item for item in held["channels"] if item["number"] == place), None)
    if own is None:
        raise NotFound(f"Checkpoint {held['id']} has no channel {place} with data in flight.")
    data = inventory.channel(number, place)
    known_types = _known_types(inventory.store, number)
    type_ = _type(type_name, known_types)
    elements, reason = _elements(data, own)
    suggested = [] if elements is None else list(_suggested(inventory.store, number, place))
    described = [name for name in suggested if name in known_types and is_named(name)]
    if elements is not None and type_ is not None:
        _require_fit(elements, type_)
    shown: list[Element] = []
    if elements is not None:
        end = min(offset + limit, len(elements))
        shown = [elements[index] for index in range(offset, end)]
    return {
        **own,
        "total": None if elements is None else len(elements),
        "items": [_element(item, type_, data) for item in shown],
        "type": type_name or None,
        "suggested": suggested,
        "described": described,
        "reason": reason,
        "head": data[:SHOWN_BYTES].hex(" "),
        "texts": [text for _, text in printable_runs(data, most=20)],
    }


@lru_cache(maxsize=1_000)
def _suggested(store: Path, number: int, place: int) -> tuple[str, ...]:
    """Return the types that fit all records of a channel, cached for every page of the records."""
    data = StoredInventory(store).channel(number, place)
    return tuple(suggest([split(data)], _known_types(store, number)))


@lru_cache(maxsize=10)
def _known_types(store: Path, number: int) -> Mapping[str, Serializer]:
    return types_described(StoredInventory(store).state_types(number))


def _type(name: str, known: Mapping[str, Serializer]) -> Serializer | None:
    if not name:
        return None
    try:
        return parse_type(name, known)
    except UnknownType as unknown:
        raise Invalid(str(unknown), field="type") from None


def _elements(data: bytes, own: Mapping[str, Any]) -> tuple[Elements | None, str | None]:
    """Return the elements of a whole channel, or None and the reason if they are not readable."""
    if own["part"] != WHOLE:
        return None, own["reason"]
    try:
        return split(data), None
    except Malformed as malformed:
        return None, f"The records cannot be separated: {malformed}."


def _require_fit(elements: Elements, type_: Serializer) -> None:
    """Check that every record has the type, to its last byte. Raises: Invalid."""
    for item in elements:
        if item.kind == RECORD:
            try:
                decoded(item, type_)
            except Malformed as malformed:
                raise Invalid(
                    f"Not every record is a {type_.name}: the one at byte {item.offset} is not "
                    f"({malformed}).",
                    field="type",
                ) from None


def _element(item: Element, type_: Serializer | None, data: bytes) -> dict[str, Any]:
    is_typed = item.kind == RECORD
    return {
        "kind": item.kind,
        "offset": item.offset,
        "bytes": item.size,
        "timestamp": None if item.timestamp == NO_TIME else item.timestamp,
        "value": decoded(item, type_) if type_ is not None and is_typed else None,
        "details": item.details,
        "head": data[item.offset : item.offset + min(SHOWN_BYTES, item.size)].hex(" "),
    }
