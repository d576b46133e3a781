"""The seal of an object: whose bytes they are, how many, and checksums of them.

Cutline puts the seal as metadata on each object that it writes, and S3 sends it with each answer
about the object. So one answer shows by itself whether it is about another object, has a wrong
length, or other bytes. A checksum is a CRC-32: it finds what was mixed up, and no forger.

Metadata has room for few checksums, so the blocks of a large object are large.
"""

import base64
import binascii
import hashlib
import io
import zlib
from dataclasses import dataclass
from typing import IO, Self

METADATA = "cutline-seal"
PART = 16 * 2**20  # bytes of a request that writes; a larger object is sent in parts
SMALLEST = 64 * 2**10  # bytes of a block
_MOST_BLOCKS = 256  # 1,368 characters; S3 takes 2 KB of metadata
_SUM = 4  # bytes
_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Seal:
    """What is known of an object: whose it is, its size, and the checksums of its blocks."""

    owner: str
    size: int
    sums: bytes

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the seal in an object's metadata; None if it is none."""
        try:
            version, owner, size, sums = text.split(".")
            seal = cls(owner, int(size), base64.b64decode(sums, validate=True))
        except (ValueError, binascii.Error):
            return None
        return seal if version == _VERSION else None

    @property
    def text(self) -> str:
        """Return the seal as the metadata of an object."""
        return f"{_VERSION}.{self.owner}.{self.size}.{base64.b64encode(self.sums).decode()}"


def owner_of(key: str) -> str:
    """Return what stands in a seal for the name of an object."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def block_of(size: int) -> int:
    """Return the bytes of each block of an object of this size, a power of two."""
    block = SMALLEST
    while block * _MOST_BLOCKS < size:
        block *= 2
    return block


def made(key: str, content: bytes | IO[bytes]) -> tuple[Seal, str]:
    """Return the seal of an object and the tag that S3 gives it; a file is read once.

    The tag is the MD5 of the bytes, or of the MD5s of the parts, unless the store encrypts with
    keys of its own.
    """
    file = io.BytesIO(content) if isinstance(content, bytes) else content
    size = file.seek(0, io.SEEK_END)
    block = block_of(size)
    at_once = max(PART, block)
    sums, parts = [], []
    file.seek(0)
    while some := file.read(at_once):
        sums.append(sums_of(some, block))
        parts += [_md5(some[begin : begin + PART]) for begin in range(0, len(some), PART)]
    file.seek(0)
    if size <= PART:
        tag = parts[0] if parts else _md5(b"")
    else:
        tag = f"{_md5(bytes.fromhex(''.join(parts)))}-{len(parts)}"
    return Seal(owner_of(key), size, b"".join(sums)), tag


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def sums_of(content: bytes, block: int) -> bytes:
    """Return the checksums of the blocks of some bytes, the last of which may be shorter."""
    view = memoryview(content)
    return b"".join(
        zlib.crc32(view[begin : begin + block]).to_bytes(_SUM, "little")
        for begin in range(0, len(view), block)
    )


def fit(content: bytes, begin: int, size: int, sums: bytes) -> bool:
    """Tell whether whole blocks, from the byte ``begin`` of an object, have these checksums.

    ``size`` and ``sums`` are of the whole object.
    """
    block = block_of(size)
    found, first = sums_of(content, block), begin // block * _SUM
    return found == sums[first : first + len(found)]


def widened(start: int, end: int, size: int) -> tuple[int, int]:
    """Return where the blocks begin and end that hold these bytes of an object."""
    block = block_of(size)
    return start // block * block, min(-(-end // block) * block, size)
