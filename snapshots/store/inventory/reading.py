"""Read the inventory of an engine's checkpoints as ``writing`` wrote it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
from pydantic import TypeAdapter

from snapshots.domain.answering.job_report import JobReport
from snapshots.domain.answering.upload_summary import UploadSummary
from snapshots.domain.inventory.model import BROADCAST, LISTED, RAW, UNION, CheckpointInventory
from snapshots.domain.inventory.operator_plan import StoredKey, StoredSizes
from snapshots.domain.inventory.restore_check import Completeness
from snapshots.domain.model.topology import JsonText
from snapshots.store.errors import OfAnotherVersion, StoreDamaged
from snapshots.store.inventory.differences import ANY, Comparison, Side, Wanted, compare, side
from snapshots.store.inventory.differences import containing as containing_rows
from snapshots.store.inventory.layout import (
    CHANNEL_BYTES,
    CHANNEL_COLUMNS,
    CHECK,
    CHECK_OF,
    CHECKPOINT,
    CONTENTS,
    ENTRIES,
    ENTRY_COLUMNS,
    REPORTS,
    TYPE_COLUMNS,
    TYPES,
    UPLOAD,
    VERSION,
    WEIGHTS,
)
from snapshots.store.objects.paths import know_catalogue
from snapshots.store.pages import map_file

_OF_OPERATOR = (LISTED, UNION, BROADCAST, RAW)
_WITHOUT_KEYS = (*_OF_OPERATOR, "coordinator")
_CHECKPOINT = TypeAdapter(CheckpointInventory)
_COMPLETENESS = TypeAdapter(Completeness)
_REPORTS = TypeAdapter(tuple[JobReport, ...])
_SUMMARY = TypeAdapter(UploadSummary)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the entries of a state.

    Attributes:
        rows: rows of ENTRY_COLUMNS without identity and digest.
        total: the number of entries on all pages.
    """

    rows: list[dict[str, Any]]
    total: int


class StoredInventory:
    """The inventory in a recording's folder. Its methods raise StoreDamaged."""

    def __init__(self, folder: Path) -> None:
        know_catalogue(folder)
        self.store = folder
        self.folder = folder / CONTENTS

    @property
    def exists(self) -> bool:
        """Tell whether the recording was made from an engine's upload."""
        return (self.folder / UPLOAD).exists()

    @cached_property
    def upload(self) -> dict[str, Any]:
        """Return the UploadInventory as JSON, with what a list shows of each checkpoint."""
        upload = self._json(UPLOAD)
        version = upload.pop("version", None) if isinstance(upload, dict) else None
        if version != VERSION:
            raise OfAnotherVersion.of_layout(f"{CONTENTS}/{UPLOAD}", version, (VERSION,))
        return upload

    @cached_property
    def summary(self) -> UploadSummary:
        """Return what a first answer needs of every checkpoint."""
        return replace(_SUMMARY.validate_python(self.upload), completeness=self.completeness)

    @cached_property
    def completeness(self) -> dict[int, Completeness]:
        """Return by number whether all is there that a restore reads; none in older stores."""
        if not self.has_check:
            return {}
        return {
            check["number"]: _COMPLETENESS.validate_python(check)
            for check in self.restore_check()["checks"]
            if check["number"] is not None
        }

    @cached_property
    def reports(self) -> tuple[JobReport, ...] | None:
        """Return what the engine said of its jobs; None in a store that an older release wrote."""
        if not (self.folder / REPORTS).exists():
            return None
        return _REPORTS.validate_python(self._json(REPORTS))

    def checkpoint(self, number: int) -> dict[str, Any]:
        """Return a CheckpointInventory as JSON. Raises: KeyError."""
        if not 0 <= number < len(self.upload["checkpoints"]):
            raise KeyError(number)
        return self._json(CHECKPOINT.format(number))

    def weights(self, number: int) -> dict[str, dict[str, Any]] | None:
        """Return the weights of a checkpoint's entries by operator and state.

        They are None if an older release stored the inventory, for it did not weigh the entries.
        """
        name = WEIGHTS.format(number)
        return self._json(name) if (self.folder / name).exists() else None

    @property
    def has_check(self) -> bool:
        """Tell whether the inventory says of its checkpoints whether everything is there."""
        return (self.folder / CHECK).exists()

    def restore_check(self) -> dict[str, Any]:
        """Return the UploadCheck as JSON, with only the answers of its checks."""
        return self._check(CHECK)

    def restore_check_of(self, number: int) -> dict[str, Any]:
        """Return the RestoreCheck of one checkpoint as JSON. Raises: KeyError."""
        if not 0 <= number < len(self.upload["checkpoints"]):
            raise KeyError(number)
        return self._check(CHECK_OF.format(number))

    def _check(self, name: str) -> dict[str, Any]:
        if not self.has_check:
            raise OfAnotherVersion(
                f"{CONTENTS}/{CHECK}",
                "That version did not check whether everything is there that a restore reads.",
            )
        return self._json(name)

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
        """Return a page of the entries of one state.

        ``containing`` is a text in their key, namespace or value, whatever its case.
        Raises: KeyError if there is no such state.
        """
        if all(item["name"] != state for item in states_of(checkpoint, operator)):
            raise KeyError(state)
        rows = self._rows(checkpoint, operator, state)
        if containing:
            rows = rows.filter(containing_rows(rows, containing))
        shown = rows.slice(offset, limit).drop_columns(["identity", "digest"])
        return Page(shown.to_pylist(), rows.num_rows)

    def sizes(self, checkpoint: dict[str, Any]) -> dict[str, StoredSizes]:
        """Return the sizes of each operator's state as far as its entries show them."""
        return {
            operator["id"]: StoredSizes(
                self._key_group_bytes(checkpoint, operator),
                self._elements(checkpoint, operator),
                self._heaviest_keys(checkpoint, operator),
            )
            for operator in checkpoint["operators"]
        }

    def _key_group_bytes(
        self, checkpoint: dict[str, Any], operator: dict[str, Any]
    ) -> dict[int, int] | None:
        """Return the bytes per key group.

        It is None if not all entries are kept, or if no keyed state is known.
        """
        states = [state for state in operator["states"] if state["kind"] not in _WITHOUT_KEYS]
        if not states or not all(map(_is_whole, states)):
            return None
        sizes: dict[int, int] = {}
        for state in states:
            rows = self._rows(checkpoint, operator["id"], state["name"])
            grouped = rows.select(["key_group", "bytes"]).group_by("key_group")
            for row in grouped.aggregate([("bytes", "sum")]).to_pylist():
                if row["key_group"] is None:
                    return None
                sizes[row["key_group"]] = sizes.get(row["key_group"], 0) + row["bytes_sum"]
        return sizes

    def _heaviest_keys(
        self, checkpoint: dict[str, Any], operator: dict[str, Any], most: int = 5
    ) -> tuple[StoredKey, ...]:
        """Return the keys with the most bytes; none if not all entries or keys are known."""
        states = [state for state in operator["states"] if state["kind"] not in _WITHOUT_KEYS]
        if not states or not all(map(_is_whole, states)):
            return ()
        columns = ["key", "key_group", "bytes"]
        tables = [
            self._rows(checkpoint, operator["id"], state["name"]).select(columns)
            for state in states
        ]
        rows = pa.concat_tables(tables)
        if rows["key"].null_count or rows["key_group"].null_count:
            return ()
        sums = rows.group_by(["key", "key_group"]).aggregate([("bytes", "sum"), ("bytes", "count")])
        order = [("bytes_sum", "descending"), ("key_group", "ascending"), ("key", "ascending")]
        return tuple(
            StoredKey(JsonText(row["key"]), row["key_group"], row["bytes_sum"], row["bytes_count"])
            for row in sums.sort_by(order).slice(0, most).to_pylist()
        )

    def _elements(
        self, checkpoint: dict[str, Any], operator: dict[str, Any]
    ) -> dict[str, list[tuple[int, int]]]:
        """Return (subtask, bytes) of each element in each operator state that is kept whole."""
        elements = {}
        for state in operator["states"]:
            if state["kind"] in _OF_OPERATOR and _is_whole(state):
                rows = self._rows(checkpoint, operator["id"], state["name"])
                columns = (rows[name].to_pylist() for name in ("subtask", "bytes"))
                elements[state["name"]] = list(zip(*columns, strict=True))
        return elements

    def compare(
        self,
        before: dict[str, Any],
        after: dict[str, Any],
        operator: str,
        state: str | None,
        wanted: Wanted = ANY,
    ) -> Comparison:
        """Compare one state in two checkpoints.

        A checkpoint without this state counts as one in which it is empty.
        Raises: TooManyEntries.
        """
        earlier, later = (self.side(held, operator, state) for held in (before, after))
        return compare(earlier, later, wanted)

    def side(self, checkpoint: dict[str, Any], operator: str, state: str | None) -> Side:
        """Return one state of a checkpoint as a side of a comparison."""
        return side(checkpoint, operator, state, self._rows(checkpoint, operator, state))

    def channel(self, checkpoint: int, number: int) -> bytes:
        """Return the data in flight of a channel. Raises: KeyError."""
        for batch in self._batches(CHANNEL_BYTES, CHANNEL_COLUMNS):
            if (batch["checkpoint"][0].as_py(), batch["number"][0].as_py()) == (checkpoint, number):
                return batch["data"][0].as_py()
        raise KeyError(number)

    def state_types(self, checkpoint: int) -> list[bytes]:
        """Return the descriptions of types in the engine's files."""
        return [
            batch["data"][0].as_py()
            for batch in self._batches(TYPES, TYPE_COLUMNS)
            if batch["checkpoint"][0].as_py() == checkpoint
        ]

    def _rows(self, checkpoint: dict[str, Any], operator: str, state: str | None) -> pa.Table:
        """Return the entries of one state; none if the checkpoint lacks it."""
        first, count = checkpoint["index"].get(operator, {}).get(state, (0, 0))
        file = self._file(ENTRIES, ENTRY_COLUMNS)
        batches = [file.get_batch(number) for number in range(first, first + count)]
        return pa.Table.from_batches(batches, ENTRY_COLUMNS)

    def _batches(self, name: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        file = self._file(name, schema)
        return map(file.get_batch, range(file.num_record_batches))

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


def states_of(checkpoint: Mapping[str, Any], operator: str) -> list[dict[str, Any]]:
    """Return the states of one operator; none if the checkpoint lacks the operator."""
    owners = (owner for owner in checkpoint["operators"] if owner["id"] == operator)
    return [state for owner in owners for state in owner["states"]]


def _is_whole(state: Mapping[str, Any]) -> bool:
    """Tell whether all entries of a state are known and kept."""
    return state["complete"] and state["stored"] == state["entries"]


def as_checkpoint(body: Mapping[str, Any]) -> CheckpointInventory:
    """Return the checkpoint that a checkpoint's document describes."""
    return _CHECKPOINT.validate_python(body)


def _damaged(name: str, error: object) -> StoreDamaged:
    return StoreDamaged(
        f"{CONTENTS}/{name}", f"It cannot be read ({error}).", "Was it changed? Upload once more."
    )
