"""Reads the native format as Parquet: a file, or a folder of parts, with the same column names.

The header is JSON text under the key ``cutline`` of the (first) file's metadata. Lines are rows,
counted from 1 through all parts. String columns are read as dictionaries, so that each distinct
text is checked once.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import (
    MOST_LISTED,
    Defect,
    Defects,
    InputRefused,
    quoted,
    refuse,
)
from snapshots.readers.formats.head import Head
from snapshots.readers.formats.json_lines import object_on
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.numerals import written_out
from snapshots.readers.formats.places import is_file_here
from snapshots.readers.logs.arrow_columns import parse_rows
from snapshots.readers.logs.columns import BATCH_ROWS, RAW
from snapshots.readers.logs.headers import parse_header

METADATA_KEY = b"cutline"
_MAGIC = b"PAR1"
_EXCEPTION = re.compile(r"\b\w*(?:Exception|Error)\b:?\s*")
_DENSE_BYTES = 2**28  # of a batch whose texts are written out in full
_LITTLE_BYTES = 2**22  # of a column of which nobody asks how many bytes it has exactly

_TEXT = "strings"
_COUNT = "whole numbers"
_ID = "strings or whole numbers"
_JSON = "JSON text or numbers"
_IDS = "lists of strings or whole numbers"
_COLUMNS = {
    "process": _TEXT,
    "kind": _TEXT,
    "index": _COUNT,
    "at": _COUNT,
    "channel": _TEXT,
    "message": _ID,
    "value": _JSON,
    "state": _JSON,
    "snapshot": _ID,
    "messages": _IDS,
    "label": _TEXT,
}


@dataclass(frozen=True)
class RowGroup:
    """A part of the input that can be read by itself.

    Attributes:
        group: the number of the group in its file, from 0.
        first_line: the number of its first row in the whole input, from 1.
    """

    path: Path
    group: int
    first_line: int
    rows: int


class ParquetReader:
    """Reads Parquet with the columns of the native format."""

    name = "parquet"
    title = "Cutline Parquet"

    def recognises(self, head: Head) -> str | None:
        if not head.start.startswith(_MAGIC):
            return None
        if head.compression is not None:
            raise refuse(
                "unknown-format",
                "This is Parquet inside a compressed file: upload the Parquet file itself.",
            )
        return "Parquet, by its first four bytes"

    def header(self, source: Path, limits: Limits) -> Header:
        with _opened(parts(source)[0]) as file:
            text = _header_in(file)
        if text is None:
            raise refuse(
                "header-missing",
                'The Parquet file has no header: its key-value metadata lacks the key "cutline".',
            )
        if len(text) > limits.line_bytes:
            raise refuse("line-too-long", f"The header is longer than {limits.line_bytes:,} bytes.")
        return parse_header(object_on(text, 1), 1, limits)

    def batches(
        self, source: Path, header: Header, limits: Limits, defects: Defects
    ) -> Iterator[pa.RecordBatch]:
        read = 0
        for part in row_groups(source, limits):
            for batch, batch_defects in read_row_group(part, header, limits):
                defects.extend(batch_defects)
                read += batch.nbytes
                if read > limits.total_bytes:
                    raise _too_large(limits)
                if defects.refused_total >= MOST_LISTED:
                    defects.raise_refused()
                yield written_out(batch, RAW)


def parts(source: Path) -> list[Path]:
    """Return the file itself, or a folder's ``.parquet`` files by name. Raises: InputRefused."""
    if not source.is_dir():
        return [source]
    files = sorted(source.glob("*.parquet"))
    if not files:
        raise refuse("empty", "The folder holds no .parquet file.")
    return files


def row_groups(source: Path, limits: Limits) -> list[RowGroup]:
    """Return all row groups in order. Raises: InputRefused for their columns, or their size."""
    groups: list[RowGroup] = []
    line, size = 1, 0
    first: tuple[bytes | None, set[str]] | None = None
    for path in parts(source):
        with _opened(path) as file:
            check_schema(file.schema_arrow)
            told = _header_in(file), _COLUMNS.keys() & set(file.schema_arrow.names)
            first = first or told
            _check_agreement(path, told, first)
            for group in range(file.metadata.num_row_groups):
                entry = file.metadata.row_group(group)
                groups.append(RowGroup(path, group, line, entry.num_rows))
                line += entry.num_rows
                size += entry.total_byte_size
    if size > limits.total_bytes:
        raise _too_large(limits)
    return groups


def _header_in(file: pq.ParquetFile) -> bytes | None:
    return (file.metadata.metadata or {}).get(METADATA_KEY)


def _check_agreement(
    path: Path, part: tuple[bytes | None, set[str]], first: tuple[bytes | None, set[str]]
) -> None:
    """Check that a part has the header of the first part, or none, and the same columns.

    Raises: InputRefused.
    """
    (header, columns), (first_header, first_columns) = part, first
    if header is not None and header != first_header:
        raise refuse(
            "header-twice",
            f"The part {quoted(path.name)} has another header than the first part. Are they parts "
            "of one recording?",
        )
    if differing := sorted(columns ^ first_columns):
        has = "has" if differing[0] in columns else "lacks"
        raise refuse(
            "missing-field",
            f"The part {quoted(path.name)} {has} the column {quoted(differing[0])}, other than the "
            "first part. All parts have the same columns.",
            field=differing[0],
        )


def _too_large(limits: Limits) -> InputRefused:
    return refuse(
        "too-large",
        f"The Parquet data holds more than {limits.total_bytes:,} bytes after decompression, "
        "the most that is read here. Split it, or raise MAX_RECORDING_BYTES.",
    )


def read_row_group(
    part: RowGroup, header: Header, limits: Limits
) -> Iterator[tuple[pa.RecordBatch, list[Defect]]]:
    """Yield the row group as batches of columns.RAW, each with its defects sorted by line.

    Ids, values and states are held as numbers in a batch in which they all are numbers.
    """
    line = part.first_line
    with _opened(part.path) as file:
        for batch in _batches(file, part.group):
            for piece in _pieces(batch, line, limits):
                yield parse_rows(piece, line, header)
                line += piece.num_rows


def _batches(file: pq.ParquetFile, group: int) -> Iterator[pa.RecordBatch]:
    with _refusing_damage():
        yield from file.iter_batches(batch_size=BATCH_ROWS, row_groups=[group])


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a file with strings read as dictionaries. Raises: InputRefused (``truncated``)."""
    with ExitStack() as closing:
        with _refusing_damage():
            far = None if is_file_here(path) else closing.enter_context(path.open("rb"))
            source = far or path
            schema = pq.read_schema(source)
            texts = [field.name for field in schema if _is_text(field.type)]
            file = closing.enter_context(pq.ParquetFile(source, read_dictionary=texts))
        yield file


@contextmanager
def _refusing_damage() -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError:
        raise refuse(
            "not-utf8", "The Parquet file has a column whose name is not UTF-8: is it damaged?"
        ) from None
    except (pa.ArrowException, OSError, MemoryError) as error:
        raise refuse(
            "truncated",
            f"The Parquet file cannot be read: it is damaged or cut short{_why(error)}.",
        ) from error


def _why(error: Exception) -> str:
    """Return the library's reason in parentheses, without the names of its exceptions."""
    message = (str(error) or "there is not the memory that it asks for").splitlines()[0]
    reason = _EXCEPTION.sub("", message)[:200].strip(" .:")
    return f" ({reason})" if reason else ""


def _pieces(batch: pa.RecordBatch, line: int, limits: Limits) -> Iterator[pa.RecordBatch]:
    """Cut a batch into pieces whose texts, written out in full, fit the memory.

    Raises: InputRefused (``line-too-long``, ``truncated``).
    """
    dense = batch.nbytes
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_dictionary(column.type) and len(column):
            with _refusing_damage():
                column.validate(full=True)  # nothing else checks that indices are in range
            dense += _bytes_of(name, column, line, limits)
    if dense <= _DENSE_BYTES or batch.num_rows < 2:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _pieces(batch.slice(0, half), line, limits)
    yield from _pieces(batch.slice(half), line + half, limits)


def _bytes_of(name: str, column: pa.DictionaryArray, line: int, limits: Limits) -> int:
    """Return how many bytes the texts of a column have at most, written out in full.

    Raises: InputRefused (``line-too-long``).
    """
    distinct = pc.binary_length(column.dictionary)
    most: int = (pc.max(distinct).as_py() or 0) * len(column)
    if most <= min(_LITTLE_BYTES, limits.line_bytes):
        return most
    lengths = distinct.take(column.indices)
    longest = pc.max(lengths).as_py() or 0
    if longest > limits.line_bytes:
        row = pc.index(lengths, longest).as_py()
        raise refuse(
            "line-too-long",
            f"The field {quoted(name)} is longer than {limits.line_bytes:,} bytes.",
            line=line + row,
            field=name,
        )
    return pc.sum(lengths.cast(pa.int64())).as_py() or 0


def check_schema(schema: pa.Schema) -> None:
    """Check a file's columns.

    Raises: InputRefused for a column that is missing, stands twice, or has a wrong type.
    """
    for name in schema.names:
        if schema.names.count(name) > 1:
            raise refuse("wrong-type", f"The column {quoted(name)} occurs twice.", field=name)
    for name in ("process", "kind"):
        if name not in schema.names:
            raise refuse(
                "missing-field", f"The Parquet file has no column {quoted(name)}.", field=name
            )
    for name, content in _COLUMNS.items():
        if name in schema.names and not _fits(schema.field(name).type, content):
            raise refuse(
                "wrong-type",
                f"The column {quoted(name)} must hold {content}, not {schema.field(name).type}.",
                field=name,
            )


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _fits(kind: pa.DataType, content: str) -> bool:
    if pa.types.is_null(kind):
        return True
    if content == _IDS:
        is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        return is_list and _fits(kind.value_type, _ID)
    if _is_text(kind):
        return content != _COUNT
    if pa.types.is_integer(kind):
        return content != _TEXT
    return content == _JSON and pa.types.is_floating(kind)
