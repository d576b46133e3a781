"""Open a part of a table and read its columns, whichever way they are encoded."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from snapshots.store.column_rows import Ints, Mask, Rows, Test
from snapshots.store.columns import UNREADABLE, Columns
from snapshots.store.encoding import ROWS
from snapshots.store.errors import StoreDamaged, name_in_recording
from snapshots.store.layout import FOLLOWING, MESSAGES, PARTED
from snapshots.store.number_columns import Flat
from snapshots.store.objects.far import FarFile, far_batch
from snapshots.store.objects.paths import ObjectPath
from snapshots.store.parts import batch_of, map_batch


class StoredPart:
    """One part of a table. Safe for threads: nothing changes but caches.

    Attributes:
        file: the name of the part's file within its recording.
        names: the names of its columns.
        num_rows: how many rows each of them has.
    """

    def __init__(self, path: Path, batch: pa.RecordBatch, far: FarFile | None = None) -> None:
        """Take the batch of the file at ``path``, mapped or far. Raises: StoreDamaged."""
        self.file = name_in_recording(path)
        facts = batch.schema.metadata or {}
        try:
            self.num_rows = int(facts.get(ROWS.encode(), batch.num_rows))
        except ValueError as error:
            raise self._damaged(error) from error
        self._columns = Columns(batch, self.num_rows, far)
        self.names = self._columns.names

    def numbers(self, name: str, rows: Rows) -> Ints:
        """Return the values of a column of numbers, with NONE for null. Raises: StoreDamaged."""
        try:
            return self._columns.numbers(name).take(rows)
        except UNREADABLE as error:
            raise self._damaged(error) from error

    def nulls(self, name: str, rows: Rows) -> Mask | None:
        """Tell which rows of a column of numbers are null; None if none is."""
        try:
            return self._columns.numbers(name).nulls(rows)
        except UNREADABLE as error:
            raise self._damaged(error) from error

    def texts(self, name: str, rows: Rows) -> pa.Array:
        """Return the texts of a column as large strings. Raises: StoreDamaged."""
        try:
            return self._columns.texts(name).take(rows)
        except UNREADABLE as error:
            raise self._damaged(error) from error

    def listed(self, name: str, rows: Rows) -> list[str | None]:
        """Return the texts of a column in a list. Raises: StoreDamaged."""
        try:
            return self._columns.texts(name).listed(rows)
        except UNREADABLE as error:
            raise self._damaged(error) from error

    def numerals(self, name: str, rows: Rows) -> tuple[str, Ints, Mask] | None:
        """Return what the texts of a column begin with, the number after it, and which are null.

        None if the column is not stored as such numbers. Raises: StoreDamaged.
        """
        try:
            return self._columns.numerals(name, rows)
        except UNREADABLE as error:
            raise self._damaged(error) from error

    def find(self, name: str, rows: Rows, wanted: pa.Array) -> Ints:
        """Return the place among distinct ``wanted`` texts of each text of a column, or NONE."""
        try:
            return self._columns.texts(name).find(rows, wanted)
        except UNREADABLE as error:
            raise self._damaged(error) from error

    def matching(self, name: str, rows: Rows, test: Test) -> Mask:
        """Tell which rows of a column of texts pass the test. Raises: StoreDamaged."""
        try:
            return self._columns.texts(name).matching(rows, test)
        except UNREADABLE as error:
            raise self._damaged(error) from error

    def flat(self, name: str) -> Flat | None:
        """Return how a column of numbers lies in memory; None if it cannot be read like this.

        Raises: StoreDamaged.
        """
        try:
            return self._columns.flat(name)
        except UNREADABLE as error:
            raise self._damaged(error) from error

    def flat_numerals(self, name: str) -> tuple[str, Flat] | None:
        """Return what the texts of a column begin with, and how the numbers after it lie in memory.

        None if the column is not stored as such numbers. Raises: StoreDamaged.
        """
        try:
            return self._columns.flat_numerals(name)
        except UNREADABLE as error:
            raise self._damaged(error) from error

    def table(self, schema: pa.Schema) -> pa.Table:
        """Return all rows of the columns that the part has of a schema. Raises: StoreDamaged."""
        rows = slice(0, self.num_rows)
        fields = [field for field in schema if field.name in self.names]
        columns = [self._column(field, rows) for field in fields]
        return pa.table(columns, pa.schema(fields))

    def _column(self, field: pa.Field, rows: slice) -> pa.Array:
        if pa.types.is_large_string(field.type):
            return self.texts(field.name, rows)
        numbers, nulls = self.numbers(field.name, rows), self.nulls(field.name, rows)
        try:
            return pa.array(numbers, mask=nulls).cast(field.type)
        except UNREADABLE as error:  # a number that the type of the layout cannot hold
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> StoreDamaged:
        return StoreDamaged(
            self.file,
            f"Its columns cannot be decoded ({type(error).__name__}: {error}).",
            "Was it changed, or written by a newer release? Ingest the log again.",
        )


def open_part(path: Path, table: str, content: memoryview | None = None) -> StoredPart:
    """Map a part of one of the PARTED tables. Raises: StoreDamaged.

    Args:
        content: the bytes of the file, if they are mapped already.
    """
    far, batch = far_or_mapped(path, content)
    part = StoredPart(path, batch, far)
    schema, _ = PARTED[table]
    following = FOLLOWING if table == MESSAGES else ()
    expected = [name for name in schema.names if name in part.names or name not in following]
    is_encoded = ROWS.encode() in (batch.schema.metadata or {})
    if list(part.names) != expected or not (is_encoded or batch.schema == schema):
        raise StoreDamaged(
            part.file,
            "Its columns are not the layout's.",
            "Was it written by another release? Ingest the log again.",
        )
    return part


def map_or_damaged(path: Path) -> pa.RecordBatch:
    """Map a file of the layout that holds one batch. Raises: StoreDamaged."""
    with damage_told(path):
        return map_batch(path)


def far_or_mapped(
    path: Path, content: memoryview | None = None
) -> tuple[FarFile | None, pa.RecordBatch]:
    """Map a file that holds one batch, or open it far if it is on an object store.

    Args:
        content: the bytes of the file, if they are mapped already.

    Raises: StoreDamaged, StoreUnreachable.
    """
    with damage_told(path):
        if content is not None:
            return None, batch_of(content)
        return far_batch(path) if isinstance(path, ObjectPath) else (None, map_batch(path))


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Turn what opening a file raises into StoreDamaged."""
    where = name_in_recording(path)
    try:
        yield
    except FileNotFoundError:
        raise StoreDamaged(where, "It is missing.", "Was it deleted?") from None
    except (pa.ArrowInvalid, OSError, ValueError) as error:
        raise StoreDamaged(
            where, f"It cannot be read ({error}).", "Was it cut short, or is the disk full?"
        ) from error
