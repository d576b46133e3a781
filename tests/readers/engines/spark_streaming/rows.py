"""Write unsafe rows and blocks of state files as Spark does."""

import struct

from snapshots.readers.engines.spark_streaming.state.blocks import MAGIC, checksum
from snapshots.readers.engines.spark_streaming.state.sql_types import Array, Map, Plain, Struct

_FORMATS = {"boolean": "<?", "integer": "<i", "long": "<q", "double": "<d", "timestamp": "<q"}


def lz4_stream(data: bytes) -> bytes:
    """Write a stream of one stored block and the block that ends it."""
    block = struct.pack("<8sBiiI", MAGIC, 0x10 | 5, len(data), len(data), checksum(data)) + data
    return (block if data else b"") + struct.pack("<8sBiiI", MAGIC, 0x10 | 5, 0, 0, 0)


def records(*changes: tuple[bytes, bytes | None]) -> bytes:
    """Write the content of a delta from keys and values; a value of None deletes."""
    parts = []
    for key, value in changes:
        parts.append(struct.pack(">i", len(key)) + key)
        parts.append(struct.pack(">i", -1 if value is None else len(value)) + (value or b""))
    return b"".join(parts) + struct.pack(">i", -1)


def row(values: list, schema: Struct) -> bytes:
    """Write a row from values in the order of the columns; None is null."""
    return _slots(values, [column.type for column in schema.columns], b"", 8)


def _slots(values: list, types: list, head: bytes, each: int) -> bytes:
    """Write null bits, a slot for each value, then the values that do not fit into slots."""
    bits = (len(types) + 63) // 64 * 8
    nulls = sum(1 << index for index, value in enumerate(values) if value is None)
    fixed, variable = b"", b""
    start = len(head) + bits + -(-each * len(types) // 8) * 8
    for value, type in zip(values, types, strict=True):
        slot, more = _slot(value, type, start + len(variable))
        fixed += slot[:each].ljust(each, b"\0")
        variable += more
    fixed += b"\0" * (-len(fixed) % 8)
    return head + nulls.to_bytes(bits, "little") + fixed + variable


def _slot(value, type, at: int) -> tuple[bytes, bytes]:
    if value is None:
        return bytes(8), b""
    if isinstance(type, Plain) and type.name in _FORMATS:
        return struct.pack(_FORMATS[type.name], value).ljust(8, b"\0"), b""
    data = _variable(value, type)
    return struct.pack("<q", at << 32 | len(data)), data + b"\0" * (-len(data) % 8)


def _variable(value, type) -> bytes:
    if isinstance(type, Struct):
        return row(value, type)
    if isinstance(type, Array):
        return _array(value, type.element)
    if isinstance(type, Map):
        keys = _array([key for key, _ in value], type.key)
        values = _array([inner for _, inner in value], type.value)
        return struct.pack("<q", len(keys)) + keys + values
    return value.encode() if type.name == "string" else value


def _array(values: list, element) -> bytes:
    each = element.size if isinstance(element, Plain) and element.size else 8
    head = struct.pack("<q", len(values))
    return _slots(values, [element] * len(values), head, each)
