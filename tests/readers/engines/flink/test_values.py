"""Edge cases of Flink's values: nulls, distant times, numbers that JSON lacks, rows of SQL."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.readers.engines.flink.types import composites, moments, sql_rows
from snapshots.readers.engines.flink.types.sql_columns import Column
from snapshots.readers.engines.flink.types.values import SIMPLE, Undecodable, shortest_f32
from snapshots.readers.engines.flink.types.variants import variant
from snapshots.readers.formats.cursor import Cursor, Malformed
from tests.effort import examples
from tests.readers.engines.flink.types import string
from tests.readers.engines.flink.writing import i32, i64

_LEAST_I64, _LEAST_I32 = -(2**63), -(2**31)


def decode(name: str, data: bytes):
    cursor = Cursor(data)
    value = SIMPLE[name].decode(cursor)
    assert cursor.left == 0
    return value


@pytest.mark.parametrize(
    ("name", "data", "value"),
    [
        ("string", b"\x00", None),
        ("string", b"\x01", ""),
        ("string", string("rocket-🚀"), "rocket-🚀"),
        ("string", b"\x02\xbd\xb0\x03", "\N{REPLACEMENT CHARACTER}"),  # half a pair
        ("biginteger", i32(0), None),
        ("biginteger", i32(2), "1"),
        ("biginteger", i32(5) + b"\xff", "-1"),
        ("bigdecimal", i32(0), None),
        ("bigdecimal", i32(5) + b"\x7b" + i32(-3), "1.23E+5"),
        ("bigdecimal", i32(5) + b"\x7b" + i32(9), "1.23E-7"),
        ("bigdecimal", i32(1) + i32(2**31 - 1), "0E-2147483647"),
        ("double", struct.pack(">d", float("nan")), "NaN"),
        ("double", struct.pack(">d", float("-inf")), "-Infinity"),
        ("float", struct.pack(">f", 0.1), 0.1),
        ("float", struct.pack(">f", float("inf")), "Infinity"),
        ("char", "é".encode("utf-16-be"), "é"),
        ("instant", i64(_LEAST_I64) + i32(_LEAST_I32), None),
        ("instant", i64(-1) + i32(999_999_999), "1969-12-31T23:59:59.999999999Z"),
        ("instant", i64(253402300800) + i32(0), "+10000-01-01T00:00:00Z"),
        ("instant", i64(-62198755200) + i32(1_000), "-0001-01-01T00:00:00.000001Z"),
        ("localdate", i32(_LEAST_I32) + b"\x80\x00", None),
        ("localdate", i32(2000) + b"\x02\x1d", "2000-02-29"),
        ("localtime", b"\x80\x80\x00" + i32(_LEAST_I32), None),
        ("localtime", b"\x17\x3b\x00" + i32(0), "23:59"),
        ("localtime", b"\x00\x00\x00" + i32(1_000_000), "00:00:00.001"),
        ("localdatetime", i32(1999) + b"\x0c\x1f\x00\x00\x01" + i32(0), "1999-12-31T00:00:01"),
        ("date", i64(_LEAST_I64), None),
        ("date", i64(-1), "1969-12-31T23:59:59.999Z"),
        ("timestamp", i64(1_500) + i32(500_000_001), "1970-01-01T00:00:01.500000001Z"),
        ("longs", i32(2) + i64(1, -1), [1, -1]),
        ("chars", i32(1) + b"\x00a", ["a"]),
        ("booleans", i32(2) + b"\x01\x00", [True, False]),
        ("void", b"\x00", None),
        ("globalwindow", b"\x00", "global"),
        ("utf8", i32(2) + "é".encode(), "é"),
    ],
)
def test_a_value_and_its_meaning(name, data, value):
    assert decode(name, data) == value


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("string", b"\xff\xff\xff\xff\x0f"),  # more characters than bytes
        ("string", b"\x02\xff\xff\x7f"),  # no UTF-16 character
        ("string", b"\xff\xff\xff\xff\xff\xff"),  # a length without end
        ("biginteger", i32(-1)),
        ("biginteger", i32(2**31 - 1)),
        ("boolean", b"\x02"),
        ("void", b"\x01"),
        ("instant", i64(2**62) + i32(0)),
        ("instant", i64(0) + i32(10**9)),
        ("localdate", i32(2023) + b"\x02\x1d"),
        ("localdate", i32(1900) + b"\x02\x1d"),
        ("localdate", i32(2023) + b"\x0d\x01"),
        ("localtime", b"\x18\x00\x00" + i32(0)),
        ("longs", i32(2) + i64(1)),
        ("bytes", i32(-1)),
        ("utf8", i32(1) + b"\xff"),
    ],
)
def test_what_cannot_be_is_refused(name, data):
    with pytest.raises(Malformed):
        decode(name, data)


def test_a_number_of_thousands_of_digits_is_not_written_out():
    with pytest.raises(Undecodable, match="5,000 bytes"):
        decode("biginteger", i32(5_004) + b"\x01" * 5_000)


@settings(max_examples=examples(100))
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_has_the_fewest_digits_that_identify_it(number):
    short = shortest_f32(number)
    assert struct.pack(">f", short) == struct.pack(">f", number)
    assert len(repr(abs(short)).replace(".", "").split("e")[0].strip("0")) <= 9


@settings(max_examples=examples(100))
@given(st.integers(-31557014167219200, 31556889864403199))
def test_every_moment_of_java_has_a_text(seconds):
    text = moments.instant_text(seconds, 0)
    assert text.endswith("Z")
    assert text.lstrip("+-")[:4].isdigit()


@settings(max_examples=examples(100))
@given(st.datetimes())
def test_days_are_those_of_the_calendar(moment):
    days = moment.toordinal() - 719_163
    assert moments.day_text(days) == moment.date().isoformat()


def test_maps_are_objects_unless_their_keys_as_texts_are_the_same():
    assert composites.as_object([(1, "a"), (True, "b"), (1.5, "c")]) == {
        "1": "a",
        "true": "b",
        "1.5": "c",
    }
    assert composites.as_object([("1", "a"), (1, "b")]) == [["1", "a"], [1, "b"]]
    assert composites.as_object([(None, "a")]) == [[None, "a"]]
    assert composites.as_object([([1], "a")]) == [[[1], "a"]]
    assert composites.as_object([]) == {}


def test_values_of_no_bytes_are_refused():
    nothing = composites.TupleSerializer(())
    with pytest.raises(Malformed, match="values of no bytes"):
        composites.ListSerializer(nothing).decode(Cursor(i32(5) + bytes(9)))


def a_row(columns, *slots: bytes, nulls: bytes = bytes(7), kind: int = 0, tail: bytes = b""):
    serializer = sql_rows.RowDataSerializer(tuple(columns))
    data = bytes([kind]) + nulls + b"".join(slots) + tail
    return serializer.decode(Cursor(i32(len(data)) + data))


def slot(number: int) -> bytes:
    return struct.pack("<q", number)


def at(length: int, offset: int) -> bytes:
    return struct.pack("<II", length, offset)


@pytest.mark.parametrize(
    ("column", "written", "value"),
    [
        (Column("BooleanType"), slot(1), True),
        (Column("TinyIntType"), slot(255), -1),
        (Column("SmallIntType"), slot(2**16 - 2), -2),
        (Column("IntType"), slot(2**32 - 3), -3),
        (Column("BigIntType"), slot(-4), -4),
        (Column("FloatType"), struct.pack("<f4x", 0.1), 0.1),
        (Column("DoubleType"), struct.pack("<d", float("nan")), "NaN"),
        (Column("DateType"), slot(19_782), "2024-02-29"),
        (Column("TimeType"), slot(86_399_999), "23:59:59.999"),
        (Column("VarCharType"), b"h\xc3\xa9\0\0\0\0\x83", "hé"),
        (Column("VarBinaryType"), b"\x01\x02" + bytes(5) + b"\x82", {"hex": "0102"}),
        (Column("DecimalType", 5, 2), slot(-12345), "-123.45"),
        (Column("TimestampType", 3), slot(1_500), "1970-01-01T00:00:01.500"),
        (Column("LocalZonedTimestampType", 3), slot(1_500), "1970-01-01T00:00:01.500Z"),
        (Column("SymbolType"), slot(1), {"unread": "SymbolType", "hex": "0100000000000000"}),
        (Column("DistinctType", inner=(Column("IntType"),)), slot(7), 7),
        (Column("YearMonthIntervalType"), slot(7), 7),
    ],
    ids=lambda column: getattr(column, "type", ""),
)
def test_a_column_of_a_row(column, written, value):
    row = a_row([column], written)
    assert row["fields"] == [value]
    assert (row["arity"], row["rowKind"]) == (1, "+I")


def test_columns_behind_the_fixed_part_of_a_row():
    text = "longer than the slot"
    columns = [Column("CharType"), Column("TimestampType", 6), Column("DecimalType", 20, 1)]
    tail = text.ljust(24, "\0").encode() + slot(1_500) + b"\x01\x00" + bytes(6)
    row = a_row(columns, at(len(text), 32), at(7_000, 56), at(2, 64), tail=tail)
    assert row["fields"] == [text, "1970-01-01T00:00:01.500007", "25.6"]


def test_the_kind_and_the_nulls_of_a_row():
    columns = [Column("IntType")] * 60
    slots = [slot(index) for index in range(60)]
    row = a_row(columns, *slots, nulls=b"\x02" + bytes(6) + b"\x08" + bytes(7), kind=3)
    assert row["rowKind"] == "-D"
    assert [index for index, value in enumerate(row["fields"]) if value is None] == [1, 59]


@pytest.mark.parametrize(
    "read",
    [
        lambda: a_row([Column("IntType")]),  # no slot
        lambda: a_row([Column("IntType")], slot(1), kind=4),
        lambda: a_row([Column("VarCharType")], at(5, 16)),
        lambda: a_row([Column("VarCharType")], at(2**32 - 1, 2**31 - 1)),
        lambda: a_row([Column("DecimalType", 30)], at(17, 0), tail=bytes(40)),
        lambda: a_row([Column("TimestampType", 6)], at(2**31, 8)),
        lambda: a_row([Column("TimeType")], slot(86_400_000)),
    ],
)
def test_a_row_that_does_not_fit_is_refused(read):
    with pytest.raises(Malformed):
        read()


def test_decimals_and_time_stamps_of_sql_outside_rows():
    decimal = sql_rows.DecimalDataSerializer(10, 2)
    assert (decimal.name, decimal.fixed_length) == ("decimal(10,2)", 8)
    assert decimal.decode(Cursor(i64(5))) == "0.05"
    large = sql_rows.DecimalDataSerializer(30, 2)
    assert large.decode(Cursor(i32(2) + b"\x01\x00")) == "2.56"
    assert sql_rows.TimestampDataSerializer(3).decode(Cursor(i64(0))) == "1970-01-01T00:00:00"
    fine = sql_rows.TimestampDataSerializer(6)
    assert fine.decode(Cursor(i64(1) + i32(5_000))) == "1970-01-01T00:00:00.001005"
    with pytest.raises(Malformed, match="17 bytes"):
        large.decode(Cursor(i32(17) + bytes(17)))


def nested(column: Column, block: bytes):
    """Read a block that lies behind the only slot of a row."""
    return a_row([column], at(len(block), 16), tail=block)


def test_arrays_and_maps_have_nulls_and_elements_of_few_bytes():
    ints = Column("ArrayType", inner=(Column("IntType"),))
    block = struct.pack("<iI3i", 3, 2, 7, 0, 9)
    assert nested(ints, block)["fields"] == [[7, None, 9]]
    keys, values = struct.pack("<iI2b", 2, 0, 1, 2), struct.pack("<iI2q", 2, 1, 0, 5)
    bytes_to_longs = Column("MapType", inner=(Column("TinyIntType"), Column("BigIntType")))
    assert nested(bytes_to_longs, struct.pack("<i", len(keys)) + keys + values)["fields"] == [
        {"1": None, "2": 5}
    ]


def test_a_row_in_a_row_has_the_names_of_its_fields():
    inner = Column("RowType", inner=(Column("IntType"), Column("BooleanType")), names=("x", "y"))
    assert nested(inner, b"\0\2" + b"\0" * 6 + slot(4) + slot(0))["fields"] == [{"x": 4, "y": None}]


def test_parts_of_a_row_that_overlap_are_refused():
    column = Column("BigIntType")
    for _ in range(12):
        column = Column("ArrayType", inner=(column,))
    size = 4 + 4 + 8 * 20
    block = struct.pack("<iI", 20, 0) + at(size, 0) * 20
    with pytest.raises(Malformed, match="overlap"):
        nested(column, block)


@pytest.mark.parametrize("count", [-1, 2**31 - 1])
def test_an_array_that_does_not_fit_is_refused(count):
    with pytest.raises(Malformed, match="does not fit"):
        nested(Column("ArrayType", inner=(Column("IntType"),)), struct.pack("<iI", count, 0))


NAMES = b"\1\1\0\1a"  # one name, "a"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"\0", None),
        (b"\4", True),
        (b"\x0c\xff", -1),
        (b"\x14\7\0\0\0", 7),
        (b"\x20\2\x96\0\0\0", 1.5),
        (b"\x24" + bytes([38]) + b"\1" + b"\0" * 7, "1E-38"),
        (b"\x2c\1\0\0\0", "1970-01-02"),
        (b"\x30" + slot(1_500_000), "1970-01-01T00:00:01.500Z"),
        (b"\x34" + slot(1_500_000), "1970-01-01T00:00:01.500"),
        (b"\x3c\1\0\0\0\xff", {"hex": "ff"}),
        (b"\x40\1\0\0\0b", "b"),
        (b"\5b", "b"),
        (b"\2\1\0\0\2\x0c\7", {"a": 7}),
        (b"\3\2\0\1\2\0\4", [None, True]),
    ],
)
def test_a_variant_has_types_of_its_own(value, shown):
    assert variant(value, NAMES, 0) == shown


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (b"\3\2\0\0\3" + b"\3\2\0\0\3", "more than there are|overlap"),
        (b"\3\xff" + b"\0" * 256, "overlap|more than there are"),
        (b"\2\1\5\0\2\x0c\7", "no name of the number 5"),
        (b"\x5c", "unknown type"),
        (b"", "more than there are"),
    ],
)
def test_a_variant_that_is_not_whole_is_refused(value, what):
    with pytest.raises(Malformed, match=what):
        variant(value, NAMES, 0)
