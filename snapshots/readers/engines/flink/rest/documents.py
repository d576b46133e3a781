"""Read the JSON documents of a file: one, or several that were written one behind the other."""

import json
import re

import orjson

from snapshots.readers.formats import literals
from snapshots.readers.formats.pasted import bare

MOST = 10_000  # documents of a file
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BETWEEN = re.compile(r"[\s\ufeff\x1e]*")
_DEEPEST = 100
_DECODER = json.JSONDecoder()  # finds where a document ends; orjson reads it


class NotDocuments(ValueError):
    """A file holds no JSON, or something else besides; the message says so, as a sentence."""


def documents(data: bytes) -> list[object]:
    """Return the JSON documents of a file, also as they were pasted. Raises: NotDocuments."""
    data = bare(data)
    try:
        return [orjson.loads(data.removeprefix(_BYTE_ORDER_MARK))]
    except orjson.JSONDecodeError as error:
        found = _one_by_one(data)
        if not found:
            raise NotDocuments(f"It is not JSON: {error.msg}.") from None
        return found


def _one_by_one(data: bytes) -> list[object]:
    """Return all documents if there is nothing besides, else none."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return []
    found: list[object] = []
    place = _skipped(text, 0)
    while place < len(text):
        try:
            value, end = _document(text, place)
        except literals.NotLiteral:
            return []
        found.append(value)
        if len(found) > MOST:
            return []
        place = _skipped(text, end)
    return found


def _document(text: str, place: int) -> tuple[object, int]:
    """Return the document at a place, and the place behind it. Raises: NotLiteral."""
    try:
        end = _DECODER.raw_decode(text, place)[1]
        return orjson.loads(text[place:end]), end
    except (ValueError, RecursionError):
        return literals.read(text, place, _DEEPEST)


def _skipped(text: str, place: int) -> int:
    match = _BETWEEN.match(text, place)
    return place if match is None else match.end()
