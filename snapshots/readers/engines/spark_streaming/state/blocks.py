"""Unpack compressed state files: streams of LZ4 blocks, zstd, snappy, or LZF.

An LZ4 block is the text "LZ4Block", a byte with method (high half) and level, three little-endian
ints (compressed length, length, checksum), and the bytes. A block of length 0 ends a stream; Spark
reads one without it, too.

A chunk of LZF is "ZV", a byte that says whether it is packed, the big-endian length of what follows
in 2 bytes, if it is packed the length of its content in 2 more, and the bytes.

Source: lz4-java's LZ4BlockOutputStream, compress-lzf's LZFChunk; Snappy's is in formats/snappy.py.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import xxhash
import zstandard

from snapshots.readers.formats.cursor import Cursor, Malformed, NotReadHere
from snapshots.readers.formats.snappy import xerial_blocks

MAGIC = b"LZ4Block"
_HEADER = struct.Struct("<8sBiiI")
_STORED, _LZ4 = 0x10, 0x20
_LARGEST_BLOCK = 32 * 2**20
_PIECE = 2**20
_SEED = 0x9747B28C
_CHECKSUM_BITS = 0x0FFFFFFF


@dataclass(frozen=True, slots=True)
class _Block:
    at: int
    method: int
    start: int
    end: int
    length: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What a file holds.

    Attributes:
        damage: why nothing behind ``content`` was unpacked; None if all was.
    """

    content: bytes
    damage: Malformed | None = None


def unpack(data: bytes, codec: str, most: int) -> Unpacked:
    """Unpack a file as far as that is possible, as Spark does, which reads on until it has enough.

    ``codec`` is the value of ``spark.sql.streaming.stateStore.compression.codec``.

    Raises: NotReadHere, also if the file holds more than ``most`` bytes.
    """
    if (pieces := _PIECES.get(codec)) is None:
        raise NotReadHere(f"The codec {codec[:40]!r} is unknown", 0)
    content = bytearray()
    try:
        for piece in pieces(data, most):
            if len(content) + len(piece) > most:
                raise NotReadHere(f"More than {most:,} bytes are packed", 0)
            content += piece
    except NotReadHere:
        raise
    except Malformed as error:
        return Unpacked(bytes(content), error)
    return Unpacked(bytes(content))


def _lz4(data: bytes, most: int) -> Iterator[bytes]:
    for block in _blocks(data):
        if block.length > most:
            raise NotReadHere(f"{block.length:,} bytes are packed, and at most {most:,} read", 0)
        yield _content(data, block)


def _blocks(data: bytes) -> Iterator[_Block]:
    at = 0
    while at < len(data):
        if len(data) - at < _HEADER.size:
            raise Malformed("An LZ4 block is expected", at)
        magic, token, packed, length, checksum = _HEADER.unpack_from(data, at)
        start = at + _HEADER.size
        if magic != MAGIC or packed < 0 or length < 0 or length > _LARGEST_BLOCK:
            raise Malformed("An LZ4 block is expected", at)
        if packed > len(data) - start:
            raise Malformed(f"{packed} packed bytes are announced and fewer are left", at)
        if length:
            yield _Block(at, token & 0xF0, start, start + packed, length, checksum)
        at = start + packed


def _content(data: bytes, block: _Block) -> bytes:
    packed = data[block.start : block.end]
    if block.method == _STORED and len(packed) == block.length:
        content = packed
    elif block.method == _LZ4:
        try:
            content = pa.Codec("lz4_raw").decompress(packed, block.length, asbytes=True)
        except (OSError, ValueError) as error:
            raise Malformed("An LZ4 block cannot be unpacked", block.at) from error
    else:
        raise Malformed("An LZ4 block of a known method is expected", block.at)
    if len(content) != block.length or checksum(content) != block.checksum:
        raise Malformed("An LZ4 block does not have its checksum", block.at)
    return content


def _zstd(data: bytes, most: int) -> Iterator[bytes]:
    try:
        with zstandard.ZstdDecompressor().stream_reader(data) as stream:  # of the first frame
            while piece := stream.read(min(most + 1, _PIECE)):
                yield piece
    except zstandard.ZstdError as error:
        raise Malformed("The zstd stream is damaged", 0) from error


def _lzf(data: bytes, most: int) -> Iterator[bytes]:
    cursor = Cursor(data)
    while cursor.left:
        at = cursor.position
        magic, is_packed = cursor.take(2), cursor.u8()
        if magic != b"ZV" or is_packed not in (0, 1):
            raise Malformed("A chunk of LZF is expected", at)
        size = int.from_bytes(cursor.take(2), "big")
        length = int.from_bytes(cursor.take(2), "big") if is_packed else size
        part = cursor.take(size)
        yield _lzf_chunk(part, length, at) if is_packed else part


def _lzf_chunk(data: bytes, length: int, at: int) -> bytes:
    """Return what a chunk of LZF holds: runs of new bytes, and references to bytes before."""
    cursor, content = Cursor(data), bytearray()
    while cursor.left and len(content) <= length:
        control = cursor.u8()
        if control < 32:
            content += cursor.take(control + 1)
            continue
        size = control >> 5
        if size == 7:
            size += cursor.u8()
        start = len(content) - (((control & 31) << 8) | cursor.u8()) - 1
        if start < 0:
            raise Malformed("A chunk of LZF refers to bytes before its first", at)
        for index in range(start, start + size + 2):
            content.append(content[index])
    if len(content) != length:
        raise Malformed(f"A chunk of LZF does not hold the {length:,} bytes that it announces", at)
    return bytes(content)


def checksum(content: bytes) -> int:
    """Return the checksum that lz4-java stores beside a block: 28 bits of XXH32."""
    return xxhash.xxh32_intdigest(content, _SEED) & _CHECKSUM_BITS


_PIECES: dict[str, Callable[[bytes, int], Iterator[bytes]]] = {
    "lz4": _lz4,
    "zstd": _zstd,
    "snappy": xerial_blocks,
    "lzf": _lzf,
}
