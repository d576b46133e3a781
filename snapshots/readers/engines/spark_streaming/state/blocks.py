"""Unpack compressed state files: streams of LZ4 blocks, zstd, snappy, or LZF.

An LZ4 block is the text "LZ4Block", a byte with method (high half) and level, three little-endian
ints (compressed length, length, checksum), and the bytes. A block of length 0 ends the stream.

A chunk of LZF is "ZV", a byte that says whether it is packed, the big-endian length of what follows
in 2 bytes, if it is packed the length of its content in 2 more, and the bytes.

Source: lz4-java's LZ4BlockOutputStream, compress-lzf's LZFChunk; Snappy's is in formats/snappy.py.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import xxhash

from snapshots.readers.formats.cursor import Cursor, Malformed, NotReadHere
from snapshots.readers.formats.snappy import inflate_xerial

MAGIC = b"LZ4Block"
_HEADER = struct.Struct("<8sBiiI")
_STORED, _LZ4 = 0x10, 0x20
_LARGEST_BLOCK = 32 * 2**20
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


def unpack(data: bytes, codec: str, most: int) -> bytes:
    """Unpack a file. Raises: Malformed, also if it holds more than ``most`` bytes.

    ``codec`` is the value of ``spark.sql.streaming.stateStore.compression.codec``.
    """
    if codec == "lz4":
        return _unpack_lz4(data, most)
    if codec == "zstd":
        return _unpack_zstd(data, most)
    if codec == "snappy":
        return inflate_xerial(data, most)
    if codec == "lzf":
        return _unpack_lzf(data, most)
    raise NotReadHere(f"The codec {codec[:40]!r} is unknown", 0)


def _unpack_lz4(data: bytes, most: int) -> bytes:
    blocks = list(_blocks(data))
    length = sum(block.length for block in blocks)
    if length > most:
        raise NotReadHere(f"{length:,} bytes are packed, and at most {most:,} are read", 0)
    return b"".join(_content(data, block) for block in blocks)


def _blocks(data: bytes) -> Iterator[_Block]:
    at = 0
    while True:
        if len(data) - at < _HEADER.size:
            raise Malformed("The stream of LZ4 blocks ends without its last block", at)
        magic, token, packed, length, checksum = _HEADER.unpack_from(data, at)
        start = at + _HEADER.size
        if magic != MAGIC or packed < 0 or length < 0 or length > _LARGEST_BLOCK:
            raise Malformed("An LZ4 block is expected", at)
        if packed > len(data) - start:
            raise Malformed(f"{packed} packed bytes are announced and fewer are left", at)
        if length == 0:
            if packed or start != len(data):
                raise Malformed("Something follows the last LZ4 block", start)
            return
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


def _unpack_zstd(data: bytes, most: int) -> bytes:
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            content: bytes = stream.read(most + 1)
    except (OSError, ValueError) as error:
        raise Malformed("The zstd stream is damaged", 0) from error
    if len(content) > most:
        raise NotReadHere(f"More than {most:,} bytes are packed", 0)
    return content


def _unpack_lzf(data: bytes, most: int) -> bytes:
    cursor, content = Cursor(data), bytearray()
    while cursor.left:
        at = cursor.position
        magic, is_packed = cursor.take(2), cursor.u8()
        if magic != b"ZV" or is_packed not in (0, 1):
            raise Malformed("A chunk of LZF is expected", at)
        size = int.from_bytes(cursor.take(2), "big")
        length = int.from_bytes(cursor.take(2), "big") if is_packed else size
        if len(content) + length > most:
            raise NotReadHere(f"More than {most:,} bytes are packed", at)
        part = cursor.take(size)
        content += _lzf_chunk(part, length, at) if is_packed else part
    return bytes(content)


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
