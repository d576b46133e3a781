"""Decode the bytes of a state by their structure, without deserializing objects."""

from hashlib import sha256

import orjson

from snapshots.readers.engines.seatunnel.model import Payload
from snapshots.readers.formats.budget import Room
from snapshots.readers.formats.cursor import Malformed
from snapshots.readers.formats.java import stream as java_stream
from snapshots.readers.formats.java.values import plain
from snapshots.readers.formats.opaque import Opaque

LARGEST = 256 * 2**10  # bytes of one element that is decoded
MOST_FIELDS, MOST_NULLS = 2_000_000, 100_000
_DEEPEST = 100  # levels of JSON


class Decoder:
    """A decoder for one upload that decodes elements of ``most`` bytes in all.

    ``fields`` and ``nulls`` are budgets for all files of the upload. A field of two bytes takes a
    hundred times as much memory; a null takes no bytes in the file.
    """

    def __init__(self, most: int) -> None:
        self._left = most
        self.fields = Room("fields of checkpoints", MOST_FIELDS)
        self.nulls = Room("nulls in lists", MOST_NULLS)

    def payload(self, data: bytes, file: str, offset: int) -> Payload:
        """Decode one element, which begins at an offset of a file."""
        encoding = _encoding(data)
        try:
            content = self._content(data, encoding)
        except _NotKnown as error:
            content = Opaque.of(data, str(error), file, offset)
        return Payload(len(data), sha256(data).hexdigest(), encoding, content, offset)

    def _content(self, data: bytes, encoding: str | None) -> object:
        if encoding is None:
            raise _NotKnown("The connector uses an encoding of its own, which is unknown.")
        if len(data) > LARGEST:
            raise _NotKnown(f"Elements of more than {LARGEST >> 10} KiB are not decoded.")
        if len(data) > self._left:
            raise _NotKnown("The limit on how much of an upload is decoded has been reached.")
        self._left -= len(data)
        return _json(data) if encoding == "json" else _java(data)


class _NotKnown(Exception):
    """An element is not decoded; the message says why, as a sentence."""


def _java(data: bytes) -> object:
    try:
        contents = [plain(value) for value in java_stream.parse(data)]
    except Malformed as error:
        raise _NotKnown(f"Java's serialized object cannot be read: {error}.") from None
    return contents[0] if len(contents) == 1 else contents


def _json(data: bytes) -> object:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _NotKnown(f"It begins like JSON, but is not JSON: {error}.") from None
    if _is_deeper(value, _DEEPEST):
        raise _NotKnown(f"The JSON is nested more than {_DEEPEST} levels deep.")
    return value


def _encoding(data: bytes) -> str | None:
    if data.startswith(java_stream.MAGIC):
        return "java"
    return "json" if data.lstrip()[:1] in (b"{", b"[") else None


def _is_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    items = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in items)
