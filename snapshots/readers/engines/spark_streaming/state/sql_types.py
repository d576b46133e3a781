"""Parse Spark SQL's types from their JSON.

Source: Spark's DataType.fromJson.
"""

import re
from dataclasses import dataclass

from snapshots.readers.engines.spark_streaming.documents import Json, NotKnown, NotReadable

FIXED_SIZES = {
    "boolean": 1,
    "byte": 1,
    "short": 2,
    "integer": 4,
    "float": 4,
    "date": 4,
    "long": 8,
    "double": 8,
    "timestamp": 8,
    "timestamp_ntz": 8,
}
"""Bytes of one element in an array."""

_DECIMAL = re.compile(r"decimal\((\d{1,2}),(-?\d{1,2})\)")
_TEXT = re.compile(r"string( collate .*)?|char\(\d+\)|varchar\(\d+\)")
MOST_COLUMNS = 10_000


@dataclass(frozen=True, slots=True)
class Plain:
    """A type that is not composed of others.

    Attributes:
        size: bytes of one element in an array; None for types of variable size.
        precision: the digits of a decimal.
    """

    name: str
    size: int | None
    scale: int = 0
    precision: int = 0


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a struct."""

    name: str
    type: "SqlType"
    watermark_delay_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct.

    Attributes:
        names: the names of the columns, made unique.
    """

    columns: tuple[Column, ...]
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, columns: tuple[Column, ...]) -> "Struct":
        return cls(columns, told_apart([column.name for column in columns]))


@dataclass(frozen=True, slots=True)
class Array:
    element: "SqlType"


@dataclass(frozen=True, slots=True)
class Map:
    key: "SqlType"
    value: "SqlType"


SqlType = Plain | Struct | Array | Map


def told_apart(names: list[str]) -> tuple[str, ...]:
    """Make names unique: the second "count" becomes "count#2".

    Columns of aggregation buffers can have the same name.
    """
    used: dict[str, int] = {}
    result = []
    for name in names:
        used[name] = used.get(name, 0) + 1
        result.append(name if used[name] == 1 else f"{name}#{used[name]}")
    return tuple(result)


def parse_type(document: Json) -> SqlType:
    """Parse a type from JSON, whose depth the caller has bounded. Raises: NotReadable."""
    if isinstance(document, str):
        return _plain(document)
    if not isinstance(document, dict):
        raise NotReadable("A column's type must be a name or an object.")
    kind = document.get("type")
    if kind == "struct":
        return _struct(document)
    if kind == "array":
        return Array(parse_type(document.get("elementType")))
    if kind == "map":
        return Map(parse_type(document.get("keyType")), parse_type(document.get("valueType")))
    if kind == "udt":
        return parse_type(document.get("sqlType"))
    raise NotKnown(f"The type {str(kind)[:60]!r} is not known here.")


def _struct(document: dict[str, Json]) -> Struct:
    fields = document.get("fields")
    if not isinstance(fields, list) or len(fields) > MOST_COLUMNS:
        raise NotReadable(f"A struct needs a list of at most {MOST_COLUMNS:,} fields.")
    return Struct.of(tuple(map(_column, fields)))


def _column(document: Json) -> Column:
    if not isinstance(document, dict) or not isinstance(document.get("name"), str):
        raise NotReadable("A column needs a name.")
    metadata = document.get("metadata")
    delay = metadata.get("spark.watermarkDelayMs") if isinstance(metadata, dict) else None
    return Column(
        document["name"],
        parse_type(document.get("type")),
        delay if type(delay) is int else None,
    )


def _plain(name: str) -> Plain:
    if name in FIXED_SIZES:
        return Plain(name, FIXED_SIZES[name])
    if name in ("void", "null"):
        return Plain("void", 8)
    if (decimal := _DECIMAL.fullmatch(name)) is not None:
        precision, scale = int(decimal[1]), int(decimal[2])
        if not 1 <= precision <= 38 or not 0 <= scale <= precision:
            raise NotReadable(f"The type {name} is not possible.")
        return Plain("decimal", 8 if precision <= 18 else None, scale, precision)
    if name == "binary":
        return Plain("binary", None)
    if _TEXT.fullmatch(name) is not None:
        return Plain("string", None)
    if name.startswith(("interval year", "interval month")):
        return Plain("months", 4)
    if name.startswith(("interval day", "interval hour", "interval minute", "interval second")):
        return Plain("microseconds", 8)
    raise NotKnown(f"The type {name[:60]!r} is not known here.")


def watermark_delays(type: SqlType, path: str = "") -> dict[str, int]:
    """Return the delay in milliseconds of each column with a watermark, by dotted name."""
    if not isinstance(type, Struct):
        return {}
    delays: dict[str, int] = {}
    for name, column in zip(type.names, type.columns, strict=True):
        column_path = f"{path}{name}"
        if column.watermark_delay_ms is not None:
            delays[column_path] = column.watermark_delay_ms
        delays |= watermark_delays(column.type, f"{column_path}.")
    return delays
