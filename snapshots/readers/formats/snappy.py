"""Inflates Snappy blocks and framed streams with pyarrow, after their sizes are checked.

Checksums of frames are not verified. Source: google/snappy, format_description.txt and
framing_format.txt; Flink writes frames with xerial's SnappyFramedOutputStream.
"""

import pyarrow as pa

from snapshots.readers.formats.cursor import Cursor, Malformed, NotReadHere, unsigned

_COMPRESSED, _PLAIN, _PADDING, _IDENTIFIER = 0x00, 0x01, 0xFE, 0xFF
_SKIPPABLE = range(0x80, 0xFF)
_IDENTITY = b"sNaPpY"
_XERIAL = b"\x82SNAPPY\0"
_CHECKSUM_BYTES = 4
_MOST_OF_FRAME = 2**16  # bytes of an inflated frame, as the framing format says
_MOST_EXPANSION = 64  # a copy of 64 bytes takes 2 to 5 bytes; 1 of a literal gives 1
_CODEC = pa.Codec("snappy")


def inflate_block(data: bytes | memoryview, limit: int) -> bytes:
    """Return the content of a raw block, at most ``limit`` bytes. Raises: Malformed."""
    size = unsigned(Cursor(data[:5]), 5)
    if size > limit:
        raise NotReadHere(f"A block of {size:,} bytes, more than the {limit:,} read here", 0)
    if size > _MOST_EXPANSION * len(data):
        raise Malformed(f"A block of {size:,} bytes in {len(data):,}", 0)
    try:
        return _CODEC.decompress(data, decompressed_size=size, asbytes=True)
    except OSError as error:
        raise Malformed("A Snappy block is damaged", 0) from error


def inflate_xerial(data: bytes | memoryview, limit: int) -> bytes:
    """Return the content of a stream of snappy-java's SnappyOutputStream, at most ``limit`` bytes.

    It begins with a mark and two numbers of versions; then each block has its length before it, in
    4 bytes, big-endian. Raises: Malformed.
    """
    cursor = Cursor(data)
    if cursor.take(len(_XERIAL)) != _XERIAL:
        raise Malformed("A stream of snappy-java is expected", 0)
    cursor.take(8)
    parts, size = [], 0
    while cursor.left:
        part = inflate_block(cursor.take(cursor.i32()), limit - size)
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def inflate_frames(data: bytes | memoryview, limit: int) -> bytes:
    """Return the content of consecutive framed streams, at most ``limit`` bytes in all.

    A stream may lack its identifier, as a part that begins in the middle does. Raises: Malformed.
    """
    cursor = Cursor(data)
    parts, size = [], 0
    while cursor.left:
        part = _frame(cursor, limit - size)
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _frame(cursor: Cursor, limit: int) -> bytes:
    at, kind = cursor.position, cursor.u8()
    length = int.from_bytes(cursor.take(3), "little")
    content = cursor.take(length)
    if (kind == _IDENTIFIER and content == _IDENTITY) or kind == _PADDING or kind in _SKIPPABLE:
        return b""
    if kind not in (_COMPRESSED, _PLAIN) or length < _CHECKSUM_BYTES:
        raise Malformed(f"A frame of the kind {kind} with {length} bytes is not Snappy's", at)
    content = content[_CHECKSUM_BYTES:]
    try:
        if kind == _COMPRESSED:
            content = inflate_block(content, min(limit, _MOST_OF_FRAME))
    except Malformed as error:
        raise type(error)(error.what, at) from None
    if len(content) > limit:
        raise NotReadHere(f"More than the {limit:,} bytes read here", at)
    return content
