"""Write a table as CSV, JSON or Parquet, a batch of rows at a time."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from snapshots.web.csv import harmless
from snapshots.web.json import dumps
from snapshots.web.tables.model import MOMENT, NUMBER, TEXT, TRUTH, VALUE, WHOLE, Column

ROWS_OF_A_BATCH = 5_000

Row = Sequence[Any]


@dataclass(frozen=True)
class Head:
    """What a file says of its table before the rows.

    Attributes:
        table: the name of the table.
        title: what it shows.
        address: the address of the page.
        left_out: how many rows are only counted, and not in the file.
        columns: the columns, whose units are texts.
        derived: that the log was derived, as a sentence; empty if it was not.
    """

    table: str
    title: str
    address: str
    left_out: int
    columns: Sequence[Column]
    derived: str = ""

    def facts(self) -> dict[str, str | int]:
        facts: dict[str, str | int] = {
            "table": self.table,
            "title": self.title,
            "address": self.address,
            "left_out": self.left_out,
        }
        return facts | ({"derived": self.derived} if self.derived else {})


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, ROWS_OF_A_BATCH)):
        yield batch


# --- JSON ---------------------------------------------------------------------------------------


def as_json(head: Head, rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield an object with the facts, the columns, and ``rows`` with an object for each row."""
    columns = [
        {"name": column.name, "kind": column.kind, "unit": column.unit or None}
        for column in head.columns
    ]
    yield dumps(head.facts() | {"columns": columns})[:-1] + b',"rows":['
    names = [column.name for column in head.columns]
    comma = b""
    for batch in _batches(rows):
        lines = (dumps(dict(zip(names, row, strict=True))) for row in batch)
        yield comma + b",\n".join(lines)
        comma = b",\n"
    yield b"]}\n"


# --- CSV ----------------------------------------------------------------------------------------

_TYPES_OF_CSV = {WHOLE: pa.int64(), NUMBER: pa.float64(), TRUTH: pa.bool_()}


def as_csv(head: Head, rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield a line with the names of the columns, then one for each row.

    Texts are in quotes, so that an empty text is not taken for a value that is not known.
    """
    types = [_TYPES_OF_CSV.get(column.kind, pa.string()) for column in head.columns]
    names = [str(harmless(_titled(column))) for column in head.columns]
    schema = pa.schema(list(zip(names, types, strict=True)))
    yield _csv(schema.empty_table(), with_names=True)
    for batch in _batches(rows):
        yield _csv(_table(schema, head.columns, batch, _cell_of_csv), with_names=False)


def _titled(column: Column) -> str:
    return f"{column.name} ({column.unit})" if column.unit else column.name


def _csv(table: pa.Table, *, with_names: bool) -> bytes:
    buffer = io.BytesIO()
    pa.csv.write_csv(table, buffer, pa.csv.WriteOptions(include_header=with_names))
    return buffer.getvalue()


def _cell_of_csv(kind: str, value: Any) -> Any:
    if kind == MOMENT:
        return value.isoformat()
    if kind == VALUE and isinstance(value, int | float):
        return dumps(value).decode()
    return harmless(_cell(kind, value)) if kind in (TEXT, VALUE) else _cell(kind, value)


# --- Parquet ------------------------------------------------------------------------------------

_TYPES = _TYPES_OF_CSV | {MOMENT: pa.timestamp("us", tz="UTC")}


def as_parquet(head: Head, rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield the parts of a file whose columns have ``kind`` and ``unit`` as metadata."""
    fields = [
        pa.field(
            column.name,
            _TYPES.get(column.kind, pa.string()),
            metadata={"kind": column.kind, "unit": str(column.unit)},
        )
        for column in head.columns
    ]
    schema = pa.schema(fields, metadata={name: str(fact) for name, fact in head.facts().items()})
    parts = _Parts()
    with pa.parquet.ParquetWriter(pa.PythonFile(parts, mode="w"), schema) as writer:
        for batch in _batches(rows):
            writer.write_table(_table(schema, head.columns, batch, _cell))
            yield parts.taken()
    yield parts.taken()


class _Parts(io.RawIOBase):
    """A file that only grows, and whose new part can be taken away."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._position += len(part)
        return len(part)

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        """Stay open: the last part is taken after the writer has closed the file."""

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _cell(kind: str, value: Any) -> Any:
    return dumps(value).decode() if kind == VALUE else value


def _table(
    schema: pa.Schema,
    columns: Sequence[Column],
    rows: Sequence[Row],
    cell: Callable[[str, Any], Any],
) -> pa.Table:
    arrays = []
    for number, (column, field) in enumerate(zip(columns, schema, strict=True)):
        values = [None if row[number] is None else cell(column.kind, row[number]) for row in rows]
        arrays.append(pa.array(values, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


@dataclass(frozen=True)
class Format:
    """A format of files.

    Attributes:
        title: the word in the menu.
        media_type: the type of the answer.
        write: what yields the bytes of a file.
    """

    title: str
    media_type: str
    write: Callable[[Head, Iterable[Row]], Iterator[bytes]]


FORMATS: Mapping[str, Format] = {
    "csv": Format("CSV", "text/csv; charset=utf-8", as_csv),
    "json": Format("JSON", "application/json", as_json),
    "parquet": Format("Parquet", "application/vnd.apache.parquet", as_parquet),
}
