"""Convert rows of Spark's state data source to JSON, as ``unsafe_rows`` does for its files."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    TimestampType,
)

from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.state.sql_types import told_apart
from snapshots.readers.engines.spark_streaming.state.unsafe_rows import (
    decimal_text,
    milliseconds,
    plain_value,
    sorted_map,
)

_SECONDS = DecimalType(20, 6)
_EPOCH = datetime(1970, 1, 1)


def plain_columns(frame: DataFrame) -> DataFrame:
    """Cast timestamps to seconds, because Python's own cover fewer years and carry a time zone."""
    return frame.select(*(_plain(field) for field in frame.schema.fields))


def _plain(field: StructField) -> Column:
    plain = _without_timestamps(field.dataType)
    column = F.col(field.name)
    return column if plain == field.dataType else column.cast(plain).alias(field.name)


def _without_timestamps(type: DataType) -> DataType:
    if isinstance(type, TimestampType):
        return _SECONDS
    if isinstance(type, StructType):
        fields = [
            StructField(field.name, _without_timestamps(field.dataType), True)
            for field in type.fields
        ]
        return StructType(fields)
    if isinstance(type, ArrayType):
        return ArrayType(_without_timestamps(type.elementType), True)
    if isinstance(type, MapType):
        key, value = _without_timestamps(type.keyType), _without_timestamps(type.valueType)
        return MapType(key, value, True)
    return type


def json_rows(rows: list[Row], schema: StructType) -> list[dict[str, Json]]:
    """Convert rows to JSON. ``schema`` is what they had before ``plain_columns`` changed them."""
    return [as_json(row, schema) for row in rows]


def as_json(value: Any, type: DataType) -> Json:
    """Convert a value to JSON; ``value`` comes from Spark, with timestamps as seconds."""
    if value is None:
        return None
    if isinstance(type, StructType):
        names = told_apart([field.name for field in type.fields])
        return {
            name: as_json(inner, field.dataType)
            for name, inner, field in zip(names, value, type.fields, strict=True)
        }
    if isinstance(type, ArrayType):
        return [as_json(inner, type.elementType) for inner in value]
    if isinstance(type, MapType):
        pairs = value.items()
        return sorted_map(
            [[as_json(key, type.keyType), as_json(inner, type.valueType)] for key, inner in pairs]
        )
    if isinstance(type, TimestampType):
        return milliseconds(int(value * 1_000_000))
    return _scalar(value)


def _scalar(value: Any) -> Json:
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)  # SQL has no infinite decimals
        unscaled = int("".join(map(str, digits)))
        return decimal_text(-unscaled if sign else unscaled, -exponent)
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, datetime):
        return milliseconds((value.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    return plain_value("double", value) if isinstance(value, float) else value
