"""Keep further fields of a header in a table of names and JSON texts, if the manifest lacks room.

The whole manifest is read when a recording is opened. A header may bring 16 MiB of fields that
mean nothing here, so they lie in a file beside it, and a value is parsed when it is needed.
"""

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from snapshots.store.errors import StoreDamaged
from snapshots.store.layout import HEADER_FIELDS, HEADER_FIELDS_COLUMNS
from snapshots.store.pages import map_file

INLINE = 2**16  # characters of names and JSON that the manifest itself can hold


class HeaderFields(Mapping[str, Any]):
    """The fields by name. Safe for threads; each value is parsed once."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._names, self._texts = batch.column("name"), batch.column("value")
        self._values: dict[str, Any] = {}

    @classmethod
    def open(cls, folder: Path) -> "HeaderFields":
        """Map the table in the folder of a recording. Raises: StoreDamaged."""
        try:
            reader = pa.ipc.open_file(pa.py_buffer(map_file(folder / HEADER_FIELDS)))
            if reader.schema != HEADER_FIELDS_COLUMNS or reader.num_record_batches != 1:
                raise pa.ArrowInvalid("it has other columns")
            return cls(reader.get_batch(0))
        except (OSError, ValueError) as error:
            raise StoreDamaged(
                HEADER_FIELDS, f"It cannot be read ({error}).", "Was it deleted or cut short?"
            ) from error

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            row = self._row(name)
            if row is None:
                raise KeyError(name)
            self._values[name] = json.loads(self._texts[row].as_py())
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._row(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names.to_pylist())

    def __len__(self) -> int:
        return len(self._names)

    def _row(self, name: str) -> int | None:
        """Find the row of a name by binary search; None if there is no such field."""
        row = bisect_left(range(len(self)), name, key=self._name)
        return row if row < len(self) and self._name(row) == name else None

    def _name(self, row: int) -> str:
        return self._names[row].as_py()


def table_of(fields: Mapping[str, Any]) -> pa.Table | None:
    """Return the table to write beside the manifest; None if the manifest can hold the fields."""
    names = sorted(fields)
    texts = [_text(fields[name]) for name in names]
    if sum(map(len, names)) + sum(map(len, texts)) <= INLINE:
        return None
    return pa.table({"name": names, "value": texts}, HEADER_FIELDS_COLUMNS)


def _text(value: Any) -> str:
    """Return the JSON of a value, with orjson unless it has a whole number beyond 64 bits."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False)
