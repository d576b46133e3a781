"""Read bytes whose serializer nothing names, by the forms that are known.

Source: Flink, SimpleVersionedSerialization.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from snapshots.readers.formats.cursor import Cursor, Malformed

_T = TypeVar("_T")


def fitting(forms: Iterable[Callable[[Cursor], _T | None]], data: bytes | memoryview) -> _T | None:
    """Return what the first form reads that fits to the last byte; None if none does."""
    for form in forms:
        cursor = Cursor(data)
        try:
            value = form(cursor)
        except Malformed:
            continue
        if value is not None and not cursor.left:
            return value
    return None


def versioned(cursor: Cursor) -> tuple[int, bytes]:
    """Read the version of a serializer, a length and that many bytes. Raises: Malformed."""
    return cursor.i32(), cursor.take(cursor.count())


def versioned_whole(data: bytes | memoryview) -> tuple[int, bytes] | None:
    """Return the version of a serializer and all bytes behind their length; None if they differ."""
    cursor = Cursor(data)
    try:
        version, inside = versioned(cursor)
    except Malformed:
        return None
    return None if cursor.left else (version, inside)
