"""The key group of a decoded key, as Flink computes it from Java's hash of the key.

Source: Flink, KeyGroupRangeAssignment, MathUtils.murmurHash; Java, the hashCode of each class;
Flink, BinaryRowData.hashCode for rows of SQL.
"""

import struct

from snapshots.domain.model.key_groups import murmur3
from snapshots.readers.engines.flink.types.composites import TupleSerializer
from snapshots.readers.engines.flink.types.sql_rows import RowDataSerializer
from snapshots.readers.engines.flink.types.values import Serializer

_WORD = 0xFFFFFFFF
_ROW_SEED = 42


def key_group(key: object, serializer: Serializer, max_parallelism: int) -> int | None:
    """0 .. max_parallelism - 1; None where Java's hash of such a key is not known here."""
    code = java_hash(key, serializer)
    if code is None:
        return None
    mixed = _signed(murmur3(struct.pack("<I", code & _WORD)))
    return 0 if mixed == -(2**31) else abs(mixed) % max_parallelism


def java_hash(key: object, serializer: Serializer) -> int | None:
    """Java's hashCode of a decoded key, of 32 bits with a sign."""
    if isinstance(serializer, TupleSerializer):
        return _of_tuple(key, serializer)
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
            return _of_text(key)
    return None


def _of_tuple(key: object, serializer: TupleSerializer) -> int | None:
    if serializer.outer != "tuple":
        return None
    code = 0
    for value, field in zip(key, serializer.fields, strict=True):
        of_field = java_hash(value, field)
        if of_field is None:
            return None
        code = 31 * code + of_field
    return _signed(code & _WORD)


def _of_text(text: str) -> int | None:
    """None where a surrogate without its other half may have stood in the text."""
    if "\N{REPLACEMENT CHARACTER}" in text:
        return None
    units = struct.unpack(f">{len(data) // 2}H", data) if (data := text.encode("utf-16-be")) else ()
    code = 0
    for unit in units:
        code = 31 * code + unit & _WORD
    return _signed(code)


def _folded(number: int) -> int:
    """The two halves of 64 bits, one over the other."""
    number &= 2**64 - 1
    return _signed((number ^ number >> 32) & _WORD)


def _signed(number: int) -> int:
    return number - 2**32 if number >= 2**31 else number
