"""Compare files with the checksums that lie beside them.

A local file system of Hadoop keeps ``.<name>.crc``: the word ``crc``, a zero byte, how many bytes a
checksum covers, and a CRC-32 for each such piece. Only Hadoop's FileSystem checks them, by which
Spark reads the id of the query and what RocksDB has stored. FileContext, by which it reads all
else, writes them and does not look at them: Spark 4.3 starts from a changed offset file. Where the
checksums are left alone, without their file, the file cannot be written again. Beside files of
state Spark keeps ``<name>.crc``: JSON with the size of the file, which it compares.

Source: Hadoop's ChecksumFileSystem, ChecksumFs and FilterFs.open, Spark's StreamMetadata,
RocksDBFileManager and ChecksumCheckpointFileManager.
"""

import re
import struct
import zlib
from dataclasses import dataclass

from snapshots.readers.engines.spark_streaming.documents import NotReadable, parse_object, whole
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files
from snapshots.readers.engines.spark_streaming.limits import SparkLimits

_HEADER = struct.Struct(">4sI")
_MAGIC = b"crc\0"
_SUM_BYTES = 4
_DEEPEST = 10
_REFUSED = "Spark may refuse the file beside this file of checksums."
_CHECKED = re.compile(r"metadata|.*\.(?:zip|sst)")  # what Spark reads by FileSystem
_UNCHECKED = "Spark reads it without looking at them, and may go on with what was changed."


@dataclass(frozen=True)
class Disagreement:
    """What the checksums beside a file say against it.

    Attributes:
        is_certain: whether Spark refuses the file; else it does not look, or the checksum file is
            what is damaged.
    """

    sentence: str
    is_certain: bool


def disagreement(files: Files, path: str, limits: SparkLimits) -> Disagreement | None:
    """Return what the checksums beside a file say against it; None if there is nothing."""
    own = f"{path}.crc"
    for subject, sums in ((path, _hidden(path)), (path, own), (own, _hidden(own))):
        if sums not in files or subject not in files:
            continue
        check = _compare_json if sums == own else _compare
        try:
            sentence = check(files, subject, sums, limits)
        except DamagedFile as error:
            sentence, subject = (f"{error} {_REFUSED}", sums) if sums == own else (None, sums)
        if sentence is None:
            continue
        if subject == path and sums != own and not _CHECKED.fullmatch(path):
            return Disagreement(f"{sentence} {_UNCHECKED}", is_certain=False)
        return Disagreement(sentence, is_certain=subject == path)
    return None


def is_alone(files: Files, path: str) -> bool:
    """Tell whether the checksums of a file are there without the file."""
    return path not in files and _hidden(path) in files


def _hidden(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.crc" if folder else f".{name}.crc"


def _compare(files: Files, path: str, sums: str, limits: SparkLimits) -> str | None:
    """Compare a file with Hadoop's checksums. Raises: DamagedFile."""
    most = limits.state_bytes
    data, stored = files.read(path, most), files.read(sums, most)
    if len(stored) < _HEADER.size or len(stored) % _SUM_BYTES:
        raise DamagedFile(sums, f"It has {len(stored):,} bytes, which no checksum file has.")
    magic, piece = _HEADER.unpack_from(stored)
    if magic != _MAGIC or not piece:
        raise DamagedFile(sums, "It does not begin as a checksum file.")
    expected = stored[_HEADER.size :]
    pieces = range(0, len(data), piece)
    if len(expected) < _SUM_BYTES * len(pieces):
        raise DamagedFile(sums, f"It has no checksums of all {len(pieces):,} pieces of the file.")
    actual = b"".join(zlib.crc32(data[at : at + piece]).to_bytes(4, "big") for at in pieces)
    if actual == expected:
        return None
    return f"It does not have the checksums that {sums} holds."


def _compare_json(files: Files, path: str, sums: str, limits: SparkLimits) -> str | None:
    """Compare a file with Spark's own checksum file. Raises: DamagedFile."""
    try:
        size = whole(parse_object(files.read(sums, limits.log_bytes), _DEEPEST), "mainFileSize")
    except NotReadable as error:
        raise DamagedFile(sums, f"{error}") from error
    actual = files.entries[path].size
    if size == actual:
        return None
    return f"It has {actual:,} bytes; {sums} says {size:,}."
