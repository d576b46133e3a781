"""Reads RocksDB's block-based table files (``.sst``), which ForSt writes, too. Little-endian.

Supported are table formats 0 to 6, plain and two-level indexes, delta-encoded or not, and blocks
without compression or in Snappy, zlib, LZ4 and ZSTD. Checksums are not verified. Source: RocksDB,
table/format.cc, table/block_based/block.cc, table/table_properties.cc, util/compression.h.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import zstandard

from snapshots.readers.formats.budget import Room
from snapshots.readers.formats.cursor import Cursor, Malformed, NotReadHere, unsigned
from snapshots.readers.formats.snappy import inflate_block

VALUE, DELETION, MERGE, SINGLE_DELETION, RANGE_DELETION = 1, 0, 2, 7, 15
_MAGIC, _OLD_MAGIC = 0x88E241B785F4CFF7, 0xDB4775248B80FB57
_FOOTER, _OLD_FOOTER = 53, 48
_FORMATS = range(7)
_SELF_CHECKING = 6  # from this format on the footer has checksums and only the metaindex's size
_INDEX = b"rocksdb.index"
_TRAILER = 5  # bytes behind each block: how it is compressed, and a checksum
_NONE, _SNAPPY, _ZLIB, _LZ4, _ZSTD = 0, 1, 2, 4, 7
_PLAIN_INDEX, _TWO_LEVELS = 0, 2
_PROPERTIES, _RANGES = b"rocksdb.properties", b"rocksdb.range_del"
_DICTIONARY = b"rocksdb.compression_dict"
_SEQUENCE_BYTES = 8
_MOST_SHARED = 64  # times the size of a block, of keys that repeat their predecessors' beginnings
_LEAST_SHARED = 2**16  # bytes that a small block may repeat as well
_MOST_INFLATED = 64  # times the size of a table, of all its blocks
_LEAST_INFLATED = 32 * 2**20  # bytes that a small table may inflate to as well


@dataclass(frozen=True, slots=True)
class Handle:
    """The place of a block without its trailer, in bytes."""

    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size + _TRAILER


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a key.

    Attributes:
        sequence: the highest one is the newest.
        kind: VALUE, DELETION, MERGE …
    """

    key: bytes
    sequence: int
    kind: int
    value: bytes


class Table:
    """One table file."""

    def __init__(
        self,
        data: bytes | memoryview,
        block_bytes: int,
        table_bytes: int,
        room: Room | None = None,
    ) -> None:
        """Read the footer, the index's place and the properties.

        Args:
            data: the whole file.
            block_bytes, table_bytes: how much one block and the whole table may inflate to.
            room: the room for inflated bytes that several tables share.

        Raises: Malformed if the file is no table or its index cannot be found.
        """
        self._data = memoryview(data)
        self._room = room
        self._block_bytes = block_bytes
        self._left = min(table_bytes, _LEAST_INFLATED + _MOST_INFLATED * len(self._data))
        self._format, meta, index = self._footer()
        self._meta = dict(block_entries(self._block(meta)))
        self._index = index or self._named(_INDEX)
        self._properties = self._read_properties()
        self._delta_encoded = bool(self._number("rocksdb.index.value.is.delta.encoded"))
        self._index_type = int.from_bytes(
            self._properties.get(b"rocksdb.block.based.table.index.type", b"\0")[:4], "little"
        )
        if self._index_type not in (_PLAIN_INDEX, _TWO_LEVELS):
            raise NotReadHere(f"An index of the type {self._index_type} is not read here", 0)
        if _DICTIONARY in self._meta:
            raise NotReadHere("Blocks compressed with a dictionary are not read here", 0)

    @property
    def checksums(self) -> int:
        """The kind of the blocks' checksums, 0 for none."""
        return 1 if self._format == 0 else self._data[-_FOOTER]

    @property
    def column_family(self) -> str | None:
        """The name of the column family whose keys the table has, None if it does not say."""
        name = self._properties.get(b"rocksdb.column.family.name")
        return None if name is None else name.decode("utf-8", "replace")

    def blocks(self) -> Iterator[Handle]:
        """Yield the places of the data blocks. Raises: Malformed, also if they overlap."""
        handles = (handle for index in self._indexes() for handle in self._handles(index))
        yield from _apart(handles, "The blocks of a table overlap")

    def versions(self, handle: Handle) -> Iterator[Version]:
        """Yield what a data block holds, by key, the newest version first. Raises: Malformed."""
        for key, value in block_entries(self._block(handle)):
            yield _version(key, value)

    def ranges(self) -> Iterator[Version]:
        """Yield deleted ranges, from ``key`` to before ``value``. Raises: Malformed."""
        if _RANGES in self._meta:
            yield from self.versions(self._named(_RANGES))

    def _indexes(self) -> Iterator[Handle]:
        if self._index_type == _PLAIN_INDEX:
            yield self._index
        else:
            yield from _apart(self._handles(self._index), "The parts of a table's index overlap")

    def _handles(self, index: Handle) -> Iterator[Handle]:
        """Yield the places that a block of the index names. Raises: Malformed."""
        block = self._block(index)
        if not self._delta_encoded:
            for _, value in block_entries(block):
                yield _handle(Cursor(value))
            return
        previous: Handle | None = None
        for shared, cursor in _delta_entries(block):
            if shared == 0:
                previous = _handle(cursor)
            elif previous is None:
                raise Malformed("A table's index begins with a difference", cursor.position)
            else:
                size = previous.size + _zigzag(unsigned(cursor, 10))
                previous = Handle(previous.end, size)
            yield previous

    def _footer(self) -> tuple[int, Handle, Handle | None]:
        """Return format, metaindex and index; None for an index that the metaindex names."""
        data, size = self._data, len(self._data)
        magic = int.from_bytes(data[-8:], "little")
        if magic == _OLD_MAGIC and size >= _OLD_FOOTER:
            cursor = Cursor(data, size - _OLD_FOOTER)
            return 0, _handle(cursor), _handle(cursor)
        if magic != _MAGIC or size < _FOOTER:
            raise Malformed("This is no table of RocksDB: it does not end as one", size)
        version = int.from_bytes(data[-12:-8], "little")
        if version not in _FORMATS:
            raise NotReadHere(f"Tables of format {version} are not read here", size)
        if version < _SELF_CHECKING:
            cursor = Cursor(data, size - _FOOTER + 1)
            return version, _handle(cursor), _handle(cursor)
        length = int.from_bytes(data[size - _FOOTER + 13 : size - _FOOTER + 17], "little")
        begin = size - _FOOTER - _TRAILER - length
        if begin < 0:
            raise Malformed(f"A block of {length} bytes in a table of {size}", size)
        return version, Handle(begin, length), None

    def _named(self, name: bytes) -> Handle:
        """Return the place of a block that the metaindex names. Raises: Malformed."""
        if name not in self._meta:
            raise Malformed(f"The table does not say where its {name.decode()} is", 0)
        return _handle(Cursor(self._meta[name]))

    def _read_properties(self) -> dict[bytes, bytes]:
        if _PROPERTIES not in self._meta:
            return {}
        return dict(block_entries(self._block(self._named(_PROPERTIES))))

    def _number(self, name: str) -> int | None:
        value = self._properties.get(name.encode())
        return None if value is None else unsigned(Cursor(value), 10)

    def _block(self, handle: Handle) -> bytes:
        if handle.size < 0 or handle.end > len(self._data):
            raise Malformed(
                f"A block of {handle.size} bytes in a table of {len(self._data)}", handle.offset
            )
        end = handle.offset + handle.size
        content = self._data[handle.offset : end]
        limit = min(self._block_bytes, self._left)
        if self._room is not None:
            limit = min(limit, self._room.left)
        try:
            block = _inflated(content, self._data[end], self._format, limit)
        except Malformed as malformed:
            raise type(malformed)(malformed.what, handle.offset) from None
        if len(block) > limit:
            raise NotReadHere(f"A block of {len(block):,} bytes; {limit:,} are read", handle.offset)
        self._left -= len(block)
        if self._room is not None:
            self._room.take(len(block))
        return block


def _apart(handles: Iterable[Handle], complaint: str) -> Iterator[Handle]:
    """Yield the handles. Raises: Malformed if one begins before the end of the one before it."""
    end = 0
    for handle in handles:
        if handle.offset < end:
            raise Malformed(complaint, handle.offset)
        end = handle.end
        yield handle


def _inflated(content: memoryview, compression: int, version: int, limit: int) -> bytes:
    if compression == _NONE:
        return bytes(content[: limit + 1])
    if compression == _SNAPPY:
        return inflate_block(content, limit)
    if version < 2 or compression not in (_ZLIB, _LZ4, _ZSTD):
        raise NotReadHere(f"Blocks with compression {compression} are not read here", 0)
    cursor = Cursor(content)
    size = unsigned(cursor, 5)
    if size > limit:
        raise NotReadHere(f"A block of {size:,} bytes, more than the {limit:,} read here", 0)
    packed = bytes(content[cursor.position :])
    try:
        block = _unpacked(packed, compression, size)
    except (OSError, zlib.error, zstandard.ZstdError) as error:
        raise Malformed("A block is damaged", 0) from error
    if len(block) != size:
        raise Malformed("A block is damaged", 0)
    return block


def _unpacked(packed: bytes, compression: int, size: int) -> bytes:
    """Unpack at most ``size`` bytes and one more, whatever the data says."""
    if compression == _ZLIB:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, size + 1)
    if compression == _LZ4:
        return pa.Codec("lz4_raw").decompress(packed, decompressed_size=size, asbytes=True)
    with zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(packed) as reader:
        return reader.read(size + 1)


def _handle(cursor: Cursor) -> Handle:
    return Handle(unsigned(cursor, 10), unsigned(cursor, 10))


def _zigzag(number: int) -> int:
    return number >> 1 ^ -(number & 1)


def _version(key: bytes, value: bytes) -> Version:
    if len(key) < _SEQUENCE_BYTES:
        raise Malformed(f"A key of {len(key)} bytes has no sequence number", 0)
    (packed,) = struct.unpack("<Q", key[-_SEQUENCE_BYTES:])
    return Version(key[:-_SEQUENCE_BYTES], packed >> 8, packed & 0xFF, value)


def _end_of_entries(block: bytes) -> int:
    """Return the place at which the restart points begin. Raises: Malformed."""
    if len(block) < 4:
        raise Malformed(f"A block of {len(block)} bytes", 0)
    (restarts,) = struct.unpack("<I", block[-4:])
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise Malformed(f"A block of {len(block)} bytes with {restarts} restart points", 0)
    points = struct.unpack_from(f"<{restarts}I", block, end)
    if any(point > end for point in points) or list(points) != sorted(points):
        raise Malformed("The restart points of a block are not in order", end)
    return end


def block_entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a block. Raises: Malformed."""
    end = _end_of_entries(block)
    to_share = _MOST_SHARED * len(block) + _LEAST_SHARED
    key, at = b"", 0
    while at < end:
        shared, at = _varint(block, at, end)
        own, at = _varint(block, at, end)
        length, at = _varint(block, at, end)
        to_share -= shared
        if shared > len(key) or own + length > end - at or to_share < 0:
            raise Malformed("An entry of a block does not fit", at)
        key = key[:shared] + block[at : at + own]
        at += own + length
        yield key, block[at - length : at]


def _delta_entries(block: bytes) -> Iterator[tuple[int, Cursor]]:
    """Yield the entries of an index without lengths: bytes shared, and a cursor on the value.

    The value must be read before the next entry is asked for.
    """
    cursor = Cursor(block, 0, _end_of_entries(block))
    while cursor.left:
        shared, own = unsigned(cursor, 5), unsigned(cursor, 5)
        cursor.take(own)
        yield shared, cursor


def _varint(block: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the number at ``at``, of at most 5 bytes, and the place behind it."""
    number, shift = 0, 0
    while at < end and shift < 35:
        byte = block[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
    raise Malformed("An entry of a block does not fit", at)
