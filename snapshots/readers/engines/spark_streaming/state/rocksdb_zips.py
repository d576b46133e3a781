"""Check RocksDB's snapshots: ``<version>.zip``, and the list of tables in ``SSTs/`` inside of it.

Spark unpacks the zip, and copies each table to the local name in the list. So names must be plain
and sizes bounded before Spark reads a snapshot.

Source: Spark's RocksDBFileManager, RocksDBCheckpointMetadata.
"""

import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from snapshots.readers.engines.spark_streaming.documents import (
    Json,
    NotKnown,
    NotReadable,
    parse_object,
    text_of,
)
from snapshots.readers.engines.spark_streaming.files import (
    DamagedFile,
    FileNotRead,
    Files,
    open_regular,
)
from snapshots.readers.engines.spark_streaming.limits import SparkLimits

METADATA = "metadata"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
MOST_ENTRIES = 1000
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ZIP_ERRORS = (
    OSError,
    EOFError,
    KeyError,
    RuntimeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class RocksSnapshot:
    """A snapshot of RocksDB.

    Attributes:
        tables: the paths of its tables, relative to the checkpoint.
        keys: the number of keys that it states; None if it states none.
        families: the ids of column families, by name.
    """

    tables: tuple[str, ...]
    keys: int | None
    families: Mapping[str, int] = field(default_factory=dict)


def read_zip(files: Files, path: str, limits: SparkLimits) -> RocksSnapshot:
    """Read a snapshot. Raises: DamagedFile, also for what Spark never writes."""
    try:
        with open_regular(files.root / path) as file, zipfile.ZipFile(file) as packed:
            _check_entries(packed, path, limits)
            with packed.open(METADATA) as inner:
                text = inner.read(limits.log_bytes)
    except DamagedFile:
        raise
    except _ZIP_ERRORS as error:
        raise DamagedFile(path, f"It is not a snapshot of RocksDB ({error}).") from error
    try:
        return _snapshot(text, path, limits)
    except NotKnown as error:
        raise FileNotRead(path, f"Its list of tables is not read here: {error}") from error
    except NotReadable as error:
        raise DamagedFile(path, f"Its list of tables: {error}") from error


def _check_entries(packed: zipfile.ZipFile, path: str, limits: SparkLimits) -> None:
    entries = packed.infolist()
    if len(entries) > MOST_ENTRIES or sum(e.file_size for e in entries) > limits.state_bytes:
        raise FileNotRead(path, "It holds more than the limit.")
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names) or not all(_PLAIN.fullmatch(name) for name in names):
        raise DamagedFile(path, "It holds names that Spark never writes.")
    if any(entry.compress_type not in _METHODS or entry.flag_bits & 1 for entry in entries):
        raise DamagedFile(path, "It is packed in a way that Spark never uses.")
    if any(entry.filename.endswith(".log") and entry.file_size for entry in entries):
        raise DamagedFile(path, "It holds a log of writes, which Spark leaves empty.")
    for entry in entries:
        _check_size(packed, entry, path)


def _check_size(packed: zipfile.ZipFile, entry: zipfile.ZipInfo, path: str) -> None:
    """Check that an entry unpacks to its announced size; zipfile reads no more than that."""
    left = entry.file_size
    with packed.open(entry) as inner:
        while block := inner.read(2**20):
            left -= len(block)
    if left:
        raise DamagedFile(path, f"{entry.filename} does not have the size that it announces.")


def _snapshot(text: bytes, path: str, limits: SparkLimits) -> RocksSnapshot:
    version, _, rest = text.partition(b"\n")
    if re.fullmatch(rb"v[1-9]", version) is None:
        raise NotReadable("it has no version.")
    if version != b"v1":
        raise NotKnown(f"its version is {version.decode()}; v1 is known.")
    document = parse_object(rest, limits.depth)
    tables = document.get("sstFiles")
    if not isinstance(tables, list) or len(tables) > MOST_ENTRIES * 100:
        raise NotReadable("it names no tables.")
    folder = path[: path.rfind("/") + 1] + "SSTs"
    names = []
    for table in tables:
        if not isinstance(table, dict):
            raise NotReadable("a table is not an object.")
        for name in ("localFileName", "dfsSstFileName"):
            if not _PLAIN.fullmatch(text_of(table, name)):
                raise NotReadable("a table has a name that Spark never writes.")
        names.append(f"{folder}/{table['dfsSstFileName']}")
    if document.get("logFiles"):
        raise NotReadable("it names log files, which Spark no longer writes.")
    keys, families = document.get("numKeys"), document.get("columnFamilyMapping")
    return RocksSnapshot(
        tuple(names),
        keys if isinstance(keys, int) else None,
        _families(families) if isinstance(families, dict) else {},
    )


def _families(document: dict[str, Json]) -> dict[str, int]:
    ids = {name: id for name, id in document.items() if type(id) is int and 0 <= id < 2**16}
    if len(ids) < len(document):
        raise NotReadable("a column family has no id of 16 bits.")
    return ids
