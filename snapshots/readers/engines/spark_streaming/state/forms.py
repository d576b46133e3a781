"""Decode keys and values in the forms in which stores of state keep them.

A key in a store with column families begins with the id of its family, in 2 bytes. RocksDB's keys
and values have a byte of version before each row, and Avro's the id of a schema behind it. A key is

* one row,
* for a prefix scan: the length of its first part in 4 bytes, and two rows,
* in a join of state format 4: a row, and before or behind it an event time with its sign turned.

The value of a list is elements behind each other, each with its length in 4 bytes. With checksums
each value or element has 4 bytes of CRC-32C of its key and itself before it, in RocksDB also its
length, and in files of changes a deleted key has its own. Numbers are little-endian, except for
event times and ids of schemas.

Source: Spark's RocksDBStateEncoder, StateStoreRowChecksum.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.state.avro_rows import read_avro
from snapshots.readers.engines.spark_streaming.state.schemas import ColumnFamily
from snapshots.readers.engines.spark_streaming.state.sql_types import Struct
from snapshots.readers.engines.spark_streaming.state.unsafe_rows import read_row
from snapshots.readers.formats.checksums import crc32c
from snapshots.readers.formats.cursor import Malformed, NotReadHere

TIME_FIRST = "TimestampAsPrefixKeyStateEncoderSpec"
ENCODERS = (
    "NoPrefixKeyStateEncoderSpec",
    "PrefixKeyScanStateEncoderSpec",
    TIME_FIRST,
    "TimestampAsPostfixKeyStateEncoderSpec",
)
"""The encoders of keys that are read here."""
_FAMILY = struct.Struct("<H")
_LENGTH = struct.Struct("<I")
_TIME = struct.Struct(">Q")
_SIGN = 1 << 63
_ROW_BEGINS = b"\0"  # no length of a prefix does, since a row has a multiple of 8 bytes


class WrongChecksum(Malformed):
    """The bytes are not those for which the checksum was made."""


@dataclass(frozen=True, slots=True)
class Form:
    """How the keys and values of one state are kept.

    Attributes:
        id: of the column family; None in a store without families.
        has_lists: whether a value is the elements of a list.
        may_have_prefix: whether nothing tells if keys are for a prefix scan, as before Spark 4.0.
            Only session windows have such keys there, and all but their last column is the prefix.
    """

    family: ColumnFamily
    is_rocksdb: bool
    id: int | None = None
    has_lists: bool = False
    is_avro: bool = False
    has_checksums: bool = False
    may_have_prefix: bool = False

    @property
    def prefix(self) -> bytes:
        """Return the bytes with which all keys of the state begin."""
        return b"" if self.id is None else _FAMILY.pack(self.id)

    def key(self, data: bytes) -> dict[str, Json]:
        """Decode a key. Raises: Malformed."""
        data = data[len(self.prefix) :]
        family = self.family
        if not self.is_rocksdb:
            return read_row(data, family.key)
        if family.prefix_count or (self.may_have_prefix and data[:1] != _ROW_BEGINS):
            return self._two_rows(data)
        if family.has_event_time_in_key:
            return self._row_and_time(data)
        return self._row(data, family.key)

    def first_part(self, key: bytes) -> bytes:
        """Return the bytes of a key for a prefix scan that stand for its first columns."""
        at = len(self.prefix)
        length, start = _number(key, at)
        return key[at : start + length]

    def values(self, key: bytes, data: bytes) -> Iterator[dict[str, Json]]:
        """Yield the row of a value, or the elements of a list. Raises: Malformed.

        Args:
            key: the bytes of the key, which a checksum covers, too.
        """
        schema = self.family.value
        for part in self._checked(key, data):
            for value in _parts(part) if self.has_lists else (part,):
                yield self._row(value, schema) if self.is_rocksdb else read_row(value, schema)

    def deleted_key(self, data: bytes) -> bytes:
        """Return the key in the record of a deletion. Raises: Malformed."""
        if not self.has_checksums:
            return data
        checksum, start = _number(data, 0)
        return _checked(data[start:], checksum, start)

    def _checked(self, key: bytes, data: bytes) -> Iterator[bytes]:
        """Yield the parts of a value that have checksums of their own."""
        if not self.has_checksums:
            yield data
        elif not self.is_rocksdb:
            checksum, start = _number(data, 0)
            yield _checked(data[start:], checksum, start, key)
        else:
            at = 0
            while at < len(data):
                checksum, start = _number(data, at)
                size, start = _number(data, start)
                at = start + size
                yield _checked(_piece(data, start, size), checksum, start, key)

    def _two_rows(self, data: bytes) -> dict[str, Json]:
        """Decode a key for a prefix scan.

        Source: Spark's PrefixKeyScanStateEncoder, which writes the length in the machine's own
        order; all machines that Spark is built for are little-endian.
        """
        length, start = _number(data, 0)
        prefix = _piece(data, start, length)
        family, end = self.family, start + length
        columns, names, count = family.key.columns, family.key.names, family.prefix_count or -1
        first = self._row(prefix, Struct(columns[:count], names[:count]), has_id=False)
        return first | self._row(data[end:], Struct(columns[count:], names[count:]))

    def _row_and_time(self, data: bytes) -> dict[str, Json]:
        """Decode a key of a join of state format 4; the time is in microseconds."""
        if len(data) < _TIME.size:
            raise Malformed("A key is shorter than its event time", 0)
        is_first = self.family.encoder_name == TIME_FIRST
        split = _TIME.size if is_first else len(data) - _TIME.size
        time, row = (data[:split], data[split:]) if is_first else (data[split:], data[:split])
        columns, names = self.family.key.columns, self.family.key.names
        flipped = _TIME.unpack(time)[0] ^ _SIGN
        stored = flipped - (flipped >> 63 << 64)
        return self._row(row, Struct(columns[:-1], names[:-1])) | {names[-1]: stored}

    def _row(self, data: bytes, schema: Struct, *, has_id: bool = True) -> dict[str, Json]:
        """Decode a row of RocksDB. Only the first version of rows and schemas is read here."""
        begins = b"\0\0\0" if self.is_avro and has_id else b"\0"
        if not data.startswith(begins):
            raise NotReadHere("A row has an encoding, or a schema, that is not read here", 0)
        content = data[len(begins) :]
        return read_avro(content, schema) if self.is_avro else read_row(content, schema)


def _checked(value: bytes, checksum: int, at: int, key: bytes = b"") -> bytes:
    if crc32c(key + value) != checksum:
        raise WrongChecksum("A row does not have its checksum", at)
    return value


def _parts(data: bytes) -> Iterator[bytes]:
    """Yield the elements of a list."""
    at = 0
    while at < len(data):
        size, start = _number(data, at)
        yield _piece(data, start, size)
        at = start + size


def _piece(data: bytes, start: int, size: int) -> bytes:
    if size > len(data) - start:
        raise Malformed(f"{size:,} bytes are announced and {len(data) - start:,} are left", start)
    return data[start : start + size]


def _number(data: bytes, at: int) -> tuple[int, int]:
    if len(data) - at < _LENGTH.size:
        raise Malformed("A number of 4 bytes is expected and fewer are left", at)
    return _LENGTH.unpack_from(data, at)[0], at + _LENGTH.size
