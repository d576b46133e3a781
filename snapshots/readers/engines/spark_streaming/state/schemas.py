"""Read state schemas: binary files with the types of keys and values, versions 1 to 3.

Source: Spark's StateSchemaCompatibilityChecker, SchemaHelper.
"""

import re
from dataclasses import dataclass

from snapshots.readers.engines.spark_streaming.documents import (
    Json,
    NotKnown,
    NotReadable,
    parse,
    parse_object,
)
from snapshots.readers.engines.spark_streaming.files import DamagedFile, FileNotRead, Files
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.text_logs import LOG_BYTES
from snapshots.readers.engines.spark_streaming.state.sql_types import (
    Struct,
    parse_type,
    watermark_delays,
)
from snapshots.readers.formats.cursor import Cursor, Malformed

NEWEST = 3
DEFAULT_FAMILY = "default"
EVENT_TIME = "__event_time"
"""The column of keys in which a join of state format 4 keeps the event time."""
_V3_NAME = re.compile(r"(\d{1,18})_[0-9A-Za-z-]{1,64}")


@dataclass(frozen=True)
class ColumnFamily:
    """The types of keys and values of one state variable, or of a whole store.

    Attributes:
        encoder: the encoder of the key with its parameters; None before version 3.
        prefix_columns: how many columns of the key RocksDB keeps apart for a prefix scan.
    """

    name: str
    key: Struct
    value: Struct
    encoder: dict[str, Json] | None = None
    prefix_columns: int = 0

    @property
    def encoder_name(self) -> str | None:
        name = (self.encoder or {}).get("keyStateEncoderType")
        return name if isinstance(name, str) else None

    @property
    def prefix_count(self) -> int:
        """Return how many columns of the key a prefix scan uses; 0 for a key of another kind."""
        count = (self.encoder or {}).get("numColsPrefixKey", self.prefix_columns)
        return count if type(count) is int and 0 < count < len(self.key.columns) else 0

    @property
    def has_event_time_in_key(self) -> bool:
        """Tell whether the key is a row and, outside of the row, an event time."""
        return (self.encoder_name or "").startswith("TimestampAs")


@dataclass(frozen=True)
class StateSchema:
    """The content of one schema file."""

    version: int
    file: str
    families: tuple[ColumnFamily, ...]

    @property
    def default(self) -> ColumnFamily:
        return self.families[0]

    @property
    def watermark_delays_ms(self) -> dict[str, int]:
        """Return the delay of the watermark of each column that has one, in milliseconds."""
        delays: dict[str, int] = {}
        for family in self.families:
            delays |= watermark_delays(family.key) | watermark_delays(family.value)
        return delays


def read_schema(files: Files, path: str, limits: SparkLimits) -> StateSchema:
    """Read one schema file. Raises: DamagedFile."""
    data = files.read(path, limits.schema_bytes)
    files.spend(LOG_BYTES, path, len(data), limits.all_log_bytes)
    try:
        return _parse(data, path, limits)
    except NotKnown as error:
        raise FileNotRead(path, f"This schema is not read here: {error}") from error
    except (Malformed, NotReadable) as error:
        raise DamagedFile(path, f"It is not a state schema: {error}") from error


def schema_paths(files: Files, operator: int, store: str, single: bool) -> list[str]:
    """Return the paths of a store's schemas, newest first.

    ``single`` says that it is the only store of its operator, and has no folder of its own.
    """
    folder = f"state/{operator}/_stateSchema/{store}"
    names = [name for name in files.children(folder) if _V3_NAME.fullmatch(name)]
    names.sort(key=lambda name: (int(name.split("_")[0]), name), reverse=True)
    inner = "" if single else f"/{store}"
    paths = [f"{folder}/{name}" for name in names]
    paths.append(f"state/{operator}/0{inner}/_metadata/schema")
    return [path for path in paths if path in files]


def _parse(data: bytes, path: str, limits: SparkLimits) -> StateSchema:
    cursor = Cursor(data)
    name = cursor.utf()
    if not re.fullmatch(r"v[1-9]", name):
        raise NotReadable(f"its version is {name[:20]!r}; v1 to v{NEWEST} are known.")
    if (version := int(name[1])) > NEWEST:
        raise NotKnown(f"its version is {name}; v1 to v{NEWEST} are known.")
    if version == 3:
        count = cursor.count(bytes_each=10)
        families = tuple(_family(cursor, limits) for _ in range(count))
        if not families:
            raise NotReadable("it names no column family.")
    else:
        text = _chunks if version == 2 else Cursor.utf
        key, value = (_struct(text(cursor), limits) for _ in range(2))
        families = (ColumnFamily(DEFAULT_FAMILY, key, value),)
    if cursor.left:
        raise Malformed(f"{cursor.left} bytes follow the schema", cursor.position)
    return StateSchema(version, path, families)


def _family(cursor: Cursor, limits: SparkLimits) -> ColumnFamily:
    name = cursor.utf()
    cursor.i16()  # the id of the key's schema
    key = _struct(_chunks(cursor), limits)
    cursor.i16()  # the id of the value's schema
    value = _struct(_chunks(cursor), limits)
    encoder = parse_object(_chunks(cursor), limits.depth)
    _chunks(cursor)  # the schema of a map's own keys, which the key's schema repeats
    return ColumnFamily(name, key, value, encoder)


def _chunks(cursor: Cursor) -> str:
    """Read a text that is stored in parts of at most 64 KiB."""
    return "".join(cursor.utf() for _ in range(cursor.count(bytes_each=2)))


def _struct(text: str, limits: SparkLimits) -> Struct:
    # Each level of nesting takes two levels of JSON: the struct, and its list of fields.
    parsed = parse_type(parse(text, 4 * limits.depth))
    if not isinstance(parsed, Struct):
        raise NotReadable("a key or value is not a struct.")
    return parsed
