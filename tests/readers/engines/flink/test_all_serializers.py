"""Each serializer of the jars of Flink 2.3.0, described and used by Flink itself."""

from contextlib import suppress
from pathlib import Path

import orjson
import pytest

from snapshots.readers.engines.flink.types.serializers import UnknownSerializer, read_snapshot
from snapshots.readers.engines.flink.types.values import Undecodable
from snapshots.readers.formats.cursor import Cursor, Malformed
from tests.readers.engines.flink.writing import i32, utf
from tests.readers.mutated import mutated

DATA = Path(__file__).resolve().parents[3] / "data" / "flink-serializers" / "2.3.0.txt"
LINES = [line.split(" ") for line in DATA.read_text().splitlines()]
DESCRIBED = [(name, *map(bytes.fromhex, rest)) for name, *rest in LINES if rest]
FOR_WORKERS = "PyFlink's form for its worker processes, which is not read"
NOT_DECODED = {
    "CopyableValueSerializerSnapshot": r"The class DescribeSerializers\$Item wrote the value",
    "ValueSerializerSnapshot": r"The class DescribeSerializers\$Item wrote the value",
    "KryoSerializerSnapshot": "Kryo wrote the value, a java.util.Locale",
    "python.ArrayDataSerializer$ArrayDataSerializerSnapshot": FOR_WORKERS,
    "python.MapDataSerializer$BaseMapSerializerSnapshot": FOR_WORKERS,
    "python.RowDataSerializer$RowDataSerializerSnapshot": FOR_WORKERS,
}
SHOWN = {
    "SetSerializerSnapshot": ["a"],
    "NullValueSerializerSnapshot": None,
    "GenericArraySerializerSnapshot": ["a", None],
    "NullAwareMapSerializerSnapshot": {"a": None},
    "LinkedListSerializerSnapshot": ["a", None],
    "SortedMapSerializerSnapshot": {"a": 7},
    "MapViewSerializerSnapshot": {"a": 7},
    "UnionSerializerSnapshot": {"two": 7},
    "StreamElementSerializerSnapshot": {"timestamp": 7, "value": "a"},
    "ScalaOptionSerializerSnapshot": "a",
    "ScalaTrySerializerSnapshot": {"success": "a"},
    "ScalaEitherSerializerSnapshot": {"right": 7},
    "Tuple2CaseClassSerializerSnapshot": ["a", 7],
    "RawValueDataSerializerSnapshot": 7,
    "python.DecimalDataSerializer$DecimalSerializerSnapshot": "-1.5000",
    "typeutils.DecimalDataSerializer$DecimalSerializerSnapshot": "-1.5000",
    "python.DateSerializer$DateSerializerSnapshot": "1970-01-01",
    "python.TimeSerializer$TimeSerializerSnapshot": "00:00:00.007",
    "python.TimestampSerializer$TimestampSerializerSnapshot": "1970-01-01T00:00:00",
    "TimestampDataSerializerSnapshot": "1970-01-01T00:00:01.500001",
}


def of(name: str, own: dict):
    return next((own[end] for end in own if name.endswith(("." + end, "$" + end))), None)


@pytest.mark.parametrize("name", [name for name, *_ in LINES])
def test_no_serializer_of_flink_is_unknown(name):
    try:
        read_snapshot(Cursor(utf(name) + i32(3)))
    except UnknownSerializer:
        pytest.fail("unknown")
    except Malformed:  # the rest of the description is not there
        pass


@pytest.mark.parametrize(("name", "described", "written"), DESCRIBED, ids=[x[0] for x in DESCRIBED])
def test_what_flink_describes_and_writes_is_read_to_the_last_byte(name, described, written):
    cursor = Cursor(described)
    serializer = read_snapshot(cursor)
    assert cursor.left == 0

    cursor = Cursor(written)
    if reason := of(name, NOT_DECODED):
        with pytest.raises(Undecodable, match=reason):
            serializer.decode(cursor)
        return
    value = serializer.decode(cursor)
    assert cursor.left == 0
    assert serializer.fixed_length in (None, len(written))
    assert orjson.dumps(value)
    if (shown := of(name, SHOWN)) is not None:
        assert value == shown


def test_damaged_descriptions_are_read_or_refused_and_nothing_else_is_raised():
    for number, data in enumerate(mutated([described for _, described, _ in DESCRIBED])):
        with suppress(Malformed):
            serializer = read_snapshot(Cursor(data))
            assert serializer.name
            serializer.decode(Cursor(DESCRIBED[number % len(DESCRIBED)][2]))


def test_damaged_values_are_read_or_refused_and_nothing_else_is_raised():
    serializers = [read_snapshot(Cursor(described)) for _, described, _ in DESCRIBED]
    for number, data in enumerate(mutated([written or b"\0" for *_, written in DESCRIBED])):
        with suppress(Malformed):
            value = serializers[number % len(serializers)].decode(Cursor(data))
            assert orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
