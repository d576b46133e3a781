"""Questions to the contents of an engine's checkpoints, as ``contents_writer`` has written them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.inventory.batches import PlannedBatch, PlannedSource, WrittenState
from snapshots.domain.inventory.model import (
    BROADCAST,
    LISTED,
    RAW,
    UNION,
    ChannelContents,
    CheckpointInventory,
    Fact,
    MissingFile,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
)
from snapshots.domain.inventory.operator_plan import StoredSizes
from snapshots.store.errors import StoreDamaged
from snapshots.store.inventory.differences import Comparison, compare, side
from snapshots.store.inventory.layout import (
    CHANNEL_BYTES,
    CHANNEL_COLUMNS,
    CHECKPOINT,
    CONTENTS,
    ENTRIES,
    ENTRY_COLUMNS,
    TYPE_COLUMNS,
    TYPES,
    UPLOAD,
    VERSION,
)
from snapshots.store.pages import map_file

_OF_OPERATOR = (LISTED, UNION, BROADCAST, RAW)
_WITHOUT_KEYS = (*_OF_OPERATOR, "coordinator")


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of ENTRY_COLUMNS as dicts, and how many there are in all."""

    rows: list[dict[str, Any]]
    total: int


class StoredInventory:
    """The contents in a store's folder. Raises: StoreDamaged, also by its methods."""

    def __init__(self, folder: Path) -> None:
        self.store = folder
        self.folder = folder / CONTENTS

    @property
    def exists(self) -> bool:
        """Tell whether the recording was made from an engine's upload."""
        return (self.folder / UPLOAD).exists()

    @cached_property
    def upload(self) -> dict[str, Any]:
        """UploadInventory; of each checkpoint what a list shows."""
        found = self._json(UPLOAD)
        version = found.pop("version", None) if isinstance(found, dict) else None
        if version != VERSION:
            raise StoreDamaged(
                f"{CONTENTS}/{UPLOAD}",
                f"It says version {version!r}, not {VERSION}.",
                "It was written by another release.",
            )
        return found

    def checkpoint(self, number: int) -> dict[str, Any]:
        """CheckpointInventory. Raises: KeyError."""
        if not 0 <= number < len(self.upload["checkpoints"]):
            raise KeyError(number)
        return self._json(CHECKPOINT.format(number))

    def entries(
        self,
        checkpoint: dict[str, Any],
        operator: str,
        state: str,
        *,
        containing: str = "",
        offset: int = 0,
        limit: int = 100,
    ) -> Page:
        """Entries of one state. containing: text in key, namespace or value, whatever its case.

        Raises: KeyError where there is no such state.
        """
        rows = self._rows(checkpoint, operator, state)
        if containing:
            rows = rows.filter(_holding(rows, containing))
        shown = rows.slice(offset, limit).drop_columns(["identity", "digest"])
        return Page(shown.to_pylist(), rows.num_rows)

    def sizes(self, checkpoint: dict[str, Any]) -> dict[str, StoredSizes]:
        """What the entries tell of the bytes of each operator's state."""
        return {
            operator["id"]: StoredSizes(
                self._key_group_bytes(checkpoint, operator), self._elements(checkpoint, operator)
            )
            for operator in checkpoint["operators"]
        }

    def _key_group_bytes(
        self, checkpoint: dict[str, Any], operator: dict[str, Any]
    ) -> dict[int, int] | None:
        """None where not all entries are kept, or no keyed state is known."""
        states = [one for one in operator["states"] if one["kind"] not in _WITHOUT_KEYS]
        if not states or not all(map(_is_whole, states)):
            return None
        sizes: dict[int, int] = {}
        for state in states:
            rows = self._rows_or_none(checkpoint, operator["id"], state["name"])
            grouped = rows.select(["key_group", "bytes"]).group_by("key_group")
            for row in grouped.aggregate([("bytes", "sum")]).to_pylist():
                if row["key_group"] is None:
                    return None
                sizes[row["key_group"]] = sizes.get(row["key_group"], 0) + row["bytes_sum"]
        return sizes

    def _elements(
        self, checkpoint: dict[str, Any], operator: dict[str, Any]
    ) -> dict[str, list[tuple[int, int]]]:
        """Subtask and bytes of each element, of the operator's own states that are all kept."""
        found = {}
        for state in operator["states"]:
            if state["kind"] in _OF_OPERATOR and _is_whole(state):
                rows = self._rows_or_none(checkpoint, operator["id"], state["name"])
                columns = (rows[name].to_pylist() for name in ("subtask", "bytes"))
                found[state["name"]] = list(zip(*columns, strict=True))
        return found

    def compare(
        self,
        before: dict[str, Any],
        after: dict[str, Any],
        operator: str,
        state: str,
        most: int = 50,
    ) -> Comparison:
        """One state in two checkpoints; one that a checkpoint lacks is empty there.

        most: examples of each kind.
        """
        one, other = (
            side(item, operator, state, self._rows_or_none(item, operator, state))
            for item in (before, after)
        )
        return compare(one, other, most)

    def channel(self, checkpoint: int, number: int) -> bytes:
        """The data in flight of a channel. Raises: KeyError."""
        file = self._file(CHANNEL_BYTES, CHANNEL_COLUMNS)
        for place in range(file.num_record_batches):
            batch = file.get_batch(place)
            if (batch["checkpoint"][0].as_py(), batch["number"][0].as_py()) == (checkpoint, number):
                return batch["data"][0].as_py()
        raise KeyError(number)

    def state_types(self, checkpoint: int) -> list[bytes]:
        """The descriptions of types that the engine's files have."""
        file = self._file(TYPES, TYPE_COLUMNS)
        batches = (file.get_batch(place) for place in range(file.num_record_batches))
        return [
            batch["data"][0].as_py()
            for batch in batches
            if batch["checkpoint"][0].as_py() == checkpoint
        ]

    def _rows(self, checkpoint: dict[str, Any], operator: str, state: str) -> pa.Table:
        if not any(
            item["name"] == state
            for owner in checkpoint["operators"]
            if owner["id"] == operator
            for item in owner["states"]
        ):
            raise KeyError(state)
        return self._rows_or_none(checkpoint, operator, state)

    def _rows_or_none(self, checkpoint: dict[str, Any], operator: str, state: str) -> pa.Table:
        first, count = checkpoint["index"].get(operator, {}).get(state, (0, 0))
        file = self._file(ENTRIES, ENTRY_COLUMNS)
        batches = [file.get_batch(place) for place in range(first, first + count)]
        return pa.Table.from_batches(batches, ENTRY_COLUMNS)

    def _file(self, name: str, schema: pa.Schema) -> pa.ipc.RecordBatchFileReader:
        try:
            file = pa.ipc.open_file(pa.py_buffer(map_file(self.folder / name)))
        except (OSError, ValueError, pa.ArrowInvalid) as error:
            raise _damaged(name, error) from error
        if file.schema != schema:
            raise _damaged(name, "its columns are not the layout's")
        return file

    def _json(self, name: str) -> Any:
        try:
            return orjson.loads((self.folder / name).read_bytes())
        except (OSError, ValueError) as error:
            raise _damaged(name, error) from error


def _is_whole(state: Mapping[str, Any]) -> bool:
    """Whether all entries of a state are known and kept."""
    return state["complete"] and state["stored"] == state["entries"]


def as_checkpoint(body: Mapping[str, Any]) -> CheckpointInventory:
    """The contents that a checkpoint's document tells of."""
    parts = {
        "operators": _all(_operator, body["operators"]),
        "channels": _all(ChannelContents, body["channels"]),
        "missing": _all(MissingFile, body["missing"]),
        "facts": _all(Fact, body["facts"]),
        "notes": tuple(body["notes"]),
        "planned": _planned(body.get("planned")),
    }
    return CheckpointInventory(**_without(body, "index") | parts)


def _planned(body: Mapping[str, Any] | None) -> PlannedBatch | None:
    if body is None:
        return None
    parts = {
        "sources": tuple(
            PlannedSource(**one | {"files": tuple(one["files"])}) for one in body["sources"]
        ),
        "written": _all(WrittenState, body["written"]),
    }
    return PlannedBatch(**{**body, **parts})


def _operator(**body: Any) -> OperatorInventory:
    parts = {
        "subtasks": _all(_subtask, body["subtasks"]),
        "states": _all(StateInventory, body["states"]),
        "facts": _all(Fact, body["facts"]),
        "notes": tuple(body["notes"]),
    }
    return OperatorInventory(**body | parts)


def _subtask(*, key_groups: list[int] | None, **body: Any) -> SubtaskInventory:
    return SubtaskInventory(**body, key_groups=None if key_groups is None else tuple(key_groups))


def _all(make: Callable[..., Any], items: Iterable[Mapping[str, Any]]) -> tuple[Any, ...]:
    return tuple(make(**item) for item in items)


def _without(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != name}


def _damaged(name: str, error: object) -> StoreDamaged:
    return StoreDamaged(
        f"{CONTENTS}/{name}", f"It cannot be read ({error}).", "Was it changed? Upload once more."
    )


def _holding(rows: pa.Table, text: str) -> pa.ChunkedArray:
    found = None
    for name in ("key", "namespace", "value"):
        here = pc.fill_null(pc.match_substring(rows[name], text, ignore_case=True), False)
        found = here if found is None else pc.or_(found, here)
    return found
