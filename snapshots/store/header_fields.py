"""Further fields of a header that are too many for the manifest: a table of names and JSON texts.

Whoever opens a recording reads its manifest whole. A header may bring 16 MiB of fields that mean
nothing here, so those stand beside it, and a value is parsed when somebody asks for it.
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

INLINE = 2**16  # characters of JSON that the manifest holds itself


class HeaderFields(Mapping[str, Any]):
    """The fields by name. Safe for threads; remembers the values that were asked for."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._names, self._texts = batch.column("name"), batch.column("value")
        self._values: dict[str, Any] = {}

    @classmethod
    def open(cls, folder: Path) -> "HeaderFields":
        """Map the table in a recording's folder. Raises: StoreDamaged."""
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
        """The row of a name, by binary search."""
        row = bisect_left(range(len(self)), name, key=self._name)
        return row if row < len(self) and self._name(row) == name else None

    def _name(self, row: int) -> str:
        return self._names[row].as_py()


def table_of(fields: Mapping[str, Any]) -> pa.Table | None:
    """The table to write beside the manifest; None where the manifest can hold the fields."""
    names = sorted(fields)
    texts = [_text(fields[name]) for name in names]
    if sum(map(len, names)) + sum(map(len, texts)) <= INLINE:
        return None
    return pa.table({"name": names, "value": texts}, HEADER_FIELDS_COLUMNS)


def _text(value: Any) -> str:
    """The JSON of a value. orjson is quick and knows no whole number beyond 64 bits."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False)
