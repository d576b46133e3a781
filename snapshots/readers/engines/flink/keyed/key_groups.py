"""Compute the key group of a decoded key as Flink does, from Java's hash code of the key.

Source: Flink, KeyGroupRangeAssignment, MathUtils.murmurHash, and BinaryRowData.hashCode for rows
of SQL; Java, the hashCode of each class.
"""

import struct
from typing import Any

from snapshots.domain.model.key_groups import murmur3
from snapshots.readers.engines.flink.types.composites import TupleSerializer
from snapshots.readers.engines.flink.types.sql_rows import RowDataSerializer
from snapshots.readers.engines.flink.types.values import Serializer

_WORD = 0xFFFFFFFF
_ROW_SEED = 42


def key_group(key: object, serializer: Serializer, max_parallelism: int) -> int | None:
    """Return the key group, 0 .. max_parallelism - 1; None if Java's hash code is unknown."""
    code = java_hash(key, serializer)
    if code is None:
        return None
    mixed = _signed(murmur3(struct.pack("<I", code & _WORD)))
    return 0 if mixed == -(2**31) else abs(mixed) % max_parallelism


def java_hash(key: Any, serializer: Serializer) -> int | None:
    """Return Java's hashCode of a decoded key, 32 bits and signed; None if it is unknown."""
    if isinstance(serializer, TupleSerializer):
        return _tuple_hash(key, serializer)
    if isinstance(serializer, RowDataSerializer):
        return _signed(murmur3(bytes.fromhex(key["binaryRow"]), _ROW_SEED))
    if key is None:
        return None
    match serializer.name:
        case "int" | "short" | "byte":
            return key
        case "long":
            return _folded(key)
        case "boolean":
            return 1231 if key else 1237
        case "double":
            return _folded(struct.unpack(">q", struct.pack(">d", float(key)))[0])
        case "string":
            return _text_hash(key)
    return None


def _tuple_hash(key: Any, serializer: TupleSerializer) -> int | None:
    if serializer.outer != "tuple":
        return None
    code = 0
    for value, field in zip(key, serializer.fields, strict=True):
        field_code = java_hash(value, field)
        if field_code is None:
            return None
        code = 31 * code + field_code
    return _signed(code & _WORD)


def _text_hash(text: str) -> int | None:
    if "\N{REPLACEMENT CHARACTER}" in text:
        return None  # it may stand for an unpaired surrogate, whose hash differs
    code = 0
    for (unit,) in struct.iter_unpack(">H", text.encode("utf-16-be")):
        code = 31 * code + unit & _WORD
    return _signed(code)


def _folded(number: int) -> int:
    """Return the exclusive or of the two halves of 64 bits."""
    number &= 2**64 - 1
    return _signed((number ^ number >> 32) & _WORD)


def _signed(number: int) -> int:
    return number - 2**32 if number >= 2**31 else number
