"""Compress bytes so that they can be unpacked without knowing their length."""

import struct

import pyarrow as pa

_LENGTH = struct.Struct("<q")


def pack(content: bytes | pa.Buffer) -> bytes:
    """Return the content compressed, after its length."""
    packed: bytes = pa.compress(content, "zstd", asbytes=True)
    return _LENGTH.pack(len(memoryview(content))) + packed


def unpack(packed: pa.Buffer | None) -> pa.Buffer:
    """Return what ``pack`` took. Raises: ValueError if it is damaged, or None as a null is."""
    if packed is None:
        raise ValueError("a block is null")
    try:
        [length] = _LENGTH.unpack(packed[: _LENGTH.size])
        return pa.decompress(packed[_LENGTH.size :], length, "zstd")
    except (struct.error, pa.ArrowException, OSError, MemoryError, OverflowError) as error:
        raise ValueError(f"a block cannot be unpacked ({error})") from error
