"""Types spelt in full: with the fields of their classes, and with columns as SQL has them."""

from snapshots.readers.engines.flink.types.composites import (
    ArraySerializer,
    ListSerializer,
    MapSerializer,
    NullableSerializer,
    PojoSerializer,
    RowSerializer,
    TtlSerializer,
    TupleSerializer,
)
from snapshots.readers.engines.flink.types.sql_rows import RowDataSerializer
from snapshots.readers.engines.flink.types.values import Serializer

LONGEST = 10_000  # characters


def spelt(serializer: Serializer) -> str | None:
    """Return ``demo.Acct{owner: string, total: long}``; None where that is longer than LONGEST."""
    try:
        return _spelt(serializer, [LONGEST])
    except OverflowError:
        return None


def _spelt(serializer: Serializer, left: list[int]) -> str:
    """Spell one type. Raises: OverflowError where more than ``left`` characters come together."""

    def parts(*serializers: Serializer) -> str:
        return ",".join(_spelt(part, left) for part in serializers)

    match serializer:
        case PojoSerializer(type_name=name, fields=fields):
            own = ", ".join(f"{field}: {_spelt(part, left)}" for field, part in fields)
            text = f"{name}{{{own}}}"
        case ListSerializer(element=element):
            text = f"list<{parts(element)}>"
        case ArraySerializer(element=element):
            text = f"array<{parts(element)}>"
        case NullableSerializer(element=element):
            text = f"nullable<{parts(element)}>"
        case TtlSerializer(value=value):
            text = f"ttl<{parts(value)}>"
        case MapSerializer(key=key, value=value):
            text = f"map<{parts(key, value)}>"
        case TupleSerializer(fields=fields, outer=outer):
            text = f"{outer}<{parts(*fields)}>"
        case RowSerializer(fields=fields):
            text = f"row<{parts(*fields)}>"
        case RowDataSerializer(columns=columns):
            text = f"rowdata<{', '.join(column.in_full for column in columns)}>"
        case _:
            text = serializer.name
    left[0] -= len(text)
    if left[0] < 0:
        raise OverflowError
    return text
