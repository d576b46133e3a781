"""Inflates Snappy blocks and framed streams with pyarrow, after their sizes are checked.

Checksums of frames are not verified. Source: google/snappy, format_description.txt and
framing_format.txt; Flink writes frames with xerial's SnappyFramedOutputStream.
"""

from collections.abc import Iterator

import pyarrow as pa

from snapshots.readers.formats.cursor import Cursor, Malformed, NotReadHere, unsigned

_COMPRESSED, _PLAIN, _PADDING, _IDENTIFIER = 0x00, 0x01, 0xFE, 0xFF
_SKIPPABLE = range(0x80, 0xFF)
_IDENTITY = b"sNaPpY"
_OLDEST = 1
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


def xerial_blocks(data: bytes | memoryview, limit: int) -> Iterator[bytes]:
    """Yield the blocks of a stream of snappy-java, each at most ``limit`` bytes.

    It begins with a mark and two numbers of versions, as may any later part; then each block has
    its length before it, in 4 bytes, big-endian. Bytes without the mark are one block, as
    snappy-java takes them. Raises: Malformed.
    """
    cursor = Cursor(data)
    if bytes(cursor.data[: len(_XERIAL)]) != _XERIAL:
        yield inflate_block(data, limit)
        return
    while cursor.left:
        if bytes(cursor.data[cursor.position :][: len(_XERIAL)]) == _XERIAL:
            cursor.take(len(_XERIAL))
            _expect_version(cursor)
        else:
            yield inflate_block(cursor.take(cursor.i32()), limit)


def _expect_version(cursor: Cursor) -> None:
    at = cursor.position
    version, _ = cursor.i32(), cursor.i32()
    if version < _OLDEST:
        raise Malformed(f"snappy-java reads no stream of version {version}", at)


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
